//! What Anthropic says of a request that breaks a rule.
//!
//! Positions are those of turns: the service merges neighbours of one role before it counts.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::serve::asked::{list, number_behind, text};

/// Neighbouring messages of one role.
#[derive(Debug)]
pub(super) struct Turn {
    is_model: bool,
    pub(super) blocks: Vec<Value>,
}

impl Turn {
    fn ids(&self, kind: &str, field: &str) -> Vec<String> {
        let blocks = self.blocks.iter().filter(|block| text(block, "type") == kind);
        blocks.map(|block| text(block, field).to_owned()).collect()
    }
}

/// The turns of a body.
pub(super) fn turns(body: &Value) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in list(body, "messages") {
        let is_model = text(message, "role") == "assistant";
        let said = message.get("content").and_then(Value::as_str);
        let said = said.map(|said| json!({ "type": "text", "text": said }));
        let blocks = said.into_iter().chain(list(message, "content").iter().cloned());
        match turns.last_mut() {
            Some(turn) if turn.is_model == is_model => turn.blocks.extend(blocks),
            Some(_) | None => turns.push(Turn { is_model, blocks: blocks.collect() }),
        }
    }
    turns
}

/// A finding in the service's words.
pub(super) fn wording(finding: &str, body: &Value) -> String {
    let (rule, rest) = finding.split_once(' ').unwrap_or((finding, ""));
    let (at, why) = rest.split_once(": ").unwrap_or(("messages", rest));
    let turns = turns(body);
    let turn = number_behind(finding, "turn ").unwrap_or(0);
    let place = Place { turns: &turns, turn };
    match rule {
        "A-TOOLUSE-NO-RESULT" | "A-TRAILING-TOOLUSE" => place.unanswered(&place.unanswered_ids()),
        "A-AFTER-TOOLUSE" => place.unanswered(&place.ids(0, "tool_use", "id")),
        "A-ORPHAN-RESULT" => place.orphan(),
        "A-DUP-RESULT" => place.twice(),
        "A-RESULT-NOT-FIRST" => format!(
            "messages.{turn}: Did not find {} `tool_result` block(s) at the beginning of this \
             message. Messages following `tool_use` blocks must begin with a matching number of \
             `tool_result` blocks.",
            place.ids(0, "tool_result", "tool_use_id").len()
        ),
        "A-DUP-ID" => format!("messages.{turn}: `tool_use` ids must be unique"),
        "A-ID-PATTERN" => {
            format!("{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        }
        "A-TOOL-NAME" if why.contains("unique") => "tools: Tool names must be unique.".into(),
        "A-TOOL-NAME" => {
            format!("{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        }
        "A-TOOL-SCHEMA" => format!(
            "{at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the \
             top level"
        ),
        "A-EMPTY-TEXT" => "messages: text content blocks must be non-empty".into(),
        "A-EMPTY-CONTENT" => format!(
            "{at}: all messages must have non-empty content except for the optional final \
             assistant message"
        ),
        "A-PREFILL-WS" => {
            "messages: final assistant content cannot end with trailing whitespace".into()
        }
        "A-PREFILL-UNSUPPORTED" => "This model does not support assistant message prefill. The \
             conversation must end with a user message."
            .into(),
        "A-THINKING-FIRST" => "messages.1.content.0.type: Expected `thinking` or \
             `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final \
             `assistant` message must start with a thinking block."
            .into(),
        "A-THINKING-SIG" => format!("{at}.thinking.signature: Field required"),
        "A-THINKING-TOOLCHOICE" => {
            "Thinking may not be enabled when tool_choice forces tool use.".into()
        }
        "A-CACHE-4" => "A maximum of 4 blocks with cache_control may be provided.".into(),
        "SHAPE" if at == "max_tokens" => "max_tokens: Field required".into(),
        _ => format!("{at}: {why}"),
    }
}

/// A turn among others.
struct Place<'a> {
    turns: &'a [Turn],
    turn: usize,
}

impl Place<'_> {
    /// A field of all blocks of a kind, so many turns further on.
    fn ids(&self, further: usize, kind: &str, field: &str) -> Vec<String> {
        self.turns.get(self.turn + further).map(|turn| turn.ids(kind, field)).unwrap_or_default()
    }

    fn unanswered_ids(&self) -> Vec<String> {
        let answered = self.ids(1, "tool_result", "tool_use_id");
        let calls = self.ids(0, "tool_use", "id").into_iter();
        calls.filter(|call| !answered.contains(call)).collect()
    }

    fn unanswered(&self, ids: &[String]) -> String {
        format!(
            "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately \
             after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the \
             next message.",
            self.turn,
            ids.join(", ")
        )
    }

    /// The first result of the turn for which this holds, with its position.
    fn result(&self, mut is_it: impl FnMut(&str) -> bool) -> (usize, String) {
        let blocks = self.turns.get(self.turn).map_or(&[][..], |turn| turn.blocks.as_slice());
        let results = blocks.iter().enumerate();
        let mut results = results.filter(|(_, block)| text(block, "type") == "tool_result");
        let found = results.find(|(_, block)| is_it(text(block, "tool_use_id")));
        found.map_or((0, String::new()), |(at, block)| (at, text(block, "tool_use_id").to_owned()))
    }

    fn orphan(&self) -> String {
        let before = self.turn.checked_sub(1).and_then(|before| self.turns.get(before));
        let calls = before.map(|before| before.ids("tool_use", "id")).unwrap_or_default();
        let (at, id) = self.result(|id| !calls.iter().any(|call| call == id));
        format!(
            "messages.{}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: \
             {id}. Each `tool_result` block must have a corresponding `tool_use` block in the \
             previous message.",
            self.turn
        )
    }

    fn twice(&self) -> String {
        let mut seen = BTreeSet::new();
        let (at, id) = self.result(|id| !seen.insert(id.to_owned()));
        format!(
            "messages.{}.content.{at}: each tool_use must have a single result. Found multiple \
             `tool_result` blocks with id: {id}",
            self.turn
        )
    }
}
