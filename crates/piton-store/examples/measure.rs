//! Measures what the store promises: bytes written, time of a durable append, throughput of many
//! conversations, cost of a list, cost of reading.
//!
//! `cargo run --release -p piton-store --example measure [page size] [directory]`
//!
//! Every figure of the store stands beside that of a bare database on the same disk at the same
//! time, because figures of another day or another disk say nothing.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a tool for people who work on the store; it may fall over"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_core::view::Status;
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, Lease, NewRecord, Page, SqliteJournal,
    StatusRow, inspect, verify,
};
use rusqlite::Connection;

/// Steps of the measured turn, and what its two commits hold, in bytes.
const STEPS: u64 = 200;
const COMMIT_BYTES: [usize; 2] = [500, 2300];
const APPENDS: u64 = 2000;
const BURST: u64 = 20;
const CONVERSATIONS: usize = 64;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let page: u32 = arguments.next().map_or(512, |page| page.parse().unwrap());
    let base = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    println!("pages of {page} bytes");
    for (name, text) in [("text", prose as fn(usize, u64) -> String), ("noise", noise)] {
        runtime.block_on(bytes_written(&fresh(&base, page), name, text));
    }
    runtime.block_on(latency(&fresh(&base, page), &fresh(&base, page)));
    runtime.block_on(throughput(&fresh(&base, page)));
    runtime.block_on(lists(&fresh(&base, page)));
    runtime.block_on(reading(&fresh(&base, page)));
    runtime.block_on(checking(&fresh(&base, page)));
}

/// A home whose database has pages of this size: the size of a database that exists stays.
fn fresh(base: &Path, page: u32) -> tempfile::TempDir {
    let home = tempfile::tempdir_in(base).unwrap();
    bare(&home.path().join("piton.db"), page);
    home
}

fn bare(path: &Path, page: u32) -> Connection {
    let db = Connection::open(path).unwrap();
    db.pragma_update(None, "page_size", page).unwrap();
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    db.pragma_update(None, "synchronous", "FULL").unwrap();
    db
}

/// Text of the kind that journals hold.
fn prose(bytes: usize, seed: u64) -> String {
    let words =
        ["the", "file", "fn ", "error", "src/lib.rs", "\\n", "{\"call\":", "result", "of", "test"];
    let mut state = seed;
    let mut text = String::from("{\"type\":\"tool_finished\",\"output\":\"");
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let choice = usize::try_from(state >> 40).unwrap();
        text.push_str(words.get(choice % words.len()).unwrap());
        text.push_str(&(choice % 997).to_string());
    }
    text.truncate(bytes);
    text
}

/// Text that cannot be packed.
fn noise(bytes: usize, seed: u64) -> String {
    let mut state = seed.wrapping_add(1);
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
    };
    (0..bytes).map(|_| letter()).collect()
}

fn batch(expected: u64, body: String) -> Batch {
    Batch {
        name: CommitName::fresh(),
        expected: Seq(expected),
        records: vec![NewRecord { at: Timestamp(1_700_000_000_000), format: 1, body }],
        status: StatusRow { status: Status::PendingTools, ..StatusRow::default() },
        durability: Durability::Synced,
    }
}

async fn lease(journal: &SqliteJournal, name: &str) -> Lease {
    let holder = Holder { pid: 1, host: "here".to_owned(), since: Timestamp(0) };
    journal.lease(&ConversationId::new(name), holder).await.unwrap()
}

fn written() -> (u64, u64) {
    let counters = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let counter = |name: &str| {
        let line = counters.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    (counter("wchar:"), counter("write_bytes:"))
}

async fn bytes_written(home: &tempfile::TempDir, name: &str, text: fn(usize, u64) -> String) {
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    let writer = lease(&journal, "a").await;
    let (mut place, mut payload) = (0, 0);
    let mut raw = std::fs::File::create(home.path().join("raw")).unwrap();
    let before = written();
    for _ in 0..STEPS {
        for bytes in COMMIT_BYTES {
            let body = text(bytes, place);
            payload += body.len();
            journal.append(&writer, batch(place, body)).await.unwrap();
            place += 1;
        }
    }
    drop((writer, journal));
    let after = written();
    for place in 0..place {
        let bytes = *COMMIT_BYTES.get(usize::try_from(place).unwrap() % 2).unwrap();
        std::io::Write::write_all(&mut raw, text(bytes, place).as_bytes()).unwrap();
        raw.sync_data().unwrap();
    }
    let floor = written();
    println!(
        "a turn of {STEPS} steps of {name}: {:.2} x payload written, {:.2} x as disk blocks \
         (a bare file synced as often: {:.2} x)",
        (after.0 - before.0) as f64 / payload as f64,
        (after.1 - before.1) as f64 / payload as f64,
        (floor.1 - after.1) as f64 / payload as f64,
    );
}

async fn latency(home: &tempfile::TempDir, other: &tempfile::TempDir) {
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    let writer = lease(&journal, "a").await;
    let db = bare(&other.path().join("piton.db"), 4096);
    db.execute_batch("CREATE TABLE entries (seq INTEGER PRIMARY KEY, body TEXT)").unwrap();
    let insert = "INSERT INTO entries (body) VALUES (?1)";
    for bytes in [200, 2300] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let start = journal.status(writer.conversation()).await.unwrap().map_or(0, |row| row.end.0);
        // In turn, so that both meet the same disk, a burst each.
        for burst in 0..APPENDS / BURST {
            let bodies = (0..BURST).map(|place| noise(bytes, burst * BURST + place));
            let bodies: Vec<String> = bodies.collect();
            for body in &bodies {
                let begun = Instant::now();
                db.prepare_cached(insert).unwrap().execute([body]).unwrap();
                theirs.push(begun.elapsed());
            }
            for (place, body) in (start + burst * BURST..).zip(bodies) {
                let begun = Instant::now();
                journal.append(&writer, batch(place, body)).await.unwrap();
                ours.push(begun.elapsed());
            }
        }
        ours.sort();
        theirs.sort();
        let at = |times: &[std::time::Duration], percent: usize| {
            times.get(times.len() * percent / 100).unwrap().as_secs_f64() * 1e6
        };
        println!(
            "a durable append of {bytes} bytes: p50 {:.0} us, p99 {:.0} us; bare p50 {:.0} us, p99 {:.0} us; ratio of p50 {:.2}",
            at(&ours, 50),
            at(&ours, 99),
            at(&theirs, 50),
            at(&theirs, 99),
            at(&ours, 50) / at(&theirs, 50),
        );
    }
}

async fn throughput(home: &tempfile::TempDir) {
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    let journal = Arc::new(journal);
    let mut writers = tokio::task::JoinSet::new();
    let begun = Instant::now();
    for number in 0..CONVERSATIONS {
        let journal = Arc::clone(&journal);
        writers.spawn(async move {
            let writer = lease(&journal, &format!("c{number}")).await;
            for place in 0..APPENDS {
                journal.append(&writer, batch(place, prose(200, place))).await.unwrap();
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let events = CONVERSATIONS as f64 * APPENDS as f64;
    println!(
        "{CONVERSATIONS} conversations, one event of 200 bytes a commit: {:.0} events/s",
        events / begun.elapsed().as_secs_f64()
    );
}

async fn lists(home: &tempfile::TempDir) {
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    let mut made = 0;
    for total in [100, 10_000] {
        while made < total {
            let writer = lease(&journal, &format!("c{made}")).await;
            let mut first = batch(0, prose(2000, made));
            first.durability = Durability::Relaxed;
            first.status.touched = Timestamp(made);
            journal.append(&writer, first).await.unwrap();
            made += 1;
        }
        let mut times = Vec::new();
        for _ in 0..200 {
            let begun = Instant::now();
            journal.list(Page::first(50)).await.unwrap();
            times.push(begun.elapsed());
        }
        times.sort();
        println!("a page of 50 out of {total} conversations: {:?}", times.get(100).unwrap());
    }
}

async fn reading(home: &tempfile::TempDir) {
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    for (name, text) in [("text", prose as fn(usize, u64) -> String), ("noise", noise)] {
        let writer = lease(&journal, name).await;
        for place in 0..2500 {
            let mut next = batch(place, text(20_000, place));
            next.durability = Durability::Relaxed;
            journal.append(&writer, next).await.unwrap();
        }
        let begun = Instant::now();
        let read = journal.read(writer.conversation(), Seq(0), usize::MAX).await.unwrap();
        println!("reading 50 MB of {name} ({} entries): {:?}", read.len(), begun.elapsed());
    }
}

/// What `piton doctor` does with a store: of large entries, of small ones, and of blobs.
async fn checking(home: &tempfile::TempDir) {
    {
        let (journal, _) = SqliteJournal::open(home.path()).unwrap();
        for number in 0..200 {
            let writer = lease(&journal, &format!("c{number}")).await;
            let (entries, bytes) = if number < 100 { (25, 20_000) } else { (250, 2_000) };
            for place in 0..entries {
                let mut next = batch(place, noise(bytes, number * 1000 + place));
                next.durability = Durability::Relaxed;
                journal.append(&writer, next).await.unwrap();
            }
        }
        for number in 0..50 {
            journal.put_blob(noise(1_000_000, number).as_bytes()).await.unwrap();
        }
    }
    let bytes = std::fs::metadata(home.path().join("piton.db")).unwrap().len();
    let begun = Instant::now();
    inspect(home.path()).unwrap();
    println!("checking a database of {} MB: {:?}", bytes / 1_000_000, begun.elapsed());
    let begun = Instant::now();
    let found = verify(home.path(), &mut |_| {}).unwrap().unwrap();
    assert!(found.damaged.is_empty() && found.damaged_blobs.is_empty());
    println!("comparing it and 50 MB of blobs with their sums: {:?}", begun.elapsed());
}
