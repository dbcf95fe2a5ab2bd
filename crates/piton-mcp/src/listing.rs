//! What a server says of its tools, in bounds.

use std::collections::BTreeSet;
use std::sync::Arc;

use piton_core::event::{EffectClass, ToolSpec};
use rmcp::model::Tool as Told;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::name::tool_name;
use crate::settings::ServerSettings;
use crate::text::head;

/// Most tools of one server.
const TOOLS_MAX: usize = 256;
/// Longest description that the model reads, in bytes.
const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
/// Largest schema of a tool, in bytes. A larger one would crowd out the conversation.
const SCHEMA_BYTES_MAX: usize = 64 * 1024;

/// A tool as a server told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The server's own name for it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON schema of its arguments, as text.
    pub schema: String,
    /// Whether the server says that it changes nothing.
    pub read_only: bool,
    /// Whether the server says that a second run changes nothing more.
    pub idempotent: bool,
}

/// What is kept of a server's list.
pub(crate) fn listed(told: Vec<Told>) -> Vec<Listed> {
    let mut seen = BTreeSet::new();
    let listed = told.into_iter().filter_map(|tool| {
        let schema = schema(&tool.input_schema)?;
        seen.insert(tool.name.to_string()).then(|| one(&tool, schema))
    });
    listed.take(TOOLS_MAX).collect()
}

fn one(tool: &Told, schema: String) -> Listed {
    let hints = tool.annotations.as_ref();
    let title = tool.title.clone().or_else(|| hints.and_then(|hints| hints.title.clone()));
    let description = tool.description.as_deref().map(ToOwned::to_owned).or(title);
    Listed {
        name: tool.name.to_string(),
        description: head(&description.unwrap_or_default(), DESCRIPTION_BYTES_MAX).to_owned(),
        schema,
        read_only: hints.is_some_and(|hints| hints.read_only_hint == Some(true)),
        idempotent: hints.is_some_and(|hints| hints.idempotent_hint == Some(true)),
    }
}

/// The schema as providers take it: an object with properties. `None` if it is too large.
fn schema(told: &Map<String, Value>) -> Option<String> {
    let mut schema = told.clone();
    schema.insert("type".into(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    let text = Value::Object(schema).to_string();
    (text.len() <= SCHEMA_BYTES_MAX).then_some(text)
}

impl Listed {
    /// Whether the settings let the model have it.
    pub(crate) fn is_offered(&self, settings: &ServerSettings) -> bool {
        let allowed = settings.allow.as_ref().is_none_or(|allow| allow.contains(&self.name));
        allowed && !settings.deny.contains(&self.name)
    }

    /// How a call in doubt is settled. Hints of a server that is not trusted say nothing.
    pub fn effect(&self, settings: &ServerSettings) -> EffectClass {
        match (settings.trust, self.read_only, self.idempotent) {
            (true, true, _) => EffectClass::ReadOnly,
            (true, false, true) => EffectClass::Idempotent,
            (true, false, false) | (false, ..) => EffectClass::Once,
        }
    }

    /// What the model is told.
    pub fn spec(&self, settings: &ServerSettings) -> ToolSpec {
        ToolSpec {
            name: tool_name(&settings.name, &self.name),
            description: Arc::from(self.description.as_str()),
            parameters: Arc::from(self.schema.as_str()),
            effect: self.effect(settings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::Expand;
    use crate::settings::{Origin, WrittenServer};

    fn told(value: Value) -> Told {
        serde_json::from_value(value).unwrap()
    }

    fn settings(trust: bool) -> ServerSettings {
        let written = WrittenServer { trust, ..WrittenServer::default() };
        written.settle("s", Origin::Settings, &Expand::new(&|_| None, &[]))
    }

    #[test]
    fn hints_count_only_for_a_trusted_server() {
        let check = |hints: Value, trusted: EffectClass| {
            let tool =
                json!({"name": "t", "inputSchema": {"type": "object"}, "annotations": hints});
            let found = listed(vec![told(tool)]);
            assert_eq!(found[0].effect(&settings(true)), trusted);
            assert_eq!(found[0].effect(&settings(false)), EffectClass::Once);
        };
        check(json!({"readOnlyHint": true}), EffectClass::ReadOnly);
        check(json!({"idempotentHint": true}), EffectClass::Idempotent);
        check(json!({"readOnlyHint": false}), EffectClass::Once);
        check(json!({}), EffectClass::Once);
    }

    #[test]
    fn a_list_is_held_in_bounds() {
        let tool = |name: &str| told(json!({"name": name, "inputSchema": {}}));
        assert_eq!(listed(vec![tool("a"), tool("a"), tool("b")]).len(), 2);
        let many = (0..TOOLS_MAX + 10).map(|n| tool(&format!("t{n}"))).collect();
        assert_eq!(listed(many).len(), TOOLS_MAX);
        let long = "é".repeat(DESCRIPTION_BYTES_MAX);
        let huge = json!({"name": "h", "inputSchema": {"x": "y".repeat(SCHEMA_BYTES_MAX)}});
        let found = listed(vec![
            told(json!({"name": "l", "description": long, "inputSchema": {}})),
            told(huge),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].description.len() <= DESCRIPTION_BYTES_MAX);
        assert_eq!(found[0].schema, r#"{"properties":{},"type":"object"}"#);
    }

    #[test]
    fn the_settings_say_which_tools_are_offered() {
        let tool = listed(vec![told(json!({"name": "a", "inputSchema": {}}))]).remove(0);
        let with = |allow: Option<Vec<String>>, deny: Vec<String>| {
            tool.is_offered(&ServerSettings { allow, deny, ..settings(false) })
        };
        assert!(with(None, vec![]) && with(Some(vec!["a".into()]), vec![]));
        assert!(!with(Some(vec!["b".into()]), vec![]) && !with(None, vec!["a".into()]));
        assert!(!with(Some(vec!["a".into()]), vec!["a".into()]));
    }
}
