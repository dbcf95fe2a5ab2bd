//! A tool of a server, as the engine sees tools.

use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, ToolSpec};
use piton_core::id::CallId;
use piton_tools::server::Stretch;
use piton_tools::{
    Arguments, Finished, Job, OUTPUT_BYTES_MAX, Prepared, Ran, Refusal, Settled, Site, Tool, fail,
};

use crate::call::{Called, call};
use crate::connection::Connection;
use crate::ended::Ended;
use crate::handler::OpenCall;
use crate::listing::Listed;
use crate::outcome::finished;
use crate::round::Round;
use crate::server::Server;
use crate::task::{TaskName, Unseen, ended, follow};
use crate::text::head;

/// Most bytes of notes on what a server changed.
const NOTES_BYTES_MAX: usize = 8 * 1024;
const _: () = assert!(NOTES_BYTES_MAX < OUTPUT_BYTES_MAX / 2);

/// One tool of one server.
#[derive(Debug)]
pub struct McpTool {
    server: Arc<Server>,
    tool: Listed,
    spec: ToolSpec,
}

impl McpTool {
    pub(crate) fn new(server: Arc<Server>, tool: Listed) -> Self {
        let spec = tool.spec(&server.settings);
        Self { server, tool, spec }
    }

    async fn perform(&self, job: Job) -> Performed {
        if let Some(task) = TaskName::read(&job.handle) {
            // One that cannot be reached now may be, later.
            let connection = self.server.connection().await.ok();
            let stretch = begin(connection.as_deref()).await;
            let ended = follow(&self.server, &OpenCall::alone(job), &task).await;
            let notes = settle(connection.as_deref(), stretch).await;
            return Performed { notes, ..Performed::of(ended) };
        }
        let (cancel, is_round) = (job.cancel.clone(), Round::read(&job.handle).is_some());
        let connection = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Performed::of(Ended::NeverSent("the user interrupted".into()));
            }
            connection = self.server.connection() => connection,
        };
        let connection = match connection {
            Ok(connection) => connection,
            // What a server did before it asked back, nobody knows.
            Err(fault) if is_round => return Performed::of(Ended::Lost(fault.to_string())),
            Err(fault) => return Performed::of(Ended::NeverSent(fault.to_string())),
        };
        let stretch = connection.begin().await;
        let (ended, found) = self.perform_over(&connection, job, is_round).await;
        let notes = connection.settle(stretch).await;
        Performed { ended, found, notes }
    }

    /// Makes the call over a connection: how it ended, and what became of the server.
    async fn perform_over(
        &self,
        connection: &Connection,
        job: Job,
        is_round: bool,
    ) -> (Ended, String) {
        let cancel = job.cancel.clone();
        if !is_round && self.outdated(connection).is_some() {
            // Some servers have all of their tools only a moment after they were greeted.
            let again = self.server.list_again(connection, self.server.settings.connect_wait);
            cancel.run_until_cancelled(again).await;
            if let Some(why) = self.outdated(connection) {
                return (Ended::Outdated(why), String::new());
            }
        }
        let guard = connection.desk().open(job);
        let silence_max = self.server.settings.call_wait;
        let ended = match call(connection, &self.tool.name, &guard.call, silence_max).await {
            Called::Ended(ended) => ended,
            Called::Task(task) => {
                fail::here("task-created");
                guard.call.job().track(task.handle()).await;
                fail::here("task-tracked");
                follow(&self.server, &guard.call, &task).await
            }
        };
        let lost = matches!(ended, Ended::Lost(_) | Ended::NeverSent(_));
        if lost {
            connection.lost_a_call().await;
        }
        let found = if lost && !connection.is_alive() {
            connection.post_mortem().await
        } else {
            String::new()
        };
        (ended, found)
    }

    /// Why the tool that the model was told of is not the one that the server has. Permission was
    /// decided by what was known of it.
    fn outdated(&self, connection: &Connection) -> Option<String> {
        let (listing, name) = (connection.listing(), &self.tool.name);
        let then = "Its tools as they are now are offered from the next turn on.";
        match listing.tools.iter().find(|tool| tool.name == *name) {
            None => Some(format!("it does not offer the tool {name} any more. {then}")),
            Some(tool) if tool.effect(&self.server.settings) != self.spec.effect => {
                Some(format!("it says that {name} has other effects than it said before. {then}"))
            }
            Some(_) => None,
        }
    }

    fn finished(&self, ended: Ended, found: &str) -> Finished {
        let (server, schema) = (&self.server.settings.name, self.tool.output_schema.as_deref());
        finished(server, self.spec.effect, schema, ended, found)
    }

    /// What became of a task, while the server knows it.
    async fn settle_task(&self, task: &TaskName) -> Settled {
        let server = &self.server.settings.name;
        match task.find(&self.server).await {
            Ok(seen) => match ended(&seen.task) {
                None => Settled::Running,
                Some(Ended::Lost(why)) => Settled::Unknown(format!("MCP server {server}: {why}.")),
                Some(ended) => Settled::Applied(self.finished(ended, "")),
            },
            Err(Unseen::Forgotten(why)) => self.unseen(format!(
                "The MCP server {server} had made a task of it, and does not know it any more ({why})."
            )),
            Err(Unseen::Unreached(why)) => self.unseen(format!(
                "The MCP server {server} had made a task of it, and cannot be asked now: {why}."
            )),
        }
    }

    /// Nothing can be found out: what may be run again is, by its class.
    fn unseen(&self, found: String) -> Settled {
        match self.spec.effect {
            EffectClass::ReadOnly | EffectClass::Idempotent => Settled::NotApplied,
            EffectClass::Digested
            | EffectClass::Supervised
            | EffectClass::Child
            | EffectClass::Once => Settled::Unknown(found),
        }
    }
}

/// What there is to say of a call.
struct Performed {
    ended: Ended,
    /// What became of the server.
    found: String,
    /// What it changed of what others obey.
    notes: Vec<String>,
}

impl Performed {
    fn of(ended: Ended) -> Self {
        Self { ended, found: String::new(), notes: Vec::new() }
    }
}

async fn begin(connection: Option<&Connection>) -> Option<Stretch> {
    connection?.begin().await
}

async fn settle(connection: Option<&Connection>, stretch: Option<Stretch>) -> Vec<String> {
    match connection {
        Some(connection) => connection.settle(stretch).await,
        None => Vec::new(),
    }
}

/// The same end with notes behind it.
fn noted(finished: Finished, notes: &[String]) -> Finished {
    if notes.is_empty() {
        return finished;
    }
    let notes = head(&notes.join("\n"), NOTES_BYTES_MAX).to_owned();
    let kept = head(&finished.text, OUTPUT_BYTES_MAX - NOTES_BYTES_MAX - 1);
    let text = format!("{kept}\n{notes}");
    let full = finished
        .full
        .or_else(|| (kept.len() < finished.text.len()).then(|| finished.text.clone().into_bytes()));
    Finished { note_bytes: notes.len(), full, text, ..finished }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    /// The server checks the arguments; what settles a call, it may say later.
    async fn prepare(&self, _: &Site, _: CallId, _: &Arguments) -> Result<Prepared, Refusal> {
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        let Performed { ended, found, notes } = self.perform(job).await;
        noted(self.finished(ended, &found), &notes)
    }

    async fn run_or_park(&self, job: Job) -> Ran {
        match self.perform(job).await {
            Performed { ended: Ended::Waiting(question), .. } => Ran::Parked { question },
            Performed { ended, found, notes } => {
                Ran::Finished(noted(self.finished(ended, &found), &notes))
            }
        }
    }

    async fn settle(&self, _: &Site, _: &Arguments, handle: &Handle) -> Settled {
        if let Some(task) = TaskName::read(handle) {
            return self.settle_task(&task).await;
        }
        match Round::read(handle) {
            // Nothing is open at the server: the next run asks the person, and goes on.
            Some(_) => Settled::Running,
            None => {
                Settled::Unknown("The MCP server cannot be asked what became of a call.".into())
            }
        }
    }
}
