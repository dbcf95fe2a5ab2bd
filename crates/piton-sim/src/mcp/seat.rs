//! One client and what it asked for.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, oneshot};

use super::Options;
use super::fault::{Fault, Phase};
use super::tasks::{self, Tasks};
use super::tools;

/// The newest revision of the protocol that is spoken here.
const PROTOCOL: &str = "2025-11-25";
/// "Method not found", in JSON-RPC.
const NO_METHOD: i32 = -32601;
/// "Invalid params": there is no such task.
const NO_TASK: i32 = -32602;

/// What all requests of a client share.
#[derive(Debug)]
pub(super) struct Seat {
    options: Options,
    /// Questions of ours that wait for an answer.
    asked: Mutex<BTreeMap<String, oneshot::Sender<Value>>>,
    /// Calls that can be cancelled.
    calls: Mutex<BTreeMap<String, oneshot::Sender<()>>>,
    pub(super) tasks: Tasks,
}

/// Where what belongs to one request goes.
#[derive(Clone, Debug)]
pub(super) enum Out {
    Pipe(Arc<tokio::sync::Mutex<tokio::io::Stdout>>),
    Stream(mpsc::Sender<Bytes>),
    /// Whoever asked has its answer, and this is the work of a task.
    Nowhere,
}

impl Out {
    pub(super) async fn write(&self, message: &Value) {
        self.bytes(self.frame(message)).await;
    }

    /// The first half of what would be written.
    async fn half(&self, message: &Value) {
        let frame = self.frame(message);
        self.bytes(frame.slice(..frame.len() / 2)).await;
    }

    fn frame(&self, message: &Value) -> Bytes {
        Bytes::from(match self {
            Self::Pipe(_) => format!("{message}\n"),
            Self::Nowhere => String::new(),
            Self::Stream(_) => format!("event: message\ndata: {message}\n\n"),
        })
    }

    /// A client that is gone gets nothing more.
    async fn bytes(&self, bytes: Bytes) {
        match self {
            Self::Pipe(pipe) => {
                let mut pipe = pipe.lock().await;
                if pipe.write_all(&bytes).await.is_ok() {
                    pipe.flush().await.unwrap_or_default();
                }
            }
            Self::Stream(stream) => stream.send(bytes).await.unwrap_or_default(),
            Self::Nowhere => {}
        }
    }
}

impl Seat {
    pub(super) fn new(options: Options) -> Arc<Self> {
        let (asked, calls) = (Mutex::default(), Mutex::default());
        Arc::new(Self { options, asked, calls, tasks: Tasks::default() })
    }

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
                // Whoever asked may have been cancelled.
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

    /// Makes a task of a call, and does the work whoever asks for it.
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

    /// Asks the client, and waits for its answer.
    pub(super) async fn ask(&self, method: &str, params: Value, out: &Out) -> Value {
        let (answer, answered) = oneshot::channel();
        let id = format!("ask-{}", locked(&self.asked).len());
        locked(&self.asked).insert(json!(id).to_string(), answer);
        out.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let message = answered.await.unwrap_or_default();
        message.get("result").cloned().unwrap_or_else(|| at(&message, "/error").clone())
    }

    /// The file beside the ledger by which a test gives a sign.
    pub(super) fn sign(&self, name: &str) -> PathBuf {
        let ledger = self.options.ledger.clone().unwrap_or_else(|| "sim-mcp".into());
        ledger.with_extension(name)
    }

    /// Writes an effect down.
    pub(super) fn note(&self, line: &str) {
        let Some(ledger) = &self.options.ledger else { return };
        let file = OpenOptions::new().create(true).append(true).open(ledger);
        // One write, so that lines of two servers never mix. A ledger that cannot be written shows
        // as an effect that is missing.
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .unwrap_or_default();
    }

    fn is_due(&self, phase: Phase, key: &str) -> bool {
        self.due(phase, key).any(|(marker, _)| !marker.exists())
    }

    async fn phase(&self, phase: Phase, key: &str) {
        for (marker, fault) in self.due(phase, key) {
            fault.happen(&marker).await;
        }
    }

    /// Faults that belong here, each with what shows that it has happened.
    fn due<'a>(&'a self, phase: Phase, key: &'a str) -> impl Iterator<Item = (PathBuf, &'a Fault)> {
        let ledger = self.options.ledger.clone().unwrap_or_else(|| "sim-mcp".into());
        let faults = self.options.faults.iter().enumerate();
        let here = faults.filter(move |(_, fault)| fault.meets(phase, key));
        here.map(move |(at, fault)| (ledger.with_extension(format!("fault-{at}")), fault))
    }
}

async fn refuse(code: i32, message: &str, id: &Value, out: &Out) {
    let error = json!({"code": code, "message": message});
    out.write(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
}

/// What is at a place of a message; null if nothing is.
pub(super) fn at<'a>(value: &'a Value, place: &str) -> &'a Value {
    static NOTHING: Value = Value::Null;
    value.pointer(place).unwrap_or(&NOTHING)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
