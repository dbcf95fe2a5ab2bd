//! Commands with a terminal of their own.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::command::{is_gone, parent, pid, text};
use crate::world::{World, lines, wait_until};

/// Repeats what it reads, until Ctrl-D, and ends with 3. It does not repeat what is typed.
const READER: &str = "stty -echo; echo $$ > pid; mv pid here; echo ready; \
    while read -r line; do echo \"got $line\"; done; echo over; exit 3";

/// A turn that runs a command on a terminal, then makes these calls, then waits for its end.
fn on_terminal(command: &str, calls: &[Value], waits: bool) -> World {
    let world = World::new();
    let arguments = json!({ "command": command, "terminal": true, "keep": true, "wait_s": 600 });
    let mut steps = vec![json!({ "calls": [{ "tool": "shell", "arguments": arguments }] })];
    for call in calls {
        let mut arguments = call.clone();
        arguments["call"] = "1.1.0".into();
        arguments.as_object_mut().unwrap().entry("wait_s").or_insert(600.into());
        steps.push(json!({ "calls": [{ "tool": "shell_write", "arguments": arguments }] }));
    }
    if waits {
        let arguments = json!({ "call": "1.1.0", "wait_s": 600 });
        steps.push(json!({ "calls": [{ "tool": "shell_wait", "arguments": arguments }] }));
    }
    steps.push(json!({ "say": "Done." }));
    let model = world.script(&json!({ "steps": steps }).to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    world
}

/// What a command waits for before it ends. It may come early.
fn go() -> Value {
    json!({ "text": "go\n", "wait_s": 0 })
}

/// How it ended, as `piton ps` says it.
fn exit_code(world: &World) -> Option<i64> {
    lines(&world.run(&["ps", "--all", "--json"]).stdout)[0]["exit_code"].as_i64()
}

fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).unwrap();
    wait_until(|| is_gone(pid));
}

#[test]
fn a_command_finds_a_terminal_with_a_kind_and_a_size() {
    let command = "stty -echo; test -t 0 && test -t 1 && test -t 2 && stty size; echo $TERM; \
                   echo spoken > /dev/tty; read -r go; exit 4";
    let world = on_terminal(command, &[go()], true);
    assert_eq!(text(&world, "1.3.0"), "24 80\nxterm-256color\nspoken\n[exit code 4]");
    assert_eq!(world.finished("1.3.0")["output"]["exit_code"], 4);
}

#[test]
fn what_is_typed_arrives_and_control_d_is_the_end() {
    let calls = [json!({ "text": "one\n" }), json!({ "text": "two\n", "end": true })];
    let world = on_terminal(READER, &calls, true);
    assert!(text(&world, "1.1.0").starts_with("ready\n[still running"));
    assert!(text(&world, "1.2.0").starts_with("got one\n[4 bytes written]"));
    assert!(text(&world, "1.3.0").contains("[4 bytes written, and the end of its input]"));
    assert_eq!(text(&world, "1.4.0"), "ready\ngot one\ngot two\nover\n[exit code 3]");
}

#[test]
fn a_long_output_comes_whole_through_a_terminal() {
    let world = on_terminal("stty -echo; seq 1 30000; read -r go; exit 0", &[go()], true);
    let all: Vec<_> = (1..=30_000).map(|n| format!("{n}\n")).collect();
    assert!(world.run(&["logs", "1.1.0"]).stdout == all.concat());
}

#[test]
fn a_terminal_outlives_the_agent_and_one_supervisor() {
    for which in ["inner", "outer"] {
        let world = on_terminal(READER, &[], false);
        let command = pid(&world, "here");
        assert_eq!(world.run(&["send", "1.1.0", "before"]).code, 0);
        wait_until(|| world.run(&["logs", "1.1.0"]).stdout.ends_with("got before\n"));
        let inner = parent(command);
        kill(if which == "inner" { inner } else { parent(inner) });
        assert_eq!(world.run(&["send", "1.1.0", "after"]).code, 0, "{which}");
        assert_eq!(world.run(&["send", "1.1.0", "--eof"]).code, 0, "{which}");
        wait_until(|| exit_code(&world) == Some(3));
        let shown = world.run(&["logs", "1.1.0"]).stdout;
        assert_eq!(shown, "ready\ngot before\ngot after\nover\n", "{which}");
    }
}

#[test]
fn with_both_supervisors_the_terminal_is_gone_and_the_command_is_told() {
    let world = on_terminal(READER, &[], false);
    let command = pid(&world, "here");
    let inner = parent(command);
    kill(parent(inner));
    kill(inner);
    wait_until(|| is_gone(command));
}

// Shells that talk to people do not end on a polite signal.
#[test]
fn a_command_on_a_terminal_is_stopped_with_what_it_started() {
    let command = "echo $$ > pid; mv pid here; exec sh -i";
    let world =
        on_terminal(command, &[json!({ "text": "sleep 600 & echo $! > q; mv q job\n" })], false);
    wait_until(|| world.work("job").exists());
    let job = fs::read_to_string(world.work("job")).unwrap().trim().parse().unwrap();
    let job = Pid::from_raw(job).unwrap();
    let killed = world.run(&["kill", "1.1.0"]);
    assert_eq!(killed.code, 0, "{}", killed.stderr);
    let command = pid(&world, "here");
    wait_until(|| is_gone(command) && is_gone(job));
}
