//! The trait of a tool, and what its methods return.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use piton_core::event::{Handle, ToolSpec};
use piton_core::id::{CallId, TurnId};

use super::arguments::Arguments;
use super::finished::Finished;
use super::job::Job;
use super::refusal::Refusal;
use super::site::Site;

/// Tidying that goes on by itself, and is done when this is.
pub type Tidying = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One tool.
#[async_trait]
pub trait Tool: fmt::Debug + Send + Sync {
    /// What the model is told, and how a call in doubt can be settled.
    fn spec(&self) -> ToolSpec;

    /// Checks the arguments and looks at the world without touching it. What it refuses was never
    /// started.
    async fn prepare(
        &self,
        site: &Site,
        call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal>;

    /// Acts. Called only after the start was recorded with the handle from [`Tool::prepare`], also
    /// when a settled call has to run again or, with its old handle, is found
    /// [running](Settled::Running). Stops soon after `job.cancel` is cancelled and then
    /// returns [`Outcome::Cancelled`], unless it had already finished.
    async fn run(&self, job: Job) -> Finished;

    /// Acts, like [`Tool::run`]; a tool whose work may need a person elsewhere says so instead of
    /// waiting for that. It is run again, with the same handle, when a driver starts.
    async fn run_or_park(&self, job: Job) -> Ran {
        Ran::Finished(self.run(job).await)
    }

    /// Finds out what became of a call in doubt. Changes nothing but what the dead run left over.
    /// Asked only for effect classes that have something to find out.
    async fn settle(&self, site: &Site, arguments: &Arguments, handle: &Handle) -> Settled;

    /// The end of the call that was started with `handle` is durable: whatever was kept to settle
    /// it may go. Does not wait.
    fn forget(&self, _site: &Site, _handle: &Handle) {}

    /// The call that was started with `handle` is in doubt and given up, because its turn is left:
    /// removes what its dead run left over, and changes nothing else.
    async fn abandon(&self, _site: &Site, _handle: &Handle) {}

    /// A driver starts, or a turn is closed, and of all that was kept only what settles calls with
    /// these handles is needed. Begins at once and does not wait. The
    /// returned future ends when it is done.
    fn tidy(&self, _site: &Site, _needed: &[Handle]) -> Tidying {
        Box::pin(std::future::ready(()))
    }

    /// The turn was interrupted or discarded: stops what its calls have left running, except what
    /// was asked to go on. Says what was stopped.
    async fn leave_turn(&self, _site: &Site, _turn: TurnId) -> Vec<String> {
        Vec::new()
    }
}

/// What [`Tool::prepare`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// What settles the call after a crash.
    pub handle: Handle,
    /// The path that the call works on, relative to the workspace, behind all links.
    pub path: Option<String>,
}

/// How far a call came.
#[derive(Debug)]
pub enum Ran {
    /// To its end.
    Finished(Finished),
    /// To a question for a person that is asked in another conversation.
    Parked {
        /// What is asked there.
        question: String,
    },
    /// To a place where what it does cannot be recorded. So nothing is recorded here either: the
    /// driver stops, and the call is in doubt.
    Unrecorded(Box<dyn std::error::Error + Send + Sync>),
}

/// What became of a call in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It provably did not take effect: it may run.
    NotApplied,
    /// It provably took effect; this is its result.
    Applied(Finished),
    /// It is still at it: [`Tool::run`] with the same handle waits for its end, and starts nothing.
    Running,
    /// Neither can be proved; the text says what was found.
    Unknown(String),
}
