//! Checks a request body against the rules that servers hold it to.
//!
//! Knows nothing of how bodies are made: it reads JSON, as a server does. Every finding begins with
//! the name of its rule. It finds; it mends nothing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Flavour;
use super::spelling::{MISTRAL_ID_CHARS, ROUTER_ID_CHARS_MAX, is_object};

/// Longest id of a call, in characters.
const ID_CHARS_MAX: usize = 40;
/// Longest function name.
const NAME_BYTES_MAX: usize = 64;

/// What the root of a schema of parameters cannot have.
const ROOT_WORDS: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];

/// Finds what breaks the rules that all servers share.
pub fn violations(body: &Value) -> Vec<String> {
    let mut found = Found::default();
    let messages = list(&body["messages"]);
    if messages.is_empty() {
        found.add("C-CONTENT", "messages is empty");
    }
    for (at, message) in messages.iter().enumerate() {
        found.message(at, message);
    }
    found.order(messages);
    found.frame(body);
    found.0
}

/// Finds what breaks the shared rules or those of one flavour.
pub fn flavour_violations(body: &Value, flavour: Flavour) -> Vec<String> {
    let mut found = Found(violations(body));
    let messages = list(&body["messages"]);
    let longest = match flavour {
        Flavour::OpenRouter => ROUTER_ID_CHARS_MAX,
        Flavour::OpenAi | Flavour::DeepSeek | Flavour::Mistral | Flavour::Local => ID_CHARS_MAX,
    };
    for (at, message) in messages.iter().enumerate() {
        for call in list(&message["tool_calls"]) {
            let id = call["id"].as_str().unwrap_or_default();
            if longest < id.chars().count() {
                found.add("C-ID-LEN", &format!("messages[{at}]: {id}"));
            }
        }
    }
    found.alternation(messages);
    match flavour {
        Flavour::DeepSeek => found.deepseek(body, messages),
        Flavour::Mistral => found.mistral(messages),
        Flavour::OpenAi | Flavour::OpenRouter | Flavour::Local => {}
    }
    found.0
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

fn name_fits(name: &Value) -> bool {
    name.as_str().is_some_and(|name| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(fits)
    })
}

/// Parameters that are not there, and a schema that says nothing, mean a function without any.
fn schema_fits(schema: &Value) -> bool {
    let Value::Object(root) = schema else { return schema.is_null() };
    let is_plain = !ROOT_WORDS.iter().any(|word| root.contains_key(*word));
    root.is_empty() || (is_plain && schema["type"] == "object")
}

#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    fn add(&mut self, rule: &str, what: &str) {
        self.0.push(format!("{rule}: {what}"));
    }

    fn message(&mut self, at: usize, message: &Value) {
        let place = format!("messages[{at}]");
        let calls = &message["tool_calls"];
        let content = &message["content"];
        let parts: &[&str] = match role(message) {
            "user" => &["text", "image_url", "input_audio", "file"],
            "assistant" => &["text", "refusal"],
            "system" | "developer" | "tool" => &["text"],
            _ => {
                self.add("C-CONTENT", &format!("{place} has no known role"));
                return;
            }
        };
        for part in list(content) {
            if !part["type"].as_str().is_some_and(|kind| parts.contains(&kind)) {
                self.add("C-PARTTYPE", &format!("{place}: {}", part["type"]));
            }
        }
        let blank = match content {
            Value::String(text) => text.is_empty(),
            Value::Array(parts) => parts.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
        };
        if blank && list(calls).is_empty() {
            self.add("C-CONTENT", &format!("{place} has no content"));
        }
        if calls.as_array().is_some_and(Vec::is_empty) {
            self.add("C-EMPTY-TOOLCALLS", &place);
        }
        self.calls(&place, list(calls));
    }

    fn calls(&mut self, place: &str, calls: &[Value]) {
        let mut seen = BTreeSet::new();
        for call in calls {
            let id = call["id"].as_str().unwrap_or_default();
            if id.is_empty() || ROUTER_ID_CHARS_MAX < id.chars().count() {
                self.add("C-ID-LEN", &format!("{place}: {id}"));
            }
            if !seen.insert(id) {
                self.add("C-DUP-ID", &format!("{place}: {id}"));
            }
            let function = &call["function"];
            if !name_fits(&function["name"]) {
                self.add("C-NAME", &format!("{place}: {}", function["name"]));
            }
            if !function["arguments"].as_str().is_some_and(is_object) {
                self.add("C-ARGS-JSON", &format!("{place}: {}", function["arguments"]));
            }
        }
    }

    /// Calls and their results.
    fn order(&mut self, messages: &[Value]) {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        let mut answered: BTreeSet<&str> = BTreeSet::new();
        let end = Value::Null;
        for (at, message) in messages.iter().chain([&end]).enumerate() {
            if role(message) == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if answered.contains(id) {
                    self.add("C-DUP-TOOL", &format!("messages[{at}]: {id}"));
                } else if !open.remove(id) {
                    self.add("C-ORPHAN-TOOL", &format!("messages[{at}]: {id}"));
                }
                answered.insert(id);
                continue;
            }
            for id in &open {
                self.add("C-TOOLCALL-NO-RESULT", &format!("before messages[{at}]: {id}"));
            }
            let ids = list(&message["tool_calls"]).iter().filter_map(|call| call["id"].as_str());
            open = ids.collect();
            answered.clear();
        }
    }

    fn frame(&mut self, body: &Value) {
        let tools = list(&body["tools"]);
        if body["tools"].as_array().is_some_and(Vec::is_empty) {
            self.add("C-EMPTY-TOOLS", "tools is empty");
        }
        let mut names = BTreeSet::new();
        for (at, tool) in tools.iter().enumerate() {
            let function = &tool["function"];
            let name = &function["name"];
            if !name_fits(name) || !names.insert(name.as_str()) {
                self.add("C-NAME", &format!("tools: {name}"));
            }
            if !schema_fits(&function["parameters"]) {
                self.add("C-SCHEMA", &format!("tools[{at}]: {name}"));
            }
        }
        for key in ["tool_choice", "parallel_tool_calls"] {
            if tools.is_empty() && !body[key].is_null() {
                self.add("C-TOOLCHOICE", &format!("{key} without tools"));
            }
        }
        if !body["stream_options"].is_null() && body["stream"] != Value::Bool(true) {
            self.add("C-STREAMOPT", "stream_options without stream");
        }
        if !body["max_tokens"].is_null() && !body["max_completion_tokens"].is_null() {
            self.add("C-MAXTOK", "two limits");
        }
    }

    /// One system message in front; then the user begins, and no role but `tool` comes twice.
    fn alternation(&mut self, messages: &[Value]) {
        let mut before = "";
        for (at, message) in messages.iter().enumerate() {
            let role = role(message);
            let broken = match role {
                "system" | "developer" => 0 < at,
                "user" => before == "user",
                "assistant" => matches!(before, "" | "system" | "developer" | "assistant"),
                _ => false,
            };
            if broken {
                self.add("V-ALTERNATE", &format!("messages[{at}]: {role} after {before}"));
            }
            before = role;
        }
    }

    fn deepseek(&mut self, body: &Value, messages: &[Value]) {
        for (at, message) in messages.iter().enumerate() {
            if role(message) == "assistant" && !message["reasoning_content"].is_string() {
                self.add("D-REASONING", &format!("messages[{at}]"));
            }
            if list(&message["content"]).iter().any(|part| part["type"] != "text") {
                self.add("D-TEXTONLY", &format!("messages[{at}]"));
            }
        }
        let choice = &body["tool_choice"];
        if choice.is_object() || choice == "required" {
            self.add("D-TOOLCHOICE", "a call is forced");
        }
    }

    fn mistral(&mut self, messages: &[Value]) {
        let fits = |id: &str| {
            id.len() == MISTRAL_ID_CHARS && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        for (at, message) in messages.iter().enumerate() {
            for call in list(&message["tool_calls"]) {
                if !call["id"].as_str().is_some_and(fits) {
                    self.add("M-ID", &format!("messages[{at}]: {}", call["id"]));
                }
            }
        }
        let last = messages.last().map(role);
        let prefix = messages.last().is_some_and(|last| last["prefix"] == Value::Bool(true));
        if last == Some("assistant") && !prefix {
            self.add("M-ORDER", "the last message is the model's own");
        }
    }
}
