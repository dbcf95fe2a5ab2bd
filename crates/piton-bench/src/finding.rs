//! Finding words, and reading the last turn: a long conversation against a short one, and many
//! conversations against a bare question to the index.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use piton::search::{Pattern, Query, Search};
use piton::tail;
use piton_core::event::{Event, UserPart};
use piton_core::id::{Attempt, ConversationId, MessageId, Seq, Timestamp, TurnId};
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, NewRecord, SqliteJournal, StatusRow,
};
use rusqlite::{Connection, OpenFlags};
use tokio::runtime::Runtime;

use crate::entries::{self, ENTRIES};
use crate::measure::{Bench, Outcome, interleaved, ratio, runtime, shown};
use crate::report::{Row, Target};

/// How large it is.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    short: usize,
    long: usize,
    conversations: u32,
    rounds: usize,
}

const SIZES: Sizes = Sizes { short: 1_000, long: ENTRIES, conversations: 10_000, rounds: 30 };
/// A word that a few entries have.
pub(crate) const WORD: &str = "kestrel";
/// Every so many conversations have it.
const WORD_EVERY: u32 = 50;
/// A word that fewer have.
const RARE: &str = "osprey";
/// Every so many conversations have it.
const RARE_EVERY: u32 = 500;
/// Entries written in one commit: those of a step.
const COMMIT_ENTRIES: usize = 4;

/// All figures.
pub(crate) fn all(bench: &Bench) -> Outcome<Vec<Row>> {
    measured(bench.dir.path(), SIZES)
}

fn measured(dir: &Path, sizes: Sizes) -> Outcome<Vec<Row>> {
    let runtime = runtime()?;
    let short = Store::of_one(&runtime, &dir.join("find-short"), sizes.short)?;
    let long = Store::of_one(&runtime, &dir.join("find-long"), sizes.long)?;
    let many = Store::of_many(&runtime, &dir.join("find-many"), sizes.conversations)?;
    for store in [&short, &long, &many] {
        runtime.block_on(store.search.catch_up())?;
    }
    let grep = |store: &Store, word: &str, expected: usize| -> Outcome<Duration> {
        let query = Query::new(Pattern::exactly(word)?);
        let start = Instant::now();
        let found = runtime.block_on(store.search.find(&query))?;
        let took = start.elapsed();
        match found.hits.len() {
            hits if hits == expected => Ok(took),
            hits => Err(format!("{hits} hits instead of {expected}").into()),
        }
    };
    let last = |store: &Store| -> Outcome<Duration> {
        let start = Instant::now();
        let state = runtime.block_on(tail::last_turns(&*store.journal, &named(0), 1))?;
        let took = start.elapsed();
        if state.is_some_and(|state| state.turns.len() == 1) {
            Ok(took)
        } else {
            Err("none".into())
        }
    };
    let rounds = sizes.rounds;
    let words = interleaved(rounds, || grep(&long, WORD, 1), || grep(&short, WORD, 1))?;
    let turns = interleaved(rounds, || last(&long), || last(&short))?;
    let bare = many.bare()?;
    let crowd = |word: &'static str, every: u32| {
        let hits = usize::try_from(sizes.conversations.div_ceil(every))?;
        interleaved(rounds, || grep(&many, word, hits), || asked(&runtime, &bare, word, hits))
    };
    let (many, few) = (crowd(WORD, WORD_EVERY)?, crowd(RARE, RARE_EVERY)?);
    let against = "a bare question to the index";
    Ok(vec![
        row("find a word in 100,000 entries", words, "in 1,000", Target::AtMost(1.5)),
        row("read the last turn of 100,000 entries", turns, "of 1,000", Target::AtMost(1.5)),
        row("a word of 200 among 10,000 conversations", many, against, Target::AtMost(2.0)),
        row("a word of 20 among them", few, against, Target::None),
    ])
}

fn row(
    what: &'static str,
    (value, floor): (Duration, Duration),
    against: &str,
    target: Target,
) -> Row {
    Row {
        what,
        value: shown(value),
        floor: format!("{against} {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target,
    }
}

/// Time to ask the index for the texts with the word and their places, with nothing around it but what any
/// program needs that must not wait for a disk: a thread for it, as our own search has one.
fn asked(
    runtime: &Runtime,
    bare: &Arc<Mutex<Connection>>,
    word: &'static str,
    expected: usize,
) -> Outcome<Duration> {
    let bare = Arc::clone(bare);
    let ask = move || texts(&bare.lock().unwrap_or_else(PoisonError::into_inner), word);
    let start = Instant::now();
    let found = runtime.block_on(async { tokio::task::spawn_blocking(ask).await })??;
    let took = start.elapsed();
    if found.len() == expected { Ok(took) } else { Err(format!("{} texts", found.len()).into()) }
}

fn texts(bare: &Connection, word: &str) -> Result<Vec<Place>, rusqlite::Error> {
    let sql = "SELECT name, seq, turn, scope, kind, text
         FROM words CROSS JOIN texts ON texts.id = words.rowid
         CROSS JOIN conversations ON conversations.key = texts.conversation
         WHERE words MATCH ?1 ORDER BY words.rowid DESC";
    let mut ask = bare.prepare_cached(sql)?;
    let texts = ask.query_map([word], |row| row.try_into())?;
    texts.collect()
}

/// What a hit has: who said what, and where.
type Place = (String, i64, i64, String, String, String);

#[derive(Debug)]
pub(crate) struct Store {
    home: PathBuf,
    journal: Arc<dyn Journal>,
    search: Search,
}

impl Store {
    fn open(runtime: &Runtime, home: &Path) -> Outcome<Self> {
        let (journal, _) = SqliteJournal::open(home)?;
        let journal: Arc<dyn Journal> = Arc::new(journal);
        let search = runtime.block_on(Search::open(Arc::clone(&journal), home))?;
        Ok(Self { home: home.to_owned(), journal, search })
    }

    /// One conversation; the word is in its middle.
    pub(crate) fn of_one(runtime: &Runtime, home: &Path, count: usize) -> Outcome<Self> {
        let store = Self::open(runtime, home)?;
        let mut events = entries::of("/".into(), count);
        let is_said = |event: &Event| matches!(event, Event::UserMessage { .. });
        let half = events.len() / 2;
        if let Some(Event::UserMessage { parts, .. }) =
            events.iter_mut().skip(half).find(|event| is_said(event))
        {
            *parts = vec![UserPart::text(format!("where is the {WORD}"))];
        }
        runtime.block_on(store.write(0, &events))?;
        Ok(store)
    }

    /// Many conversations of one message; a few have the word.
    fn of_many(runtime: &Runtime, home: &Path, count: u32) -> Outcome<Self> {
        let store = Self::open(runtime, home)?;
        for number in 0..count {
            let word = if number % WORD_EVERY == 0 { WORD } else { "sparrow" };
            let word = if number % RARE_EVERY == 0 { &format!("{word} and {RARE}") } else { word };
            let parts = vec![UserPart::text(format!("the {word} of conversation {number}"))];
            let (message, attempt) = (MessageId::new("m1"), Attempt::FIRST);
            let events = [
                entries::of("/".into(), 1),
                vec![
                    Event::TurnStarted { turn: TurnId(1), agent: None },
                    Event::UserMessage { message, parts, attempt },
                ],
            ];
            runtime.block_on(store.write(number, &events.concat()))?;
        }
        Ok(store)
    }

    async fn write(&self, number: u32, events: &[Event]) -> Outcome<()> {
        let holder = Holder { pid: 1, host: "bench".into(), since: Timestamp(0) };
        let lease = self.journal.lease(&named(number), holder).await?;
        let mut end = Seq(0);
        for events in events.chunks(COMMIT_ENTRIES) {
            let record =
                |event: &Event| NewRecord { at: Timestamp(1), format: 1, body: event.to_stored() };
            let records = events.iter().map(record).collect();
            let (name, status) = (CommitName::fresh(), StatusRow::default());
            let durability = Durability::Relaxed;
            let batch = Batch { name, expected: end, records, status, durability };
            end = self.journal.append(&lease, batch).await?;
        }
        Ok(())
    }

    fn bare(&self) -> Outcome<Arc<Mutex<Connection>>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let bare = Connection::open_with_flags(self.home.join("search.db"), flags)?;
        Ok(Arc::new(Mutex::new(bare)))
    }
}

fn named(number: u32) -> ConversationId {
    ConversationId::new(format!("c{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The figures mean nothing here; that they can be measured does.
    #[test]
    fn words_and_last_turns_are_found_in_stores_of_any_size() {
        let dir = tempfile::tempdir().unwrap();
        let sizes = Sizes { short: 200, long: 2_000, conversations: 501, rounds: 2 };
        let rows = measured(dir.path(), sizes).unwrap();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| row.figure.is_finite()), "{rows:?}");
    }
}
