//! Questions to a person. A permission request is one kind, what a tool wants to know another.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::about::About;
use crate::id::{CallId, InquiryId};

/// In whose name questions are answered when nobody is there.
pub const BY_POLICY: &str = "unattended policy";

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiry {
    /// Its name; the same when it is shown again.
    pub id: InquiryId,
    /// What it is about.
    pub kind: InquiryKind,
    /// The call that waits for it.
    pub call: CallId,
    /// What is asked, in one line. Older versions put lines behind it that show the whole call.
    pub question: String,
    /// What can be answered.
    pub choices: Vec<Choice>,
    /// What a tool wants to know; absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants: Option<Wants>,
    /// What a question for permission is about; absent for other kinds, and in journals of older
    /// versions, whose `question` says all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Box<About>>,
}

impl Inquiry {
    /// What is asked, without the lines that say all about a call.
    pub fn heading(&self) -> &str {
        match self.kind {
            InquiryKind::Permission => self.question.lines().next().unwrap_or_default(),
            InquiryKind::Question | InquiryKind::InDoubt => &self.question,
        }
    }
}

/// What a tool wants to know, apart from the words it asks with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wants {
    /// Its name, unique within its call: under it the tool finds the answer when it runs again.
    pub name: String,
    /// What an answer looks like.
    #[serde(default)]
    pub shape: Shape,
    /// What an empty answer means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether only a person may answer: no model, no policy.
    #[serde(default, skip_serializing_if = "is_false")]
    pub human_only: bool,
    /// The tool's word that it has done nothing yet. As long as the question is open, a call whose
    /// driver died may then run again from scratch, whatever its effect class.
    #[serde(default, skip_serializing_if = "is_false")]
    pub before_acting: bool,
    /// Whether other words than the options are an answer, too. A build that does not know this takes the
    /// options only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub own_words: bool,
}

/// What an answer looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum Shape {
    /// Any text.
    #[default]
    Text,
    /// `yes` or `no`.
    Confirm,
    /// One of several.
    Choice {
        /// They.
        options: Vec<String>,
    },
    /// A text that is never written down.
    Secret,
    /// A JSON object.
    Form {
        /// JSON schema of it, as text.
        schema: Arc<str>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
pub(super) fn is_false(value: &bool) -> bool {
    !*value
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Look again whether the conversation that has the call knows how it ended.
    LookAgain,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum InquiryAnswer {
    /// Run the call.
    Allow,
    /// Do not run the call.
    Deny {
        /// Why not, in the words of whoever refused. The model reads it. Absent: nothing was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    },
    /// Run the call with other arguments than the model gave. Only as long as it has not started, and
    /// only if no rule forbids what it is now. The model keeps its own arguments, and is told these with
    /// the result. A build that does not know this answer takes the question for open, and asks again.
    Changed {
        /// The arguments that count from now on: a JSON object, as text.
        arguments: Arc<str>,
    },
    /// A person did by hand what the call would do.
    Applied,
    /// Run the call in doubt again.
    RunAgain,
    /// Take the call in doubt for done.
    TreatAsDone,
    /// Look again whether the conversation that has the call knows how it ended. A build that does not
    /// know this answer takes the question for open.
    LookAgain,
    /// This is what the call gave, or what the tool wanted to know.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// The tool was told; what is not written down, because it is a secret.
    Redacted,
    /// Nobody answers any more.
    Cancelled {
        /// Why.
        reason: String,
    },
}

impl InquiryAnswer {
    /// Do not run the call, and nothing is said about it.
    pub const DENY: Self = Self::Deny { reason: None };

    /// Whether it decides a question of this kind. One that does not leaves the question open,
    /// because the first answer counts and nothing could follow from it.
    pub fn decides(&self, kind: InquiryKind) -> bool {
        match kind {
            InquiryKind::Permission => matches!(
                self,
                Self::Allow
                    | Self::Deny { .. }
                    | Self::Changed { .. }
                    | Self::Applied
                    | Self::RunAgain
            ),
            InquiryKind::Question => !matches!(
                self,
                Self::Allow
                    | Self::Changed { .. }
                    | Self::Applied
                    | Self::RunAgain
                    | Self::TreatAsDone
                    | Self::LookAgain
            ),
            InquiryKind::InDoubt => !matches!(
                self,
                Self::Changed { .. } | Self::Applied | Self::Redacted | Self::Cancelled { .. }
            ),
        }
    }
}
