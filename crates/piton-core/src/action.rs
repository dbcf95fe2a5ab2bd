//! What a driver is to do next. Data, not behaviour.

use crate::event::{BreakReason, Inquiry, Outcome, PlannedCall, Range, ShortOutput};
use crate::id::{Attempt, CallId, MessageId, StepId, Timestamp};
use crate::state::Cut;

/// The next thing to do in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: no turn is open, or the open one waits for somebody to resume it.
    Rest,
    /// Start a turn with the oldest waiting message.
    StartQueued(MessageId),
    /// Make a waiting message part of the open turn.
    Steer(MessageId),
    /// Something is in flight; its result is the next fact.
    Await,
    /// Stop what is in flight, and keep what it has finished.
    Cancel,
    /// Only a person can move this on.
    WaitForPerson,
    /// Send the transcript to the model.
    AskModel {
        /// The step it belongs to.
        step: u32,
        /// Which try.
        attempt: Attempt,
        /// Not before this moment.
        not_before: Option<Timestamp>,
    },
    /// Ask the model to sum up a part, for a summary that makes room.
    SumUp(PieceAsk),
    /// Do not wait for what the model sums up.
    LeaveSummary,
    /// Lay a summary over everything before this cut: the next request would be too large.
    Compact(Cut),
    /// Send these outputs shortened: the next request would be too large.
    Shorten(Vec<ShortOutput>),
    /// Leave out the native blocks of these answers: the provider refused them.
    Repair(Vec<StepId>),
    /// Read the last answer as a plan, and make calls of it.
    Plan(Vec<PlannedCall>),
    /// Look where these calls lead and what they would change, before a person is asked about them.
    /// Nothing is touched.
    Locate(Vec<CallId>),
    /// Start these calls.
    RunTools(Vec<CallId>),
    /// Find out what became of these calls of a dead driver.
    Settle(Vec<CallId>),
    /// Ask a person.
    Raise(Vec<Inquiry>),
    /// Record the end of calls that do not run.
    Finish(Vec<Verdict>),
    /// Give up for now; everything stays.
    Break {
        /// Why.
        reason: BreakReason,
        /// More about it, for people.
        message: String,
    },
    /// The turn has its final answer.
    Complete,
}

/// A part that a model is to sum up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceAsk {
    /// The part.
    pub range: Range,
    /// The longest text of it, in tokens.
    pub tokens_max: u64,
}

/// The end of a call that does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The call.
    pub call: CallId,
    /// How it ends.
    pub outcome: Outcome,
    /// What the model is told.
    pub text: String,
}

/// What the person at the controls wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    #[default]
    Proceed,
    /// Stop as soon as possible, and lose nothing.
    Interrupt,
}
