//! What a server says of its tools, in bounds.

use std::fmt;
use std::sync::Arc;

use piton_core::event::{EffectClass, ToolSpec};
use rmcp::model::ServerResult;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::name::tool_name;
use crate::settings::ServerSettings;
use crate::text::{head, line};

/// Most tools of one server.
const TOOLS_MAX: usize = 256;
/// Longest description that the model reads, in bytes.
const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
/// Largest schema of a tool, in bytes. A larger one would crowd out the conversation.
const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// Where messages over pipes keep what a server says of how a tool is run: the protocol library knows
/// no such field, and would lose it.
pub(crate) const EXECUTION: &str = "piton/execution";
/// Why a tool cannot be called that wants to be a task in the revision before the newest.
const NEEDS_TASK: &str =
    "it can only be called as a task, and its server makes tasks in an older way than piton knows";
/// Most tools that cannot be used and are remembered, and how many of them are told.
const LEFT_OUT_MAX: usize = 256;
const TOLD_MAX: usize = 8;
/// Longest name of such a tool as it is told, in bytes.
const NAME_BYTES_MAX: usize = 80;
/// Why a server has no tools.
const NO_LIST: &str =
    "what it sent is no list, or a tool in it makes no sense and took the others along";

/// A tool as a server told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The server's own name for it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON schema of its arguments, as text.
    pub schema: String,
    /// JSON schema of its structured results, as text, if the server gave one.
    #[serde(default)]
    pub output_schema: Option<String>,
    /// Whether the server says that it changes nothing.
    pub read_only: bool,
    /// Whether the server says that a second run changes nothing more.
    pub idempotent: bool,
}

/// Whether a server makes tasks of calls as piton follows them: by itself, and only in the newest
/// revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tasks {
    /// It may.
    Followed,
    /// A tool that wants to be called as a task cannot be called.
    NotMade,
}

/// What is kept of a server's list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listing {
    /// Tools that can be used.
    pub(crate) tools: Vec<Listed>,
    /// Those that cannot, each with the reason.
    left_out: Vec<LeftOut>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LeftOut {
    name: String,
    why: String,
}

impl Listing {
    /// Adds a part of a list, and says where the next one begins. One tool that makes no sense takes
    /// no other along.
    pub(crate) fn add(
        &mut self,
        page: ServerResult,
        tasks: Tasks,
    ) -> Result<Option<String>, &'static str> {
        let mut page = if let ServerResult::ListToolsResult(page) = page {
            serde_json::to_value(page).map_err(|_| NO_LIST)?
        } else if let ServerResult::CustomResult(page) = page {
            // Tools that keep to the protocol are among others that do not.
            page.0
        } else {
            return Err(NO_LIST);
        };
        let Some(Value::Array(tools)) = page.get_mut("tools").map(Value::take) else {
            return Err(NO_LIST);
        };
        for tool in &tools {
            match one(tool) {
                Ok(kept) if needs_task(tool) && tasks == Tasks::NotMade => {
                    self.leave_out(&kept.name, NEEDS_TASK.into());
                }
                Ok(tool) => self.keep(tool),
                Err(why) => {
                    let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
                    self.leave_out(name, why);
                }
            }
        }
        let next = page.get("nextCursor").and_then(Value::as_str);
        // Some write an empty text where there is none.
        Ok(next.filter(|next| !next.is_empty()).map(ToOwned::to_owned))
    }

    fn keep(&mut self, tool: Listed) {
        match self.tools.iter().find(|kept| kept.name == tool.name) {
            // Told twice.
            Some(kept) if *kept == tool => {}
            Some(_) => self.leave_out(&tool.name, "another tool has its name".into()),
            None if self.tools.len() < TOOLS_MAX => self.tools.push(tool),
            None => self.leave_out(&tool.name, format!("{TOOLS_MAX} tools are the most")),
        }
    }

    pub(crate) fn leave_out(&mut self, name: &str, why: String) {
        if self.left_out.len() < LEFT_OUT_MAX {
            self.left_out.push(LeftOut { name: name.to_owned(), why });
        }
    }

    /// The tools that the settings let the model have.
    pub(crate) fn offered(&self, settings: &ServerSettings) -> Vec<Listed> {
        let offered = self.tools.iter().filter(|tool| is_offered(&tool.name, settings));
        offered.cloned().collect()
    }

    /// What the settings would offer and is not there, each with the reason, in bounds.
    pub(crate) fn left_out(&self, settings: &ServerSettings) -> Vec<String> {
        let wanted = self.left_out.iter().filter(|it| is_offered(&it.name, settings));
        let mut told: Vec<String> = wanted.map(ToString::to_string).collect();
        let more = told.len().saturating_sub(TOLD_MAX);
        told.truncate(TOLD_MAX);
        if 0 < more {
            told.push(format!("{more} more"));
        }
        told
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match line(&self.name, NAME_BYTES_MAX).as_str() {
            "" => write!(f, "one without a name: {}", self.why),
            name => write!(f, "{name}: {}", self.why),
        }
    }
}

/// A tool, if what is needed makes sense. What it says besides may be anything: a hint that makes no
/// sense is none.
fn one(tool: &Value) -> Result<Listed, String> {
    let text = |place: &Value, key: &str| place.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text(tool, "name").filter(|name| !name.is_empty()).ok_or("it has no name")?;
    let schema = schema(tool.get("inputSchema").ok_or("it has no inputSchema")?)?;
    let hints = tool.get("annotations").unwrap_or(&Value::Null);
    let hint = |key: &str| hints.get(key).and_then(Value::as_bool) == Some(true);
    let about = text(tool, "description").or_else(|| text(tool, "title"));
    let about = about.or_else(|| text(hints, "title")).unwrap_or_default();
    Ok(Listed {
        name,
        description: head(&about, DESCRIPTION_BYTES_MAX).to_owned(),
        schema,
        output_schema: tool.get("outputSchema").and_then(output_schema),
        read_only: hint("readOnlyHint"),
        idempotent: hint("idempotentHint"),
    })
}

/// The schema as providers take it: an object with properties. One that they refuse would cost more
/// than the tool: every request of the turn.
fn schema(told: &Value) -> Result<String, String> {
    let mut schema = fields(told).ok_or("its inputSchema is no object")?;
    schema.insert("type".into(), json!("object"));
    let properties = schema.get("properties").map_or_else(|| Some(Map::new()), fields);
    let properties = properties.ok_or("the properties in its inputSchema are no object")?;
    schema.insert("properties".into(), Value::Object(properties));
    if schema.get("required").is_some_and(|required| !required.is_array()) {
        schema.remove("required");
    }
    let text = Value::Object(schema).to_string();
    if SCHEMA_BYTES_MAX < text.len() {
        return Err(format!("its inputSchema has more than {SCHEMA_BYTES_MAX} bytes"));
    }
    Ok(text)
}

/// The schema of results. One that cannot be used is none: it costs a check, and no tool.
fn output_schema(told: &Value) -> Option<String> {
    let text = told.is_object().then(|| told.to_string())?;
    (text.len() <= SCHEMA_BYTES_MAX).then_some(text)
}

/// Whether the tool can only be called as a task, by what the server says of how it is run.
fn needs_task(tool: &Value) -> bool {
    let kept = tool.get("_meta").and_then(|meta| meta.get(EXECUTION));
    let said = tool.get("execution").or(kept).and_then(|said| said.get("taskSupport"));
    said.and_then(Value::as_str) == Some("required")
}

/// The fields of an object. Some languages write an empty one as an empty list.
fn fields(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields.clone()),
        Value::Array(values) if values.is_empty() => Some(Map::new()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

/// Whether the settings let the model have a tool of this name.
fn is_offered(name: &str, settings: &ServerSettings) -> bool {
    let is_named = |names: &[String]| names.iter().any(|it| it == name);
    settings.allow.as_ref().is_none_or(|allow| is_named(allow)) && !is_named(&settings.deny)
}

impl Listed {
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
        ToolSpec::new(
            tool_name(&settings.name, &self.name),
            Arc::from(self.description.as_str()),
            Arc::from(self.schema.as_str()),
            self.effect(settings),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::Expand;
    use crate::settings::{Origin, WrittenServer};

    /// What is kept of a list, read as a message is.
    fn listing(tools: Value) -> Listing {
        let mut listing = Listing::default();
        let page = serde_json::from_value(json!({ "tools": tools })).unwrap();
        assert_eq!(listing.add(page, Tasks::NotMade), Ok(None));
        listing
    }

    fn listed(tools: Value) -> Vec<Listed> {
        listing(tools).tools
    }

    fn left_out(tools: Value) -> Vec<String> {
        listing(tools).left_out(&settings(false))
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
            let found = listed(json!([tool]));
            assert_eq!(found[0].effect(&settings(true)), trusted);
            assert_eq!(found[0].effect(&settings(false)), EffectClass::Once);
        };
        check(json!({"readOnlyHint": true}), EffectClass::ReadOnly);
        check(json!({"idempotentHint": true}), EffectClass::Idempotent);
        check(json!({"readOnlyHint": false}), EffectClass::Once);
        check(json!({}), EffectClass::Once);
        // What makes no sense says nothing, and costs nothing but itself.
        check(json!({"readOnlyHint": "yes"}), EffectClass::Once);
        check(json!("readOnlyHint"), EffectClass::Once);
    }

    #[test]
    fn a_list_is_held_in_bounds_and_says_what_is_missing() {
        let tool = |name: &str| json!({"name": name, "inputSchema": {}});
        let many: Vec<Value> = (0..TOOLS_MAX + 10).map(|n| tool(&format!("t{n}"))).collect();
        assert_eq!(listed(json!(many)).len(), TOOLS_MAX);
        let told = left_out(json!(many));
        assert_eq!(told.len(), TOLD_MAX + 1);
        assert_eq!(
            (told[0].as_str(), told[8].as_str()),
            ("t256: 256 tools are the most", "2 more")
        );
        let long = "é".repeat(DESCRIPTION_BYTES_MAX);
        let long = json!({"name": "l", "description": long, "inputSchema": {}});
        let huge = json!({"name": "h", "inputSchema": {"x": "y".repeat(SCHEMA_BYTES_MAX)}});
        let found = listed(json!([long, huge]));
        assert_eq!(found.len(), 1);
        assert!(found[0].description.len() <= DESCRIPTION_BYTES_MAX);
        assert_eq!(found[0].schema, r#"{"properties":{},"type":"object"}"#);
        assert_eq!(left_out(json!([huge])), ["h: its inputSchema has more than 65536 bytes"]);
    }

    #[test]
    fn the_first_tool_of_a_name_has_it() {
        let tool = |about: &str| json!({"name": "a", "description": about, "inputSchema": {}});
        let twice = json!([tool("one"), tool("one"), tool("two")]);
        assert_eq!(listed(twice.clone())[0].description, "one");
        assert_eq!(left_out(twice), ["a: another tool has its name"]);
    }

    #[test]
    fn a_tool_that_makes_no_sense_takes_no_other_along() {
        let name = format!("a\n{}", "b".repeat(300));
        let told = left_out(json!([
            {"name": "bare"},
            {"name": "good", "inputSchema": {"type": "object"}},
            {"name": "text", "inputSchema": "x"},
            {"name": "", "inputSchema": {}},
            {"name": name},
            {"name": "odd", "inputSchema": {"properties": "x"}},
            7
        ]));
        let long = format!("a {}…: it has no inputSchema", "b".repeat(78));
        assert_eq!(
            told,
            [
                "bare: it has no inputSchema",
                "text: its inputSchema is no object",
                "one without a name: it has no name",
                &long,
                "odd: the properties in its inputSchema are no object",
                "one without a name: it has no name"
            ]
        );
    }

    #[test]
    fn what_is_needed_is_enough() {
        let found = listed(json!([
            {"name": "empty", "inputSchema": [], "icons": 7, "outputSchema": "x", "title": "T"},
            {"name": "list", "inputSchema": {"properties": [], "required": null}, "description": 7},
        ]));
        assert_eq!(found[0].description, "T");
        assert_eq!(found[0].schema, r#"{"properties":{},"type":"object"}"#);
        assert_eq!(found[1].schema, found[0].schema);
    }

    #[test]
    fn a_schema_of_results_is_kept_if_it_can_be_one() {
        let schema = |told: Value| {
            let tool = json!({"name": "t", "inputSchema": {}, "outputSchema": told});
            listed(json!([tool]))[0].output_schema.clone()
        };
        assert_eq!(schema(json!({"type": "object"})).as_deref(), Some(r#"{"type":"object"}"#));
        assert_eq!(schema(json!("x")), None);
        assert_eq!(schema(json!({"x": "y".repeat(SCHEMA_BYTES_MAX)})), None);
    }

    // The newest revision leaves it to the server which calls become tasks, and those are followed.
    #[test]
    fn a_tool_that_has_to_be_a_task_is_offered_only_where_tasks_are_followed() {
        let tool = |how: &str| {
            let meta = json!({EXECUTION: {"taskSupport": how}});
            json!({"name": how, "inputSchema": {}, "_meta": meta})
        };
        let tools = json!([tool("required"), tool("optional"), tool("forbidden")]);
        let names = |tasks| {
            let mut listing = Listing::default();
            let page = serde_json::from_value(json!({ "tools": tools })).unwrap();
            assert_eq!(listing.add(page, tasks), Ok(None));
            listing.tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Tasks::NotMade), ["optional", "forbidden"]);
        assert_eq!(names(Tasks::Followed), ["required", "optional", "forbidden"]);
        assert_eq!(left_out(tools), [format!("required: {NEEDS_TASK}")]);
    }

    #[test]
    fn what_is_no_list_is_said_to_be_none() {
        let add = |page: Value| {
            Listing::default().add(serde_json::from_value(page).unwrap(), Tasks::NotMade)
        };
        assert_eq!(add(json!({"tools": 7})), Err(NO_LIST));
        assert_eq!(add(json!({})), Err(NO_LIST));
        assert_eq!(add(json!({"tools": [], "nextCursor": "n"})), Ok(Some("n".into())));
        assert_eq!(add(json!({"tools": [], "nextCursor": ""})), Ok(None));
        // Every revision says more than the last; nothing of it loses a list.
        let newest = json!({"tools": [{"name": "bare"}], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
        assert_eq!(add(newest), Ok(None));
    }

    #[test]
    fn the_settings_say_which_tools_are_offered_and_missed() {
        let listing = listing(json!([{"name": "a", "inputSchema": {}}, {"name": "b"}]));
        let with = |allow: Option<&str>, deny: &[&str]| {
            let deny = deny.iter().map(|name| (*name).to_owned()).collect();
            let allow = allow.map(|name| vec![name.to_owned()]);
            let settings = ServerSettings { allow, deny, ..settings(false) };
            (!listing.offered(&settings).is_empty(), listing.left_out(&settings).len())
        };
        assert_eq!((with(None, &[]), with(Some("a"), &[])), ((true, 1), (true, 0)));
        assert_eq!((with(Some("b"), &[]), with(None, &["a"])), ((false, 1), (false, 1)));
        assert_eq!((with(Some("a"), &["a"]), with(None, &["b"])), ((false, 0), (true, 0)));
    }
}
