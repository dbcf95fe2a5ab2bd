//! The messages of a transcript.

use std::sync::Arc;

use crate::event::{AnswerPart, Native, UserPart};
use crate::id::CallId;

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the user, or a note in the user's place.
    User(Vec<UserPart>),
    /// From the model; its calls are answered by the `Results` directly behind.
    Assistant(Assistant),
    /// One result per call of the message before, in call order.
    Results(Vec<CallResult>),
}

/// A message of the model.
#[derive(Clone, Debug)]
pub struct Assistant {
    /// Text, reasoning and calls; never empty. Shared with the state: a transcript is made for every
    /// request, and must not cost more with every step.
    pub parts: Arc<[AnswerPart]>,
    /// Provider-native blocks, usable for the same provider only.
    pub native: Option<Native>,
}

/// Comparing requests meets the same shared parts again and again, and need not read them.
impl PartialEq for Assistant {
    fn eq(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.parts, &other.parts) || self.parts == other.parts)
            && self.native == other.native
    }
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// Our name of the call.
    pub call: CallId,
    /// The provider's name of the call.
    pub provider_id: Option<Arc<str>>,
    /// The tool.
    pub name: Arc<str>,
    /// What it gave; never empty.
    pub text: Arc<str>,
    /// Images that stand behind the text, or what the model reads in the place of one.
    pub files: Vec<UserPart>,
    /// Whether it did not do what was asked.
    pub is_error: bool,
}
