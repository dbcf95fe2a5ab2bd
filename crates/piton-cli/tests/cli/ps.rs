//! Long commands: handed out, waited for, listed, read, stopped.

use std::io::Read as _;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::command::{COMMAND, Scene, is_gone};
use crate::world::{World, lines, lines_of, wait_until};

/// A turn whose command is handed out at once; then come `calls`.
fn handed_out(arguments: Value, calls: Value) -> Scene {
    let mut arguments = arguments;
    arguments["command"] = COMMAND.into();
    arguments["wait_s"] = 0.into();
    Scene::with(&json!([
        { "calls": [{ "tool": "shell", "arguments": arguments }] },
        { "calls": [{ "tool": "until" }] },
        { "calls": calls },
        { "say": "Done." }
    ]))
}

fn is_listed(world: &World) -> bool {
    !world.run(&["ps", "--json"]).stdout.is_empty()
}

// O48
#[test]
fn a_long_command_is_handed_out_and_waited_for() {
    let wait = json!([{ "tool": "shell_wait", "arguments": { "call": "1.1.0", "from": 6 } }]);
    let scene = handed_out(json!({}), wait);
    scene.world.wait_for_events("ToolStarted", 3);
    scene.open_gate("on");
    let ran = scene.world.finish(scene.agent);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    let first = scene.world.finished("1.1.0");
    let text = first["output"]["text"].as_str().unwrap();
    assert!(text.contains("[still running") && text.contains("call 1.1.0"), "{text}");
    let second = scene.world.finished("1.3.0");
    assert_eq!(second["output"]["text"], "got on\n[exit code 5]");
    assert_eq!(second["output"]["exit_code"], 5);
    assert_eq!(lines_of(&scene.world.work("ledger")), 1);
}

#[test]
fn a_model_stops_what_it_started() {
    let stop = json!([{ "tool": "shell_stop", "arguments": { "call": "1.1.0" } }]);
    let scene = handed_out(json!({ "keep": true }), stop);
    let command = scene.command();
    let ran = scene.world.finish(scene.agent);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(is_gone(command));
    let end = scene.world.finished("1.3.0");
    assert_eq!(end["output"]["text"], "stopped, with everything it had started");
}

#[test]
fn a_call_that_nobody_knows_is_refused_with_advice() {
    let world = World::new();
    let calls = json!([
        { "tool": "shell_wait", "arguments": { "call": "7.7.7" } },
        { "tool": "shell_stop", "arguments": { "call": "mine" } }
    ]);
    let script = json!({ "steps": [{ "calls": calls }, { "say": "Done." }] });
    let model = world.script(&script.to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = |call| world.finished(call)["output"]["text"].as_str().unwrap().to_owned();
    assert!(text("1.1.0").contains("there is no command of call 7.7.7"));
    assert!(text("1.1.1").contains("is not a call"));
}

#[test]
fn what_is_to_be_kept_survives_an_interrupt_and_ends_with_piton_kill() {
    let scene = Scene::new(&json!({ "command": COMMAND, "keep": true }));
    let command = scene.command();
    kill_process(Pid::from_child(&scene.agent), Signal::INT).unwrap();
    let ran = scene.world.finish(scene.agent);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(!is_gone(command), "it was to be kept");
    let world = scene.world;
    let listed = lines(&world.run(&["ps", "--json"]).stdout);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!((&listed[0]["state"], &listed[0]["keep"]), (&"running".into(), &true.into()));
    let shown = world.run(&["ps"]).stdout;
    assert!(shown.starts_with("COMMAND") && shown.contains("running, keep"), "{shown}");
    assert_eq!(world.run(&["logs", "1.1.0"]).stdout, "begun\n");
    let conversation = world.only_id();
    assert_eq!(world.run(&["logs", &conversation]).stdout, "begun\n", "the only one there");
    assert_eq!(world.run(&["logs", "nil"]).code, 2);
    let killed = world.run(&["kill", &conversation]);
    assert_eq!(killed.code, 0, "{}", killed.stderr);
    assert!(is_gone(command));
    assert!(!is_listed(&world));
    let killed = world.run(&["kill", "1.1.0"]);
    assert!(killed.stderr.contains("is not running any more"), "{}", killed.stderr);
    assert_eq!(world.run(&["kill", "9.9.9"]).code, 2);
}

#[test]
fn a_command_is_stopped_from_another_terminal_and_its_turn_goes_on() {
    let scene = Scene::new(&json!({ "command": COMMAND }));
    let killed = scene.world.run(&["kill", &format!("{}/1.1.0", scene.world.only_id())]);
    assert_eq!(killed.code, 0, "{}", killed.stderr);
    assert!(killed.stderr.contains("is stopped, with everything"), "{}", killed.stderr);
    let ran = scene.world.finish(scene.agent);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Go.\nDone.\n"), "{}", ran.stderr);
    let end = scene.world.finished("1.1.0");
    assert_eq!(end["outcome"], "cancelled");
    let text = end["output"]["text"].as_str().unwrap();
    assert!(text.starts_with("begun\n") && text.contains("`piton kill`"), "{text}");
}

#[test]
fn a_reader_follows_a_command_to_its_end() {
    let scene = handed_out(json!({}), json!([]));
    let reader = scene.world.spawn(&["logs", "-f", "1.1.0"]);
    scene.open_gate("on");
    assert_eq!(scene.world.finish(reader).stdout, "begun\ngot on\n");
    scene.world.finish(scene.agent);
}

// The command waits for its word all the time: nothing but the closed pipe ends the reader.
#[test]
fn a_reader_whose_pipe_is_closed_ends_although_the_command_goes_on() {
    let scene = handed_out(json!({}), json!([]));
    let mut reader = scene.world.spawn(&["logs", "-f", "1.1.0"]);
    let mut first = [0; 6];
    reader.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"begun\n");
    assert_eq!(scene.world.finish(reader).code, 0);
    assert!(is_listed(&scene.world));
    scene.open_gate("on");
    scene.world.finish(scene.agent);
}

#[test]
fn a_turn_that_is_interrupted_later_stops_what_it_had_handed_out() {
    let wait = json!([{ "tool": "shell_wait", "arguments": { "call": "1.1.0" } }]);
    let scene = handed_out(json!({}), wait);
    scene.world.wait_for_events("ToolStarted", 3);
    let command = scene.command();
    kill_process(Pid::from_child(&scene.agent), Signal::INT).unwrap();
    let ran = scene.world.finish(scene.agent);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(ran.stderr.contains("\nStopped with the turn: echo begun;"), "{}", ran.stderr);
    wait_until(|| is_gone(command));
    assert_eq!(scene.world.finished("1.3.0")["outcome"], "cancelled");
    assert_eq!(lines_of(&scene.world.work("ledger")), 0);
}

// The keeper sees to the limit, not the agent.
#[test]
fn a_limit_holds_although_the_agent_is_dead() {
    let mut scene = Scene::new(&json!({ "command": COMMAND, "timeout_s": 1 }));
    scene.kill_agent();
    let command = scene.command();
    wait_until(|| is_gone(command));
    assert_eq!(scene.world.run(&["query", "--continue"]).code, 0);
    let end = scene.world.finished("1.1.0");
    assert_eq!(end["outcome"], "failed");
    assert!(end["output"]["text"].as_str().unwrap().contains("[stopped after 1 s"), "{end}");
}
