//! What the service rejects: a checker of request bodies, apart from how they are made.
//!
//! Reads the finished JSON and nothing else, so that it cannot share a mistake with the encoder.
//! Tests and the simulator hold every body against it. Messages begin with the id of the rule.

mod block;
mod found;
mod settings;
mod turns;

use serde_json::Value;

use self::block::{Block, is_letter, is_tool_name};
use self::found::Found;

/// Everything that the service would reject in a body, each beginning with the id of its rule.
pub fn violations(body: &Value) -> Vec<String> {
    let mut found = Found::default();
    let messages = body.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if messages.is_empty() {
        found.add("EMPTY", "messages", "at least one message is required");
    }
    for (at, message) in messages.iter().enumerate() {
        check_message(&mut found, message, &Place { at, last: at + 1 == messages.len() });
    }
    let turns = turns::merged(messages);
    turns::check(&mut found, &turns);
    turns::check_end(&mut found, body, &turns);
    settings::check(&mut found, body, &turns);
    found.all()
}

/// Where a message stands.
struct Place {
    at: usize,
    last: bool,
}

fn check_message(found: &mut Found, message: &Value, place: &Place) {
    let at = format!("messages.{}", place.at);
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    if !matches!(role, "user" | "assistant" | "system") || (role == "system" && place.at == 0) {
        found.add("A-ROLE", &at, &format!("role `{role}`"));
        return;
    }
    let blocks = Block::all(message.get("content"));
    let is_empty = blocks.is_empty() || message.get("content").and_then(Value::as_str) == Some("");
    if is_empty {
        if !(place.last && role == "assistant") {
            found.add("A-EMPTY-CONTENT", &at, "all messages must have non-empty content");
        }
        return;
    }
    for (index, block) in blocks.iter().enumerate() {
        check_block(found, role, block, &format!("{at}.content.{index}"));
    }
}

fn check_block(found: &mut Found, role: &str, block: &Block<'_>, at: &str) {
    let own = match block.kind {
        "tool_use" | "server_tool_use" | "mcp_tool_use" | "thinking" | "redacted_thinking" => {
            "assistant"
        }
        "tool_result" => "user",
        _ => role,
    };
    if own != role {
        found.add("A-ROLE-BLOCK", at, &format!("`{}` in a message of {role}", block.kind));
    }
    let marked = block.value.get("cache_control").is_some_and(|mark| !mark.is_null());
    match block.kind {
        "text" if is_white(block.text()) => {
            found.add("A-EMPTY-TEXT", at, "text content blocks must be non-empty");
            if marked {
                found.add("A-CACHE-TARGET", at, "cache_control on empty text");
            }
        }
        "tool_use" => check_call(found, block, at),
        "server_tool_use" => {
            let fits =
                |rest: &str| !rest.is_empty() && rest.bytes().all(|it| is_letter(it) && it != b'-');
            if !block.string("id").strip_prefix("srvtoolu_").is_some_and(fits) {
                found.add("A-ID-PATTERN", at, "id does not fit `^srvtoolu_[a-zA-Z0-9_]+$`");
            }
        }
        "thinking" | "redacted_thinking" => {
            let proof = if block.kind == "thinking" { "signature" } else { "data" };
            if block.string(proof).is_empty() {
                found.add("A-THINKING-SIG", at, &format!("no {proof}"));
            }
            if marked {
                found.add("A-CACHE-TARGET", at, "cache_control on a thought");
            }
        }
        "tool_result" => check_result(found, block, at),
        _ => {}
    }
}

fn check_call(found: &mut Found, block: &Block<'_>, at: &str) {
    let id = block.string("id");
    if id.is_empty() || !id.bytes().all(is_letter) {
        found.add("A-ID-PATTERN", at, &format!("id `{id}` does not fit `^[a-zA-Z0-9_-]+$`"));
    }
    if !is_tool_name(block.string("name")) {
        found.add("A-TOOL-NAME", at, &format!("name `{}`", block.string("name")));
    }
    if !block.value.get("input").is_some_and(Value::is_object) {
        found.add("SHAPE", at, "input should be an object");
    }
}

fn check_result(found: &mut Found, block: &Block<'_>, at: &str) {
    let content = block.value.get("content");
    let blocks = Block::all(content);
    let is_empty = blocks.is_empty() || content.and_then(Value::as_str) == Some("");
    if block.value.get("is_error") == Some(&Value::Bool(true)) && is_empty {
        found.add("A-ERR-RESULT-EMPTY", at, "content cannot be empty if `is_error` is true");
    }
    let inner = content.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if inner.iter().map(Block::of).any(|block| block.kind == "text" && block.text().is_empty()) {
        found.add("A-EMPTY-TEXT", at, "text content blocks must be non-empty");
    }
}

/// White space as the service sees it: ours, and four separators of old.
fn is_white(text: &str) -> bool {
    text.chars().all(|it| it.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&it))
}
