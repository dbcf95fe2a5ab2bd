//! Hands: files, search, commands. Knows neither the model nor the journal nor who asked.
//!
//! A call goes through three doors. [`Tool::prepare`] looks, touches nothing, and says what will
//! settle the call after a crash. The engine records that. Only then [`Tool::run`] acts.
//! [`Tool::settle`] finds out what became of a call whose driver died.

mod arguments;
mod ask;
mod ask_user;
mod blocking;
mod change;
mod closed;
mod digest;
mod edit_file;
mod excerpt;
pub mod fail;
mod glob;
mod grep;
mod left_out;
mod list_dir;
mod progress;
mod read_file;
mod registry;
mod regular;
pub mod sandbox;
mod shell;
mod shell_stop;
mod shell_wait;
mod shell_write;
mod suggestion;
pub mod supervise;
pub mod undo;
mod walk;
mod workspace;
mod write_file;

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{Handle, Outcome, Permissions, ToolSpec};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_core::question::Question;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use self::ask::{Ask, Asker, Response, Responses, Track, Word};
pub use self::ask_user::AskUser;
pub use self::change::EDIT_BYTES_MAX;
pub use self::closed::Closed;
pub use self::edit_file::EditFile;
pub use self::glob::Glob;
pub use self::grep::Grep;
pub use self::list_dir::ListDir;
pub use self::progress::Progress;
pub use self::read_file::{READ_BYTES_MAX, ReadFile};
pub use self::registry::{DuplicateTool, Registry};
pub use self::regular::{open_regular, read_regular};
pub use self::shell::{
    COMMAND_TIMEOUT_S_DEFAULT, CommandDefinition, CommandTool, NEEDS_INPUT_CODE, Program,
    SPILL_BYTES_MAX, Shell,
};
pub use self::shell_stop::ShellStop;
pub use self::shell_wait::ShellWait;
pub use self::shell_write::ShellWrite;
pub use self::write_file::WriteFile;

/// Largest text of a result that goes to the model, in bytes; the rest goes to a blob.
pub const OUTPUT_BYTES_MAX: usize = 32 * 1024;

/// What is shown in the place of an output that cannot be searched for a secret: whoever knew it is
/// gone, or somebody else.
pub const WITHHELD_TEXT: &str =
    "[its output is not kept: it may quote a secret that was given to it]";

/// Tidying that goes on by itself, and is done when this is.
pub type Tidying = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Arguments of a call: always a JSON object. What is not one never reaches a tool.
pub type Arguments = Map<String, Value>;

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
    /// these handles is needed. Begins at once and does not wait; whoever wants to know that it is
    /// done waits for what it gives.
    fn tidy(&self, _site: &Site, _needed: &[Handle]) -> Tidying {
        Box::pin(std::future::ready(()))
    }

    /// The turn was interrupted or discarded: stops what its calls have left running, except what
    /// was asked to go on. Says what was stopped.
    async fn leave_turn(&self, _site: &Site, _turn: TurnId) -> Vec<String> {
        Vec::new()
    }
}

/// Where tools work.
#[derive(Clone, Debug)]
pub struct Site {
    /// The directory that paths are confined to, canonical.
    pub workspace: PathBuf,
    /// A directory for long outputs while they are written, and for old versions of changed files.
    pub scratch: PathBuf,
    /// The conversation, after which records that outlive this process are named.
    pub conversation: ConversationId,
    /// What may run without asking. A command that nobody was asked about is confined, and what rules
    /// forbid is left out by tools that look around.
    pub permissions: Permissions,
    /// What file tools neither read nor change nor show, wherever it lies.
    pub closed: Closed,
}

/// What [`Tool::prepare`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// What settles the call after a crash.
    pub handle: Handle,
    /// The path that the call works on, relative to the workspace, behind all links.
    pub path: Option<String>,
}

/// A call that is refused before it starts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// One call to perform.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where.
    pub site: Arc<Site>,
    /// Its name.
    pub call: CallId,
    /// What was asked.
    pub arguments: Arc<Arguments>,
    /// What was recorded at its start.
    pub handle: Handle,
    /// Whether a policy allowed it in place of a person. Recorded with the answer, so it stays so.
    pub unasked: bool,
    /// Stops it.
    pub cancel: CancellationToken,
    /// What a person said to it, and the way to ask more.
    pub asker: Asker,
    /// Where it says how far it is.
    pub progress: Progress,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// In which way.
    pub outcome: Outcome,
    /// What the model sees; at most [`OUTPUT_BYTES_MAX`].
    pub text: String,
    /// Exit code of a command.
    pub exit_code: Option<i32>,
    /// The whole output, if `text` is an extract.
    pub full: Option<Vec<u8>>,
    /// The call has not ended: it needs answers to these and to what it asked before.
    pub asks: Option<Vec<Question>>,
    /// Whose output this is, if that was told a secret.
    pub quotes: Option<Quotes>,
}

/// The output of a command that was told a secret, and may quote it: only who knows the secret can
/// search for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotes {
    /// The call that was told.
    pub call: CallId,
    /// What can be said of the command without its output.
    pub notes: String,
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
    /// To a place where what it does cannot be recorded. So nothing is recorded here either: whoever
    /// runs it stops, and the call is in doubt.
    Unrecorded(Box<dyn std::error::Error + Send + Sync>),
}

impl Finished {
    /// A call that did what it does.
    pub fn ok(text: impl Into<String>) -> Self {
        Self::new(Outcome::Ok, text.into())
    }

    /// A call that could not do what was asked; `text` says what to do next.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(Outcome::Failed, text.into())
    }

    /// A call that cannot go on without answers, to these questions and to those it had
    /// [asked](Job::ask). It says that it has done nothing that may not be done again: it runs again
    /// from scratch, with [all answers](Job::responses), whatever its effect class.
    pub fn needs_input(questions: Vec<Question>) -> Self {
        Self { asks: Some(questions), ..Self::cancelled("waits for an answer") }
    }

    /// A call that was stopped; `text` says what it had done until then.
    pub fn cancelled(text: impl Into<String>) -> Self {
        Self::new(Outcome::Cancelled, text.into())
    }

    fn new(outcome: Outcome, text: String) -> Self {
        Self { outcome, text, exit_code: None, full: None, asks: None, quotes: None }
    }
}

/// What stops a call before it starts also stops it half way: the world may have changed since
/// [`Tool::prepare`] looked.
impl From<Refusal> for Finished {
    fn from(refusal: Refusal) -> Self {
        Self::failed(refusal.0)
    }
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
