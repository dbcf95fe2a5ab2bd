//! The pieces of a stream as they stand on the wire, read without copying where that is possible.
//!
//! Forgiving by type: a field that is missing, null or of another kind reads as empty, because
//! some server sends each of these, and one odd field must not cost the text beside it.

use std::borrow::Cow;

use piton_core::event::Usage;
use serde::de::{Deserialize, Deserializer, SeqAccess};
use serde_json::value::RawValue;

use crate::loose::{self, Loose};

/// One event of the stream.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    pub(super) usage: Option<Tokens>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) detail: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) object: Text<'a>,
    /// Only to know who speaks; see [`Own`].
    #[serde(borrow, default)]
    pub(super) message: Option<&'a RawValue>,
}

/// What Ollama's own interface says instead of choices.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Own<'a> {
    #[serde(borrow)]
    pub(super) message: Piece<'a>,
    pub(super) done: bool,
    #[serde(borrow, default)]
    pub(super) done_reason: Text<'a>,
    #[serde(default)]
    prompt_eval_count: Count,
    #[serde(default)]
    eval_count: Count,
}

impl Own<'_> {
    pub(super) fn usage(&self) -> Usage {
        let number = |count: Count| count.0.unwrap_or_default();
        Usage {
            input: number(self.prompt_eval_count),
            output: number(self.eval_count),
            ..Usage::default()
        }
    }
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: Count,
    #[serde(borrow, default)]
    pub(super) delta: Option<Piece<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Text<'a>,
    #[serde(default)]
    pub(super) usage: Option<Tokens>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, default)]
    pub(super) content: Text<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Text<'a>,
    #[serde(borrow, default, alias = "thinking")]
    pub(super) reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: Entries<'a>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
    #[serde(borrow, default)]
    pub(super) function_call: Option<Function<'a>>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(default)]
    pub(super) index: Count,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl Function<'_> {
    /// The arguments: a string by the book, an object from servers that parse it themselves.
    pub(super) fn arguments(&self) -> Cow<'_, str> {
        let Some(raw) = self.arguments else { return Cow::Borrowed("") };
        if raw.get().starts_with('"') {
            serde_json::from_str::<Text<'_>>(raw.get()).unwrap_or_default().text
        } else {
            Cow::Borrowed(raw.get())
        }
    }
}

/// Tokens as a server counts them.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Tokens {
    #[serde(default, rename = "prompt_tokens")]
    prompt: Count,
    #[serde(default, rename = "completion_tokens")]
    completion: Count,
    #[serde(default, rename = "total_tokens")]
    total: Count,
    #[serde(default, rename = "prompt_cache_hit_tokens")]
    cache_hit: Count,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    completion_tokens_details: Option<Details>,
}

#[derive(Debug, serde::Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    reasoning_tokens: Count,
}

impl Tokens {
    /// In our terms. Reasoning is part of the output; one host leaves it out of the output and
    /// counts it only in the total.
    pub(super) fn usage(&self) -> Usage {
        let number = |count: Count| count.0.unwrap_or_default();
        let input = number(self.prompt);
        let mut output = number(self.completion);
        let details = self.completion_tokens_details.as_ref();
        let reasoning = details.map_or(0, |details| number(details.reasoning_tokens));
        let sum = input.saturating_add(output).saturating_add(reasoning);
        if 0 < reasoning && number(self.total) == sum {
            output = output.saturating_add(reasoning);
        }
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.map_or(0, |details| number(details.cached_tokens));
        Usage { input, output, cached: cached.max(number(self.cache_hit)) }
    }
}

/// A text, or the texts of a list of parts.
#[derive(Debug, Default)]
pub(super) struct Text<'a> {
    pub(super) text: Cow<'a, str>,
    /// Texts of parts that are reasoning.
    pub(super) thinking: String,
}

impl Text<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl<'a> From<Cow<'a, str>> for Text<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self { text, thinking: String::new() }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        loose::read(deserializer)
    }
}

impl<'de: 'a, 'a> Loose<'de> for Text<'a> {
    fn of_str(text: &str) -> Self {
        Cow::<str>::Owned(text.to_owned()).into()
    }

    fn of_borrowed(text: &'de str) -> Self {
        Cow::Borrowed(text).into()
    }

    fn of_u64(number: u64) -> Self {
        Cow::<str>::Owned(number.to_string()).into()
    }

    fn of_i64(number: i64) -> Self {
        Cow::<str>::Owned(number.to_string()).into()
    }

    fn of_list<A: SeqAccess<'de>>(mut parts: A) -> Result<Self, A::Error> {
        let mut whole = Text::default();
        while let Some(part) = parts.next_element::<Part<'de>>()? {
            whole.text.to_mut().push_str(&part.text.text);
            whole.thinking.push_str(&part.thinking.text);
        }
        Ok(whole)
    }
}

#[derive(Debug, serde::Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
}

/// The entries of a list, unread; anything else is an empty one. Read in one go: an entry can be
/// large, and looking through it twice would take twice as long.
#[derive(Debug, Default)]
pub(super) struct Entries<'a>(pub(super) Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        loose::read(deserializer)
    }
}

impl<'de: 'a, 'a> Loose<'de> for Entries<'a> {
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

/// A number that should be whole and not negative; nothing else counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        loose::read(deserializer)
    }
}

impl Loose<'_> for Count {
    fn of_str(text: &str) -> Self {
        Count(text.parse().ok())
    }

    fn of_u64(number: u64) -> Self {
        Count(Some(number))
    }

    fn of_i64(number: i64) -> Self {
        Count(u64::try_from(number).ok())
    }

    fn of_f64(number: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded by the check before it"
        )]
        let whole = (0.0..=9e15).contains(&number).then_some(number as u64);
        Count(whole)
    }
}
