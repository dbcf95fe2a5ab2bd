//! What a command sends away is stopped with it, and nothing else is.
//!
//! The hardest case: a session of its own, no parents, no environment, and other commands of the
//! same agent beside it, to one of which it could belong.

use std::fs;

use rustix::process::Pid;
use serde_json::{Value, json};

use crate::command::{is_gone, parent};
use crate::world::{Ran, World, wait_until};

/// Sends a process away in every way at once, says where it is, and waits.
fn escaping(name: &str) -> String {
    let away = format!("echo \\$\\$ > {name}.p; mv {name}.p {name}.away; exec sleep 600");
    let twice = format!("(sh -c \"{away}\" &)");
    format!(
        "env -i PATH=\"$PATH\" setsid sh -c '{twice}' & wait; \
         echo $$ > {name}.q; mv {name}.q {name}; exec sleep 600"
    )
}

fn pid(world: &World, name: &str) -> Pid {
    wait_until(|| world.work(name).exists());
    Pid::from_raw(fs::read_to_string(world.work(name)).unwrap().trim().parse().unwrap()).unwrap()
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
