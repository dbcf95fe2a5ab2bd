//! What must come back as it came: encrypted reasoning, and the phase of a message.
//!
//! An answer's reasoning is kept beside it, each item tied to the text or call that it led to. It
//! is sent directly before that text or call, or not at all: reasoning without what followed it is
//! rejected, and so is reasoning from another host. Ids are dropped, because a server that stores
//! nothing cannot find what they name.

use std::borrow::Cow;
use std::fmt::Write as _;

use piton_core::event::Native;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Ask;

/// More than what stands around an item in the stored form.
const ENTRY_BYTES: usize = 64;

const PHASES: [&str; 2] = ["commentary", "final_answer"];

/// A borrowed string where the JSON has no escapes; `Option<Cow<str>>` would always copy.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The stored form: what belongs to one text or call of an answer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Beside<'a> {
    /// Which text of the answer, from 0.
    #[serde(default)]
    text: Option<u32>,
    /// Which call of the answer, from 0.
    #[serde(default)]
    call: Option<u32>,
    /// Reasoning items that led to it, verbatim.
    #[serde(borrow, default)]
    reasoning: Vec<&'a RawValue>,
    /// The message's phase.
    #[serde(borrow, default)]
    phase: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ReasoningItem<'a> {
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    encrypted_content: Option<&'a RawValue>,
}

/// The native blocks of an answer, if they may be replayed.
#[derive(Debug, Default)]
pub(super) struct Sidecar<'a> {
    entries: Vec<Beside<'a>>,
    nothing: Beside<'a>,
}

impl<'a> Sidecar<'a> {
    /// Reads what belongs to the asked provider, host and model; of anything else there is nothing.
    pub(super) fn of(native: Option<&'a Native>, ask: &Ask) -> Self {
        let ours = native.filter(|native| {
            native.provider == ask.provider && native.host == ask.host && native.model == ask.model
        });
        let entries = ours.and_then(|native| serde_json::from_str(&native.raw).ok());
        Self { entries: entries.unwrap_or_default(), nothing: Beside::default() }
    }

    pub(super) fn at_text(&self, index: u32) -> &Beside<'a> {
        self.entries.iter().find(|entry| entry.text == Some(index)).unwrap_or(&self.nothing)
    }

    pub(super) fn at_call(&self, index: u32) -> &Beside<'a> {
        self.entries.iter().find(|entry| entry.call == Some(index)).unwrap_or(&self.nothing)
    }
}

impl<'a> Beside<'a> {
    /// Summary and encrypted content of every item that can be replayed without an id.
    pub(super) fn reasoning(&self) -> impl Iterator<Item = (&'a RawValue, &'a RawValue)> {
        self.reasoning.iter().filter_map(|raw| replayable(raw))
    }

    pub(super) fn phase(&self) -> Option<&str> {
        let phase = self.phase.as_ref().map(|phase| &*phase.0);
        phase.filter(|phase| PHASES.contains(phase))
    }
}

fn replayable(raw: &RawValue) -> Option<(&RawValue, &RawValue)> {
    let item: ReasoningItem<'_> = serde_json::from_str(raw.get()).ok()?;
    let encrypted = item.encrypted_content?;
    let summary = item.summary.filter(|summary| summary.get().starts_with('['));
    is_encrypted(encrypted).then_some((summary.unwrap_or_else(|| empty_list()), encrypted))
}

/// Whether there is something in encrypted content.
pub(super) fn is_encrypted(content: &RawValue) -> bool {
    content.get().starts_with('"') && content.get() != "\"\""
}

fn empty_list() -> &'static RawValue {
    serde_json::from_str("[]").unwrap_or(RawValue::NULL)
}

/// What stands beside one text or call, on its way into the journal.
#[derive(Debug)]
struct Entry<'a> {
    of: Of,
    reasoning: Vec<&'a str>,
    phase: Option<&'a str>,
}

/// A text or a call of an answer, counted from 0.
#[derive(Clone, Copy, Debug)]
enum Of {
    Text(u32),
    Call(u32),
}

impl Entry<'_> {
    /// Writes the stored form, which [`Beside`] reads. By hand: items are large, and a serialiser
    /// would look through them.
    fn write(&self, raw: &mut String) {
        let (key, index) = match self.of {
            Of::Text(index) => ("text", index),
            Of::Call(index) => ("call", index),
        };
        // Writing to a string cannot fail.
        write!(raw, r#"{{"{key}":{index}"#).unwrap_or_default();
        for (at, item) in self.reasoning.iter().enumerate() {
            raw.push_str(if at == 0 { r#","reasoning":["# } else { "," });
            raw.push_str(item);
        }
        raw.push_str(if self.reasoning.is_empty() { "" } else { "]" });
        if let Some(phase) = self.phase.and_then(|phase| serde_json::to_string(phase).ok()) {
            raw.extend([r#","phase":"#, &phase]);
        }
        raw.push('}');
    }
}

/// Collects native blocks while an answer's items are walked in order.
#[derive(Debug, Default)]
pub(super) struct Collector<'a> {
    entries: Vec<Entry<'a>>,
    waiting: Vec<&'a str>,
    texts: u32,
    calls: u32,
}

impl<'a> Collector<'a> {
    /// The JSON of an item that can be sent back, or one that cannot.
    pub(super) fn reasoning(&mut self, item: Option<&'a str>) {
        self.waiting.extend(item);
    }

    pub(super) fn text(&mut self, phase: Option<&'a str>) {
        self.add(Of::Text(self.texts), phase);
        self.texts += 1;
    }

    pub(super) fn call(&mut self) {
        self.add(Of::Call(self.calls), None);
        self.calls += 1;
    }

    /// An item that is not sent back: reasoning that led to it has lost what must follow it.
    pub(super) fn lost(&mut self) {
        self.waiting.clear();
    }

    fn add(&mut self, of: Of, phase: Option<&'a str>) {
        let reasoning = std::mem::take(&mut self.waiting);
        if !reasoning.is_empty() || phase.is_some_and(|phase| PHASES.contains(&phase)) {
            self.entries.push(Entry { of, reasoning, phase });
        }
    }

    /// The stored form, if there is anything to store.
    pub(super) fn finish(self, ask: &Ask) -> Option<Native> {
        if self.entries.is_empty() {
            return None;
        }
        let items = self.entries.iter().flat_map(|entry| &entry.reasoning);
        let bytes: usize = items.map(|item| item.len() + ENTRY_BYTES).sum();
        let mut raw = String::with_capacity(bytes + ENTRY_BYTES);
        for entry in &self.entries {
            raw.push(if raw.is_empty() { '[' } else { ',' });
            entry.write(&mut raw);
        }
        raw.push(']');
        let (provider, host) = (ask.provider.clone(), ask.host.clone());
        Some(Native { provider, host, model: ask.model.clone(), raw: raw.into() })
    }
}
