//! Names of things: newtypes, so that no bare string or number crosses a function.
//!
//! Ids that must be unique in the world (conversation, message, driver) are made from chance that
//! the caller hands in. Ids inside one journal (turn, call, inquiry) are counted: a journal has one
//! writer, so counting is safe, and a resumed run gives the same names as an undisturbed one.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Letters of printed random ids: Crockford's base 32, which has no look-alikes.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Stands in a worker's name between the conversation and the call. No letter of a random id.
const WORKER_MARK: char = '_';
/// Length of a printed random id, in characters: 50 bits of chance.
const RANDOM_ID_CHARS: u32 = 10;

fn printed(chance: u64) -> String {
    (0..RANDOM_ID_CHARS)
        .filter_map(|place| {
            let digit = usize::try_from((chance >> (5 * place)) & 31).ok()?;
            ALPHABET.get(digit).map(|letter| char::from(*letter))
        })
        .collect()
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes over a name that was made elsewhere, such as one read from a store.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// Makes a name from 64 bits of chance.
            pub fn from_chance(chance: u64) -> Self {
                Self(printed(chance))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// A conversation: one journal.
    ConversationId
);
impl ConversationId {
    /// The conversation that a call of this one is handed to. Told by its name, so that a call that is
    /// started again finds the same one, and people see where it belongs.
    #[must_use]
    pub fn of_worker(&self, call: CallId) -> Self {
        Self(format!("{}{WORKER_MARK}{}-{}-{}", self.0, call.turn.0, call.step, call.index))
    }

    /// The conversation that keeps a copy of what this one was cut from. It goes with this one as a worker
    /// does: it has the name of a call that no turn has.
    #[must_use]
    pub fn of_origin(&self) -> Self {
        self.of_worker(CallId { turn: TurnId(0), step: 0, index: 0 })
    }

    /// What a fork of this one names in its place if what they share did not come back from a damaged database.
    /// Nothing ever has that name, so what is said here later is never taken for the fork's past.
    #[must_use]
    pub fn as_lost(&self) -> Self {
        self.of_worker(CallId { turn: TurnId(0), step: 0, index: 1 })
    }

    /// The conversation that a worker's one belongs to, and the call, as far as its name tells.
    pub fn as_worker(&self) -> Option<(Self, CallId)> {
        let (parent, call) = self.0.rsplit_once(WORKER_MARK)?;
        let call = call.replace('-', ".").parse().ok()?;
        (!parent.is_empty()).then(|| (Self(parent.to_owned()), call))
    }

    /// The conversation that a person speaks to: for a worker, the one at the head of its parents.
    #[must_use]
    pub fn root(&self) -> Self {
        let mut root = self.clone();
        while let Some((parent, _)) = root.as_worker() {
            root = parent;
        }
        root
    }
}

text_id!(
    /// A user message. A retry reuses it, so a face never shows the message twice.
    MessageId
);
text_id!(
    /// A command: what a person wants of a conversation. Sending it twice is sending it once.
    CommandId
);
text_id!(
    /// One start of the part that performs steps.
    DriverId
);
text_id!(
    /// A question to a person: `<call>.<question>.<attempt>`, opaque for readers.
    InquiryId
);
text_id!(
    /// A digest in lower-case hexadecimal (SHA-256).
    Digest
);

/// Position of an entry in its journal; the first entry has 1, so 0 means "before everything".
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position behind this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Milliseconds since the Unix epoch. The core never reads a clock; callers hand this in.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// This moment plus `ms` milliseconds.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this moment, 0 if it is not earlier.
    pub fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Fencing number of a lease: a writer with an older one is refused.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// One try, counted from 1.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Attempt(pub u32);

impl Attempt {
    /// The first try.
    pub const FIRST: Self = Self(1);

    /// The try after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A turn, counted from 1 within its conversation.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct TurnId(pub u32);

/// A step: turn, step within the turn.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct StepId {
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The step of that turn, from 1.
    pub step: u32,
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.turn.0, self.step)
    }
}

/// A tool call: turn, step within the turn, position within the answer. Written `turn.step.index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The step of that turn, from 1.
    pub step: u32,
    /// The position within the answer, from 0.
    pub index: u32,
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.turn.0, self.step, self.index)
    }
}

/// A text that is not a call id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call id has the form turn.step.index, for example 1.2.0")]
pub struct NotACallId;

impl FromStr for CallId {
    type Err = NotACallId;

    fn from_str(text: &str) -> Result<Self, NotACallId> {
        let mut numbers = text.split('.').map(|number| number.parse().map_err(|_| NotACallId));
        let mut number = || numbers.next().unwrap_or(Err(NotACallId));
        let id = Self { turn: TurnId(number()?), step: number()?, index: number()? };
        if numbers.next().is_some() { Err(NotACallId) } else { Ok(id) }
    }
}

impl JsonSchema for CallId {
    fn schema_name() -> Cow<'static, str> {
        "CallId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A tool call: turn, step within the turn, position within the answer.",
            "type": "string",
            "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$",
        })
    }
}

impl Serialize for CallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_id_reads_back_what_it_prints() {
        let id = CallId { turn: TurnId(3), step: 12, index: 0 };
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn a_call_id_refuses_anything_else() {
        for text in ["", "1", "1.2", "1.2.x", "1.2.3.4", "-1.2.3"] {
            assert_eq!(text.parse::<CallId>(), Err(NotACallId), "{text}");
        }
    }

    // X16
    #[test]
    fn a_worker_is_named_after_its_call() {
        let parent = ConversationId::new("abc");
        let mut names = std::collections::BTreeSet::new();
        for (step, index) in (1..=3).flat_map(|step| (0..150).map(move |index| (step, index))) {
            let call = CallId { turn: TurnId(2), step, index };
            let worker = parent.of_worker(call);
            assert_eq!(worker.as_worker(), Some((parent.clone(), call)));
            assert_eq!(worker.of_worker(call).root(), parent);
            assert!(names.insert(worker));
        }
        assert_eq!(parent.as_worker(), None);
        assert_eq!(parent.of_origin().root(), parent);
        assert!(names.insert(parent.of_origin()));
        assert!(names.insert(parent.as_lost()));
        for name in ["", "_1-1-0", "a_", "a_1-1", "a_b_c", "a_1-1-x"] {
            assert_eq!(ConversationId::new(name).as_worker(), None, "{name}");
        }
    }

    #[test]
    fn random_ids_have_ten_letters_without_look_alikes() {
        let id = ConversationId::from_chance(u64::MAX);
        assert_eq!(id.as_str(), "zzzzzzzzzz");
        assert_ne!(ConversationId::from_chance(1), ConversationId::from_chance(2));
    }
}
