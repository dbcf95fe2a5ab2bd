//! Calls that outlive the client that made them: the newest revision's tasks, and its questions in a result.
//!
//! Tasks live as long as the server, and their names begin anew with each: a client that only looks
//! at the name would take one task for another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::pointer::at;

/// The revision that has tasks.
pub(super) const REVISION: &str = "2026-07-28";
/// How often clients are to ask, in milliseconds.
const POLL_MS: u64 = 20;
/// Where a request says that its client knows tasks.
const KNOWS_TASKS: &str =
    "/_meta/io.modelcontextprotocol~1clientCapabilities/extensions/io.modelcontextprotocol~1tasks";
/// What a client has to bring back, in front of the key of its call.
const SEAL: &str = "sealed:";

/// All tasks of a server.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<BTreeMap<String, Task>>);

#[derive(Debug)]
struct Task {
    since: String,
    status: Status,
    work: Option<AbortHandle>,
    /// Rung when its question is answered.
    answered: Arc<Notify>,
}

#[derive(Debug)]
enum Status {
    Working,
    Asks(Value),
    Answered(Value),
    Done(Value),
    Cancelled,
}

/// Who the server is, for a client of the newest revision.
pub(super) fn discovered() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": [REVISION],
        "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo":
            {"name": "piton-sim", "version": env!("CARGO_PKG_VERSION")}},
    })
}

/// Whether a call may become a task: only if its client says that it can follow one.
pub(super) fn may_be_task(params: &Value) -> bool {
    at(params, KNOWS_TASKS).is_object()
}

/// What is asked in a result, or nothing if the call brings an answer.
pub(super) fn asked_back(params: &Value) -> Option<Value> {
    let key = at(params, "/arguments/key").as_str().unwrap_or_default();
    if at(params, "/inputResponses").is_object() {
        return None;
    }
    Some(json!({
        "resultType": "input_required",
        "requestState": format!("{SEAL}{key}"),
        "inputRequests": {"who": question()},
    }))
}

/// What the client answered to [`asked_back`]; `stranger` if the call does not belong to it.
pub(super) fn answer_of(params: &Value) -> &str {
    let key = at(params, "/arguments/key").as_str().unwrap_or_default();
    let state = at(params, "/requestState").as_str().unwrap_or_default();
    if state.strip_prefix(SEAL) != Some(key) {
        return "stranger";
    }
    at(params, "/inputResponses/who/action").as_str().unwrap_or("nothing")
}

fn question() -> Value {
    let schema = json!({
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
    });
    let params = json!({"mode": "form", "message": "Who are you?", "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

impl Tasks {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a task; its name, and what the client is told.
    pub(super) fn begin(&self) -> (String, Value) {
        let mut all = self.all();
        let id = format!("task-{}", all.len() + 1);
        let (status, answered) = (Status::Working, Arc::new(Notify::new()));
        all.insert(id.clone(), Task { since: now(), status, work: None, answered });
        drop(all);
        let mut told = self.told(&id).unwrap_or_default();
        if let Some(told) = told.as_object_mut() {
            told.insert("resultType".into(), "task".into());
        }
        (id, told)
    }

    /// What does the work of a task, so that it can be stopped.
    pub(super) fn worked_by(&self, id: &str, work: AbortHandle) {
        if let Some(task) = self.all().get_mut(id) {
            task.work = Some(work);
        }
    }

    /// The task is done.
    pub(super) fn end(&self, id: &str, result: Value) {
        if let Some(task) = self.all().get_mut(id) {
            task.status = Status::Done(result);
        }
    }

    /// The task asks, and waits for an answer.
    pub(super) async fn ask(&self, id: &str) -> Value {
        let answered = {
            let mut all = self.all();
            let Some(task) = all.get_mut(id) else { return Value::Null };
            task.status = Status::Asks(json!({"who": question()}));
            task.answered.clone()
        };
        answered.notified().await;
        let mut all = self.all();
        let Some(task) = all.get_mut(id) else { return Value::Null };
        match std::mem::replace(&mut task.status, Status::Working) {
            Status::Answered(answer) => answer,
            Status::Working | Status::Asks(_) | Status::Done(_) | Status::Cancelled => Value::Null,
        }
    }

    /// Takes an answer; one that nobody waits for is dropped.
    pub(super) fn answer(&self, id: &str, responses: &Value) {
        if let Some(task) = self.all().get_mut(id)
            && matches!(task.status, Status::Asks(_))
        {
            task.status = Status::Answered(at(responses, "/who").clone());
            task.answered.notify_one();
        }
    }

    /// Stops a task, unless it has ended.
    pub(super) fn cancel(&self, id: &str) {
        if let Some(task) = self.all().get_mut(id)
            && !matches!(task.status, Status::Done(_))
        {
            task.status = Status::Cancelled;
            if let Some(work) = &task.work {
                work.abort();
            }
        }
    }

    /// What is said of a task; none if there is no such task.
    pub(super) fn told(&self, id: &str) -> Option<Value> {
        let all = self.all();
        let task = all.get(id)?;
        let (status, more) = match &task.status {
            Status::Working | Status::Answered(_) => ("working", None),
            Status::Asks(asked) => ("input_required", Some(("inputRequests", asked.clone()))),
            Status::Done(result) => ("completed", Some(("result", result.clone()))),
            Status::Cancelled => ("cancelled", None),
        };
        let mut told = json!({
            "resultType": "complete", "taskId": id, "status": status, "statusMessage": status,
            "createdAt": task.since, "lastUpdatedAt": task.since, "ttlMs": null,
            "pollIntervalMs": POLL_MS,
        });
        if let (Some(told), Some((name, value))) = (told.as_object_mut(), more) {
            told.insert(name.into(), value);
        }
        Some(told)
    }
}

/// The time of day in the form of the protocol, so fine that no two servers share one.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years of 365 days, counted from a day on which a leap cycle begins (1 March 2000).
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let nanos = since.subsec_nanos();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}
