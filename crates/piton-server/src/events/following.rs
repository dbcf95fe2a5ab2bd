//! A client that reads one conversation.

use std::sync::Arc;

use piton::id::Seq;
use piton::{ConversationId, Engine, News};
use tokio::sync::watch;

use super::event::{Ended, Event};
use crate::hub::{Feed, Feeds, Picture, Read};
use crate::limits::{AHEAD_EVENTS_MAX, CATCH_UP_CHANGES_MAX};

/// How far a client is in one conversation.
#[derive(Debug)]
pub(super) struct Following<P: Picture> {
    feed: Arc<Feed<P>>,
    pub(super) moved: watch::Receiver<()>,
    /// The last entry that it was told.
    cursor: Option<Seq>,
    /// The last picture of what no entry holds that it was told.
    live: u64,
    /// Why it begins anew, although it had a cursor.
    reset: Option<&'static str>,
}

/// Events, with the entry that they lead to.
type Told = Vec<(Option<Seq>, Event)>;

impl<P: Picture> Following<P> {
    pub(super) fn new(feeds: &Feeds<P>, id: &ConversationId, cursor: Option<Seq>) -> Self {
        let feed = feeds.conversation(id);
        let moved = feed.moved();
        Self { feed, moved, cursor, live: 0, reset: None }
    }

    pub(super) fn conversation(&self) -> &ConversationId {
        self.feed.conversation()
    }

    /// The workers that are read along with it.
    pub(super) fn workers(&self) -> Vec<ConversationId> {
        self.feed.workers()
    }

    /// What is to be told now, without waiting. There may be more.
    pub(super) async fn step(&mut self, engine: &Engine) -> Result<Told, Ended> {
        let mut told = Vec::new();
        loop {
            match self.feed.read(self.cursor) {
                Read::Nothing => break,
                Read::Failed => return Err(Ended),
                Read::Ahead if self.is_in_journal(engine).await? => return Ok(told),
                Read::Ahead => (self.cursor, self.reset) = (None, Some("ahead")),
                Read::Behind => {
                    if let Some(missed) = self.catch_up(engine).await? {
                        told.extend(missed);
                    } else {
                        (self.cursor, self.reset) = (None, Some("behind"));
                    }
                }
                Read::Changes(changes) => {
                    for (seq, data) in changes {
                        self.cursor = Some(seq);
                        told.push((Some(seq), Event { name: P::CHANGE, data, durable: true }));
                    }
                    if AHEAD_EVENTS_MAX <= told.len() {
                        return Ok(told);
                    }
                }
                Read::Whole(seq, data) => {
                    let why = self.reset.take().filter(|_| P::WHOLE != "reset");
                    if let Some(why) = why {
                        let id = self.conversation();
                        let data = format!(r#"{{"conversation":"{id}","why":"{why}"}}"#);
                        told.push((None, Event::passing("reset", &data)));
                    }
                    self.cursor = Some(seq);
                    told.push((Some(seq), Event { name: P::WHOLE, data, durable: true }));
                }
            }
        }
        // Behind what it depends on.
        if let Some((number, data)) = self.feed.live(self.live, self.cursor) {
            self.live = number;
            told.push((None, Event { name: P::LIVE, data, durable: false }));
        }
        Ok(told)
    }

    /// Whether the journal has what the client knows: then the feed is behind it for a moment, and comes
    /// after it. A client that was brought up to date from the journal can be faster than the feed.
    async fn is_in_journal(&self, engine: &Engine) -> Result<bool, Ended> {
        let listed = engine.journal().status(self.conversation()).await.map_err(|_| Ended)?;
        Ok(listed.is_some_and(|listed| self.cursor <= Some(listed.end)))
    }

    /// What the journal has behind the cursor; none, if that is too much, or no change by itself.
    async fn catch_up(&mut self, engine: &Engine) -> Result<Option<Told>, Ended> {
        let id = self.conversation().clone();
        let Ok(mut follow) = engine.follow(&id, self.cursor).await else { return Err(Ended) };
        let (mut told, mut reached) = (Vec::new(), self.cursor);
        loop {
            match follow.next_entry().await {
                Err(_) => return Err(Ended),
                Ok(None) => break,
                Ok(Some(News::Change(change))) => {
                    let Some(data) = P::alone(&id, &change) else { return Ok(None) };
                    if told.len() == CATCH_UP_CHANGES_MAX {
                        return Ok(None);
                    }
                    reached = Some(change.cursor);
                    told.push((reached, Event { name: P::CHANGE, data, durable: true }));
                }
                Ok(Some(_)) => return Ok(None),
            }
        }
        self.cursor = reached;
        Ok(Some(told))
    }
}
