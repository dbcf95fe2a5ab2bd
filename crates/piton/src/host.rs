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

pub(crate) use self::registry::Hosts;
pub use self::registry::{Running, Stage};

/// How long a conversation without anything to do keeps its writer's place.
pub(crate) const IDLE_HOLD: Duration = Duration::from_millis(500);
/// Most turns that one engine performs at the same time, unless it is told otherwise.
pub const TURNS_MAX: usize = 64;
