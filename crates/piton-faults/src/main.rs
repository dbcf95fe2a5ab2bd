//! Kills, cuts the power and meddles, and counts what was lost.
//!
//! One program in all parts: the one that judges, the agent that is killed, both of its supervisors,
//! and the agent that comes later. `docs/faults.md` says what each figure means.

mod act;
mod commands;
mod cuts;
mod disk;
mod edits;
mod feeding;
mod kills;
mod meddling;
mod outcome;
mod patches;
mod people;
mod plan;
mod report;
mod scene;
mod story;
mod trace;

use std::path::Path;
use std::process::ExitCode;

use crate::outcome::Outcome;
use crate::plan::{Plan, USAGE};
use crate::report::Row;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    trace::follow(&words);
    if let Some(code) = piton_tools::supervise::dispatch(std::env::args_os()) {
        return code;
    }
    let part = if words.is_empty() { String::new() } else { words.remove(0) };
    let done = match (part.as_str(), words.as_slice()) {
        ("first", [root]) => act::first(Path::new(root)).map(|()| true),
        ("feed", [root]) => feeding::feed(Path::new(root)).map(|()| true),
        ("later", [root]) => act::later(Path::new(root)).map(|()| true),
        ("all", _) => Plan::parse(&words).and_then(judge),
        _ => Err(format!("to be run by dev/faults: piton-faults all {USAGE}").into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            report::progress(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Makes all experiments; says whether everything held, and whether every control failed.
fn judge(plan: Plan) -> Outcome<bool> {
    if !trace::works() {
        return Err(
            "strace is missing or may not trace here; Debian: apt-get install strace".into()
        );
    }
    if !cfg!(debug_assertions) {
        return Err("the controls need a debug build; use dev/faults".into());
    }
    let mut rows: Vec<Row> = Vec::new();
    for (name, experiment) in EXPERIMENTS {
        if plan.only.as_ref().is_none_or(|only| name.contains(only.as_str())) {
            rows.extend(experiment(&plan)?);
        }
    }
    report::print(&rows, &plan);
    Ok(rows.iter().all(Row::holds))
}

type Experiment = fn(&Plan) -> Outcome<Vec<Row>>;

const EXPERIMENTS: [(&str, Experiment); 20] = [
    ("command-kills", kills::of_commands),
    ("command-twice", kills::of_commands_twice),
    ("command-deaths", commands::random_deaths),
    ("command-gate", kills::without_gate),
    ("command-cuts", cuts::of_commands),
    ("input-kills", feeding::kills),
    ("input-deaths", feeding::random_deaths),
    ("input-noted", feeding::noted_too_late),
    ("edit-kills", kills::of_edits),
    ("edit-twice", kills::of_edits_twice),
    ("edit-pairs", kills::of_overwriting),
    ("edit-errors", kills::errors_in_edits),
    ("edit-meddling", meddling::with_edits),
    ("edit-cuts", cuts::of_edits),
    ("edit-in-place-cuts", cuts::of_overwriting),
    ("patch-kills", patches::kills),
    ("patch-twice", patches::kills_twice),
    ("patch-errors", patches::errors),
    ("patch-meddling", patches::meddling),
    ("patch-cuts", cuts::of_patches),
];
