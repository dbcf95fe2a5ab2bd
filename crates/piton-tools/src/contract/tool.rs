//! The trait of a tool, and what its methods return.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use piton_core::event::{Handle, Preview, ToolSpec};
use piton_core::id::{CallId, TurnId};

use super::arguments::Arguments;
use super::defaults::{default_prepare, default_settle};
use super::finished::Finished;
use super::job::Job;
use super::prepared::{Prepared, Settled};
use super::refusal::Refusal;
use super::site::Site;

/// Tidying that goes on by itself, and is done when this is.
pub type Tidying = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One tool.
///
/// A tool that only reads needs [`Tool::spec`] and [`Tool::run`]:
///
/// ```
/// use piton_core::event::{ArgumentRole, EffectClass, ToolSpec};
/// use piton_tools::{Finished, Job, Tool, parse_arguments};
///
/// const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false,
///     "properties": {"file": {"type": "string", "description": "Which file."}},
///     "required": ["file"]}"#;
///
/// #[derive(serde::Deserialize)]
/// struct Wanted { file: String }
///
/// #[derive(Debug)]
/// struct CountLines;
///
/// #[async_trait::async_trait]
/// impl Tool for CountLines {
///     fn spec(&self) -> ToolSpec {
///         ToolSpec::new("count_lines", "Counts the lines.", SCHEMA, EffectClass::ReadOnly)
///             .with_roles([("file", ArgumentRole::WorkspacePath)])
///     }
///     async fn run(&self, job: Job) -> Finished {
///         let wanted: Wanted = match parse_arguments(SCHEMA, &job.arguments) {
///             Ok(wanted) => wanted,
///             Err(refusal) => return refusal.into(),
///         };
///         match std::fs::read_to_string(job.site.workspace.join(wanted.file)) {
///             Ok(text) => Finished::ok(text.lines().count().to_string()),
///             Err(error) => Finished::failed(error.to_string()),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Tool: fmt::Debug + Send + Sync {
    /// What the model is told, and how a call in doubt can be settled.
    fn spec(&self) -> ToolSpec;

    /// Checks the arguments and looks at the world without touching it. What it refuses was never
    /// started.
    ///
    /// By itself it holds the arguments against the schema of the spec, and paths that the spec
    /// declares against the site. Classes that are settled by something recorded before the effect
    /// (digested, supervised, child) have to implement it.
    async fn prepare(
        &self,
        site: &Site,
        _call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        default_prepare(&self.spec(), site, arguments)
    }

    /// What the call would change, for a person who decides on it. Looks at the world without touching
    /// it. By itself nothing.
    async fn preview(&self, _site: &Site, _arguments: &Arguments) -> Option<Preview> {
        None
    }

    /// Acts. Called only after the start was recorded with the handle from [`Tool::prepare`], also
    /// when a settled call has to run again or, with its old handle, is found
    /// [running](Settled::Running). Stops soon after `job.cancel` is cancelled and then
    /// returns `Outcome::Cancelled`, unless it had already finished.
    async fn run(&self, job: Job) -> Finished;

    /// Acts, like [`Tool::run`]; a tool whose work may need a person elsewhere says so instead of
    /// waiting for that. It is run again, with the same handle, when a driver starts.
    async fn run_or_park(&self, job: Job) -> Ran {
        Ran::Finished(self.run(job).await)
    }

    /// Finds out what became of a call in doubt. Changes nothing but what the dead run left over.
    /// Asked only for effect classes that have something to find out.
    ///
    /// By itself it goes by the class: what may run twice runs again, of all else nothing is known.
    async fn settle(&self, _site: &Site, _arguments: &Arguments, _handle: &Handle) -> Settled {
        default_settle(self.spec().effect)
    }

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
