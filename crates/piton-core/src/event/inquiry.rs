//! Questions to a person. A permission request is one kind.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, InquiryId};

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiry {
    /// Its name; the same when it is shown again.
    pub id: InquiryId,
    /// What it is about.
    pub kind: InquiryKind,
    /// The call that waits for it.
    pub call: CallId,
    /// What is asked.
    pub question: String,
    /// What can be answered.
    pub choices: Vec<Choice>,
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InquiryKind {
    /// May this call run?
    Permission,
    /// The tool needs to know something.
    Question,
    /// The call was started, its outcome is unknown: what now?
    InDoubt,
}

/// An answer that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Run this call.
    Allow,
    /// Run this call, and later ones like it without asking.
    AllowAlways,
    /// Do not run this call.
    Deny,
    /// Run a call in doubt again.
    RunAgain,
    /// Take a call in doubt for done.
    TreatAsDone,
    /// Say what a call in doubt gave.
    GiveResult,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum InquiryAnswer {
    /// Run the call.
    Allow,
    /// Do not run the call.
    Deny,
    /// Run the call in doubt again.
    RunAgain,
    /// Take the call in doubt for done.
    TreatAsDone,
    /// This is what the call gave, or what the tool wanted to know.
    Text {
        /// The text.
        text: Arc<str>,
    },
}

impl InquiryAnswer {
    /// Whether it decides a question of this kind. One that does not leaves the question open,
    /// because the first answer counts and nothing could follow from it.
    pub fn decides(&self, kind: InquiryKind) -> bool {
        match (kind, self) {
            (InquiryKind::Permission, Self::TreatAsDone | Self::Text { .. }) => false,
            (InquiryKind::Permission | InquiryKind::InDoubt | InquiryKind::Question, _) => true,
        }
    }
}
