//! Tools as the service takes them: names of a narrow alphabet, schemas that describe an object.

use std::borrow::Cow;
use std::collections::BTreeSet;

use piton_core::event::ToolSpec;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Ephemeral;
use crate::anthropic::sound;

/// Longest name, in letters; formerly, and with other hosts still, it is half of that.
const NAME_LETTERS_MAX: usize = 128;
/// How much of a name is kept when it is mended.
const MENDED_LETTERS: usize = 55;

/// A schema that says nothing: any object.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// A tool on offer.
#[derive(Serialize)]
pub(super) struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Ephemeral>,
}

/// The tools, each name once. The last carries the cache mark where no system prompt does.
pub(super) fn offered(specs: &[ToolSpec], has_system: bool) -> Vec<Tool<'_>> {
    let mut names = BTreeSet::new();
    let mut tools: Vec<Tool<'_>> = Vec::with_capacity(specs.len());
    for spec in specs {
        let name = wire_name(&spec.name);
        if let Some(input_schema) = schema(&spec.parameters)
            && names.insert(name.clone())
        {
            let description = spec.description.trim();
            tools.push(Tool { name, description, input_schema, cache_control: None });
        }
    }
    if let (false, Some(last)) = (has_system, tools.last_mut()) {
        last.cache_control = Some(Ephemeral {});
    }
    tools
}

/// A name that the service accepts. One that it does not gets a tail made from the whole of it, so
/// that different names stay different; the same name is mended in the same way everywhere.
pub(super) fn wire_name(name: &str) -> Cow<'_, str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=NAME_LETTERS_MAX).contains(&name.len()) && name.bytes().all(fits) {
        return Cow::Borrowed(name);
    }
    let letters = name.chars().take(MENDED_LETTERS);
    let mended: String =
        letters.map(|it| if u8::try_from(it).is_ok_and(fits) { it } else { '_' }).collect();
    // FNV-1a: short, and the same on every machine.
    let tail = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    Cow::Owned(format!("{mended}_{tail:08x}"))
}

/// The schema as it was given, if its root is an object; mended, if it does not say what it is.
fn schema(parameters: &str) -> Option<Box<RawValue>> {
    let parameters = parameters.trim();
    let any = || RawValue::from_string(ANY_OBJECT.into()).ok();
    let Some(root) = sound::object(parameters) else { return any() };
    match root.get("type") {
        Some(kind) if kind == "object" => RawValue::from_string(parameters.into()).ok(),
        Some(_) => any(),
        None => {
            let rest = parameters.strip_prefix('{').unwrap_or_default();
            let comma = if root.is_empty() { "" } else { "," };
            RawValue::from_string(format!(r#"{{"type":"object"{comma}{rest}"#)).ok().or_else(any)
        }
    }
}
