//! What an event is about: said once, for readers that treat all events of a kind alike.

use crate::event::Event;
use crate::id::CallId;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The conversation as a whole: its beginning, its directory, what is configured.
    Conversation,
    /// How the conversation is called.
    Title,
    /// A process that begins to perform.
    Driver,
    /// A turn that begins, goes on or ends.
    Turn,
    /// A message of a person: said, tried again, or waiting.
    Message,
    /// The messages that wait, all of them.
    Queue,
    /// A request to the model, or what came of it.
    Request,
    /// The calls of a step, before any of them runs.
    Calls {
        /// The step.
        step: u32,
    },
    /// A call that runs, waits or has ended.
    Call(CallId),
    /// What looking at the world told of a call that has not run.
    Look(CallId),
    /// A question that is raised; of which call.
    Question(CallId),
    /// An answer to a question.
    Reply,
    /// What later requests hold of what was said before.
    Past,
    /// Native blocks that later requests leave out.
    Native,
    /// A command of a person.
    Command,
    /// A change of a file that is taken back.
    Undo,
    /// The making of a summary, before it is laid; what a model takes.
    Summary,
    /// Something that this build does not know.
    Unknown,
}

impl Event {
    /// What the event is about. A new event is classified here.
    pub fn subject(&self) -> Subject {
        match self {
            Self::ConversationOpened { .. }
            | Self::ConversationImported { .. }
            | Self::ConfigChanged { .. }
            | Self::WorkspaceBound { .. } => Subject::Conversation,
            // Both say how it is listed, and nothing of what was said.
            Self::TitleGiven { .. } | Self::ConversationShelved { .. } => Subject::Title,
            Self::DriverStarted { .. } => Subject::Driver,
            Self::TurnStarted { .. }
            | Self::ContextAdded { .. }
            | Self::TurnResumed { .. }
            | Self::TurnEnded { .. }
            | Self::TurnBroke { .. } => Subject::Turn,
            Self::UserMessage { .. }
            | Self::MessageRetried { .. }
            | Self::MessageQueued { .. }
            | Self::MessageRequeued { .. }
            | Self::MessageUnqueued { .. } => Subject::Message,
            Self::QueueReleased => Subject::Queue,
            Self::ModelAsked { .. }
            | Self::ModelPartial { .. }
            | Self::ModelAnswered { .. }
            | Self::ModelFailed { .. } => Subject::Request,
            Self::CallsPlanned { step, .. } => Subject::Calls { step: *step },
            Self::ToolStarted { call, .. }
            | Self::ToolSuspended { call }
            | Self::ToolFinished { call, .. }
            | Self::CallParked { call, .. }
            | Self::CallTracked { call, .. } => Subject::Call(*call),
            Self::CallLocated { call, .. } => Subject::Look(*call),
            Self::InquiryRaised { inquiry } => Subject::Question(inquiry.call),
            Self::InquiryAnswered { .. } => Subject::Reply,
            Self::Compacted { .. }
            | Self::SummaryLaid { .. }
            | Self::SummaryLifted
            | Self::OutputsShortened { .. } => Subject::Past,
            Self::SummaryWanted { .. }
            | Self::SummaryAsked { .. }
            | Self::SummaryAnswered { .. }
            | Self::SummaryFailed { .. }
            | Self::WindowLearned { .. } => Subject::Summary,
            Self::HistoryRepaired { .. } => Subject::Native,
            Self::CommandTaken { .. } | Self::CommandRefused { .. } => Subject::Command,
            Self::UndoStarted { .. } | Self::UndoFinished { .. } => Subject::Undo,
            Self::Unknown(_) => Subject::Unknown,
        }
    }
}
