//! What faces show: plain structs, no events.

mod status;

pub use self::status::Status;
use crate::attachment;
use crate::event::{AnswerPart, BreakReason, InquiryKind, Outcome, TurnEnd, UserPart};
use crate::id::{CallId, ConversationId, InquiryId, MessageId, TurnId};
use crate::state::{Call, Item, Progress, Said, State, Step, Turn};
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

/// What a list calls the conversation.
pub fn title(state: &State) -> String {
    let given = state.opened.as_ref().and_then(|opened| opened.title.clone());
    let first = || state.turns.iter().flat_map(Turn::said).next().map(said_text);
    let title = given.or_else(first).unwrap_or_default();
    let line = title.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    crate::summary::shorten(line, 60)
}

fn said_text(said: &Said) -> String {
    let texts: Vec<_> = said
        .parts
        .iter()
        .map(|part| match part {
            UserPart::Text { text } => text.to_string(),
            UserPart::File { .. } | UserPart::InlinedFile { .. } => {
                attachment::label(part).unwrap_or_default()
            }
        })
        .collect();
    texts.join("\n")
}

/// The text of a step: of its answer, or what has streamed of it.
pub fn answer_text(step: &Step) -> Option<String> {
    let text = match &step.answer {
        None => step.streamed.text.clone(),
        Some(answer) => answer
            .parts
            .iter()
            .filter_map(|part| match part {
                AnswerPart::Text { text } => Some(&**text),
                AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
            })
            .collect(),
    };
    Some(text).filter(|text| !text.is_empty())
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
