//! Tools as the service takes them: schemas that describe an object.

use std::borrow::Cow;

use piton_core::event::ToolSpec;
use serde::Serialize;
use serde_json::value::RawValue;

use super::cache_mark::Ephemeral;
use crate::anthropic::sound;
use crate::names::Names;
use crate::schema::{Fitted, fitted};

/// A schema that says nothing: any object.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// A tool on offer.
#[derive(Serialize)]
pub(super) struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: Cow<'a, str>,
    input_schema: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Ephemeral>,
}

/// The tools, each name once. The last carries the cache mark where no system prompt does.
pub(super) fn offered<'a>(
    specs: &'a [ToolSpec],
    names: &'a Names,
    has_system: bool,
) -> Vec<Tool<'a>> {
    let mut tools: Vec<Tool<'_>> = Vec::with_capacity(specs.len());
    for (name, spec) in names.offered(specs) {
        let Fitted { description, parameters } = fitted(spec);
        if let Some(input_schema) = schema(&parameters) {
            let description = trimmed(description);
            tools.push(Tool { name, description, input_schema, cache_control: None });
        }
    }
    if let (false, Some(last)) = (has_system, tools.last_mut()) {
        last.cache_control = Some(Ephemeral {});
    }
    tools
}

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
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
