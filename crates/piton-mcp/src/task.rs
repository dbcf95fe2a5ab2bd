//! A call that the server made a task of: it can be asked about, also by another process.
//!
//! Asking changes nothing, so it is done as often as needed, over as many connections as needed. The
//! call itself is never sent again: what the server does not know any more is in doubt.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use piton_core::event::Handle;
use piton_tools::fail;
use rmcp::model::{
    CallToolResult, CancelTaskParams, DetailedTask, ErrorCode, GetTaskParams, JsonObject, Task,
    TaskPayload, UpdateTaskParams,
};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::answer::loose;
use crate::connection::{Connection, TELL_WAIT, asking};
use crate::ended::Ended;
use crate::handler::OpenCall;
use crate::round::{Unanswered, answers};
use crate::server::Server;
use crate::text::line;

/// How often a task is asked about if its server does not say.
const POLL_DEFAULT: Duration = Duration::from_secs(1);
/// Bounds of what a server may say about that.
const POLL_MIN: Duration = Duration::from_millis(20);
const POLL_MAX: Duration = Duration::from_secs(30);
/// How soon a server that could not be asked is asked again.
const AGAIN: Duration = Duration::from_millis(250);
/// Longest wait for what a server has to say about a task.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// Longest line about how far a task is, in bytes.
const PROGRESS_BYTES_MAX: usize = 200;

/// A task of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskName {
    id: String,
    since: String,
}

/// Why nothing is known of a task.
#[derive(Debug)]
pub(crate) enum Unseen {
    /// The server does not know it.
    Forgotten(String),
    /// The server could not be asked; it may be later.
    Unreached(String),
}

/// A task that was asked about.
pub(crate) struct Seen {
    connection: Arc<Connection>,
    pub(crate) task: DetailedTask,
}

impl TaskName {
    pub(crate) fn of(task: &Task) -> Self {
        Self { id: task.task_id.clone(), since: task.created_at.clone() }
    }

    /// What was recorded; none if that was something else.
    pub(crate) fn read(handle: &Handle) -> Option<Self> {
        let Handle::Task { id, since } = handle else { return None };
        Some(Self { id: id.clone(), since: since.clone() })
    }

    pub(crate) fn handle(&self) -> Handle {
        Handle::Task { id: self.id.clone(), since: self.since.clone() }
    }

    /// Asks the server once.
    async fn look(&self, server: &Server) -> Result<Seen, Unseen> {
        let connected = server.connection().await;
        let connection = connected.map_err(|fault| Unseen::Unreached(fault.to_string()))?;
        let asked = connection.peer().get_task(GetTaskParams::new(self.id.as_str()));
        let Ok(answer) = timeout(ANSWER_WAIT, asked).await else {
            connection.lost_a_call().await;
            return Err(Unseen::Unreached("it does not answer".into()));
        };
        match answer {
            Ok(answer) if answer.task.task.created_at == self.since => {
                Ok(Seen { connection, task: answer.task })
            }
            Ok(_) => Err(Unseen::Forgotten("another task has its name".into())),
            Err(ServiceError::McpError(error)) if error.code != ErrorCode::INTERNAL_ERROR => {
                Err(Unseen::Forgotten(error.message.to_string()))
            }
            Err(error) => {
                connection.lost_a_call().await;
                Err(Unseen::Unreached(asking(&error)))
            }
        }
    }

    /// Asks the server, also more than once if it is not there; no longer than that may take.
    pub(crate) async fn find(&self, server: &Server) -> Result<Seen, Unseen> {
        let until = Instant::now() + server.settings.connect_wait;
        loop {
            match self.look(server).await {
                Err(Unseen::Unreached(_)) if Instant::now() < until => sleep(AGAIN).await,
                seen => return seen,
            }
        }
    }

    /// Tells the server that the task is not needed; whether it heeds that is its own affair.
    async fn cancel(&self, server: &Server) {
        let tell = async {
            let connection = server.connection().await.ok()?;
            let told = connection.peer().cancel_task(CancelTaskParams::new(self.id.as_str()));
            told.await.ok()
        };
        timeout(TELL_WAIT, tell).await.ok();
    }
}

/// How a task ended; none while it has not.
pub(crate) fn ended(task: &DetailedTask) -> Option<Ended> {
    match &task.payload {
        TaskPayload::Completed { result } => Some(completed(result)),
        TaskPayload::Failed { error } => Some(Ended::Failed(told(error))),
        TaskPayload::Cancelled => Some(Ended::Lost("the task was cancelled there".into())),
        // The kinds of payloads are open: one of a later revision is waited for.
        TaskPayload::Working | TaskPayload::InputRequired { .. } | _ => None,
    }
}

fn completed(result: &JsonObject) -> Ended {
    let result = Value::Object(result.clone());
    match serde_json::from_value::<CallToolResult>(result.clone()) {
        Ok(result) => Ended::Answered(result),
        Err(error) => loose(&result).map_or_else(
            || Ended::Lost(format!("the task is done, and its result makes no sense: {error}")),
            Ended::Answered,
        ),
    }
}

fn told(error: &JsonObject) -> String {
    let message = error.get("message").and_then(Value::as_str);
    message.unwrap_or("it does not say why").to_owned()
}

/// Follows a task to its end.
pub(crate) async fn follow(server: &Server, open: &OpenCall, name: &TaskName) -> Ended {
    let mut answered = BTreeSet::new();
    let mut heard = Instant::now();
    loop {
        let seen = tokio::select! {
            biased;
            () = open.job().cancel.cancelled() => break,
            seen = name.look(server) => seen,
        };
        let pause = match seen {
            Ok(seen) => {
                heard = Instant::now();
                if let Some(ended) = ended(&seen.task) {
                    fail::here("task-done");
                    return ended;
                }
                if let Some(ended) = attend(open, name, &seen, &mut answered).await {
                    return ended;
                }
                fail::here("task-polled");
                interval(&seen.task.task)
            }
            Err(Unseen::Forgotten(why)) => {
                return Ended::Lost(format!("it does not know the task any more ({why})"));
            }
            Err(Unseen::Unreached(why)) => {
                let patience = server.settings.call_wait;
                if patience.is_some_and(|patience| patience <= heard.elapsed()) {
                    return Ended::Lost(format!("it cannot be asked about the task: {why}"));
                }
                AGAIN
            }
        };
        tokio::select! {
            biased;
            () = open.job().cancel.cancelled() => break,
            () = sleep(pause) => {}
        }
    }
    name.cancel(server).await;
    Ended::Cancelled
}

/// Shows how far a task is, and has its questions answered; an end if there can be no answers.
async fn attend(
    open: &OpenCall,
    name: &TaskName,
    seen: &Seen,
    answered: &mut BTreeSet<String>,
) -> Option<Ended> {
    if let Some(message) = &seen.task.task.status_message {
        open.job().progress.say(&line(message, PROGRESS_BYTES_MAX));
    }
    let TaskPayload::InputRequired { input_requests } = &seen.task.payload else { return None };
    let mut asked = input_requests.clone();
    asked.retain(|key, _| !answered.contains(key));
    if asked.is_empty() {
        return None;
    }
    let keys: Vec<String> = asked.keys().cloned().collect();
    let answers = match answers(&seen.connection, open, "task", asked).await {
        Ok(answers) => answers,
        // An interrupt; the part that follows the task stops it.
        Err(Unanswered::Nobody(_)) if open.job().cancel.is_cancelled() => return None,
        Err(Unanswered::Nobody(question)) => return Some(Ended::Waiting(question)),
        Err(Unanswered::Unfit) => {
            let why = "the task asks for something that piton does not offer";
            return Some(Ended::Lost(why.into()));
        }
    };
    let update = UpdateTaskParams::new(name.id.as_str(), answers);
    let told = tokio::select! {
        biased;
        // The part that follows the task stops it.
        () = open.job().cancel.cancelled() => return None,
        told = timeout(ANSWER_WAIT, seen.connection.peer().update_task(update)) => told,
    };
    // Answers that did not arrive are asked for again, and are known by then.
    if matches!(told, Ok(Ok(()))) {
        answered.extend(keys);
    }
    None
}

fn interval(task: &Task) -> Duration {
    let wanted = task.poll_interval_ms.map_or(POLL_DEFAULT, Duration::from_millis);
    wanted.clamp(POLL_MIN, POLL_MAX)
}
