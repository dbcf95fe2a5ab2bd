//! A conversation in short: what the command line prints of it.
//!
//! Everything here is one line of something that [`View`](super::View) holds whole.

use super::status::Status;
use super::words::{answer_text, said_text, title};
use crate::event::{BreakReason, InquiryKind, Outcome, TurnEnd};
use crate::id::{CallId, ConversationId, InquiryId, MessageId, TurnId};
use crate::state::{Call, Item, Progress, State, Turn};
use crate::summary::{input_summary, output_summary};

/// A conversation as faces show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// A title for people: the given one, or the first words of the first message.
    pub title: String,
    /// Turns in order; discarded ones are hidden.
    pub turns: Vec<TurnView>,
    /// State of the open turn.
    pub status: Status,
}

/// A turn as faces show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnView {
    /// Its name.
    pub id: TurnId,
    /// What happened, in order.
    pub items: Vec<ItemView>,
    /// Why it is not over, if it is not.
    pub incomplete: Option<Incomplete>,
    /// Whether a person stopped it and kept what was there.
    pub stopped: bool,
}

/// One thing in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemView {
    /// The user said something.
    User {
        /// Its name.
        message: MessageId,
        /// What was said.
        text: String,
    },
    /// The model said something.
    Assistant {
        /// What it said.
        text: String,
        /// Whether the stream broke off here.
        partial: bool,
    },
    /// A tool was called.
    Tool(ToolView),
}

/// A call as faces show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolView {
    /// Its name.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// What it was asked, in one line.
    pub input: String,
    /// How far it is.
    pub state: ToolState,
    /// What it gave, in one line.
    pub output: String,
    /// The conversation that it was handed to.
    pub worker: Option<ConversationId>,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolState {
    /// Not started.
    Pending,
    /// At work.
    Running,
    /// A person is asked.
    Asking {
        /// The question's name.
        inquiry: InquiryId,
        /// The question.
        question: String,
        /// What it is about.
        kind: InquiryKind,
    },
    /// Started by a driver that is gone.
    InDoubt,
    /// The conversation that it was handed to asks a person.
    Parked {
        /// That conversation.
        conversation: Option<ConversationId>,
        /// What is asked there.
        question: String,
    },
    /// Ended.
    Done {
        /// In which way.
        outcome: Outcome,
        /// Exit code of a command.
        exit_code: Option<i32>,
    },
}

/// Why a turn is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// What it waits for.
    pub status: Status,
    /// Why the driver gave up; none if its process was lost or is at work.
    pub reason: Option<BreakReason>,
    /// More about it.
    pub message: String,
}

impl From<&State> for View {
    fn from(state: &State) -> Self {
        let shown = state.turns.iter().filter(|turn| turn.end != Some(TurnEnd::Discarded));
        Self {
            title: title(state),
            turns: shown.map(TurnView::from).collect(),
            status: Status::of(state),
        }
    }
}

impl From<&Turn> for TurnView {
    fn from(turn: &Turn) -> Self {
        let mut items = Vec::new();
        for item in &turn.items {
            match item {
                Item::User(said) => items
                    .push(ItemView::User { message: said.message.clone(), text: said_text(said) }),
                Item::Step(step) => {
                    if let Some(text) = answer_text(step) {
                        items.push(ItemView::Assistant { text, partial: step.answer.is_none() });
                    }
                    items.extend(step.calls.iter().map(|call| ItemView::Tool(tool(turn, call))));
                }
            }
        }
        let incomplete = turn.end.is_none().then(|| Incomplete {
            status: Status::of_turn(turn),
            reason: turn.broke.as_ref().map(|broke| broke.reason),
            message: turn.broke.as_ref().map_or_else(String::new, |broke| broke.message.clone()),
        });
        Self { id: turn.id, items, incomplete, stopped: turn.end == Some(TurnEnd::Stopped) }
    }
}

fn tool(turn: &Turn, call: &Call) -> ToolView {
    let asking = || {
        turn.pending_inquiries().find(|inquiry| inquiry.call == call.id).map(|inquiry| {
            ToolState::Asking {
                inquiry: inquiry.id.clone(),
                question: inquiry.heading().to_owned(),
                kind: inquiry.kind,
            }
        })
    };
    let worker = call.worker.clone();
    let (state, output) = match &call.progress {
        Progress::Waiting => (asking().unwrap_or(ToolState::Pending), String::new()),
        Progress::Running(_) => (asking().unwrap_or(ToolState::Running), String::new()),
        Progress::InDoubt(_) => (asking().unwrap_or(ToolState::InDoubt), String::new()),
        Progress::Parked(parked) => {
            let question = parked.question.clone();
            (ToolState::Parked { conversation: worker.clone(), question }, String::new())
        }
        Progress::Done(ended) => (
            ToolState::Done { outcome: ended.outcome, exit_code: ended.output.exit_code },
            output_summary(&ended.output.text),
        ),
    };
    let input = input_summary(&call.name, &call.arguments);
    ToolView { call: call.id, name: call.name.to_string(), input, state, output, worker }
}
