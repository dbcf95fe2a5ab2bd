//! What a command sends away is stopped with it, and nothing else is.
//!
//! The hardest case: a session of its own, no parents, no environment, and other commands of the
//! same agent beside it, to one of which it could belong.

use rustix::process::Pid;
use serde_json::{Value, json};

use crate::command::{is_gone, parent, pid};
use crate::world::{Ran, World, lines, wait_until};

/// Sends a process away in every way at once, says where it is, and waits.
fn escaping(name: &str) -> String {
    let away = format!("echo \\$\\$ > {name}.p; mv {name}.p {name}.away; exec sleep 600");
    let twice = format!("(sh -c \"{away}\" &)");
    format!(
        "env -i PATH=\"$PATH\" setsid sh -c '{twice}' & wait; \
         echo $$ > {name}.q; mv {name}.q {name}; exec sleep 600"
    )
}

fn shell(command: &str, keep: bool) -> Value {
    let arguments = json!({ "command": command, "wait_s": 0, "keep": keep });
    json!({ "tool": "shell", "arguments": arguments })
}

/// A turn that has two such commands running, side by side, and then waits for ever.
fn two() -> (World, std::process::Child) {
    let world = World::new();
    let forever = json!({ "name": "forever", "effect": "read_only", "wait_for": "never" });
    let steps = json!([
        { "calls": [shell(&escaping("one"), false), shell(&escaping("two"), true)] },
        { "calls": [{ "tool": "forever" }] },
        { "say": "Done." }
    ]);
    let model = world.script(&json!({ "steps": steps, "tools": [forever] }).to_string());
    let agent = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
    world.wait_for_events("ToolStarted", 3);
    (world, agent)
}

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

// O8, O48
#[test]
fn a_process_without_a_name_is_stopped_with_its_command_and_with_no_other() {
    let (world, mut agent) = two();
    let [one, one_away, two, two_away] =
        ["one", "one.away", "two", "two.away"].map(|name| pid(&world, name));
    assert_eq!(parent(one_away), parent(two_away), "both fell to the supervisor");
    ok(&world.run(&["kill", "1.1.0"]));
    wait_until(|| is_gone(one) && is_gone(one_away));
    assert!(!is_gone(two) && !is_gone(two_away), "the other command is not concerned");
    ok(&world.run(&["kill", "1.1.1"]));
    wait_until(|| is_gone(two) && is_gone(two_away));
    agent.kill().unwrap();
    agent.wait().unwrap();
}

#[test]
fn a_discarded_turn_takes_along_what_its_commands_sent_away() {
    let (world, mut agent) = two();
    let [one, one_away, two, two_away] =
        ["one", "one.away", "two", "two.away"].map(|name| pid(&world, name));
    agent.kill().unwrap();
    agent.wait().unwrap();
    ok(&world.run(&["query", "--discard-turn"]));
    wait_until(|| is_gone(one) && is_gone(one_away));
    assert!(!is_gone(two) && !is_gone(two_away), "it was to be kept");
    ok(&world.run(&["kill", "1.1.1"]));
    wait_until(|| is_gone(two) && is_gone(two_away));
}

// Nobody is left who could say whose child it was.
#[test]
fn a_process_without_a_name_is_found_when_its_supervisors_are_dead() {
    let (world, mut agent) = two();
    let [one, one_away, two, two_away] =
        ["one", "one.away", "two", "two.away"].map(|name| pid(&world, name));
    let inner = parent(one);
    let outer = parent(inner);
    agent.kill().unwrap();
    agent.wait().unwrap();
    for pid in [outer, inner] {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait_until(|| is_gone(pid));
    }
    ok(&world.run(&["kill", "1.1.0"]));
    wait_until(|| is_gone(one) && is_gone(one_away));
    assert!(!is_gone(two) && !is_gone(two_away), "the other command is not concerned");
    ok(&world.run(&["kill", "1.1.1"]));
    wait_until(|| is_gone(two) && is_gone(two_away));
}

/// A turn whose command has ended and left two processes behind: one in its group, one far away.
fn left_behind() -> (World, [Pid; 2]) {
    let world = World::new();
    let away = "env -i PATH=\"$PATH\" setsid sh -c 'echo $$ > a.p; mv a.p away; exec sleep 600' &";
    let near = "sh -c 'echo $$ > n.p; mv n.p near; exec sleep 600' &";
    let command = format!("{away} {near} until test -e away && test -e near; do sleep 0.01; done");
    let steps = json!([
        { "calls": [{ "tool": "shell", "arguments": { "command": command } }] },
        { "calls": [{ "tool": "shell_wait", "arguments": { "call": "1.1.0" } }] },
        { "say": "Done." }
    ]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    ok(&world.run(&["query", "go", "--permissions", "auto", "--model", &model]));
    let pids = ["away", "near"].map(|name| pid(&world, name));
    (world, pids)
}

// O48: whatever goes on can be seen and stopped, also when its command has ended.
#[test]
fn what_a_command_left_behind_is_listed_and_stopped() {
    let (world, [away, near]) = left_behind();
    let listed = lines(&world.run(&["ps", "--json"]).stdout);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!((&listed[0]["state"], &listed[0]["exit_code"]), (&"left_running".into(), &0.into()));
    let shown = world.run(&["ps"]).stdout;
    assert!(shown.contains("exit code 0, left something running"), "{shown}");
    let doctor = world.run(&["doctor"]);
    assert!(doctor.stdout.contains("1 running"), "{}", doctor.stdout);
    assert!(!is_gone(away) && !is_gone(near));
    let killed = world.run(&["kill", "1.1.0"]);
    assert!(killed.stderr.contains("is stopped, with everything"), "{}", killed.stderr);
    assert!(is_gone(away) && is_gone(near));
    assert!(world.run(&["ps", "--json"]).stdout.is_empty());
}

// The one that went furthest goes on alone.
#[test]
fn what_left_the_group_too_is_listed_and_stopped() {
    let (world, [away, near]) = left_behind();
    rustix::process::kill_process(near, rustix::process::Signal::KILL).unwrap();
    wait_until(|| is_gone(near));
    assert_eq!(lines(&world.run(&["ps", "--json"]).stdout).len(), 1);
    ok(&world.run(&["kill", "1.1.0"]));
    assert!(is_gone(away));
}
