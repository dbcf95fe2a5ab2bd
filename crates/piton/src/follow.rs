//! Reading a conversation as it moves: one snapshot, then changes. Needs no lease and no driver.
//!
//! The stream is the same whether the driver is in this process, in another one, or nowhere: entries
//! come from the store, which wakes the follower. A follower pulls, so one that stops reading holds
//! nobody up; one that comes back with its cursor gets what it missed, without gap or duplicate.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use piton_core::id::{ConversationId, Seq};
use piton_core::state::State;
use piton_core::view::{Live, View, ViewChange};
use piton_store::{Journal, ListPosition, StoreError};

use crate::live::LiveReader;
use crate::parts::Parts;
use crate::reader;

/// A position that no list has: asking behind it is answered at once.
const ANY_POSITION: ListPosition = ListPosition(u64::MAX);
/// Entries read at once by a follower that is behind.
const CATCH_UP_RECORDS: usize = 256;

/// What a follower gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// The whole view. Comes first, unless the follower has a cursor.
    Snapshot(Box<View>),
    /// How the view moves with the next entry. Each comes once, in order.
    Change(Box<ViewChange>),
    /// What no entry holds yet. Replaces the last one whole; some may be missed.
    Live(Box<Live>),
}

/// Why a conversation cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// There is no such conversation.
    #[error("there is no conversation {0}")]
    Unknown(ConversationId),
    /// The cursor is behind the end of the journal: it belongs to another conversation or store.
    #[error("the cursor is at entry {cursor}, and the conversation ends at {end}: read it anew")]
    CursorAhead {
        /// The cursor.
        cursor: Seq,
        /// Where the journal ends.
        end: Seq,
    },
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// The engine was dropped.
    #[error("the engine is gone")]
    EngineGone,
}

impl From<StoreError> for FollowError {
    fn from(error: StoreError) -> Self {
        if let StoreError::UnknownConversation(id) = error {
            return Self::Unknown(id);
        }
        Self::Store(error)
    }
}

/// A conversation as it moves.
pub struct Follow {
    journal: Arc<dyn Journal>,
    id: ConversationId,
    state: State,
    ready: VecDeque<News>,
    live: LiveReader,
    /// The wait for the next entry. It goes on where it was when something else came first.
    growing: Option<BoxFuture<'static, Result<(), StoreError>>>,
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The view of a conversation as it is now.
pub(crate) async fn view(parts: &Parts, id: &ConversationId) -> Result<View, FollowError> {
    let state = known(parts, id).await?;
    Ok(View::from(&state))
}

async fn known(parts: &Parts, id: &ConversationId) -> Result<State, FollowError> {
    if parts.journal.status(id).await?.is_none() {
        return Err(FollowError::Unknown(id.clone()));
    }
    Ok(reader::state(&*parts.journal, id).await?)
}

impl Follow {
    /// Begins with a snapshot, or behind a cursor.
    pub(crate) async fn new(
        parts: &Parts,
        id: &ConversationId,
        cursor: Option<Seq>,
    ) -> Result<Self, FollowError> {
        let live = parts.lives.read(id);
        let journal = parts.journal.clone();
        // Before the first entry there is nothing that a change could be applied to.
        let cursor = cursor.filter(|cursor| Seq::default() < *cursor);
        let (state, ready) = match cursor {
            None => {
                let state = known(parts, id).await?;
                let view = News::Snapshot(Box::new(View::from(&state)));
                (state, VecDeque::from([view]))
            }
            Some(cursor) => {
                let listed = journal.status(id).await?;
                let listed = listed.ok_or_else(|| FollowError::Unknown(id.clone()))?;
                if listed.end < cursor {
                    return Err(FollowError::CursorAhead { cursor, end: listed.end });
                }
                (reader::state_through(&*journal, id, cursor).await?, VecDeque::new())
            }
        };
        Ok(Self { journal, id: id.clone(), state, ready, live, growing: None })
    }

    /// Begins with an empty snapshot; every entry follows, also of a conversation that has not begun.
    pub(crate) fn all(parts: &Parts, id: &ConversationId) -> Self {
        let (live, journal, state) =
            (parts.lives.read(id), parts.journal.clone(), State::default());
        let ready = VecDeque::from([News::Snapshot(Box::new(View::from(&state)))]);
        Self { journal, id: id.clone(), state, ready, live, growing: None }
    }

    /// The last entry that was handed out.
    pub fn cursor(&self) -> Seq {
        self.ready.iter().find_map(first_of).map_or(self.state.end, |seq| Seq(seq.0 - 1))
    }

    /// Waits for what comes next. May be dropped and called again: nothing is lost by that.
    pub async fn next(&mut self) -> Result<News, FollowError> {
        loop {
            if let Some(news) = self.ready.pop_front().or_else(|| self.next_handed_on()) {
                return Ok(news);
            }
            if self.live.ends_at(self.state.end) {
                // The writer is in this process, and tells of everything it writes.
                self.growing = None;
                match self.live.next_before(self.state.end).await {
                    Some(live) => return Ok(News::Live(Box::new(live))),
                    None => continue,
                }
            }
            if self.growing.is_none() {
                if let Some(news) = self.next_entry().await? {
                    return Ok(news);
                }
                let (journal, id, end) = (self.journal.clone(), self.id.clone(), self.state.end);
                self.growing = Some(Box::pin(async move { grown(&*journal, &id, end).await }));
            }
            let Some(growing) = &mut self.growing else { continue };
            tokio::select! {
                biased;
                grown = growing => {
                    self.growing = None;
                    grown?;
                }
                live = self.live.next() => return Ok(News::Live(Box::new(live))),
            }
        }
    }

    /// What no entry holds yet, as this process knows it now. It does not come as news any more.
    pub fn live(&mut self) -> Live {
        self.live.now()
    }

    /// The next entry, if the writer in this process has just written it.
    fn next_handed_on(&mut self) -> Option<News> {
        // The first one may say that the conversation was cut from another.
        let entry = self.live.entry(self.state.end.next()).filter(|it| Seq(1) < it.seq)?;
        self.state.apply(&entry);
        Some(News::Change(Box::new(ViewChange::of(&self.state, &entry))))
    }

    /// What the journal has behind the cursor, without waiting for more.
    pub async fn next_entry(&mut self) -> Result<Option<News>, FollowError> {
        if self.ready.is_empty() {
            let read = self.journal.read(&self.id, self.state.end, CATCH_UP_RECORDS).await;
            let records = match read {
                // It has not begun.
                Err(StoreError::UnknownConversation(_)) if self.state.end == Seq::default() => {
                    Vec::new()
                }
                read => read?,
            };
            for record in &records {
                let entry = reader::entry(record);
                if reader::origin(&entry).is_some() {
                    // It begins with what was said where it was cut from.
                    let begun = reader::state_through(&*self.journal, &self.id, record.seq).await;
                    self.state = begun?;
                    let view = View::from(&self.state);
                    self.ready.push_back(News::Snapshot(Box::new(view)));
                    continue;
                }
                self.state.apply(&entry);
                let change = ViewChange::of(&self.state, &entry);
                self.ready.push_back(News::Change(Box::new(change)));
            }
        }
        Ok(self.ready.pop_front())
    }
}

/// Waits until a journal has more entries.
async fn grown(journal: &dyn Journal, id: &ConversationId, end: Seq) -> Result<(), StoreError> {
    let mut position = ANY_POSITION;
    loop {
        match journal.wait_past(id, end).await {
            // It has not begun: anything that is written anywhere may be its first entry.
            Err(StoreError::UnknownConversation(_)) if end == Seq::default() => {
                position = journal.wait_list(position).await?;
            }
            grown => return grown.map(drop),
        }
    }
}

/// The entry of a change that waits.
fn first_of(news: &News) -> Option<Seq> {
    match news {
        News::Change(change) => Some(change.cursor),
        News::Snapshot(_) | News::Live(_) => None,
    }
}
