//! What a person wants of a conversation: commands as data.
//!
//! A command has a name, and sending it twice is sending it once: the fold keeps the names of the
//! commands that were taken or refused. It reaches the driver directly where the driver lives in the
//! same process, and as a letter beside the journal everywhere else. [`plan()`] says what becomes of
//! it. This module knows the journal's meaning; who performs, and where, it does not.

mod compacting;
mod envelope;
mod plan;
mod reply;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::compacting::nothing_to_sum_up;
pub use self::envelope::{Envelope, Opened, Sender, Unreadable};
pub use self::plan::{Leave, Performing, Plan, Then, known, plan, queue_full};
pub use self::reply::{Reply, always_rules};
pub use crate::event::{
    ConfigChange, QueueChange, QueuePlace, Refusal, Shelf, UndoIntent, UserPart,
};
use crate::id::{InquiryId, MessageId};

/// What a person wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Command {
    /// Say something, and have it answered.
    Say {
        /// The message. One without a name is named after the command.
        #[serde(flatten)]
        message: NewMessage,
        /// What becomes of a turn that is not over.
        on_incomplete: OnIncomplete,
        /// Who answers, if not the model by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// Say something once the open turn is complete.
    Queue {
        /// The message.
        #[serde(flatten)]
        message: NewMessage,
    },
    /// Say something to the open turn, before its next model request.
    Steer {
        /// The message.
        #[serde(flatten)]
        message: NewMessage,
    },
    /// Take a waiting message back.
    Unqueue {
        /// The message.
        message: MessageId,
    },
    /// Change a waiting message: what it says, what it waits for, or which others go before it.
    Requeue {
        /// The message.
        message: MessageId,
        /// What changes.
        #[serde(flatten)]
        change: QueueChange,
    },
    /// Go on with the open turn; with none, let waiting messages begin.
    Resume,
    /// Try a message again from scratch, with whatever is configured now.
    Retry {
        /// The message.
        message: MessageId,
    },
    /// Answer a question.
    Answer {
        /// The question.
        inquiry: InquiryId,
        /// The answer.
        reply: Reply,
        /// Whether a turn that nobody performs goes on with it.
        #[serde(default)]
        then: AnswerThen,
    },
    /// Break off the running turn as soon as possible. It stays open and can be resumed. The command
    /// line calls this `piton stop`.
    Interrupt,
    /// Close the open turn, and keep what is there. It cannot be resumed. `piton stop` sends
    /// [`Command::Interrupt`], not this.
    Stop,
    /// Close the open turn, and hide it.
    Discard,
    /// Change what applies from here on.
    Configure {
        /// Only what differs.
        change: Box<ConfigChange>,
    },
    /// Give the conversation another title.
    Rename {
        /// The title.
        title: String,
    },
    /// Give the conversation a title if it has none: one that was given stays.
    SuggestTitle {
        /// The title.
        title: String,
    },
    /// Keep the conversation elsewhere, or list it again. Nothing of it is lost.
    Shelve {
        /// Where.
        shelf: Shelf,
    },
    /// Work in another directory from here on.
    Rebind {
        /// The directory.
        workspace: String,
    },
    /// Take back what a tool changed in a file.
    Undo {
        /// The change, by the name under which it is kept.
        change: String,
        /// What that means for the file. Filled in by the writer of the conversation, who looks at it.
        #[serde(skip)]
        intent: Option<Box<UndoIntent>>,
    },
    /// Sum up the older part now. A turn that is performed does it before its next model request; one that
    /// nobody performs stays as it is.
    Compact {
        /// What the summary should tell above all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        focus: Option<String>,
    },
    /// Take the summary off: everything is sent again.
    Uncompact,
    /// Do not wait for what the model is summing up. The turn goes on with what the journal tells.
    StopCompacting,
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewMessage {
    /// Its name; sending the same name twice is sending it once.
    #[serde(default, rename = "message", skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// What it consists of; not empty.
    pub parts: Vec<UserPart>,
}

impl NewMessage {
    /// A typed text.
    pub fn text(text: impl Into<std::sync::Arc<str>>) -> Self {
        Self { id: None, parts: vec![UserPart::text(text)] }
    }
}

/// What to do with a new message when the last turn is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnIncomplete {
    /// Refuse, and say what is there.
    Ask,
    /// Finish that turn first; the message waits in the queue, durable.
    Resume,
    /// Put the message behind the kept work of that turn.
    Inject,
    /// Close that turn as discarded, and begin a new one.
    Discard,
}

/// What follows an answer to a turn that nobody performs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerThen {
    /// The turn goes on.
    #[default]
    GoOn,
    /// The answer is kept for whoever resumes the turn.
    Rest,
}

impl Command {
    /// Something to say, refused if the last turn is not over.
    pub fn say(message: NewMessage) -> Self {
        Self::Say { message, on_incomplete: OnIncomplete::Ask, agent: None }
    }

    /// Taking a change back.
    pub fn undo(change: impl Into<String>) -> Self {
        Self::Undo { change: change.into(), intent: None }
    }

    /// An answer with which the turn goes on.
    pub fn answer(inquiry: InquiryId, reply: Reply) -> Self {
        Self::Answer { inquiry, reply, then: AnswerThen::GoOn }
    }

    /// The message that the command brings.
    pub fn message(&self) -> Option<&NewMessage> {
        match self {
            Self::Say { message, .. } | Self::Queue { message } | Self::Steer { message } => {
                Some(message)
            }
            Self::Unqueue { .. }
            | Self::Requeue { .. }
            | Self::Resume
            | Self::Retry { .. }
            | Self::Answer { .. }
            | Self::Interrupt
            | Self::Stop
            | Self::Discard
            | Self::Configure { .. }
            | Self::Rename { .. }
            | Self::SuggestTitle { .. }
            | Self::Shelve { .. }
            | Self::Rebind { .. }
            | Self::Undo { .. }
            | Self::Compact { .. }
            | Self::Uncompact
            | Self::StopCompacting => None,
        }
    }

    /// Whether it holds a secret, which is never written down.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Answer { reply: Reply::Secret(_), .. })
    }
}
