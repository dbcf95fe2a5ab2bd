//! Questions of a tool, and how their answers come back.
//!
//! There are two ways to ask. A tool that can begin again returns
//! [`Finished::needs_input`](crate::Finished::needs_input): it ends, and runs again from scratch with
//! all answers in [`Job::responses`](crate::Job::responses). A tool that holds something open meanwhile waits in
//! [`Job::ask`](crate::Job::ask). Both leave the same record, and any face can answer.
//!
//! The same line carries what a tool learns about its own call: [`Job::track`](crate::Job::track).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use piton_core::event::Handle;
use piton_core::id::CallId;
use piton_core::question::{Question, Secret};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// An answer that fits the question.
    Given(String),
    /// The answer to a secret question. Is not to be written anywhere.
    Secret(Secret),
    /// Somebody saw it and would not answer.
    Declined,
    /// Nobody will answer; the text says why.
    Withdrawn(String),
    /// Nobody is there now, or the turn is being interrupted. The question stays open: stop what
    /// waits for it, and return [`Finished::needs_input`](crate::Finished::needs_input) if nothing
    /// was done that may not be done again.
    Deferred,
}

impl Response {
    /// The words of an answer, a secret one included.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Given(text) => Some(text),
            Self::Secret(secret) => Some(secret.reveal()),
            Self::Declined | Self::Withdrawn(_) | Self::Deferred => None,
        }
    }
}

/// Responses by the names of their questions.
pub type Responses = BTreeMap<String, Response>;

/// Questions on their way to the driver.
#[derive(Debug)]
pub struct Ask {
    /// The call that asks.
    pub call: CallId,
    /// What it asks.
    pub questions: Vec<Question>,
    /// Takes one response for each, in order. Dropped, all of them are deferred.
    pub reply: oneshot::Sender<Vec<Response>>,
}

/// What settles a call from now on, on its way to the driver.
#[derive(Debug)]
pub struct Track {
    /// The call.
    pub call: CallId,
    /// What settles it.
    pub handle: Handle,
    /// Told when that is durable. Dropped, it is not recorded.
    pub done: oneshot::Sender<bool>,
}

/// What a running call says to the driver.
#[derive(Debug)]
pub enum Word {
    /// It asks.
    Ask(Ask),
    /// It has learnt who does its work.
    Track(Track),
}

/// How a call reaches a person. Without a line to anybody, every question is deferred.
#[derive(Clone, Default)]
pub struct Asker {
    responses: Arc<Responses>,
    line: Option<mpsc::Sender<Word>>,
}

impl Asker {
    /// Knows what was answered so far, and where to ask more.
    pub fn new(responses: Responses, line: mpsc::Sender<Word>) -> Self {
        Self { responses: Arc::new(responses), line: Some(line) }
    }

    /// Knows what was answered so far, and nobody else.
    pub fn knowing(responses: Responses) -> Self {
        Self { responses: Arc::new(responses), line: None }
    }

    /// All that was answered so far.
    pub(super) fn responses(&self) -> &Responses {
        &self.responses
    }

    /// Asks in the name of a call, and waits for one response to each question, in order. All of them
    /// are deferred once `cancel` is cancelled.
    pub(super) async fn ask(
        &self,
        call: CallId,
        cancel: &CancellationToken,
        questions: Vec<Question>,
    ) -> Vec<Response> {
        let deferred = vec![Response::Deferred; questions.len()];
        let Some(line) = &self.line else { return deferred };
        let (reply, heard) = oneshot::channel();
        let ask = Ask { call, questions, reply };
        let asked = async {
            line.send(Word::Ask(ask)).await.ok()?;
            heard.await.ok()
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => deferred,
            responses = asked => responses.unwrap_or(deferred),
        }
    }

    /// Records what settles a call from now on, and says whether that is durable.
    pub(super) async fn track(&self, call: CallId, handle: Handle) -> bool {
        let Some(line) = &self.line else { return false };
        let (done, durable) = oneshot::channel();
        let track = Track { call, handle, done };
        line.send(Word::Track(track)).await.is_ok() && durable.await.unwrap_or(false)
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").field("responses", &self.responses).finish_non_exhaustive()
    }
}
