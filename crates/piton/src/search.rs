//! Finding what was said, in all conversations of a home.
//!
//! The texts lie in an index beside the journals (`piton_store::SearchIndex`). The store knows words and
//! places; here is what the entries mean: who said a text, and whether it still counts. The index is
//! brought up to date when somebody searches, from the store's feed of changes, so that only what is new
//! is read and no commit waits for it.

mod pattern;
mod texts;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use piton_core::event::ForkOrigin;
use piton_core::id::{ConversationId, Seq};
use piton_store::{
    Addition, Directory, FoundText, Indexed, Journal, ListPosition, Listed, SearchIndex, Sought,
    StoreError,
};

pub use self::pattern::{Pattern, PatternError};
use self::texts::Memo;
pub use self::texts::Scope;
use crate::{reader, tail};

/// Conversations that are asked for at once.
const CHANGES_ROWS: usize = 4_096;
/// Records that are read at once.
const READ_RECORDS: usize = 512;
/// Records whose texts are written together.
const TAKE_RECORDS: usize = 2_048;
/// Times to begin anew: the index was of another store or damaged, or others filled it at the same time.
const TRIES: usize = 8;

/// Searches the conversations of a home.
#[derive(Clone, Debug)]
pub struct Search {
    journal: Arc<dyn Journal>,
    home: PathBuf,
    index: Arc<Mutex<SearchIndex>>,
    /// Up to where the index is known to be filled. Zero if nobody has looked yet.
    reached: Arc<AtomicU64>,
}

/// What is looked for, and where.
#[derive(Clone, Debug)]
pub struct Query {
    /// What.
    pub pattern: Pattern,
    /// Only in this conversation, with what it shares with those that it was forked from.
    pub conversation: Option<ConversationId>,
    /// Only in conversations that work in a directory.
    pub directory: Option<Directory>,
    /// Workers only, or everything but workers.
    pub worker: Option<bool>,
    /// Only what these said; none is everybody.
    pub scopes: Vec<Scope>,
    /// Also what does not count any more: turns that were discarded, attempts that were superseded.
    pub hidden: bool,
    /// Lines around each hit.
    pub context: usize,
    /// Most hits in one conversation.
    pub each_max: usize,
    /// Most hits in all.
    pub hits_max: usize,
}

impl Query {
    /// A pattern, looked for everywhere.
    pub fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            conversation: None,
            directory: None,
            worker: None,
            scopes: Vec::new(),
            hidden: false,
            context: 0,
            each_max: usize::MAX,
            hits_max: usize::MAX,
        }
    }
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The conversation.
    pub conversation: ConversationId,
    /// The turn, from 1; zero for what belongs to none.
    pub turn: u32,
    /// The entry.
    pub seq: Seq,
    /// Who said it.
    pub scope: Arc<str>,
    /// What it is.
    pub kind: Arc<str>,
    /// Why it does not count any more; empty if it does.
    pub hidden: Arc<str>,
    /// The number of the line in its text, from 1.
    pub number: usize,
    /// The line.
    pub line: String,
    /// Lines in front of it.
    pub before: Vec<String>,
    /// Lines behind it.
    pub after: Vec<String>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// The hits: the conversation with the newest one first, within one in order.
    pub hits: Vec<Hit>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

/// What became of a try to bring the index up to date.
enum Filled {
    Whole,
    /// Somebody else brought something at the same time.
    Shared,
    /// The index speaks of another store.
    Foreign,
}

impl Search {
    /// Opens the index of a home.
    pub async fn open(journal: Arc<dyn Journal>, home: &Path) -> Result<Self, StoreError> {
        let place = home.to_owned();
        let index = blocking(move || SearchIndex::open(&place)).await?;
        let (index, reached) = (Arc::new(Mutex::new(index)), Arc::default());
        Ok(Self { journal, home: home.to_owned(), index, reached })
    }

    /// Finds lines that match, newest first, in all that is recorded at this moment. An index that turns
    /// out to be damaged is made again.
    pub async fn find(&self, query: &Query) -> Result<Hits, StoreError> {
        if let Some(found) = self.find_known(query).await {
            return Ok(found);
        }
        self.catch_up().await?;
        match self.look(query).await {
            Err(error) if SearchIndex::is_damage(&self.home, &error) => {
                self.begin_anew().await?;
                self.catch_up().await?;
                self.look(query).await
            }
            found => found,
        }
    }

    /// Looks while the journals are asked for news. What was found counts only if there are none, as most of
    /// the time; so a search waits once and not twice.
    async fn find_known(&self, query: &Query) -> Option<Hits> {
        let reached = ListPosition(self.reached.load(Ordering::Relaxed));
        if reached.0 == 0 {
            return None;
        }
        let (news, found) = tokio::join!(self.journal.changes(reached, 1), self.look(query));
        // A look that failed is tried again, behind what mends an index.
        found.ok().filter(|_| news.is_ok_and(|news| news.position == reached))
    }

    /// Brings the index up to date.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            match self.fill().await {
                Ok(Filled::Whole) => return Ok(()),
                Ok(Filled::Shared) => {}
                Ok(Filled::Foreign) => self.begin_anew().await?,
                Err(error) if SearchIndex::is_damage(&self.home, &error) => {
                    self.begin_anew().await?;
                }
                Err(error) => return Err(error),
            }
        }
        // Others are filling it all the time: what there is will do.
        Ok(())
    }

    async fn fill(&self) -> Result<Filled, StoreError> {
        loop {
            let after = match self.reached.load(Ordering::Relaxed) {
                0 => self.with(|index| index.position()).await?,
                reached => ListPosition(reached),
            };
            let changes = self.journal.changes(after, CHANGES_ROWS).await?;
            if changes.position < after {
                return Ok(Filled::Foreign);
            }
            let mut pending = Pending::default();
            for row in &changes.rows {
                let indexed = {
                    let id = row.conversation.clone();
                    self.with(move |index| index.indexed(&id)).await?
                };
                if row.end < indexed.through {
                    return Ok(Filled::Foreign);
                }
                self.read(row, indexed, &mut pending).await?;
            }
            self.write(&mut pending).await?;
            if pending.shared {
                return Ok(Filled::Shared);
            }
            let position = changes.position;
            if position != after {
                self.with(move |index| index.reach(position)).await?;
            }
            self.reached.store(position.0, Ordering::Relaxed);
            if !changes.more {
                return Ok(Filled::Whole);
            }
        }
    }

    /// Reads what is new of a conversation. One that is damaged is known as far as it can be read.
    async fn read(
        &self,
        row: &Listed,
        indexed: Indexed,
        pending: &mut Pending,
    ) -> Result<(), StoreError> {
        let mut through = indexed.through;
        let mut memo = match through {
            Seq(0) => self.beginning(row).await?,
            _ => Memo::read(&indexed.memo),
        };
        while through < row.end {
            let read = self.journal.read(&row.conversation, through, READ_RECORDS).await;
            let records = match read {
                Ok(records) => records,
                Err(StoreError::DamagedEntry { .. } | StoreError::UnknownConversation(_)) => break,
                Err(error) => return Err(error),
            };
            let Some(last) = records.last().map(|record| record.seq) else { break };
            let changes =
                records.iter().flat_map(|record| memo.take(&reader::entry(record))).collect();
            pending.records += records.len();
            pending.additions.push(Addition {
                conversation: row.conversation.clone(),
                workspace: row.row.workspace.clone(),
                after: through,
                now: Indexed { through: last, memo: memo.written() },
                changes,
            });
            through = last;
            if TAKE_RECORDS <= pending.records {
                self.write(pending).await?;
            }
        }
        Ok(())
    }

    /// What is known in front of a conversation's first entry: of a fork, the turn that it was cut in.
    async fn beginning(&self, row: &Listed) -> Result<Memo, StoreError> {
        let origin = match reader::origin_of(&*self.journal, &row.conversation).await {
            Err(StoreError::DamagedEntry { .. } | StoreError::UnknownConversation(_)) => None,
            origin => origin?,
        };
        let Some(origin) = origin else { return Ok(Memo::default()) };
        let from = self.journal.status(&origin.conversation).await?;
        let is_inherited = from.is_some_and(|from| from.row.title == row.row.title);
        let begun = tail::turn_at(&*self.journal, &origin).await?;
        Ok(Memo::of_fork(&begun, is_inherited))
    }

    async fn write(&self, pending: &mut Pending) -> Result<(), StoreError> {
        pending.records = 0;
        let additions = std::mem::take(&mut pending.additions);
        if !additions.is_empty() {
            pending.shared |= !self.with(move |index| index.take(&additions)).await?;
        }
        Ok(())
    }

    async fn begin_anew(&self) -> Result<(), StoreError> {
        let home = self.home.clone();
        self.reached.store(0, Ordering::Relaxed);
        self.with(move |index| {
            SearchIndex::remove(&home)?;
            *index = SearchIndex::open(&home)?;
            Ok(())
        })
        .await
    }

    /// Looks in one conversation, the newest entries first, and in what it shares with those that it was
    /// cut from; or everywhere.
    async fn look(&self, query: &Query) -> Result<Hits, StoreError> {
        let query = query.clone();
        let stretches = match &query.conversation {
            Some(id) => reader::lineage(&*self.journal, id).await?.stretches,
            None => Vec::new(),
        };
        self.with(move |index| {
            let mut gathered = Gathered::default();
            for ForkOrigin { conversation, through } in stretches.iter().rev() {
                let sought = Sought { conversation: Some(conversation.clone()), ..query.sought() };
                index.look(&sought, |text| {
                    if *through < text.seq {
                        return ControlFlow::Continue(());
                    }
                    gathered.take(&query, text)
                })?;
            }
            if stretches.is_empty() {
                index.look(&query.sought(), |text| gathered.take(&query, text))?;
            }
            Ok(gathered.hits())
        })
        .await
    }

    /// Does something with the index, on a thread that may wait for a disk.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SearchIndex) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let index = Arc::clone(&self.index);
        blocking(move || work(&mut index.lock().unwrap_or_else(PoisonError::into_inner))).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closed)?
}

/// What was read and not written yet.
#[derive(Default)]
struct Pending {
    additions: Vec<Addition>,
    records: usize,
    shared: bool,
}

impl Query {
    fn sought(&self) -> Sought {
        Sought {
            literal: self.pattern.literal().map(str::to_owned),
            conversation: None,
            directory: self.directory.clone(),
            worker: self.worker,
            scopes: self.scopes.iter().map(|scope| scope.word()).collect(),
            hidden: self.hidden,
        }
    }
}

/// Hits as they are met, with the rank of their conversations.
#[derive(Default)]
struct Gathered {
    /// By their numbers in the index.
    met: HashMap<i64, Met>,
    hits: Vec<(usize, Hit)>,
    /// Words that many hits share: who said it, what it is.
    words: Vec<Arc<str>>,
    more: bool,
}

/// A conversation with a hit.
struct Met {
    /// How many were met before it.
    rank: usize,
    hits: usize,
}

impl Gathered {
    /// Takes the lines of a text that match; says whether more are wanted.
    fn take(&mut self, query: &Query, found: &FoundText<'_>) -> ControlFlow<()> {
        let text = &*found.text;
        // Most texts that are looked at have no hit at all.
        if !query.pattern.is_in(text) {
            return ControlFlow::Continue(());
        }
        if !text.contains('\n') {
            return self.add(query, found, &[text], 0);
        }
        let lines: Vec<_> = text.lines().collect();
        let places = lines.iter().enumerate().filter(|(_, line)| query.pattern.is_in(line));
        for (place, _) in places {
            self.add(query, found, &lines, place)?;
        }
        ControlFlow::Continue(())
    }

    fn add(
        &mut self,
        query: &Query,
        found: &FoundText<'_>,
        lines: &[&str],
        place: usize,
    ) -> ControlFlow<()> {
        if query.hits_max <= self.hits.len() {
            self.more = true;
            return ControlFlow::Break(());
        }
        let rank = self.met.len();
        let met = self.met.entry(found.key).or_insert(Met { rank, hits: 0 });
        if query.each_max <= met.hits {
            return ControlFlow::Continue(());
        }
        met.hits += 1;
        let rank = met.rank;
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let first = place.saturating_sub(query.context);
        let end = lines.len().min((place + 1).saturating_add(query.context));
        let hit = Hit {
            conversation: ConversationId::new(&*found.conversation),
            turn: found.turn,
            seq: found.seq,
            scope: self.word(&found.scope),
            kind: self.word(&found.kind),
            hidden: self.word(&found.hidden),
            number: place + 1,
            line: lines.get(place).map(|line| (*line).to_owned()).unwrap_or_default(),
            before: owned(lines.get(first..place).unwrap_or_default()),
            after: owned(lines.get(place + 1..end).unwrap_or_default()),
        };
        self.hits.push((rank, hit));
        ControlFlow::Continue(())
    }

    /// A word that another hit has, too, is not copied again.
    fn word(&mut self, word: &str) -> Arc<str> {
        if let Some(known) = self.words.iter().find(|known| &***known == word) {
            return known.clone();
        }
        let word: Arc<str> = word.into();
        self.words.push(word.clone());
        word
    }

    /// By conversation, in the order in which those were met.
    fn hits(mut self) -> Hits {
        // Stable: within a text the lines are in order already.
        self.hits.sort_by_key(|(rank, hit)| (*rank, hit.seq));
        Hits { hits: self.hits.into_iter().map(|(_, hit)| hit).collect(), more: self.more }
    }
}
