//! `piton ps`: commands, of all conversations. Reads their records, never a journal.

use piton::clock::{Clock as _, SystemClock};
use piton::commands::{Commands, Kept, KeptState, Status};
use piton_agent::Settings;
use piton_core::id::Timestamp;
use piton_core::summary::shorten;

use crate::flags::Ps;
use crate::output::Output;
use crate::render::age::age;
use crate::render::lines::Line;
use crate::render::table::table;
use crate::report::Report;

/// Longest command line that is shown, in letters.
const COMMAND_LETTERS_MAX: usize = 80;

/// Lists them.
pub(crate) fn run(ps: &Ps, settings: &Settings, output: &mut Output) -> Report {
    let mut found = Commands::new(settings.calls()).all();
    found.retain(|kept| ps.all || kept.state.goes_on());
    if ps.json {
        for kept in &found {
            output.json(&Line::command(kept));
        }
        return Report::ok("done");
    }
    if found.is_empty() {
        output.talk("No command is running.");
        return Report::ok("nothing");
    }
    let now = SystemClock.now();
    let mut rows = vec![["COMMAND", "STARTED", "STATE", "LINE"].map(str::to_owned)];
    rows.extend(found.iter().map(|kept| row(kept, now)));
    output.data(&table(&rows, output.page()));
    Report::ok("done")
}

fn row(kept: &Kept, now: Timestamp) -> [String; 4] {
    let line = kept.intent.command.split_whitespace().collect::<Vec<_>>().join(" ");
    [
        Commands::name(kept),
        age(Timestamp(kept.intent.at_ms), now),
        state(kept),
        shorten(&line, COMMAND_LETTERS_MAX),
    ]
}

fn state(kept: &Kept) -> String {
    let ended = |status| match status {
        Status::Exit(code) => format!("exit code {code}"),
        Status::Signal(signal) => format!("signal {signal}"),
    };
    let state = match kept.state {
        KeptState::Running => "running".into(),
        KeptState::LeftRunning(status) => format!("{}, left something running", ended(status)),
        KeptState::Ended(status) => ended(status),
        KeptState::NeverRan => "never ran".into(),
        KeptState::InDoubt => "outcome unknown".into(),
    };
    let intent = &kept.intent;
    let reads = match (kept.state, intent.terminal, intent.input) {
        (KeptState::Running, true, _) => ", terminal",
        (KeptState::Running, false, true) => ", input",
        (_, _, _) => "",
    };
    let keep = if intent.keep { ", keep" } else { "" };
    format!("{state}{reads}{keep}")
}
