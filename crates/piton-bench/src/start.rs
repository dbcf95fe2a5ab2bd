//! From the start of the process to its model requests.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::Bench;
use crate::measure::{Outcome, interleaved, ratio, shown};
use crate::report::{Row, Target};

const ROUNDS: usize = 60;

/// A home and a workspace to start in, and what the model says.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) home: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) script: PathBuf,
}

impl Stage {
    /// Empty ones, with a model that follows this script.
    pub(crate) fn new(bench: &Bench, name: &str, script: &str) -> Outcome<Self> {
        let at = |part: &str| bench.dir.path().join(format!("{name}{part}"));
        let (home, work) = (at(""), at("-work"));
        std::fs::create_dir_all(&work)?;
        let stage = Self { home, script: work.join("script.json"), work };
        std::fs::write(&stage.script, script)?;
        Ok(stage)
    }

    /// Runs a new turn; when each of its requests was durable and left, counted from the start of the
    /// process.
    pub(crate) fn requests(&self, piton: &Path) -> Outcome<Vec<Duration>> {
        let start = Instant::now();
        let mut child = Command::new(piton)
            .args(["query", "--new", "--json", "--no-input", "--model"])
            .arg(format!("script:{}", self.script.display()))
            .arg("hello")
            .env("PITON_HOME", &self.home)
            // What the person who measures keeps there is not measured.
            .env("HOME", &self.home)
            .current_dir(&self.work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines);
        let mut asked = Vec::new();
        for line in lines {
            if line?.contains(r#""state":"asked""#) {
                asked.push(start.elapsed());
            }
        }
        child.wait()?;
        Ok(asked)
    }

    /// Runs a new turn until its first request.
    pub(crate) fn first_request(&self, piton: &Path) -> Outcome<Duration> {
        let asked = self.requests(piton)?;
        asked.first().copied().ok_or_else(|| "piton never asked its model".into())
    }
}

/// Start of `piton query` until its first request is durable and leaves.
pub(crate) fn first_request(bench: &Bench) -> Outcome<Vec<Row>> {
    let (stage, piton) = (Stage::new(bench, "start", r#"{"steps":[]}"#)?, bench.bin.join("piton"));
    let empty = || -> Outcome<Duration> {
        let start = Instant::now();
        Command::new(bench.bin.join("piton-empty")).status()?;
        Ok(start.elapsed())
    };
    stage.first_request(&piton)?;
    let (value, floor) = interleaved(ROUNDS, || stage.first_request(&piton), empty)?;
    Ok(vec![Row {
        what: "process start to first model request",
        value: shown(value),
        floor: format!("an empty program {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target: Target::AtMost(12.0),
    }])
}
