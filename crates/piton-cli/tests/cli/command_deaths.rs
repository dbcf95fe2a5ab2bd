//! Deaths of the real binary at every step of the protocol, counted in a ledger of effects. Deaths
//! at every system call and at random instants are `piton-faults`' part.

use std::fs;

use serde_json::json;

use crate::command::end_of_command;
use crate::world::{World, lines_of};

const COMMAND: &str = "echo x >> ledger; sleep 0.01; echo said; exit 7";

/// What a death at a step of the protocol may lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// It ran once, and its status is known.
    Exact,
    /// It never ran, and the model is told so.
    NotStarted,
}

#[test]
fn crash_at_every_step_of_the_protocol_runs_nothing_twice_and_loses_no_status() {
    use Expected::{Exact, NotStarted};
    for (point, expected) in [
        // The agent.
        ("claimed", Exact),
        ("intended", Exact),
        ("sent", Exact),
        // The outer supervisor.
        ("taken", NotStarted),
        ("passed-on", Exact),
        // The inner one.
        ("received", NotStarted),
        ("shut", NotStarted),
        ("started", NotStarted),
        ("synced", NotStarted),
        ("opened", Exact),
        ("inner-ended", Exact),
        ("inner-recorded", Exact),
        ("inner-reaped", Exact),
        // Both.
        ("inner-ended,outer-ended", Exact),
        ("inner-ended,outer-recorded", Exact),
        ("inner-ended,outer-reaped", Exact),
        // All three.
        ("sent,inner-ended,outer-ended", Exact),
    ] {
        let world = World::new();
        let call = json!({ "tool": "shell", "arguments": { "command": COMMAND } });
        let steps = json!([{ "calls": [call] }, { "say": "Done." }]);
        let model = world.script(&json!({ "steps": steps }).to_string());
        let mut agent = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
        let ran = agent.env("PITON_FAIL_POINT", point).output().unwrap();
        if !ran.status.success() {
            let ran = world.run(&["query", "--continue"]);
            assert_eq!(ran.code, 0, "{point}: {}", ran.stderr);
        }
        let end = end_of_command(&world);
        let count = lines_of(&world.work("ledger"));
        let found = match (count, end["outcome"].as_str(), end["output"]["exit_code"].as_i64()) {
            (1, Some("ok"), Some(7)) => Exact,
            (0, Some("failed"), None) => NotStarted,
            _ => panic!("{point}: {count} effects, {end}"),
        };
        assert_eq!(found, expected, "{point}: {end}");
    }
}

// The check of the check: a gate that opens before the start is recorded is noticed.
#[test]
fn a_command_finds_its_start_recorded_unless_the_gate_opens_too_early() {
    for (point, recorded) in [("", "1"), ("gate-before-record", "0")] {
        let world = World::new();
        let command = "grep -c '{\"S\"' \"$PITON_HOME\"/calls/*/*/log > found; exit 0";
        let call = json!({ "tool": "shell", "arguments": { "command": command } });
        let steps = json!([{ "calls": [call] }, { "say": "Done." }]);
        let model = world.script(&json!({ "steps": steps }).to_string());
        // In the sandbox it could not look.
        let flags = ["--permissions", "auto", "--sandbox", "off"];
        let mut agent =
            world.command(&[&["query", "go", "--model", &model][..], &flags[..]].concat());
        assert!(agent.env("PITON_FAIL_POINT", point).output().unwrap().status.success());
        assert_eq!(fs::read_to_string(world.work("found")).unwrap().trim(), recorded, "{point}");
    }
}
