//! Fan-out: every face gets every entry; only live text is coalesced.
//!
//! Faces pull. The hub keeps the newest entries and one live text per request; a face that is slow
//! reads what it missed from the journal, and gets live text in one piece. So a slow face never
//! stalls the turn, and a face that comes late finds everything.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton_core::event::{Entry, Event, Inquiry, PartialKind};
use piton_core::id::{CallId, ConversationId, Seq, TurnId};
use piton_core::state::Call;
use piton_store::{Journal, StoreError};
use tokio::sync::watch;

use crate::live::LiveWriter;

use crate::reader;

/// Entries kept for faces; who is further behind reads the journal.
const ENTRIES_KEPT_MAX: usize = 1_024;
/// News of workers kept for faces.
const NEWS_KEPT_MAX: usize = 1_024;
/// Entries read from the journal at once by a face that is behind.
const CATCH_UP_RECORDS: usize = 256;

/// What a face gets.
#[derive(Clone, Debug)]
pub enum Update {
    /// A durable entry. Each comes exactly once, in order.
    Entry(Arc<Entry>),
    /// More live text of the answer that is streaming; the entry with the answer supersedes it.
    Live {
        /// Text or reasoning.
        kind: PartialKind,
        /// What came since the last piece.
        text: String,
    },
    /// How far a running call is. Only the newest word is kept, so some may be missed.
    Progress {
        /// The call.
        call: CallId,
        /// How far.
        text: String,
    },
    /// News of a conversation that works for a call of this one. For display: a face that is far behind
    /// misses the oldest; that conversation's own journal has them all.
    Worker {
        /// Which one.
        worker: Worker,
        /// What is new there.
        news: WorkerNews,
    },
}

/// A conversation that works for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The call.
    pub call: CallId,
    /// The conversation.
    pub conversation: ConversationId,
}

impl Worker {
    /// A number for people, from 1 in each step. It names nobody: the call and the conversation do.
    pub fn number(&self) -> u32 {
        self.call.index.saturating_add(1)
    }
}

/// What is new in a worker's conversation: its calls, its summaries, its questions. Its text is in the
/// result of its call.
#[derive(Clone, Debug)]
pub enum WorkerNews {
    /// A durable entry of its journal.
    Entry {
        /// The entry.
        entry: Arc<Entry>,
        /// The call that it is about.
        call: Option<Arc<Call>>,
    },
    /// It asks a person, who is there.
    Asks(Arc<Inquiry>),
}

/// The writing end, held by the conversation's writer.
#[derive(Debug)]
pub(crate) struct Hub {
    shared: Arc<Shared>,
    // Dropped with the hub, which ends all subscriptions once they are drained.
    changed: watch::Sender<u64>,
    live: LiveWriter,
}

#[derive(Debug)]
struct Shared {
    journal: Arc<dyn Journal>,
    conversation: ConversationId,
    feed: Mutex<Feed>,
}

#[derive(Debug, Default)]
struct Feed {
    end: Seq,
    entries: VecDeque<Arc<Entry>>,
    /// Counts requests, so that a face knows live text of an old one.
    request: u64,
    live: Vec<(PartialKind, String)>,
    /// The last entry in front of the live text. What came after it is shown after it.
    live_after: Seq,
    /// How far calls are, with the number of the word.
    progress: BTreeMap<CallId, (u64, String)>,
    words: u64,
    /// News of workers, each behind the last entry that was there before it.
    news: VecDeque<(Seq, Worker, WorkerNews)>,
    /// How many news there were before those that are kept.
    news_dropped: u64,
}

impl Shared {
    fn feed(&self) -> MutexGuard<'_, Feed> {
        // A face that panicked while reading leaves the feed as it was.
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        conversation: ConversationId,
        end: Seq,
        live: LiveWriter,
    ) -> Self {
        let feed = Mutex::new(Feed { end, ..Feed::default() });
        let shared = Arc::new(Shared { journal, conversation, feed });
        Self { shared, changed: watch::Sender::new(0), live }
    }

    /// Shows durable entries of a turn.
    pub(crate) fn publish(&self, turn: TurnId, entries: impl IntoIterator<Item = Entry>) {
        let mut feed = self.shared.feed();
        for entry in entries {
            self.live.entry(turn, &entry);
            if matches!(entry.event, Event::ModelAsked { .. } | Event::ModelAnswered { .. }) {
                feed.request += 1;
                feed.live.clear();
            }
            if let Event::ToolFinished { call, .. } = &entry.event {
                feed.progress.remove(call);
            }
            feed.end = entry.seq;
            feed.entries.push_back(Arc::new(entry));
            if ENTRIES_KEPT_MAX < feed.entries.len() {
                feed.entries.pop_front();
            }
        }
        drop(feed);
        self.changed.send_modify(|version| *version += 1);
    }

    /// Shows live text.
    pub(crate) fn live(&self, kind: PartialKind, text: &str) {
        self.live.text(kind, text);
        let mut feed = self.shared.feed();
        if feed.live.is_empty() {
            feed.live_after = feed.end;
        }
        match feed.live.last_mut() {
            Some((last, whole)) if *last == kind => whole.push_str(text),
            Some(_) | None => feed.live.push((kind, text.to_owned())),
        }
        drop(feed);
        self.changed.send_modify(|version| *version += 1);
    }

    /// Shows how far a call is.
    pub(crate) fn progress(&self, call: CallId, text: String) {
        self.live.progress(call, &text);
        let mut feed = self.shared.feed();
        feed.words += 1;
        let word = feed.words;
        feed.progress.insert(call, (word, text));
        drop(feed);
        self.changed.send_modify(|version| *version += 1);
    }

    /// Where workers leave their news.
    pub(crate) fn port(&self) -> WorkerPort {
        WorkerPort { shared: self.shared.clone(), changed: self.changed.clone() }
    }

    /// A face that has seen everything up to `after`.
    pub(crate) fn subscribe(&self, after: Seq) -> Subscription {
        let changed = self.changed.subscribe();
        let (seen, shared) = (LiveSeen::default(), self.shared.clone());
        let news_seen = shared.feed().news_count();
        let behind = VecDeque::new();
        Subscription { shared, changed, after, seen, words: 0, news_seen, behind }
    }
}

/// Where workers leave their news for the faces of the conversation that they work for.
#[derive(Clone, Debug)]
pub(crate) struct WorkerPort {
    shared: Arc<Shared>,
    changed: watch::Sender<u64>,
}

impl WorkerPort {
    pub(crate) fn send(&self, worker: &Worker, news: WorkerNews) {
        let mut feed = self.shared.feed();
        let after = feed.end;
        feed.news.push_back((after, worker.clone(), news));
        if NEWS_KEPT_MAX < feed.news.len() {
            feed.news.pop_front();
            feed.news_dropped += 1;
        }
        drop(feed);
        self.changed.send_modify(|version| *version += 1);
    }
}

impl Feed {
    fn news_count(&self) -> u64 {
        self.news_dropped + self.news.len() as u64
    }

    /// The news behind so many, if it is due for a face that has seen the entries up to `after`.
    fn news(&self, seen: &mut u64, after: Seq) -> Option<Update> {
        *seen = (*seen).max(self.news_dropped);
        let place = usize::try_from(*seen - self.news_dropped).unwrap_or(usize::MAX);
        let (behind, worker, news) = self.news.get(place)?;
        if after < *behind {
            return None;
        }
        *seen += 1;
        Some(Update::Worker { worker: worker.clone(), news: news.clone() })
    }
}

/// The reading end of one face. A clone has seen what the original has seen, and goes on by itself.
#[derive(Clone, Debug)]
pub struct Subscription {
    shared: Arc<Shared>,
    changed: watch::Receiver<u64>,
    after: Seq,
    seen: LiveSeen,
    /// The last word on how far a call is.
    words: u64,
    news_seen: u64,
    behind: VecDeque<Arc<Entry>>,
}

/// How much live text of which request a face has.
#[derive(Clone, Copy, Debug, Default)]
struct LiveSeen {
    request: u64,
    block: usize,
    bytes: usize,
}

enum Found {
    Update(Update),
    Behind,
    Nothing,
}

impl Subscription {
    /// Waits for the next update; `None` when the conversation's session is gone and everything
    /// was seen.
    pub async fn next(&mut self) -> Result<Option<Update>, StoreError> {
        loop {
            // Marked before looking: what comes while we look wakes us again.
            self.changed.mark_unchanged();
            let ended = self.changed.has_changed().is_err();
            match self.find() {
                Found::Update(update) => return Ok(Some(update)),
                Found::Behind => self.catch_up().await?,
                Found::Nothing if ended => return Ok(None),
                Found::Nothing => {
                    // An error means that the hub is gone; the next round drains what is left.
                    self.changed.changed().await.unwrap_or_default();
                }
            }
        }
    }

    fn find(&mut self) -> Found {
        let feed = self.shared.feed();
        if let Some(entry) = self.behind.pop_front() {
            self.after = entry.seq;
            return Found::Update(Update::Entry(entry));
        }
        if feed.live_after <= self.after
            && let Some(update) = self.seen.next(&feed)
        {
            return Found::Update(update);
        }
        if let Some(update) = feed.news(&mut self.news_seen, self.after) {
            return Found::Update(update);
        }
        if self.after < feed.end {
            let next = self.after.next();
            let oldest = feed.entries.front().map_or(feed.end.next(), |entry| entry.seq);
            if next < oldest {
                return Found::Behind;
            }
            let place = usize::try_from(next.0 - oldest.0).unwrap_or(usize::MAX);
            let Some(entry) = feed.entries.get(place).cloned() else { return Found::Behind };
            self.after = entry.seq;
            return Found::Update(Update::Entry(entry));
        }
        let newer = feed.progress.iter().filter(|(_, (word, _))| self.words < *word);
        if let Some((call, (word, text))) = newer.min_by_key(|(_, (word, _))| *word) {
            self.words = *word;
            return Found::Update(Update::Progress { call: *call, text: text.clone() });
        }
        Found::Nothing
    }

    async fn catch_up(&mut self) -> Result<(), StoreError> {
        let Shared { journal, conversation, .. } = &*self.shared;
        let records = journal.read(conversation, self.after, CATCH_UP_RECORDS).await?;
        if records.is_empty() {
            // What was published is durable; a journal that has lost it cannot be followed.
            return Err(StoreError::Closed);
        }
        self.behind.extend(records.iter().map(|record| Arc::new(reader::entry(record))));
        Ok(())
    }
}

impl LiveSeen {
    fn next(&mut self, feed: &Feed) -> Option<Update> {
        if self.request != feed.request {
            *self = Self { request: feed.request, block: 0, bytes: 0 };
        }
        loop {
            let (kind, whole) = feed.live.get(self.block)?;
            // Pieces are whole strings, so the offset is always at a character's edge.
            let text = whole.get(self.bytes..).unwrap_or_default();
            if !text.is_empty() {
                self.bytes = whole.len();
                return Some(Update::Live { kind: *kind, text: text.to_owned() });
            }
            if feed.live.len() <= self.block + 1 {
                return None;
            }
            *self = Self { request: self.request, block: self.block + 1, bytes: 0 };
        }
    }
}
