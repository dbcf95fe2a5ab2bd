//! Hooks of the user: told what happens, and asked before a call runs.
//!
//! The engine knows when; whoever implements [`Hooks`] knows what to do then. What a hook says against a
//! call is recorded, and judged in `decide` like everything else.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
pub use piton_core::event::{BreakReason, Outcome, TurnEnd};
use piton_core::id::{CallId, ConversationId, TurnId};

/// Who is asked before a call runs, and told of what happens.
#[async_trait]
pub trait Hooks: fmt::Debug + Send + Sync {
    /// What hooks say of a call that has not started. Only calls of tools that the permissions name in
    /// `hooked` are asked about. The turn waits for this, so it must be bounded in time. The same call
    /// may be asked about again: after a crash, or when it leads elsewhere than before.
    async fn before_tool(&self, told: &Told) -> Opinion;

    /// Whether somebody wants to hear of this.
    fn listens(&self, occasion: &Occasion) -> bool;

    /// Tells of something that is in the journal. Returns what went wrong. A turn does not come to rest
    /// before this, so it must be bounded in time.
    async fn tell(&self, told: Told) -> Vec<String>;
}

/// What hooks think of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opinion {
    /// Why it must not run; none if nothing stands against it.
    pub denied: Option<String>,
    /// What went wrong with hooks that therefore said nothing.
    pub warnings: Vec<String>,
}

/// Something that happened, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The conversation; a worker has one of its own.
    pub conversation: ConversationId,
    /// Where it works.
    pub workspace: PathBuf,
    /// The turn.
    pub turn: TurnId,
    /// What happened.
    pub occasion: Occasion,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A call is about to run, or to be asked about.
    BeforeTool(HookedCall),
    /// A call has ended. One that was denied never began.
    AfterTool {
        /// The call.
        call: HookedCall,
        /// How it ended.
        outcome: Outcome,
        /// What the model sees of it.
        text: Arc<str>,
    },
    /// A person is asked something.
    Question {
        /// The call that it is about.
        call: HookedCall,
        /// The question.
        question: String,
    },
    /// A turn is over.
    TurnEnded(TurnEnd),
    /// A turn stopped before its end, and can be resumed.
    TurnBroke {
        /// Why.
        reason: BreakReason,
        /// The same in words.
        message: String,
    },
}

/// A call, as hooks see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookedCall {
    /// Its name.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// Its arguments: a JSON object as text, unless the model wrote something else.
    pub arguments: Arc<str>,
}
