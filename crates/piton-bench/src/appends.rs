//! Durable appends: one at a time against a bare commit, and many together.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::try_join_all;
use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_store::{
    AppendError, Batch, CommitName, Durability, Holder, Journal, Lease, NewRecord, SqliteJournal,
    StatusRow,
};

use crate::measure::Bench;
use crate::measure::{BareSqlite, Outcome, interleaved, ratio, runtime, shown};
use crate::report::{Row, Target};

const ENTRY_BYTES: usize = 200;
const ROUNDS: usize = 3_000;
const CONVERSATIONS: usize = 64;
const APPENDS_EACH: usize = 400;

/// One event a commit, one conversation.
pub(crate) fn one(bench: &Bench) -> Outcome<Vec<Row>> {
    let home = bench.dir.path().join("append");
    let (journal, _) = SqliteJournal::open(&home)?;
    let bare = BareSqlite::open(&home)?;
    let runtime = runtime()?;
    let id = ConversationId::new("bench");
    let lease = runtime.block_on(journal.lease(&id, nobody()))?;
    let body = "x".repeat(ENTRY_BYTES);
    let mut end = Seq(0);
    let (value, floor) = interleaved(
        ROUNDS,
        || {
            let start = Instant::now();
            end = runtime.block_on(journal.append(&lease, batch(end, &body)))?;
            Ok(start.elapsed())
        },
        || bare.commit(&body),
    )?;
    Ok(vec![Row {
        what: "durable append of 200 B",
        value: shown(value),
        floor: format!("bare WAL/FULL commit {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target: Target::AtMost(1.5),
    }])
}

/// One event an append, 64 conversations at once.
pub(crate) fn many(bench: &Bench) -> Outcome<Vec<Row>> {
    let home = bench.dir.path().join("group");
    let events_per_second = many_per_second(&home)?;
    let bare = BareSqlite::open(&home)?;
    let body = "x".repeat(ENTRY_BYTES);
    let floor = crate::measure::median(
        (0..ROUNDS / 10).map(|_| bare.commit(&body)).collect::<Outcome<_>>()?,
    );
    Ok(vec![Row {
        what: "events a second over 64 conversations",
        value: format!("{events_per_second:.0}/s"),
        floor: format!("{:.0} bare commits/s", 1.0 / floor.as_secs_f64()),
        figure: events_per_second,
        unit: "/s",
        target: Target::AtLeast(50_000.0),
    }])
}

/// Events a second that the store takes from 64 conversations.
pub(crate) fn many_per_second(home: &Path) -> Outcome<f64> {
    let (journal, _) = SqliteJournal::open(home)?;
    let journal = Arc::new(journal);
    let (runtime, body) = (runtime()?, "x".repeat(ENTRY_BYTES));
    let leases: Vec<Lease> = runtime.block_on(try_join_all((0..CONVERSATIONS).map(|number| {
        let journal = journal.clone();
        async move { journal.lease(&ConversationId::new(format!("c{number}")), nobody()).await }
    })))?;
    let start = Instant::now();
    runtime.block_on(try_join_all(leases.iter().map(|lease| write(&journal, lease, &body))))?;
    let count = u32::try_from(CONVERSATIONS * APPENDS_EACH)?;
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

async fn write(journal: &SqliteJournal, lease: &Lease, body: &str) -> Result<(), AppendError> {
    let mut end = Seq(0);
    for _ in 0..APPENDS_EACH {
        end = journal.append(lease, batch(end, body)).await?;
    }
    Ok(())
}

fn batch(expected: Seq, body: &str) -> Batch {
    let record = NewRecord { at: Timestamp(1), format: 1, body: body.into() };
    let status = StatusRow { title: "bench".into(), turns: 1, ..StatusRow::default() };
    let (name, records) = (CommitName::fresh(), vec![record]);
    Batch { name, expected, records, status, durability: Durability::Synced }
}

fn nobody() -> Holder {
    Holder { pid: std::process::id(), host: "bench".into(), since: Timestamp(0) }
}
