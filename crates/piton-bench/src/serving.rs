//! A server with many turns and many readers, against the same engine without HTTP.
//!
//! The server is the real binary, in a process of its own. The readers and whoever begins the turns are in
//! this process, so the server and its load share nothing but the machine.

mod bare;
mod idle;
mod judged;
mod load;
mod run;
mod script;
mod server;

use self::run::{READERS_EACH, Run, TURNS, count};
use self::server::Server;
use crate::measure::{Bench, Outcome, ratio, runtime, shown};
use crate::report::{Row, Target};

pub(crate) use self::bare::{BARE_ONLY, bare_only};

/// Turns without readers, turns with readers, the bare engine, and readers at rest.
pub(crate) fn all(bench: &Bench) -> Outcome<Vec<Row>> {
    let alone = over_http(bench, "serve-alone", 0)?;
    let read = over_http(bench, "serve-read", READERS_EACH)?;
    let bare = bare::run(bench, TURNS)?;
    let mut rows = delays(&read, &bare);
    rows.extend(memory(&alone, &read, &bare));
    rows.extend(idle::rows(bench)?);
    Ok(rows)
}

/// All turns on a fresh server.
fn over_http(bench: &Bench, name: &str, readers_each: usize) -> Outcome<Run> {
    let home = bench.dir.path().join(name);
    let server = Server::start(bench, &home)?;
    let runtime = runtime()?;
    let names = runtime.block_on(load::begin(&server.client, TURNS))?;
    let before = server.memory("VmRSS:")?;
    let (readings, took) = runtime.block_on(load::turns(&server.client, &names, readers_each))?;
    let peak = server.memory("VmHWM:")?;
    server.end()?;
    let judged = runtime.block_on(judged::judge(&home, &names, readings))?;
    Ok(Run::new(judged, took, (before, peak)))
}

fn delays(read: &Run, bare: &Run) -> Vec<Row> {
    let row = |what, value, floor| Row {
        what,
        value: shown(value),
        floor: format!("to 2,000 followers in the engine's process {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target: Target::None,
    };
    let pace = script::pace();
    let late = |run: &Run| run.took.saturating_sub(pace);
    vec![
        row(
            "an entry to 2,000 readers of 1,000 streaming turns over HTTP, 50 of 100",
            read.p50,
            bare.p50,
        ),
        row("the same, 99 of 100", read.p99, bare.p99),
        Row {
            what: "readers whose view at the end is not the fold",
            value: format!("{} of {}", read.wrong, TURNS * READERS_EACH),
            floor: format!("followers of the bare engine {}", bare.wrong),
            figure: count(read.wrong),
            unit: "",
            target: Target::AtMost(0.0),
        },
        Row {
            what: "time of these turns, with 2,000 readers",
            value: format!("{}, {} entries", shown(read.took), read.entries),
            floor: format!(
                "their script {}, the bare engine {} more",
                shown(pace),
                shown(late(bare))
            ),
            figure: ratio(read.took, pace),
            unit: "x",
            target: Target::None,
        },
    ]
}

fn memory(alone: &Run, read: &Run, bare: &Run) -> Vec<Row> {
    let readers = count(TURNS * READERS_EACH);
    vec![
        Row {
            what: "memory of a streaming turn of a server",
            value: format!("{:.1} MB at most", alone.peak / 1024.0),
            floor: format!(
                "before {:.1} MB; the bare engine with followers {:.0} KB",
                alone.before / 1024.0,
                bare.each_turn()
            ),
            figure: alone.each_turn(),
            unit: " KB",
            target: Target::AtMost(200.0),
        },
        Row {
            what: "memory of a reader of a streaming turn",
            value: format!("{:.1} MB at most", read.peak / 1024.0),
            floor: format!("without readers {:.1} MB", alone.peak / 1024.0),
            figure: (read.peak - alone.peak) / readers,
            unit: " KB",
            target: Target::AtMost(100.0),
        },
    ]
}
