//! Commands that are fed: by a model, by a person, and over deaths of agents and supervisors.
//!
//! A fed command writes every line that it reads into a ledger, so what arrived is counted there.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::command::{is_gone, parent, pid, text};
use crate::world::{Ran, World, lines, wait_until};

/// Says where it is, writes down and repeats each line, and ends with 3 when there are no more.
const READER: &str = "echo $$ > pid; mv pid here; echo ready; \
    while read -r line; do echo \"$line\" >> ledger; echo \"got $line\"; done; \
    echo over; exit 3";

fn ledger(world: &World) -> String {
    fs::read_to_string(world.work("ledger")).unwrap_or_default()
}

fn start(command: &str) -> Value {
    // It is kept, so that tests may come later; it returns as soon as the command says something.
    let arguments = json!({ "command": command, "input": true, "keep": true, "wait_s": 600 });
    json!([{ "tool": "shell", "arguments": arguments }])
}

fn write(arguments: Value) -> Value {
    let mut arguments = arguments;
    arguments["call"] = "1.1.0".into();
    arguments.as_object_mut().unwrap().entry("wait_s").or_insert(600.into());
    json!([{ "tool": "shell_write", "arguments": arguments }])
}

/// A call that comes back when the command has ended.
fn wait() -> Value {
    json!([{ "tool": "shell_wait", "arguments": { "call": "1.1.0", "wait_s": 600 } }])
}

/// A turn that starts a command with an input, and then makes these calls, one after the other.
fn script(world: &World, command: &str, calls: &[Value]) -> String {
    let mut steps = vec![json!({ "calls": start(command) })];
    steps.extend(calls.iter().map(|calls| json!({ "calls": calls })));
    steps.push(json!({ "say": "Done." }));
    world.script(&json!({ "steps": steps }).to_string())
}

fn run(world: &World, model: &str, fail_point: &str) -> Ran {
    let mut agent = world.command(&["query", "go", "--permissions", "auto", "--model", model]);
    world.ran(agent.env("PITON_FAIL_POINT", fail_point).output().unwrap())
}

/// A conversation whose turn is over, with a command that waits for input.
fn waiting(command: &str) -> World {
    let world = World::new();
    let ran = run(&world, &script(&world, command, &[]), "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    world
}

/// Kills a process, and waits until its last thread has let go of its files.
fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).unwrap();
    let threads = format!("/proc/{}/task", pid.as_raw_nonzero());
    wait_until(|| is_gone(pid) && fs::read_dir(&threads).map_or(0, Iterator::count) <= 1);
}

// O48
#[test]
fn a_model_writes_to_a_command_and_reads_what_it_says() {
    let world = World::new();
    let calls = [
        write(json!({ "text": "one\n" })),
        write(json!({ "text": "zwölf\ntwo\n" })),
        write(json!({ "end": true })),
        wait(),
        write(json!({ "text": "late\n" })),
    ];
    let ran = run(&world, &script(&world, READER, &calls), "");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    assert!(text(&world, "1.1.0").starts_with("ready\n[still running, 6 bytes"));
    assert!(text(&world, "1.1.0").contains("write to it with shell_write, call 1.1.0;"));
    assert!(text(&world, "1.2.0").starts_with("got one\n[4 bytes written]\n[still running"));
    // How much it has said when it is silent for a moment is its own matter.
    assert!(text(&world, "1.3.0").starts_with("got zwölf\n"), "{}", text(&world, "1.3.0"));
    assert!(text(&world, "1.3.0").contains("[11 bytes written]"));
    assert!(text(&world, "1.4.0").contains("[0 bytes written, and the end of its input]"));
    let all = "ready\ngot one\ngot zwölf\ngot two\nover\n[exit code 3]";
    assert_eq!(text(&world, "1.5.0"), all);
    assert_eq!(world.finished("1.5.0")["output"]["exit_code"], 3);
    assert_eq!(world.finished("1.6.0")["outcome"], "failed");
    assert!(text(&world, "1.6.0").contains("nothing was written: it is not running any more"));
    assert_eq!(ledger(&world), "one\nzwölf\ntwo\n");
}

#[test]
fn what_cannot_be_written_is_refused_with_advice() {
    let world = World::new();
    let plain = json!({ "tool": "shell", "arguments": {
        "command": "cat; echo $$ > pid; mv pid here; while :; do sleep 1; done", "wait_s": 0
    } });
    let until = json!({ "name": "until", "effect": "read_only", "wait_for": "here" });
    let steps = json!([
        { "calls": [plain] },
        { "calls": [{ "tool": "until" }] },
        { "calls": write(json!({ "text": "x" })) },
        { "calls": write(json!({})) },
        { "calls": [{ "tool": "shell_stop", "arguments": { "call": "1.1.0" } }] },
        { "say": "Done." }
    ]);
    let model = world.script(&json!({ "steps": steps, "tools": [until] }).to_string());
    let ran = run(&world, &model, "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(text(&world, "1.3.0").contains("closed from the beginning: start it with `input`"));
    assert!(text(&world, "1.4.0").contains("nothing to write: give `text`, or `end`"));
}

// Writing is asked about like the command itself.
#[test]
fn nothing_is_written_without_permission() {
    let world = World::new();
    let model = script(&world, READER, &[write(json!({ "text": "one\n" }))]);
    let ran = world.run(&["query", "go", "--model", &model]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let ran = world.run(&["answer", "yes", "--continue"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("Run shell_write"), "{}", ran.stderr);
    let ran = world.run(&["answer", "no", "--continue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(world.finished("1.2.0")["outcome"], "denied");
    assert_eq!(ledger(&world), "");
    assert_eq!(world.run(&["kill", "1.1.0"]).code, 0);
}

#[test]
fn a_person_writes_to_a_command_from_another_terminal() {
    let world = waiting(READER);
    let listed = &lines(&world.run(&["ps", "--json"]).stdout)[0];
    assert_eq!((&listed["input"], &listed["terminal"]), (&true.into(), &false.into()));
    assert!(world.run(&["ps"]).stdout.contains("running, input, keep"));
    let sent = world.run(&["send", "1.1.0", "hello there"]);
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    assert!(sent.stderr.ends_with("/1.1.0 has 12 bytes.\n"), "{}", sent.stderr);
    assert_eq!(world.run(&["send", "1.1.0", "-n", "half a"]).code, 0);
    assert_eq!(world.run_with_input(&["send", "1.1.0", "-"], " line\nlast").code, 0);
    let sent = world.run(&["send", "1.1.0", "--eof"]);
    assert!(sent.stderr.ends_with("has 0 bytes, and the end of its input.\n"), "{}", sent.stderr);
    wait_until(|| world.run(&["logs", "1.1.0"]).stdout.ends_with("over\n"));
    // A line without an end is none for `read`.
    assert_eq!(ledger(&world), "hello there\nhalf a line\n");
    wait_until(|| world.run(&["ps"]).stdout.is_empty());
    let sent = world.run(&["send", "1.1.0", "more"]);
    assert_eq!(sent.code, 2);
    assert!(sent.stderr.contains("it is not running any more"), "{}", sent.stderr);
    assert_eq!(world.run(&["send", "9.9.9", "x"]).code, 2);
    assert_eq!(world.run(&["send", "1.1.0"]).code, 2);
}

// The agent is long gone, and then one of the two.
#[test]
fn an_input_stays_open_when_a_supervisor_is_killed() {
    for which in ["inner", "outer"] {
        let world = waiting(READER);
        let command = pid(&world, "here");
        assert_eq!(world.run(&["send", "1.1.0", "before"]).code, 0);
        let inner = parent(command);
        kill(if which == "inner" { inner } else { parent(inner) });
        assert_eq!(world.run(&["send", "1.1.0", "after"]).code, 0, "{which}");
        assert_eq!(world.run(&["send", "1.1.0", "--eof"]).code, 0, "{which}");
        wait_until(|| is_gone(command));
        assert_eq!(ledger(&world), "before\nafter\n", "{which}");
    }
}

#[test]
fn with_both_supervisors_an_input_is_gone_and_that_is_said() {
    let world = waiting(READER);
    let command = pid(&world, "here");
    // So that it is still there.
    kill_process(command, Signal::STOP).unwrap();
    let inner = parent(command);
    kill(parent(inner));
    kill(inner);
    let sent = world.run(&["send", "1.1.0", "x"]);
    assert_eq!(sent.code, 2);
    assert!(sent.stderr.contains("its supervisors were killed"), "{}", sent.stderr);
    kill_process(command, Signal::CONT).unwrap();
    wait_until(|| is_gone(command));
    assert_eq!(ledger(&world), "");
}

// Nobody hangs because a command does not read; it gets the rest when it does.
#[test]
fn a_command_that_does_not_read_holds_up_nobody() {
    let world = World::new();
    let slow = "echo $$ > pid; mv pid here; echo ready; \
                while [ ! -e go ]; do sleep 0.05; done; wc -c > count; exit 0";
    let long = "x".repeat(300_000);
    let call = write(json!({ "text": long, "end": true, "wait_s": 0 }));
    let ran = run(&world, &script(&world, slow, &[call]), "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(world.finished("1.2.0")["outcome"], "ok");
    let told = text(&world, "1.2.0");
    assert!(told.contains("of 300000 bytes written so far, the rest follows"), "{told}");
    fs::write(world.work("go"), "").unwrap();
    wait_until(|| is_gone(pid(&world, "here")));
    assert_eq!(fs::read_to_string(world.work("count")).unwrap().trim(), "300000");
}

#[test]
fn a_command_that_closes_its_input_or_ends_is_not_fed() {
    let world = waiting("echo ready; read -r line; echo \"got $line\"; exit 0");
    assert_eq!(world.run(&["send", "1.1.0", "one"]).code, 0);
    wait_until(|| world.run(&["ps"]).stdout.is_empty());
    let sent = world.run(&["send", "1.1.0", "two"]);
    assert_eq!(sent.code, 2, "{}", sent.stderr);
}

// Every step of the protocol: a line that was said to be written has arrived once, and one that was
// written by an agent that died is settled, not written again.
#[test]
fn crash_at_every_step_of_feeding_writes_nothing_twice() {
    for point in [
        // The agent.
        "giving",
        "given",
        // Supervisors.
        "inner-fed",
        // All of them but one.
        "given,inner-fed",
    ] {
        let world = World::new();
        let calls = [write(json!({ "text": "one\n" })), write(json!({ "end": true })), wait()];
        let ran = run(&world, &script(&world, READER, &calls), point);
        if ran.code != 0 {
            let ran = world.run(&["query", "--continue"]);
            assert_eq!(ran.code, 0, "{point}: {}", ran.stderr);
        }
        assert_eq!(ledger(&world), "one\n", "{point}");
        for call in ["1.2.0", "1.3.0"] {
            assert_eq!(world.finished(call)["outcome"], "ok", "{point}: {}", text(&world, call));
        }
        assert!(text(&world, "1.4.0").ends_with("[exit code 3]"), "{point}");
    }
}

// Both supervisors die between the pipe and the word on it: nobody can know, and that is said.
#[test]
fn what_nobody_saw_is_in_doubt() {
    let world = World::new();
    let calls = [write(json!({ "text": "one\n" }))];
    let ran = run(&world, &script(&world, READER, &calls), "inner-fed,outer-fed");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(world.finished("1.2.0")["outcome"], "unknown", "{}", text(&world, "1.2.0"));
    assert!(text(&world, "1.2.0").contains("nobody knows whether it got the 4 bytes"));
    let command = pid(&world, "here");
    wait_until(|| is_gone(command));
    assert_eq!(ledger(&world), "one\n");
}
