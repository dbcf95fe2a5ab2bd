//! The state of the open turn in a few words, as lists show it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::TurnEnd;
use crate::state::{Item, State, Turn};

/// What the open turn waits for. Kept beside the journal, so that a list parses nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Status {
    /// No turn is open.
    #[default]
    Idle,
    /// A person is asked, whatever a sibling did since.
    WaitingForInput {
        /// The tool whose call waits.
        tool: String,
    },
    /// Calls have no end yet.
    PendingTools,
    /// All calls ended; the model has not been told, or has not answered.
    PendingFollowUp,
    /// The user's message has no answer.
    PendingAnswer,
}

impl Status {
    /// The status of a conversation.
    pub fn of(state: &State) -> Self {
        state.open_turn().map_or(Self::Idle, Self::of_turn)
    }

    /// The status of a turn.
    pub fn of_turn(turn: &Turn) -> Self {
        if turn.end == Some(TurnEnd::Completed) || turn.end.is_some() {
            return Self::Idle;
        }
        if let Some(inquiry) = turn.pending_inquiries().next() {
            let tool =
                turn.call(inquiry.call).map_or_else(String::new, |call| call.name.to_string());
            return Self::WaitingForInput { tool };
        }
        if let Some(call) = turn.parked() {
            return Self::WaitingForInput { tool: call.name.to_string() };
        }
        if turn.steps().next_back().is_some_and(|step| !step.is_settled()) {
            return Self::PendingTools;
        }
        let last_user = turn.items.iter().rposition(|item| matches!(item, Item::User(_)));
        let since = turn.items.iter().skip(last_user.map_or(0, |place| place + 1));
        let worked = since
            .filter_map(|item| match item {
                Item::Step(step) => Some(step),
                Item::User(_) => None,
            })
            .any(|step| step.answer.is_some());
        if worked { Self::PendingFollowUp } else { Self::PendingAnswer }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => Ok(()),
            Self::WaitingForInput { tool } => write!(f, "waiting-for-input ({tool})"),
            Self::PendingTools => f.write_str("interrupted (pending tool execution)"),
            Self::PendingFollowUp => f.write_str("interrupted (pending follow-up)"),
            Self::PendingAnswer => f.write_str("interrupted (pending LLM response)"),
        }
    }
}
