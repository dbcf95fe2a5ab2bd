//! Workers: a call that is handed to a conversation of its own.
//!
//! A worker is a conversation like any other, in the same store: its journal, its lease, its driver, its
//! turn. Its name follows from the call, and is recorded with the call's start before its first entry is
//! written. So the next driver finds it after a crash, and goes on with it or collects its answer: nothing is
//! handed out twice.
//!
//! This module knows conversations; what a turn is, it leaves to the session.

mod allowance;
mod desk;
mod errand;
mod halt;
mod inherit;
mod report;
mod work;
mod worker;

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use piton_core::coordinate::DELEGATE;
use piton_core::event::{EffectClass, Handle, ToolSpec};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_core::view::Status;
use piton_store::Journal;
use piton_tools::{Arguments, Finished, Job, Prepared, Ran, Refusal, Settled, Site, Tool};

pub use self::allowance::{Delegation, WORKERS_MAX};
pub(crate) use self::desk::{Desk, DeskKey, Desks, Presence};
use self::errand::Errand;
use self::halt::Halt;
use self::work::Work;
use self::worker::Worker;
use crate::lease::LeaseWait;
use crate::opening;
use crate::parts::Parts;
use crate::reader::fold;

/// Most workers of one turn that are looked after when it is left.
const LEFT_WORKERS_MAX: usize = 1_000;

const DESCRIPTION: &str = "Hand a task to a worker: an agent of its own that works on it with the same \
    tools and permissions, and gives back its last message. Use it for work that stands on its own and \
    would fill your context, several in one answer for work that can be done at the same time. Not for \
    what a single call can do. The worker sees only the task, unless context is snapshot: say all that it \
    needs to know.";

const PARAMETERS: &str = r#"{"type":"object","properties":{"task":{"type":"string","description":"What to do, and what to give back."},"context":{"type":"string","enum":["none","snapshot"],"description":"none: the worker sees only the task. snapshot: it also sees the conversation up to your last answer. Default: none."},"tools":{"type":"array","items":{"type":"string"},"description":"The only tools it may use. Default: all of yours."},"model":{"type":"string","description":"Who works on it, as provider/model. Default: the model of this conversation."}},"required":["task"]}"#;

/// The tool that hands a task to a worker.
#[derive(Debug)]
pub(crate) struct Delegate {
    /// Weak, because the engine has this tool among its own.
    engine: Weak<Parts>,
    delegation: Delegation,
}

impl Delegate {
    pub(crate) fn new(engine: Weak<Parts>, delegation: Delegation) -> Self {
        Self { engine, delegation }
    }

    fn parts(&self) -> Result<Arc<Parts>, Refusal> {
        self.engine.upgrade().ok_or_else(|| Refusal("The engine is gone.".into()))
    }

    async fn work(&self, job: Job) -> Result<Ran, Halt> {
        let parts = self.parts()?;
        let desk = parts.desks.find(&job.site.conversation)?;
        let errand = Errand::read(&job.arguments)?;
        let worker = Worker { call: job.call, conversation: worker_of(&job.handle)? };
        let delegation = self.delegation;
        Work { parts, desk, errand, worker, delegation, job }.run().await
    }
}

#[async_trait]
impl Tool for Delegate {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(DELEGATE, DESCRIPTION, PARAMETERS, EffectClass::Child)
    }

    async fn prepare(
        &self,
        site: &Site,
        call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        let parts = self.parts()?;
        let desk = parts.desks.find(&site.conversation)?;
        if desk.is_worker() {
            return Err(Refusal("A worker cannot hand its task on: do it yourself.".into()));
        }
        Errand::read(arguments)?.check(&parts, desk.toolbox())?;
        let id = site.conversation.of_worker(call).as_str().to_owned();
        Ok(Prepared { handle: Handle::Conversation { id }, ..Prepared::default() })
    }

    async fn run(&self, job: Job) -> Finished {
        match self.run_or_park(job).await {
            Ran::Finished(finished) => finished,
            Ran::Parked { question } => Finished::failed(format!("The worker asks: {question}")),
            Ran::Unrecorded(error) => Finished::failed(format!("The worker failed: {error}.")),
        }
    }

    async fn run_or_park(&self, job: Job) -> Ran {
        self.work(job).await.unwrap_or_else(Ran::from)
    }

    /// A worker that has ended has a result, a worker that has not ended still runs, and a worker without a
    /// journal did nothing.
    async fn settle(&self, _site: &Site, _arguments: &Arguments, handle: &Handle) -> Settled {
        let (Ok(parts), Ok(worker)) = (self.parts(), worker_of(handle)) else {
            return Settled::Unknown("Nothing is recorded of its worker.".into());
        };
        let journal = &*parts.journal;
        match journal.status(&worker).await {
            Ok(None) => return Settled::NotApplied,
            Ok(Some(_)) => {}
            Err(error) => return Settled::Unknown(error.to_string()),
        }
        match fold(journal, &worker, &mut |_, _| ()).await {
            Ok(state) => match report::of(&state, &worker) {
                Some(finished) => Settled::Applied(finished),
                None => Settled::Running,
            },
            Err(error) => Settled::Unknown(error.to_string()),
        }
    }

    /// A turn that is left leaves its workers as they are, resumable, but nothing that they have running.
    async fn leave_turn(&self, site: &Site, turn: TurnId) -> Vec<String> {
        let Ok(parts) = self.parts() else { return Vec::new() };
        let Ok(desk) = parts.desks.find(&site.conversation) else { return Vec::new() };
        let mut stopped = Vec::new();
        for worker in unfinished(&*parts.journal, &site.conversation, turn).await {
            // A worker that another process drives is left to that process.
            let entered = opening::enter_at(&parts, worker, &site.workspace, LeaseWait::NONE).await;
            let Ok(mut session) = entered else { continue };
            session.share(desk.toolbox().clone());
            if let Some(open) = session.state().open_turn().map(|turn| turn.id)
                && session.stop_left_running(open).await.is_ok()
            {
                stopped.extend(session.take_stopped());
            }
        }
        stopped
    }
}

/// The workers of a turn that have not ended.
async fn unfinished(
    journal: &dyn Journal,
    parent: &ConversationId,
    turn: TurnId,
) -> Vec<ConversationId> {
    let first = parent.of_worker(CallId { turn, step: 0, index: 0 });
    let prefix = first.as_str().trim_end_matches("0-0");
    let found = journal.find(prefix, LEFT_WORKERS_MAX).await.unwrap_or_default();
    let mut open = Vec::new();
    for worker in found {
        let listed = journal.status(&worker).await.ok().flatten();
        if listed.is_some_and(|listed| listed.row.status != Status::Idle) {
            open.push(worker);
        }
    }
    open
}

fn worker_of(handle: &Handle) -> Result<ConversationId, Refusal> {
    match handle {
        Handle::Conversation { id } => Ok(ConversationId::new(id.as_str())),
        Handle::None
        | Handle::Edit { .. }
        | Handle::Edits { .. }
        | Handle::Job { .. }
        | Handle::Task { .. }
        | Handle::Round { .. }
        | Handle::Origin { .. } => Err(Refusal("Nothing is recorded of its worker.".into())),
    }
}
