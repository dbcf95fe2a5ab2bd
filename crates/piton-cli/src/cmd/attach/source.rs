//! Where the news of a conversation come from: the store of this home, or a server.

use std::time::Duration;

use piton::{Engine, News};
use piton_core::id::ConversationId;

use crate::cmd::query::feed::{Feed, Told};
use crate::cmd::query::stage::Stage;
use crate::remote::{self, Remote, Stream};
use crate::report::Fault;

/// How long a server that is gone is looked for where nobody sits.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where news come from.
#[derive(Debug)]
pub(super) enum Source {
    /// The store of this home.
    Here { feed: Box<Feed>, engine: Engine },
    /// A server.
    There(Box<Stream>),
}

/// What came.
#[derive(Debug)]
pub(super) enum Heard {
    /// News of the conversation, or of a worker.
    Told(Told),
    /// The server is gone; why.
    Gone(String),
    /// The server is back.
    Back,
}

impl Source {
    /// A conversation of a server. A person waits for a server that is gone; a program does not wait for ever.
    pub(super) fn there(remote: Remote, id: ConversationId, stage: &Stage<'_>) -> Self {
        let patience = stage.terminal.is_none().then_some(PATIENCE);
        Self::There(Box::new(Stream::open(remote, id, patience)))
    }

    /// Waits for what comes next. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Result<Heard, Fault> {
        match self {
            Self::Here { feed, .. } => Ok(Heard::Told(feed.next().await?)),
            Self::There(stream) => {
                let heard = stream.next().await;
                of_stream(heard, stream.own())
            }
        }
    }

    /// What is there, without waiting for more.
    pub(super) async fn next_now(&mut self) -> Result<Option<Heard>, Fault> {
        match self {
            Self::Here { feed, .. } => Ok(feed.next_entry().await?.map(Heard::Told)),
            Self::There(stream) => {
                let heard = stream.next_now();
                heard.map(|heard| of_stream(heard, stream.own())).transpose()
            }
        }
    }

    /// Follows a worker as well.
    pub(super) fn join(&mut self, worker: &ConversationId) -> Result<(), Fault> {
        match self {
            Self::Here { feed, .. } => feed.join_new(worker)?,
            Self::There(stream) => stream.join(worker),
        }
        Ok(())
    }

    /// Whether another process works on a conversation of this home; none, where a server says so itself.
    pub(super) async fn is_held(&self, id: &ConversationId) -> Result<Option<bool>, Fault> {
        match self {
            Self::Here { engine, .. } => Ok(Some(holder(engine, id).await?.is_some())),
            Self::There(_) => Ok(None),
        }
    }
}

/// The process that works on a conversation. This one does not: it only writes down, for a moment, what it left
/// for a process that is gone.
pub(super) async fn holder(engine: &Engine, id: &ConversationId) -> Result<Option<u32>, Fault> {
    let listed = engine.journal().status(id).await?;
    let pid = listed.and_then(|listed| listed.holder).map(|holder| holder.pid);
    Ok(pid.filter(|pid| *pid != std::process::id()))
}

fn of_stream(heard: remote::Heard, own: &ConversationId) -> Result<Heard, Fault> {
    Ok(match heard {
        remote::Heard::News(id, news) => Heard::Told(told(id, news, own)),
        remote::Heard::Gone(why) => Heard::Gone(why),
        remote::Heard::Back => Heard::Back,
        remote::Heard::Ended(fault) => return Err(fault.into()),
    })
}

fn told(id: ConversationId, news: News, own: &ConversationId) -> Told {
    (Some(id).filter(|id| id != own), news)
}
