//! The JSON of events, borrowed from the line it stands on.
//!
//! Fields that servers disagree about stay raw until they are needed: a slip in one of them costs
//! that field, not the answer.

use std::borrow::Cow;

use piton_core::event::Usage;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess};
use serde_json::value::RawValue;

use crate::loose::{self, Loose};
use crate::openai_responses::native::{self, Text};

/// Separates the parts of a reasoning summary.
pub(super) const PART_BREAK: &str = "\n\n";

/// What an event says about the item it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) output_index: Option<u64>,
    pub(super) id: &'a str,
    pub(super) call_id: &'a str,
}

/// Any event.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    item_id: Option<Text<'a>>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    summary_index: Option<u64>,
    content_index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<Response<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl Event<'_> {
    pub(super) fn kind(&self) -> &str {
        str_of(self.kind.as_ref())
    }

    pub(super) fn place(&self) -> Place<'_> {
        let (id, call_id) = (str_of(self.item_id.as_ref()), str_of(self.call_id.as_ref()));
        Place { output_index: self.output_index, id, call_id }
    }

    pub(super) fn delta(&self) -> &str {
        str_of(self.delta.as_ref())
    }

    /// Which part of a reasoning item: summaries and raw reasoning count on their own.
    pub(super) fn part(&self) -> (Option<u64>, Option<u64>) {
        (self.summary_index, self.content_index)
    }

    /// The whole content, in events that repeat it when it is complete.
    pub(super) fn whole(&self) -> &str {
        let whole = self.text.as_ref().or(self.arguments.as_ref()).or(self.input.as_ref());
        str_of(whole)
    }
}

fn str_of<'a>(text: Option<&'a Text<'_>>) -> &'a str {
    text.map_or("", |text| &text.0)
}

/// Whether an event that cannot be read is none of those that matter here.
pub(super) fn is_foreign(data: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<Text<'a>>,
    }
    const OURS: [&str; 10] = [
        "response.output_",
        "response.refusal.",
        "response.reasoning_",
        "response.function_call",
        "response.custom_tool",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "response.done",
        "error",
    ];
    serde_json::from_str::<Head<'_>>(data).is_ok_and(|head| {
        let kind = str_of(head.kind.as_ref());
        !OURS.iter().any(|ours| kind.starts_with(ours))
    })
}

/// An item of the output.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    phase: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    encrypted_content: Option<&'a RawValue>,
    #[serde(skip)]
    names: Names<'a>,
}

#[derive(Debug, Default)]
struct Names<'a> {
    id: Cow<'a, str>,
    call_id: Cow<'a, str>,
}

#[derive(serde::Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    refusal: Option<Text<'a>>,
}

impl<'a> Item<'a> {
    pub(super) fn read(raw: &'a str) -> Option<Self> {
        let mut item: Self = serde_json::from_str(raw).ok()?;
        item.names = Names { id: loose(item.id), call_id: loose(item.call_id) };
        Some(item)
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind.0
    }

    pub(super) fn place(&self, output_index: Option<u64>) -> Place<'_> {
        Place { output_index, id: &self.names.id, call_id: &self.names.call_id }
    }

    pub(super) fn name(&self) -> Cow<'a, str> {
        loose(self.name)
    }

    pub(super) fn phase(&self) -> Cow<'a, str> {
        loose(self.phase)
    }

    /// Whether it is reasoning that can be sent back.
    pub(super) fn is_replayable(&self) -> bool {
        self.encrypted_content.is_some_and(native::is_encrypted)
    }

    pub(super) fn is_incomplete(&self) -> bool {
        loose(self.status) == "incomplete"
    }

    pub(super) fn is_refusal(&self) -> bool {
        // Parsing again is cheap next to looking at every message for a word that is hardly there.
        let content = self.content.map_or("", RawValue::get);
        self.kind() == "message"
            && content.contains("\"refusal\"")
            && parts(self.content).iter().any(|part| part.refusal.is_some())
    }

    /// What the item holds in all: a message's text, a call's arguments, a reasoning's text.
    pub(super) fn whole(&self) -> Cow<'a, str> {
        match self.kind() {
            "message" => concat(parts(self.content), ""),
            "reasoning" => {
                let mut all = parts(self.summary);
                all.extend(parts(self.content));
                concat(all, PART_BREAK)
            }
            "custom_tool_call" => loose(self.input),
            _ => loose(self.arguments),
        }
    }
}

fn parts(raw: Option<&RawValue>) -> Vec<Part<'_>> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn concat<'a>(parts: Vec<Part<'a>>, between: &str) -> Cow<'a, str> {
    let texts = parts.into_iter().filter_map(|part| part.text.or(part.refusal));
    let mut texts = texts.map(|text| text.0).filter(|text| !text.is_empty());
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut whole, text| {
        let grown = whole.to_mut();
        grown.push_str(between);
        grown.push_str(&text);
        whole
    })
}

/// A string, or the JSON of what stands in its place; nothing for `null`.
fn loose(raw: Option<&RawValue>) -> Cow<'_, str> {
    let json = raw.map_or("null", RawValue::get);
    match (serde_json::from_str::<Text<'_>>(json), json) {
        (Ok(text), _) => text.0,
        (Err(_), "null") => Cow::Borrowed(""),
        (Err(_), json) => Cow::Borrowed(json),
    }
}

/// The response as terminal events carry it. Read in the same pass as its event, because it may
/// repeat all that was said; of anything but an object nothing is read.
#[derive(Debug, Default)]
pub(super) struct Response<'a>(Fields<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Response<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        loose::read(deserializer)
    }
}

impl<'de: 'a, 'a> Loose<'de> for Response<'a> {
    fn of_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Fields::deserialize(MapAccessDeserializer::new(map)).map(Response)
    }
}

#[derive(Debug, Default, serde::Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, serde::Deserialize)]
struct Spent {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<SpentDetails>,
}

#[derive(Default, serde::Deserialize)]
struct SpentDetails {
    cached_tokens: Option<u64>,
}

impl<'a> Response<'a> {
    pub(super) fn error(&self) -> Option<&'a RawValue> {
        self.0.error
    }

    pub(super) fn status(&self) -> Cow<'a, str> {
        loose(self.0.status)
    }

    pub(super) fn is_filtered(&self) -> bool {
        self.0
            .incomplete_details
            .is_some_and(|details| details.get().contains("\"content_filter\""))
    }

    pub(super) fn output(&self) -> Vec<&'a RawValue> {
        let output = self.0.output.and_then(|raw| serde_json::from_str(raw.get()).ok());
        output.unwrap_or_default()
    }

    pub(super) fn usage(&self) -> Usage {
        let tokens = self.0.usage.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let tokens: Spent = tokens.unwrap_or_default();
        let details = tokens.input_tokens_details.unwrap_or_default();
        Usage {
            input: tokens.input_tokens.unwrap_or_default(),
            output: tokens.output_tokens.unwrap_or_default(),
            cached: details.cached_tokens.unwrap_or_default(),
        }
    }
}
