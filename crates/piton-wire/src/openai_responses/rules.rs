//! Checks a request body against the sequence rules of this API.
//!
//! Independent of how bodies are made: tests and the simulator hold the one against the other. It
//! finds; it mends nothing. Every finding begins with the id of its rule.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Longest call id, in bytes.
const CALL_ID_BYTES_MAX: usize = 64;
/// Longest name of a tool, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// Fewest tokens of an answer that can be asked for.
const MAX_OUTPUT_TOKENS_MIN: u64 = 16;

/// What the root of a schema of parameters cannot have.
const ROOT_WORDS: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];

/// What the Codex backend is known to take.
const CODEX_PARAMETERS: [&str; 15] = [
    "client_metadata",
    "include",
    "input",
    "instructions",
    "model",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "text",
    "tool_choice",
    "tools",
];

#[derive(Debug, Default)]
struct Checker {
    found: Vec<String>,
    ids: BTreeSet<String>,
    calls: BTreeSet<String>,
    outputs: BTreeMap<String, usize>,
    stateless: bool,
}

/// Finds all violations of a body for the public API.
pub fn violations(body: &Value) -> Vec<String> {
    let mut checker = Checker {
        stateless: body.get("store").and_then(Value::as_bool) == Some(false),
        ..Checker::default()
    };
    let items = body.get("input").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    // The short form: one message of the user.
    let is_text = body.get("input").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if items.is_empty() && !is_text {
        checker.found.push("R-INPUT: the input is empty".into());
    }
    for (at, item) in items.iter().enumerate() {
        checker.check_id(at, item);
        match kind(item) {
            "message" => checker.check_message(at, item),
            "function_call" | "custom_tool_call" => checker.check_call(at, item),
            "function_call_output" | "custom_tool_call_output" => checker.check_output(at, item),
            "reasoning" => checker.check_reasoning(at, item, items.get(at + 1)),
            "item_reference" if checker.stateless => {
                checker.report("R-STATELESS-REF", at, "a reference to what is not stored");
            }
            _ => {}
        }
    }
    checker.check_answered();
    checker.check_request(body);
    if text(body, "model").contains("deepseek") {
        checker.check_contiguous(items);
    }
    checker.found
}

/// Finds all violations of a body for the Codex backend.
pub fn codex_violations(body: &Value) -> Vec<String> {
    let mut found = violations(body);
    let mut check = |broken: bool, what: &str| {
        if broken {
            found.push(what.to_owned());
        }
    };
    let flag = |key: &str| body.get(key).and_then(Value::as_bool);
    check(flag("store") != Some(false), "X-STORE: store must be false");
    check(flag("stream") != Some(true), "X-STREAM: stream must be true");
    check(
        text(body, "instructions").trim().is_empty(),
        "X-INSTRUCTIONS: instructions are required",
    );
    let items = body.get("input").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let system = items.iter().any(|item| text(item, "role") == "system");
    check(system, "X-SYSTEM: a system message in the input");
    for key in body.as_object().into_iter().flat_map(|body| body.keys()) {
        if !CODEX_PARAMETERS.contains(&key.as_str()) {
            check(true, &format!("X-PARAM: unsupported parameter {key}"));
        }
    }
    found
}

impl Checker {
    fn report(&mut self, rule: &str, at: usize, what: &str) {
        self.found.push(format!("{rule}: input[{at}]: {what}"));
    }

    fn check_id(&mut self, at: usize, item: &Value) {
        let id = text(item, "id");
        if id.is_empty() || kind(item) == "item_reference" {
            return;
        }
        if !self.ids.insert(id.to_owned()) {
            self.report("R-DUP-ITEM", at, "an item id appears twice");
        }
        let prefix = match kind(item) {
            "message" => "msg",
            "function_call" => "fc",
            "custom_tool_call" => "ctc",
            "reasoning" => "rs",
            _ => "",
        };
        if !id.starts_with(prefix) {
            self.report("R-ID-PREFIX", at, "an id without the prefix of its type");
        }
    }

    fn check_message(&mut self, at: usize, item: &Value) {
        let role = text(item, "role");
        if !["user", "assistant", "system", "developer"].contains(&role) {
            self.report("R-ROLE", at, "no such role");
        }
        let parts = item.get("content").and_then(Value::as_array);
        for part in parts.map_or(&[][..], Vec::as_slice) {
            let is_output = ["output_text", "refusal"].contains(&text(part, "type"));
            let is_input =
                ["input_text", "input_image", "input_file"].contains(&text(part, "type"));
            if (role == "assistant" && !is_output) || (role != "assistant" && !is_input) {
                self.report("R-PARTTYPE", at, "a part that its role cannot have");
            }
        }
    }

    fn check_call(&mut self, at: usize, item: &Value) {
        let id = text(item, "call_id");
        if id.is_empty() || CALL_ID_BYTES_MAX < id.len() {
            self.report("R-CALLID", at, "a call id is missing or too long");
        }
        if !is_name(text(item, "name")) {
            self.report("R-NAME", at, "a name outside the allowed pattern");
        }
        if !self.calls.insert(id.to_owned()) {
            self.report("R-DUP-CALL", at, "a call appears twice");
        }
    }

    fn check_output(&mut self, at: usize, item: &Value) {
        let id = text(item, "call_id");
        if self.outputs.insert(id.to_owned(), at).is_some() {
            self.report("R-DUP-OUTPUT", at, "a call is answered twice");
        } else if !self.calls.contains(id) {
            self.report("R-ORPHAN-OUTPUT", at, "an output without its call before it");
        }
    }

    fn check_reasoning(&mut self, at: usize, item: &Value, next: Option<&Value>) {
        let follows = next.is_some_and(|next| match kind(next) {
            "message" => text(next, "role") == "assistant",
            "function_call_output" | "custom_tool_call_output" => false,
            _ => true,
        });
        let stored = !self.stateless && !text(item, "id").is_empty();
        let unnamed = next.is_some_and(|next| text(next, "id").is_empty());
        if !follows || (stored && unnamed) {
            self.report("R-REASONING-FOLLOW", at, "reasoning without the item that it led to");
        }
        if self.stateless && text(item, "encrypted_content").is_empty() {
            self.report("R-STATELESS-REF", at, "reasoning without its encrypted content");
        }
    }

    fn check_answered(&mut self) {
        for id in &self.calls {
            if !self.outputs.contains_key(id) {
                self.found.push(format!("R-CALL-NO-OUTPUT: no output for {id}"));
            }
        }
    }

    fn check_request(&mut self, body: &Value) {
        let tools = body.get("tools").and_then(Value::as_array);
        for (at, tool) in tools.map_or(&[][..], Vec::as_slice).iter().enumerate() {
            if text(tool, "type") != "function" {
                continue;
            }
            if !is_name(text(tool, "name")) {
                self.found.push("R-NAME: a tool's name outside the allowed pattern".into());
            }
            if !tool.get("parameters").is_none_or(is_schema) {
                self.found.push(format!("R-SCHEMA: tools[{at}]: {}", text(tool, "name")));
            }
        }
        let tokens = body.get("max_output_tokens").and_then(Value::as_u64);
        if tokens.is_some_and(|tokens| tokens < MAX_OUTPUT_TOKENS_MIN) {
            self.found.push("R-MAXTOK: fewer output tokens than can be asked for".into());
        }
    }

    fn check_contiguous(&mut self, items: &[Value]) {
        let mut open = BTreeSet::new();
        let mut interrupted = false;
        for (at, item) in items.iter().enumerate() {
            match kind(item) {
                "function_call" => {
                    if interrupted && !open.is_empty() {
                        self.report("D-RESP-CONTIGUOUS", at, "a call apart from those of its step");
                    }
                    open.insert(text(item, "call_id"));
                    interrupted = false;
                }
                "function_call_output" => {
                    open.remove(text(item, "call_id"));
                }
                _ => interrupted = !open.is_empty(),
            }
        }
    }
}

/// An item with a role and no type is a message.
fn kind(item: &Value) -> &str {
    match text(item, "type") {
        "" if item.get("role").is_some() => "message",
        kind => kind,
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Whether parameters may be described so. Nothing at all means that there are none.
fn is_schema(schema: &Value) -> bool {
    let Value::Object(root) = schema else { return schema.is_null() };
    let is_plain = !ROOT_WORDS.iter().any(|word| root.contains_key(*word));
    root.is_empty() || (is_plain && text(schema, "type") == "object")
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(fits)
}
