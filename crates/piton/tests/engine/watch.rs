//! Onlookers: a journal that remembers its commits, a model that remembers its requests, a tool
//! that does what a test says.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use piton::model::{AnswerStream, Model};
use piton_core::event::{EffectClass, Event, Handle, ModelRef, ToolSpec};
use piton_core::id::{CallId, Seq};
use piton_core::transcript::{Message, Transcript};
use piton_proof::passing::{Onlooker, Passing};
use piton_store::{AppendError, Batch, Durability, Journal, Lease, MemoryJournal, StoreError};
use piton_tools::{Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool};
use tokio::time::Instant;

use crate::stage::pass;

/// One append that succeeded.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) durability: Durability,
    pub(crate) events: Vec<Event>,
    /// Virtual time since the stage was set, in milliseconds.
    pub(crate) at_ms: u128,
}

/// A store in memory that remembers its commits.
pub(crate) type WatchedJournal = Passing<CommitWatch>;

/// Remembers commits, and makes a store slow or faulty.
#[derive(Debug)]
pub(crate) struct CommitWatch {
    start: Instant,
    commits: Mutex<Vec<Commit>>,
    /// How long an append takes, in milliseconds.
    pub(crate) append_ms: AtomicU64,
    /// Whether the answers to appends are lost on their way.
    pub(crate) loses_answers: AtomicBool,
    /// Whether letters cannot be read.
    pub(crate) hides_letters: AtomicBool,
}

/// A new store.
pub(crate) fn watched() -> Arc<WatchedJournal> {
    let watch = CommitWatch {
        start: Instant::now(),
        commits: Mutex::default(),
        append_ms: AtomicU64::new(0),
        loses_answers: AtomicBool::new(false),
        hides_letters: AtomicBool::new(false),
    };
    Arc::new(Passing::new(Arc::new(MemoryJournal::new()), watch))
}

impl CommitWatch {
    pub(crate) fn commits(&self) -> Vec<Commit> {
        self.commits.lock().unwrap().clone()
    }
}

#[async_trait]
impl Onlooker for CommitWatch {
    async fn append(
        &self,
        store: &dyn Journal,
        lease: &Lease,
        batch: Batch,
    ) -> Result<Seq, AppendError> {
        let pause_ms = self.append_ms.load(Ordering::Relaxed);
        if 0 < pause_ms {
            pass(pause_ms).await;
        }
        let durability = batch.durability;
        let stored = batch.records.iter();
        let events = stored.map(|it| Event::from_stored(it.format, &it.body)).collect();
        let name = batch.name.clone();
        let end = store.append(lease, batch).await?;
        let at_ms = self.start.elapsed().as_millis();
        self.commits.lock().unwrap().push(Commit { durability, events, at_ms });
        if self.loses_answers.load(Ordering::Relaxed) {
            return Err(AppendError::Unknown { conversation: lease.conversation().clone(), name });
        }
        Ok(end)
    }

    fn finds_letters(&self) -> Result<(), StoreError> {
        if self.hides_letters.load(Ordering::Relaxed) { Err(StoreError::Closed) } else { Ok(()) }
    }
}

/// A request that reached the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) model: Option<ModelRef>,
    pub(crate) messages: Vec<Message>,
}

/// A model that remembers its requests.
#[derive(Debug)]
pub(crate) struct WatchedModel {
    pub(crate) inner: Arc<dyn Model>,
    pub(crate) requests: Mutex<Vec<Request>>,
}

impl Model for WatchedModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let (model, messages) = (transcript.model().cloned(), transcript.messages().to_vec());
        self.requests.lock().unwrap().push(Request { model, messages });
        self.inner.ask(transcript)
    }
}

type Prepare = dyn Fn() -> BoxFuture<'static, Result<Prepared, Refusal>> + Send + Sync;
type Run = dyn Fn(Job) -> BoxFuture<'static, Finished> + Send + Sync;

/// A tool that does what a test says.
pub(crate) struct OddTool {
    pub(crate) name: &'static str,
    pub(crate) effect: EffectClass,
    pub(crate) prepare: Box<Prepare>,
    pub(crate) run: Box<Run>,
}

impl OddTool {
    /// A tool that happens once, with nothing to prepare.
    pub(crate) fn once<F>(
        name: &'static str,
        run: impl Fn(Job) -> F + Send + Sync + 'static,
    ) -> Arc<Self>
    where
        F: Future<Output = Finished> + Send + 'static,
    {
        Arc::new(Self {
            name,
            effect: EffectClass::Once,
            prepare: Box::new(|| Box::pin(async { Ok(Prepared::default()) })),
            run: Box::new(move |job| Box::pin(run(job))),
        })
    }

    /// A tool whose preparation is odd; it says `ran` when it runs.
    pub(crate) fn odd_prepare<F>(
        name: &'static str,
        prepare: impl Fn() -> F + Send + Sync + 'static,
    ) -> Arc<Self>
    where
        F: Future<Output = Result<Prepared, Refusal>> + Send + 'static,
    {
        Arc::new(Self {
            name,
            effect: EffectClass::Once,
            prepare: Box::new(move || Box::pin(prepare())),
            run: Box::new(|_| Box::pin(async { Finished::ok("ran") })),
        })
    }
}

impl fmt::Debug for OddTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[async_trait]
impl Tool for OddTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.name, "An odd tool.", r#"{"type":"object"}"#, self.effect)
    }

    async fn prepare(
        &self,
        _site: &Site,
        _call: CallId,
        _arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        (self.prepare)().await
    }

    async fn run(&self, job: Job) -> Finished {
        (self.run)(job).await
    }

    async fn settle(&self, _site: &Site, _arguments: &Arguments, _handle: &Handle) -> Settled {
        Settled::Unknown("Nothing is recorded.".into())
    }
}
