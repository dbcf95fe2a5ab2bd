//! One client: its options, what it waits for, and what happens to it.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Options;
use super::fault::{Fault, Phase};
use super::out::Out;
use super::pointer::at;
use super::tasks::Tasks;

/// What all requests of a client share.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) options: Options,
    /// Questions of ours that wait for an answer.
    pub(super) asked: Mutex<BTreeMap<String, oneshot::Sender<Value>>>,
    /// Calls that can be cancelled.
    pub(super) calls: Mutex<BTreeMap<String, oneshot::Sender<()>>>,
    pub(super) tasks: Tasks,
}

impl Seat {
    pub(super) fn new(options: Options) -> Arc<Self> {
        let (asked, calls) = (Mutex::default(), Mutex::default());
        Arc::new(Self { options, asked, calls, tasks: Tasks::default() })
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

    pub(super) fn is_due(&self, phase: Phase, key: &str) -> bool {
        self.due(phase, key).any(|(marker, _)| !marker.exists())
    }

    pub(super) async fn phase(&self, phase: Phase, key: &str) {
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

pub(super) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
