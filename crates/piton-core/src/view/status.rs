//! The state of the open turn in a few words, as lists show it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::needs_person;
use crate::state::{Item, State, Turn};

/// What the open turn waits for. Kept beside the journal, so that a list parses nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        state.open_turn().map_or(Self::Idle, |turn| Self::of_open(state, turn))
    }

    fn of_open(state: &State, turn: &Turn) -> Self {
        // A question that a rule answers by now waits for a driver, not for a person.
        let asking = turn
            .pending_inquiries()
            .filter_map(|inquiry| Some((inquiry, turn.call(inquiry.call)?)))
            .find(|(inquiry, call)| needs_person(state, call, inquiry));
        if let Some((_, call)) = asking {
            return Self::WaitingForInput { tool: call.name.to_string() };
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

impl Status {
    /// Reads what lists of older versions kept: the words that they showed.
    pub fn from_words(words: &str) -> Self {
        let waiting = words.strip_prefix("waiting-for-input (");
        if let Some(tool) = waiting.and_then(|rest| rest.strip_suffix(')')) {
            return Self::WaitingForInput { tool: tool.to_owned() };
        }
        [Self::Idle, Self::PendingTools, Self::PendingFollowUp]
            .into_iter()
            .find(|status| status.to_string() == words)
            // Whatever else it says, a turn is open.
            .unwrap_or(Self::PendingAnswer)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_reads_back_from_its_words() {
        for status in [
            Status::Idle,
            Status::WaitingForInput { tool: "pay (twice)".to_owned() },
            Status::PendingTools,
            Status::PendingFollowUp,
            Status::PendingAnswer,
        ] {
            assert_eq!(Status::from_words(&status.to_string()), status);
        }
        assert_eq!(Status::from_words("something else"), Status::PendingAnswer);
    }
}
