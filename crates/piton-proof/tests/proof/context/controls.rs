//! What is done wrong on purpose: each must be seen in the figures.

use std::collections::BTreeMap;

use piton_core::transcript::SUMMARY_HEADING;
use serde_json::{Value, json};

use super::facts::{Fact, hash};

/// Tokens that a request for a summary allows for thoughts.
const ALLOWANCE_TOKENS: u64 = 8_192;
/// Of a hundred facts, how many fade each time that a summary is made from the last one.
const FADED_PERCENT: u64 = 20;

/// A mistake, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Control {
    #[default]
    None,
    /// The summary comes without what the journal knows.
    NoJournalPart,
    /// Each summary is made from the one before.
    SecondHand,
    /// `recall` is not offered.
    NoRecall,
    /// The oldest message of a user stands last.
    OldestMessageLast,
    /// A call is left out, and its result stays.
    CutBetween,
    /// Nobody knows the window.
    TriggerOff,
    /// The history is not said to be data.
    NoFence,
    /// A model that thinks gets no room for that.
    NoAllowance,
    /// A summary takes as much room as what it stands for.
    NoShrinkCheck,
}

impl Control {
    pub(crate) fn cuts_calls(self) -> bool {
        self == Self::CutBetween
    }

    /// The body as it arrives. Bodies are Anthropic's where something is changed.
    pub(crate) fn tamper(self, body: Vec<u8>, fading: &mut Fading) -> Vec<u8> {
        if matches!(self, Self::None | Self::NoRecall | Self::TriggerOff) {
            return body;
        }
        let mut value: Value = serde_json::from_slice(&body).unwrap();
        self.change(&mut value, fading);
        serde_json::to_vec(&value).unwrap()
    }

    fn change(self, body: &mut Value, fading: &mut Fading) {
        let asks_for_summary = body["tools"].as_array().is_none_or(Vec::is_empty);
        if self == Self::NoAllowance && asks_for_summary {
            let most = body["max_tokens"].as_u64().unwrap_or_default();
            body["max_tokens"] = json!(most.saturating_sub(ALLOWANCE_TOKENS).max(1));
        }
        let messages = body["messages"].as_array_mut().unwrap();
        let text = text_of(&messages[0]).to_owned();
        let is_summary = text.starts_with(SUMMARY_HEADING);
        match self {
            Self::NoFence if asks_for_summary => {
                let is_fence = |line: &&str| !line.starts_with("```");
                let open: Vec<&str> = text.lines().filter(is_fence).collect();
                set_text(&mut messages[0], open.join("\n"));
            }
            Self::NoJournalPart if is_summary => {
                let model = text.find("## 1").map(|place| &text[place..]).unwrap_or_default();
                set_text(&mut messages[0], format!("{SUMMARY_HEADING}\n\n{model}"));
            }
            Self::NoShrinkCheck if !asks_for_summary => {
                let size = size_of(messages);
                let lacking = fading.largest.saturating_sub(size);
                if is_summary {
                    set_text(
                        &mut messages[0],
                        format!("{text}\n{}", "and so on ".repeat(lacking / 10)),
                    );
                }
                fading.largest = fading.largest.max(size);
            }
            Self::SecondHand if is_summary => set_text(&mut messages[0], fading.fade(&text)),
            Self::OldestMessageLast if is_summary => {
                let oldest = json!([{ "type": "text", "text": "WORK 1 50. Look at everything." }]);
                messages.push(json!({ "role": "user", "content": oldest }));
            }
            Self::CutBetween if is_summary => {
                let place = messages.iter().position(|it| it["role"] == "assistant");
                place.map(|place| messages.remove(place));
            }
            _ => {}
        }
    }
}

/// What is left of facts when each summary is made from the last one.
#[derive(Debug, Default)]
pub(crate) struct Fading {
    last: String,
    summaries: u64,
    /// In which summary a fact stood first.
    since: BTreeMap<Fact, u64>,
    /// Letters of the largest request so far.
    largest: usize,
}

impl Fading {
    fn fade(&mut self, text: &str) -> String {
        if self.last != text {
            self.last = text.to_owned();
            self.summaries += 1;
        }
        let mut kept = Vec::new();
        for line in text.lines() {
            let words = line.split([' ', '.', ',']);
            let Some(fact) = words.into_iter().find_map(Fact::of_key) else {
                kept.push(line);
                continue;
            };
            let since = *self.since.entry(fact).or_insert(self.summaries);
            let fades = |round: u64| hash(&format!("{fact} {round}")) % 100 < FADED_PERCENT;
            if !(since..self.summaries).any(fades) {
                kept.push(line);
            }
        }
        kept.join("\n")
    }
}

fn size_of(messages: &[Value]) -> usize {
    messages.iter().map(|message| message.to_string().len()).sum()
}

fn text_of(message: &Value) -> &str {
    message["content"][0]["text"].as_str().or(message["content"].as_str()).unwrap_or_default()
}

fn set_text(message: &mut Value, text: String) {
    let place = match &mut message["content"] {
        Value::Array(parts) => &mut parts[0]["text"],
        content => content,
    };
    *place = Value::String(text);
}
