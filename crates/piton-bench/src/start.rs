//! From the start of the process to its first model request.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::Bench;
use crate::measure::{Outcome, interleaved, ratio, shown};
use crate::report::{Row, Target};

const ROUNDS: usize = 60;

/// Start of `piton query` until its first request is durable and leaves.
pub(crate) fn first_request(bench: &Bench) -> Outcome<Vec<Row>> {
    let home = bench.dir.path().join("start");
    let work = bench.dir.path().join("start-work");
    std::fs::create_dir_all(&work)?;
    let script = work.join("script.json");
    std::fs::write(&script, r#"{"steps":[]}"#)?;
    let query = || -> Outcome<Duration> {
        let start = Instant::now();
        let mut child = Command::new(bench.bin.join("piton"))
            .args(["query", "--new", "--json", "--no-input", "--model"])
            .arg(format!("script:{}", script.display()))
            .arg("hello")
            .env("PITON_HOME", &home)
            .current_dir(&work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines);
        let mut asked = None;
        for line in lines {
            if asked.is_none() && line?.contains(r#""state":"asked""#) {
                asked = Some(start.elapsed());
            }
        }
        child.wait()?;
        asked.ok_or_else(|| "piton never asked its model".into())
    };
    let empty = || -> Outcome<Duration> {
        let start = Instant::now();
        Command::new(bench.bin.join("piton-empty")).status()?;
        Ok(start.elapsed())
    };
    query()?;
    let (value, floor) = interleaved(ROUNDS, query, empty)?;
    Ok(vec![Row {
        what: "process start to first model request",
        value: shown(value),
        floor: format!("an empty program {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target: Target::AtMost(12.0),
    }])
}
