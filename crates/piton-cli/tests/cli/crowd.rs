//! Very many calls that wait at the same time, and what commands leave behind.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{World, lines_of, wait_until};

fn shell(command: &str) -> Value {
    json!({ "tool": "shell", "arguments": { "command": command, "wait_s": 600 } })
}

/// Runs a turn with these steps, and an answer behind them.
fn query(world: &World, mut steps: Vec<Value>) {
    steps.push(json!({ "say": "Done." }));
    let model = world.script(&json!({ "steps": steps }).to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
}

/// How many records of commands there are.
pub(crate) fn records(world: &World) -> usize {
    let all = fs::read_dir(world.path("home/calls")).into_iter().flatten().flatten();
    // Beside them is the list of those that may still change something.
    let conversations = all.filter(|it| !it.file_name().as_encoded_bytes().starts_with(b"."));
    conversations.map(|it| fs::read_dir(it.path()).unwrap().count()).sum()
}

// All of them wait for the last one, which waits until all of them have begun. The runtime's own pool
// has 512 threads.
#[test]
fn a_thousand_calls_wait_at_once() {
    const CALLS: usize = 1_000;
    let world = World::new();
    let made = Command::new("mkfifo").arg(world.work("gate")).status().unwrap();
    assert!(made.success());
    let mut calls = vec![shell("exec 3<> gate; echo >> begun; read go <&3"); CALLS - 1];
    // One line for each of them.
    let opens = "exec 3<> gate; until [ $(wc -l < begun) -eq 999 ]; do sleep 0.2; done; \
                 yes '' | head -n 999 >&3; echo opened";
    calls.push(shell(opens));
    query(&world, vec![json!({ "calls": calls })]);
    assert_eq!(lines_of(&world.work("begun")), CALLS - 1);
    let finished = world.events();
    let finished = finished.iter().filter(|event| event["type"] == "ToolFinished");
    let ended = finished.filter(|event| event["output"]["exit_code"] == 0).count();
    assert_eq!(ended, CALLS, "none was left running");
    assert_eq!(records(&world), 0);
}

#[test]
fn the_record_of_a_command_goes_when_the_journal_has_its_end_and_not_while_it_runs() {
    let world = World::new();
    let calls = [shell("true"), shell("exit 3"), shell("echo out; echo err >&2")];
    query(&world, vec![json!({ "calls": calls }), json!({ "calls": [shell("true")] })]);
    assert_eq!(records(&world), 0);
    // One that goes on keeps its record.
    let world = World::new();
    let stays =
        json!({ "command": "until [ -e go ]; do sleep 0.1; done", "keep": true, "wait_s": 0 });
    query(
        &world,
        vec![json!({ "calls": [{ "tool": "shell", "arguments": stays }, shell("true")] })],
    );
    assert_eq!(records(&world), 1);
    fs::write(world.work("go"), "").unwrap();
    wait_until(|| !world.run(&["ps"]).stdout.contains("until"));
}
