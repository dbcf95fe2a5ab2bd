//! Rules over turns: calls and their results, order, and how a conversation may end.
//!
//! The service merges neighbours of one role before it looks, and so does this.

use std::collections::BTreeSet;

use serde_json::Value;

use super::block::Block;
use super::found::Found;
use crate::anthropic::model;

/// Neighbouring messages of one role.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) role: &'a str,
    pub(super) blocks: Vec<Block<'a>>,
}

impl<'a> Turn<'a> {
    /// A field of all blocks of a kind.
    fn all(&self, kind: &str, field: &str) -> Vec<&'a str> {
        let blocks = self.blocks.iter().filter(|block| block.kind == kind);
        blocks.map(|block| block.string(field)).collect()
    }

    fn calls(&self) -> Vec<&'a str> {
        self.all("tool_use", "id")
    }

    fn results(&self) -> Vec<&'a str> {
        self.all("tool_result", "tool_use_id")
    }
}

/// Puts messages into turns. System messages in between count for nothing here.
pub(super) fn merged(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in messages {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        if !matches!(role, "user" | "assistant") {
            continue;
        }
        let blocks = Block::all(message.get("content"));
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            Some(_) | None => turns.push(Turn { role, blocks }),
        }
    }
    turns
}

pub(super) fn check(found: &mut Found, turns: &[Turn<'_>]) {
    let mut before = None;
    for (at, turn) in turns.iter().enumerate() {
        let place = format!("turn {at}");
        if turn.role == "assistant" {
            check_answer(found, turn, turns.get(at + 1), &place);
        } else {
            check_said(found, turn, before, &place);
        }
        before = Some(turn);
    }
}

fn check_answer(found: &mut Found, turn: &Turn<'_>, next: Option<&Turn<'_>>, at: &str) {
    let calls = turn.calls();
    let unique: BTreeSet<&str> = calls.iter().copied().collect();
    if unique.len() < calls.len() {
        found.add("A-DUP-ID", at, "`tool_use` ids must be unique");
    }
    match next {
        None if !calls.is_empty() => {
            found.add("A-TRAILING-TOOLUSE", at, "ends on a `tool_use` without its `tool_result`");
        }
        Some(next) if !unique.iter().all(|call| next.results().contains(call)) => {
            found.add("A-TOOLUSE-NO-RESULT", at, "`tool_use` without `tool_result` behind it");
        }
        Some(_) | None => {}
    }
    let behind = turn.blocks.iter().skip_while(|block| block.kind != "tool_use");
    if behind.into_iter().any(|block| block.kind == "text" || block.is_thought()) {
        found.add("A-AFTER-TOOLUSE", at, "text or thinking follows a `tool_use`");
    }
    check_server_tools(found, turn, next.is_some() && calls.is_empty(), at);
}

fn check_server_tools(found: &mut Found, turn: &Turn<'_>, must_be_closed: bool, at: &str) {
    let mut open = BTreeSet::new();
    let mut known = BTreeSet::new();
    for block in &turn.blocks {
        if matches!(block.kind, "server_tool_use" | "mcp_tool_use") {
            known.insert(block.string("id"));
            open.insert(block.string("id"));
        } else if block.kind.ends_with("_tool_result") {
            let call = block.string("tool_use_id");
            open.remove(call);
            if !known.contains(call) {
                found.add("A-SERVER-PAIR", at, &format!("`{}` without its call", block.kind));
            }
        }
    }
    if must_be_closed && !open.is_empty() {
        found.add("A-SERVER-PAIR", at, "a server tool without its result");
    }
}

fn check_said(found: &mut Found, turn: &Turn<'_>, before: Option<&Turn<'_>>, at: &str) {
    let calls = before.map(Turn::calls).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for result in turn.results() {
        if !calls.contains(&result) {
            found.add("A-ORPHAN-RESULT", at, &format!("no call `{result}` in the turn before"));
        } else if !seen.insert(result) {
            found.add("A-DUP-RESULT", at, &format!("more than one result for `{result}`"));
        }
    }
    let mut rest = turn.blocks.iter().skip_while(|block| block.kind == "tool_result");
    if rest.any(|block| block.kind == "tool_result") {
        found.add("A-RESULT-NOT-FIRST", at, "something stands before a `tool_result`");
    }
}

/// A conversation that ends with the model's own words.
pub(super) fn check_end(found: &mut Found, body: &Value, turns: &[Turn<'_>]) {
    let Some(turn) = turns.last().filter(|turn| turn.role == "assistant") else { return };
    let thinking = body.get("thinking").and_then(|it| it.get("type")).and_then(Value::as_str);
    let thinks = thinking.is_some_and(|kind| kind != "disabled");
    let paused = turn.blocks.iter().any(|block| block.kind.starts_with("server_tool"));
    if !turn.calls().is_empty() || paused {
        return;
    }
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    if thinks || !model::takes_prefill(model) {
        found.add("A-PREFILL-UNSUPPORTED", "messages", "must end with a user message");
    }
    if !thinks && turn.blocks.iter().any(Block::is_thought) {
        found.add("(reverse)", "messages", "thinking is disabled, but the final message has it");
    }
    let text = turn.blocks.last().filter(|block| block.kind == "text").map(Block::text);
    if text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        found.add("A-PREFILL-WS", "messages", "final text ends with white space");
    }
}

/// The first block of the tool loop that the next answer continues, if one is open.
pub(super) fn open_loop<'a>(turns: &'a [Turn<'a>]) -> Option<&'a Block<'a>> {
    turns.last().filter(|turn| turn.role == "user" && !turn.results().is_empty())?;
    let fresh = |turn: &Turn<'_>| turn.role == "user" && turn.results().is_empty();
    let begin = turns.iter().rposition(fresh).map_or(0, |at| at + 1);
    turns.iter().skip(begin).find(|turn| turn.role == "assistant")?.blocks.first()
}
