//! Questions of running tools, on their way to the driver and back.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use piton_core::id::{CallId, InquiryId};
use piton_core::question::Secret;
use piton_tools::{Asker, Response, Responses, Word};
use tokio::sync::{mpsc, oneshot};

/// Asks on their way to the driver.
const ASKS_MAX: usize = 64;

/// What tools were told in secret, by question.
pub(crate) type Secrets = BTreeMap<InquiryId, Secret>;

/// Questions of running tools.
#[derive(Debug)]
pub(crate) struct Asks {
    sender: mpsc::Sender<Word>,
    arriving: mpsc::Receiver<Word>,
    pub(crate) waiting: Vec<Asking>,
}

/// A running tool that waits for answers.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) call: CallId,
    pub(crate) names: Vec<String>,
    pub(crate) reply: oneshot::Sender<Vec<Response>>,
    /// Nobody will answer now: it learns so as soon as its questions are durable.
    pub(crate) deferred: bool,
}

impl Default for Asks {
    fn default() -> Self {
        let (sender, arriving) = mpsc::channel(ASKS_MAX);
        Self { sender, arriving, waiting: Vec::new() }
    }
}

impl Asks {
    /// The way to the driver for one call.
    pub(crate) fn asker(&self, responses: Responses) -> Asker {
        Asker::new(responses, self.sender.clone())
    }

    /// The next word of a tool that arrives; none when a tool does not wait for its answer any more.
    pub(crate) async fn next(&mut self) -> Option<Word> {
        let Self { arriving, waiting, .. } = self;
        let gone = poll_fn(|context| {
            let mut closed = waiting.iter_mut().map(|asking| asking.reply.poll_closed(context));
            if closed.any(|it| it.is_ready()) { Poll::Ready(()) } else { Poll::Pending }
        });
        tokio::select! {
            biased;
            // A sender is kept here too, so the channel never closes.
            word = arriving.recv() => word,
            () = gone => None,
        }
    }

    /// Every tool that waits is told that nobody answers now.
    pub(crate) fn defer_all(&mut self) {
        self.waiting.clear();
    }
}
