//! One task for each conversation that has something to do.
//!
//! The engine owns the tasks; faces own handles. A task takes the writer's place, obeys commands,
//! performs turns, and leaves when nothing has come for a while. So a conversation that rests costs
//! nothing. If another process has the writer's place, commands become letters to it.
//!
//! The task performs a session's plain future and nothing else: dropping the task is a crash, and the
//! next one recovers as from any other.

mod registry;
mod task;

use std::time::Duration;

use piton_core::id::ConversationId;

pub(crate) use self::registry::Hosts;

/// How long a conversation without anything to do keeps its writer's place.
pub(crate) const IDLE_HOLD: Duration = Duration::from_millis(500);
/// Most turns that one engine performs at the same time, unless it is told otherwise. A turn waits for its
/// model most of the time, and takes about 60 KB.
pub const TURNS_MAX: usize = 1_024;

/// How far a conversation is that has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Its journal is being opened.
    Opening,
    /// Its turn waits until another turn ends: as many turns run as may.
    Waiting,
    /// Its turn runs.
    Performing,
    /// Nothing runs; it keeps the writer's place for a moment.
    Resting,
}

/// A conversation that has something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Running {
    /// The conversation.
    pub conversation: ConversationId,
    /// How far it is.
    pub stage: Stage,
}
