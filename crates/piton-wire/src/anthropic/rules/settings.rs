//! Rules over the frame of a request: thinking, tools, cache marks.

use std::collections::BTreeSet;

use serde_json::Value;

use super::block::{Block, is_tool_name};
use super::found::Found;
use super::turns::{self, Turn};
use crate::anthropic::model::BUDGET_TOKENS_MIN;

/// Most cache marks in a request.
const CACHE_MARKS_MAX: usize = 4;

pub(super) fn check(found: &mut Found, body: &Value, turns: &[Turn<'_>]) {
    if !body.get("max_tokens").is_some_and(Value::is_u64) {
        found.add("SHAPE", "max_tokens", "required");
    }
    check_thinking(found, body, turns);
    check_tools(found, body);
    check_marks(found, body, turns);
}

fn check_thinking(found: &mut Found, body: &Value, turns: &[Turn<'_>]) {
    let field = |name: &str| body.get(name).filter(|value| !value.is_null());
    let thinking = field("thinking");
    let kind = thinking.and_then(|it| it.get("type")).and_then(Value::as_str).unwrap_or_default();
    let choice = field("tool_choice").and_then(|it| it.get("type")).and_then(Value::as_str);
    if matches!(kind, "enabled" | "adaptive") && matches!(choice, Some("any" | "tool")) {
        found.add("A-THINKING-TOOLCHOICE", "tool_choice", "thinking with a forced tool");
    }
    if kind != "enabled" {
        return;
    }
    let budget = thinking.and_then(|it| it.get("budget_tokens")).and_then(Value::as_u64);
    let most = body.get("max_tokens").and_then(Value::as_u64).unwrap_or(u64::MAX);
    if !budget.is_some_and(|budget| u64::from(BUDGET_TOKENS_MIN) <= budget && budget < most) {
        found.add("A-THINKING-BUDGET", "thinking", "budget below 1024 or not below max_tokens");
    }
    let warm = field("temperature")
        .and_then(Value::as_f64)
        .is_some_and(|it| it.to_bits() != 1.0_f64.to_bits());
    if warm || field("top_k").is_some() {
        found.add("A-THINKING-SAMPLING", "temperature", "must be 1, without top_k");
    }
    if turns::open_loop(turns).is_some_and(|first| !first.is_thought()) {
        found.add(
            "A-THINKING-FIRST",
            "messages",
            "the open tool loop does not start with a thought",
        );
    }
}

fn check_tools(found: &mut Found, body: &Value) {
    let tools = body.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut names = BTreeSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let at = format!("tools.{at}");
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if !is_tool_name(name) {
            found.add("A-TOOL-NAME", &at, &format!("name `{name}`"));
        }
        if !names.insert(name) {
            found.add("A-TOOL-NAME", &at, "tool names must be unique");
        }
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or("custom");
        let root = tool.get("input_schema").and_then(|schema| schema.get("type"));
        if kind == "custom" && root.and_then(Value::as_str) != Some("object") {
            found.add("SHAPE", &at, "input_schema.type should be `object`");
        }
        let has = |word: &&str| tool.get("input_schema").is_some_and(|it| it.get(word).is_some());
        if let Some(word) = ["oneOf", "allOf", "anyOf"].into_iter().find(has) {
            found.add("A-TOOL-SCHEMA", &at, &format!("`{word}` at the root of input_schema"));
        }
    }
}

fn check_marks(found: &mut Found, body: &Value, turns: &[Turn<'_>]) {
    let tools = body.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let system = Block::all(body.get("system"));
    for (at, block) in system.iter().enumerate() {
        if block.kind == "text" && block.text().is_empty() {
            found.add("A-EMPTY-TEXT", &format!("system.{at}"), "must be non-empty");
        }
    }
    let blocks: Vec<Block<'_>> =
        turns.iter().flat_map(|turn| turn.blocks.iter().copied()).collect();
    let inner = blocks.iter().filter(|block| block.kind == "tool_result");
    let inner = inner.flat_map(|block| Block::all(block.value.get("content")));
    let values = tools.iter().chain(system.iter().chain(&blocks).map(|block| block.value));
    let marks: Vec<&Value> = values
        .chain(inner.map(|block| block.value))
        .filter_map(|value| value.get("cache_control"))
        .filter(|mark| !mark.is_null())
        .collect();
    if CACHE_MARKS_MAX < marks.len() {
        found.add("A-CACHE-4", "cache_control", "a maximum of 4 blocks with cache_control");
    }
    let lasting = |mark: &&Value| mark.get("ttl").and_then(Value::as_str) == Some("1h");
    let after = marks.iter().skip_while(|mark| lasting(mark));
    if after.into_iter().any(lasting) {
        found.add("A-CACHE-TARGET", "cache_control", "a mark of 1h stands behind one of 5m");
    }
}
