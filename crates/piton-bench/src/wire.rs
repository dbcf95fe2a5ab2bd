//! Dialects against plain JSON: bytes to pieces of an answer, and transcripts to bytes.

mod history;
mod streams;

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use piton_wire::cache::Cache;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use self::history::{DIALECTS, History, ask, dialect};
use self::streams::{Stream, streams};
use crate::measure::Bench;
use crate::measure::{Outcome, interleaved, ratio, shown};
use crate::report::{Row, Target};

/// How much an HTTP client hands over at once, in bytes.
const READ_BYTES: usize = 16 * 1024;
const ROUNDS: usize = 41;
/// Messages of a long conversation.
const MESSAGES: u32 = 1_000;

/// All rows.
pub(crate) fn all(bench: &Bench) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    for stream in streams() {
        rows.push(decode(&stream)?);
    }
    rows.extend(encode()?);
    rows.push(allocations(bench)?);
    Ok(rows)
}

/// Reading a stream against parsing the payload of each of its events into a value. Both begin with
/// bytes and end with all of it in memory.
fn decode(stream: &Stream) -> Outcome<Row> {
    let dialect = dialect(stream.dialect);
    let ask = ask(stream.dialect);
    let body = stream.body();
    let mut deltas = Vec::new();
    let read = || {
        let start = cpu_time();
        let mut decoder = dialect.decoder(&[], &ask);
        let mut ended = false;
        for piece in body.chunks(READ_BYTES) {
            decoder.push(piece, &mut deltas)?;
            ended |= !black_box(&deltas).is_empty();
            deltas.clear();
        }
        decoder.end(&mut deltas)?;
        deltas.clear();
        if !ended {
            return Err("nothing was read".into());
        }
        Ok(cpu_time().saturating_sub(start))
    };
    let parse = || {
        let start = cpu_time();
        let mut values = Vec::<Value>::new();
        for event in &stream.events {
            values.push(serde_json::from_slice(event.as_bytes())?);
        }
        black_box(&values);
        Ok(cpu_time().saturating_sub(start))
    };
    let (value, floor) = interleaved(ROUNDS, read, parse)?;
    let speed = |time: Duration| format!("{:.0} MB/s", mega(body.len()) / time.as_secs_f64());
    Ok(Row {
        what: stream.name,
        value: speed(value),
        floor: format!("parsed to values {}", speed(floor)),
        figure: ratio(floor, value),
        unit: "x",
        target: Target::AtLeast(0.5),
    })
}

/// Time that this thread has worked. All of this is work of one thread, and what others do on the
/// machine meanwhile must not count.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "far below what a float holds exactly")]
fn mega(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// Writing a long transcript against serialising the same value; and the next request of it.
fn encode() -> Outcome<Vec<Row>> {
    let mut history = History::new();
    let (long, longer) = (history.grow_to(MESSAGES - 1), history.grow_to(MESSAGES + 1));
    let mut rows = Vec::new();
    for (name, cold, warm) in DIALECTS {
        let (dialect, ask) = (dialect(name), ask(name));
        let body = dialect.encode(&longer, &ask, &mut Cache::default());
        let same: Value = serde_json::from_slice(&body)?;
        let plain = || {
            let start = cpu_time();
            black_box(serde_json::to_vec(&same)?);
            Ok(cpu_time().saturating_sub(start))
        };
        let fresh = || {
            let start = cpu_time();
            black_box(dialect.encode(&longer, &ask, &mut Cache::default()));
            Ok(cpu_time().saturating_sub(start))
        };
        let (value, floor) = interleaved(ROUNDS, fresh, plain)?;
        rows.push(row(cold, value, floor, Target::AtMost(2.5)));
        let next = || {
            let mut cache = Cache::default();
            black_box(dialect.encode(&long, &ask, &mut cache));
            let start = cpu_time();
            black_box(dialect.encode(&longer, &ask, &mut cache));
            Ok(cpu_time().saturating_sub(start))
        };
        let (value, floor) = interleaved(ROUNDS, next, plain)?;
        rows.push(row(warm, value, floor, Target::AtMost(0.25)));
    }
    Ok(rows)
}

fn row(what: &'static str, value: Duration, floor: Duration, target: Target) -> Row {
    Row {
        what,
        value: shown(value),
        floor: format!("the same value serialised {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target,
    }
}

/// Counted in a process of its own: counting slows every allocation down.
fn allocations(bench: &Bench) -> Outcome<Row> {
    let output = Command::new(bench.bin.join("piton-allocations")).output()?;
    let counts = String::from_utf8(output.stdout)?;
    let mut worst: (f64, String) = (0.0, String::new());
    for line in counts.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, few, some, many] = words.as_slice() else {
            return Err(format!("piton-allocations said {line}").into());
        };
        let growth = many.parse::<f64>()? / few.parse::<f64>()?.max(1.0);
        if worst.0 < growth {
            worst = (growth, format!("{many} with 1,000 messages, {some} with 100 ({name})"));
        }
    }
    let (figure, value) = worst;
    Ok(Row {
        what: "allocations for the next request, worst dialect",
        value,
        floor: "with 10 messages".into(),
        figure,
        unit: "x",
        target: Target::AtMost(1.25),
    })
}
