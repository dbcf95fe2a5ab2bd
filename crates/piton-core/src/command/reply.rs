//! What a person answers to a question, and the facts that it makes.

use serde::{Deserialize, Serialize};

use crate::event::{
    ConfigChange, Event, Inquiry, InquiryAnswer, InquiryKind, PermissionRule, RuleEffect, Shape,
};
use crate::id::InquiryId;
use crate::permit::{Standing, always, with};
use crate::question::Secret;
use crate::state::State;

/// In whose name a person answers.
const USER: &str = "user";

/// What a person answers to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Reply {
    /// Run the call.
    Allow,
    /// Decide so on the call, and on what [`always_rules`] say from now on. A face that answers for
    /// more than this conversation keeps those rules where every conversation finds them.
    Always(Standing),
    /// Do not run the call.
    Deny,
    /// Do not run the call: a person did by hand what it would do.
    Applied,
    /// Run a call in doubt again.
    RunAgain,
    /// Take a call in doubt for done.
    TreatAsDone,
    /// Say what a call in doubt gave, or what a tool wanted to know.
    Text(String),
    /// Tell a tool a secret that it wanted to know. Only that it was told is recorded.
    #[serde(skip)]
    Secret(Secret),
}

impl Reply {
    /// The secret that it tells.
    pub fn secret(&self) -> Option<Secret> {
        match self {
            Self::Secret(secret) => Some(secret.clone()),
            Self::Allow
            | Self::Always(_)
            | Self::Applied
            | Self::Deny
            | Self::RunAgain
            | Self::TreatAsDone
            | Self::Text(_) => None,
        }
    }

    /// The answer as the journal has it: what becomes of this call, without what stands for later ones
    /// and without the words of a secret.
    pub fn recorded(&self) -> InquiryAnswer {
        match self {
            Self::Always(Standing { effect: RuleEffect::Allow, .. }) | Self::Allow => {
                InquiryAnswer::Allow
            }
            Self::Always(Standing { effect: RuleEffect::Ask | RuleEffect::Deny, .. })
            | Self::Deny => InquiryAnswer::Deny,
            Self::Applied => InquiryAnswer::Applied,
            Self::RunAgain => InquiryAnswer::RunAgain,
            Self::TreatAsDone => InquiryAnswer::TreatAsDone,
            Self::Text(text) => InquiryAnswer::Text { text: text.as_str().into() },
            Self::Secret(_) => InquiryAnswer::Redacted,
        }
    }

    /// The facts that the answer makes; none if the question is not open. `letter` is what brought it
    /// from another process.
    pub fn events(self, state: &State, inquiry: &InquiryId, letter: Option<&str>) -> Vec<Event> {
        let Some(turn) = state.open_turn() else { return Vec::new() };
        let Some(asked) = turn.pending_inquiries().find(|asked| asked.id == *inquiry) else {
            return Vec::new();
        };
        let Some(reply) = self.settling(asked) else { return Vec::new() };
        let mut events = Vec::new();
        if let Self::Always(standing) = reply
            && let Some(rules) = always_rules(state, asked, standing)
        {
            let permissions = Some(with(&state.config.permissions, &rules));
            let change = ConfigChange { permissions, ..ConfigChange::default() };
            events.push(Event::ConfigChanged { change });
        }
        let answer = reply.recorded();
        let (inquiry, letter) = (inquiry.clone(), letter.map(ToOwned::to_owned));
        events.push(Event::InquiryAnswered { inquiry, answer, by: USER.into(), letter });
        events
    }

    /// The answer, if it moves the question on. One that does not would close the question and leave
    /// its call waiting for ever.
    fn settling(self, asked: &Inquiry) -> Option<Self> {
        let wants = asked.wants.as_ref();
        let is_secret = wants.is_some_and(|wants| wants.shape == Shape::Secret);
        match (asked.kind, self) {
            (_, Self::Deny) => Some(Self::Deny),
            // Only what a secret question is told is kept out of the journal.
            (InquiryKind::Question, Self::Secret(secret)) => {
                is_secret.then_some(Self::Secret(secret))
            }
            (InquiryKind::Question, Self::Text(_)) if is_secret => None,
            (InquiryKind::Question, Self::Text(text)) => match wants {
                Some(wants) => wants.read(&text).ok().map(Self::Text),
                None => Some(Self::Text(text)),
            },
            (InquiryKind::Question, _)
            | (_, Self::Secret(_))
            | (InquiryKind::Permission, Self::TreatAsDone | Self::Text(_))
            | (InquiryKind::InDoubt, Self::Applied) => None,
            (InquiryKind::Permission | InquiryKind::InDoubt, reply) => Some(reply),
        }
    }
}

/// The rules that a standing decision would make of a question; `None` if it would only be good for
/// one call.
pub fn always_rules(
    state: &State,
    asked: &Inquiry,
    standing: Standing,
) -> Option<Vec<PermissionRule>> {
    if asked.kind != InquiryKind::Permission {
        return None;
    }
    let call = state.open_turn()?.call(asked.call)?;
    let tool = state.config.tool(&call.name)?;
    always(&state.config.permissions, state.workspace(), tool, &call.arguments, standing)
}
