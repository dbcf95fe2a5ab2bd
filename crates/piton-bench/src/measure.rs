//! Medians, interleaving, and a bare database to compare with.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// What the measurements need.
#[derive(Debug)]
pub(crate) struct Bench {
    /// Where files go: a real disk, because durability is measured.
    pub(crate) dir: tempfile::TempDir,
    /// Where the binaries are.
    pub(crate) bin: PathBuf,
}

/// What a measurement gives; any failure ends the run.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The time that so many of a hundred keep to.
pub(crate) fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(place).copied().unwrap_or_default()
}

/// How many times longer `value` is than `floor`.
pub(crate) fn ratio(value: Duration, floor: Duration) -> f64 {
    value.as_secs_f64() / floor.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// A duration for people.
pub(crate) fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1_000.0 { format!("{us:.0} µs") } else { format!("{:.2} ms", us / 1_000.0) }
}

/// Measures two things in turn, so that both meet the same noise. Gives both medians.
pub(crate) fn interleaved(
    rounds: usize,
    mut value: impl FnMut() -> Outcome<Duration>,
    mut floor: impl FnMut() -> Outcome<Duration>,
) -> Outcome<(Duration, Duration)> {
    let (mut values, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        values.push(value()?);
        floors.push(floor()?);
    }
    Ok((median(values), median(floors)))
}

/// A bare table in WAL mode with full sync: the least that a durable commit costs.
#[derive(Debug)]
pub(crate) struct BareSqlite(Connection);

impl BareSqlite {
    pub(crate) fn open(dir: &Path) -> Outcome<Self> {
        let db = Connection::open(dir.join("bare.db"))?;
        db.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
        db.execute_batch(
            "PRAGMA synchronous=FULL;
             CREATE TABLE IF NOT EXISTS entry (seq INTEGER PRIMARY KEY, body TEXT NOT NULL);",
        )?;
        Ok(Self(db))
    }

    pub(crate) fn commit(&self, body: &str) -> Outcome<Duration> {
        let start = Instant::now();
        let mut insert = self.0.prepare_cached("INSERT INTO entry (body) VALUES (?1)")?;
        insert.execute([body])?;
        Ok(start.elapsed())
    }
}

/// The runtime that the binary uses too.
pub(crate) fn runtime() -> Outcome<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
