//! What comes of the messages of a client.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::fault::Phase;
use super::out::Out;
use super::pointer::at;
use super::seat::{Seat, locked};
use super::{tasks, tools};

/// The newest revision of the protocol that is spoken here.
const PROTOCOL: &str = "2025-11-25";
/// "Method not found", in JSON-RPC.
const NO_METHOD: i32 = -32601;
/// "Invalid params": there is no such task.
const NO_TASK: i32 = -32602;

impl Seat {
    /// Takes in one message; returns when all that comes of it is written.
    pub(super) async fn take(self: Arc<Self>, message: Value, out: Out) {
        let id = message.get("id").cloned();
        match (at(&message, "/method").as_str(), id) {
            (Some(method), Some(id)) => {
                self.request(method, at(&message, "/params"), id, &out).await;
            }
            (Some("notifications/cancelled"), None) => {
                self.cancel(&at(&message, "/params/requestId").to_string());
            }
            (Some(_) | None, None) => {}
            (None, Some(id)) => {
                let waiting = locked(&self.asked).remove(&id.to_string());
                // The call that asked may have been cancelled.
                waiting.map_or(Ok(()), |waiting| waiting.send(message)).unwrap_or_default();
            }
        }
    }

    async fn request(self: &Arc<Self>, method: &str, params: &Value, id: Value, out: &Out) {
        let result = match method {
            "server/discover" if self.options.modern => {
                self.phase(Phase::Greeted, "").await;
                tasks::discovered()
            }
            "initialize" if !self.options.modern => {
                self.phase(Phase::Greeted, "").await;
                let asked = at(params, "/protocolVersion").as_str().unwrap_or(PROTOCOL);
                json!({
                    "protocolVersion": if asked < PROTOCOL { asked } else { PROTOCOL },
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "piton-sim", "version": env!("CARGO_PKG_VERSION")},
                })
            }
            "ping" => json!({}),
            "tools/list" => {
                self.phase(Phase::Listed, "").await;
                json!({"tools": tools::all(&self.options.only)})
            }
            "tools/call" => return self.call(params, id, out).await,
            task if task.starts_with("tasks/") && self.options.modern => {
                match self.task(task, params).await {
                    Ok(result) => result,
                    Err(message) => return refuse(NO_TASK, &message, &id, out).await,
                }
            }
            other => return refuse(NO_METHOD, &format!("no method {other}"), &id, out).await,
        };
        out.write(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    /// A request about a task.
    async fn task(&self, method: &str, params: &Value) -> Result<Value, String> {
        let id = at(params, "/taskId").as_str().unwrap_or_default();
        let told = self.tasks.told(id).ok_or_else(|| format!("no task {id}"))?;
        match method {
            "tasks/get" => {
                self.phase(Phase::Polled, id).await;
                return Ok(told);
            }
            "tasks/update" => self.tasks.answer(id, at(params, "/inputResponses")),
            "tasks/cancel" => {
                self.note(&format!("cancelled {id}"));
                self.tasks.cancel(id);
            }
            other => return Err(format!("no method {other}")),
        }
        Ok(json!({"resultType": "complete"}))
    }

    /// Makes a task of a call. The work goes on, also if no client asks for it.
    async fn begin(self: &Arc<Self>, params: &Value, id: &Value, out: &Out) {
        let key = at(params, "/arguments/key").as_str().unwrap_or_default().to_owned();
        self.phase(Phase::Read, &key).await;
        let (task, told) = self.tasks.begin();
        let (seat, params, name) = (self.clone(), params.clone(), task.clone());
        let work = tokio::spawn(async move {
            let result = tools::run_task(&seat, &name, &params).await;
            let key = at(&params, "/arguments/key").as_str().unwrap_or_default();
            seat.phase(Phase::Effect, key).await;
            seat.tasks.end(&name, result);
        });
        self.tasks.worked_by(&task, work.abort_handle());
        out.write(&json!({"jsonrpc": "2.0", "id": id, "result": told})).await;
        self.phase(Phase::Answered, &key).await;
    }

    async fn call(self: &Arc<Self>, params: &Value, id: Value, out: &Out) {
        if self.options.modern && at(params, "/name") == "ask_back" {
            if let Some(asked) = tasks::asked_back(params) {
                return out.write(&json!({"jsonrpc": "2.0", "id": id, "result": asked})).await;
            }
        } else if self.options.modern && tasks::may_be_task(params) {
            return self.begin(params, &id, out).await;
        }
        let key = at(params, "/arguments/key").as_str().unwrap_or_default().to_owned();
        let (cancel, cancelled) = oneshot::channel();
        locked(&self.calls).insert(id.to_string(), cancel);
        let work = async {
            self.phase(Phase::Read, &key).await;
            let result = tools::run(self, params, out).await;
            self.phase(Phase::Effect, &key).await;
            result
        };
        let result = tokio::select! {
            biased;
            // A sender that is dropped is the answer's, below.
            Ok(()) = cancelled => return self.note(&format!("cancelled {key}")),
            result = work => result,
        };
        locked(&self.calls).remove(&id.to_string());
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        if self.is_due(Phase::Half, &key) {
            out.half(&answer).await;
            return self.phase(Phase::Half, &key).await;
        }
        out.write(&answer).await;
        self.phase(Phase::Answered, &key).await;
    }

    fn cancel(&self, id: &str) {
        if let Some(cancel) = locked(&self.calls).remove(id) {
            cancel.send(()).unwrap_or_default();
        }
    }
}

async fn refuse(code: i32, message: &str, id: &Value, out: &Out) {
    let error = json!({"code": code, "message": message});
    out.write(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
}
