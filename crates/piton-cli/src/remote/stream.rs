//! What happens in conversations of a server, as it happens, across breaks of the connection.
//!
//! A task for each conversation reads its stream and comes back with its cursor, so nothing is missed and
//! nothing comes twice. What it reads waits in a queue that its reader may leave and return to.

use std::time::Duration;

use piton::News;
use piton_core::id::ConversationId;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::sse::{Event, Events};
use super::{PAUSE_MAX, PAUSE_MIN, Remote};
use crate::report::ServerFault;

/// News that wait for their reader. A reader that is slower holds the connection up, and nobody else.
const NEWS_MAX: usize = 256;
/// Longest silence on a stream that is there: a server gives a sign of life every ten seconds.
const SILENCE_MAX: Duration = Duration::from_secs(25);
/// How long a worker may take to begin.
const WORKER_WAIT: Duration = Duration::from_secs(30);

/// What comes from a server.
#[derive(Debug)]
pub(crate) enum Heard {
    /// News of a conversation.
    News(ConversationId, News),
    /// The server is gone; it is looked for.
    Gone(String),
    /// The server is back, and everything goes on where it broke off.
    Back,
    /// Nothing comes any more.
    Ended(ServerFault),
}

/// Streams of conversations.
#[derive(Debug)]
pub(crate) struct Stream {
    remote: Remote,
    own: ConversationId,
    sender: mpsc::Sender<Heard>,
    heard: mpsc::Receiver<Heard>,
    joined: Vec<ConversationId>,
    tasks: JoinSet<()>,
}

impl Stream {
    /// Follows a conversation. A server that is gone for longer than `patience` is given up; without one, never.
    pub(crate) fn open(remote: Remote, own: ConversationId, patience: Option<Duration>) -> Self {
        let (sender, heard) = mpsc::channel(NEWS_MAX);
        let mut tasks = JoinSet::new();
        let reader = Reader::new(&remote, &own, &sender);
        tasks.spawn(reader.read_own(patience));
        Self { remote, own, sender, heard, joined: Vec::new(), tasks }
    }

    /// The conversation that was asked for first.
    pub(crate) fn own(&self) -> &ConversationId {
        &self.own
    }

    /// Follows a worker of the conversation as well.
    pub(crate) fn join(&mut self, worker: &ConversationId) {
        if !self.joined.contains(worker) {
            self.joined.push(worker.clone());
            let reader = Reader::new(&self.remote, worker, &self.sender);
            self.tasks.spawn(reader.read_worker());
        }
    }

    /// Waits for what comes next. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Heard {
        // We hold a sender ourselves, so the queue is never closed.
        self.heard.recv().await.unwrap_or_else(|| Heard::Gone(String::new()))
    }

    /// What has come, without waiting for more.
    pub(crate) fn next_now(&mut self) -> Option<Heard> {
        self.heard.try_recv().ok()
    }
}

/// Reads the stream of one conversation.
struct Reader {
    remote: Remote,
    conversation: ConversationId,
    sender: mpsc::Sender<Heard>,
    /// How far it has read.
    cursor: Option<String>,
    /// Since when the server is gone, if it was ever there.
    gone: Option<Instant>,
    /// Whether anything ever came.
    has_begun: bool,
    pause: Duration,
}

/// Data of an event.
#[derive(Deserialize)]
struct Told<T> {
    #[serde(alias = "view", alias = "change", alias = "live")]
    what: T,
}

impl Reader {
    fn new(remote: &Remote, id: &ConversationId, sender: &mpsc::Sender<Heard>) -> Self {
        Self {
            remote: remote.clone(),
            conversation: id.clone(),
            sender: sender.clone(),
            cursor: None,
            gone: None,
            has_begun: false,
            pause: PAUSE_MIN,
        }
    }

    /// Reads until the server refuses, and tells when it goes and comes.
    async fn read_own(mut self, patience: Option<Duration>) {
        loop {
            let fault = self.read(true).await;
            let is_over = match (self.gone, patience) {
                (Some(gone), Some(patience)) => patience <= gone.elapsed(),
                _ => false,
            };
            if !self.has_begun || !fault.is_passing() || is_over {
                return self.tell(Heard::Ended(fault)).await;
            }
            if self.gone.is_none() {
                self.gone = Some(Instant::now());
                self.tell(Heard::Gone(fault.to_string())).await;
            }
            self.rest().await;
        }
    }

    /// Reads until the server refuses. A worker that is told of may not have begun.
    async fn read_worker(mut self) {
        let begun = Instant::now();
        loop {
            let fault = self.read(false).await;
            let is_unknown = matches!(fault, ServerFault::UnknownConversation { .. });
            let may_begin = is_unknown && begun.elapsed() < WORKER_WAIT;
            if !fault.is_passing() && !may_begin {
                return;
            }
            self.rest().await;
        }
    }

    async fn rest(&mut self) {
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }

    async fn tell(&self, heard: Heard) {
        // Nobody listens any more when the stream is dropped, and then this task is too.
        self.sender.send(heard).await.unwrap_or_default();
    }

    /// Reads one connection to its end; why it ended.
    async fn read(&mut self, tells: bool) -> ServerFault {
        let opened = self.remote.events(&self.conversation, self.cursor.as_deref()).await;
        let mut answer = match opened {
            Ok(answer) => answer,
            Err(fault) => return fault,
        };
        let url = answer.url().clone();
        let mut events = Events::default();
        loop {
            let piece = match tokio::time::timeout(SILENCE_MAX, answer.chunk()).await {
                Err(_) => return ServerFault::silent(&url),
                Ok(Err(error)) => return ServerFault::unreachable(&url, &error),
                Ok(Ok(None)) => return ServerFault::closed(&url),
                Ok(Ok(Some(piece))) => piece,
            };
            let Ok(read) = events.take(&piece) else { return ServerFault::not_piton(&url) };
            for event in read {
                if event.name == "hello" {
                    (self.has_begun, self.pause) = (true, PAUSE_MIN);
                    if self.gone.take().is_some() && tells {
                        self.tell(Heard::Back).await;
                    }
                } else if !self.has_begun {
                    return ServerFault::not_piton(&url);
                }
                if let Err(fault) = self.take(event).await {
                    return fault;
                }
            }
        }
    }

    async fn take(&mut self, Event { name, id, data }: Event) -> Result<(), ServerFault> {
        let news = match name.as_str() {
            "snapshot" => told(&data).map(News::Snapshot),
            "change" => told(&data).map(News::Change),
            "live" => told(&data).map(News::Live),
            _ => return Ok(()),
        };
        let Ok(news) = news else {
            // A newer server; what it says cannot be shown, and coming back would not help.
            return Err(ServerFault::Newer { at: ServerFault::host(&self.remote.url()) });
        };
        self.tell(Heard::News(self.conversation.clone(), news)).await;
        // Only now: what was not handed on comes again.
        self.cursor = id.or(self.cursor.take());
        Ok(())
    }
}

fn told<T: for<'de> Deserialize<'de>>(data: &str) -> serde_json::Result<T> {
    serde_json::from_str::<Told<T>>(data).map(|told| told.what)
}
