//! Whoever reads slowly, or not at all, holds up no turn, and misses nothing.

use std::io::Read as _;
use std::process::{Child, Stdio};

use crate::world::{World, lines, wait_until};

/// More than a pipe holds, in pieces, and a call behind it.
fn talkative(world: &World) -> String {
    let words = "many words, ".repeat(20_000);
    let script = serde_json::json!({ "steps": [
        { "say": words, "chunk": 5_000, "calls": [{ "tool": "note" }] }, { "say": "The end." }],
        "tools": [{ "name": "note", "effect": "once", "append_to": "log", "output": "noted" }] });
    world.script(&script.to_string())
}

fn ended(world: &World) -> bool {
    world.events().iter().any(|event| event["type"] == "TurnEnded")
}

fn said(child: &mut Child) -> String {
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    said
}

// D32, D34
#[test]
fn a_turn_comes_to_its_end_although_nobody_reads() {
    let world = World::new();
    let model = talkative(&world);
    let args = ["query", "talk", "--permissions", "auto", "--model", &model];
    for more in [&[][..], &["--json"]] {
        let world = World::new();
        let mut child = world.spawn(&[&args[..], more].concat());
        wait_until(|| ended(&world));
        let said = said(&mut child);
        assert!(child.wait().unwrap().success());
        if more.is_empty() {
            assert_eq!(said.len(), "many words, ".len() * 20_000 + "\nThe end.\n".len());
        } else {
            let all = lines(&said);
            let changes = all.iter().filter(|line| line["type"] == "view_change");
            let cursors: Vec<_> = changes.map(|it| it["change"]["cursor"].as_u64()).collect();
            assert!(cursors.is_sorted_by(|one, other| one < other), "once, and in order");
            assert_eq!(all.last().unwrap()["ending"], "done");
        }
    }
}

#[test]
fn talk_that_nobody_reads_holds_up_nothing_either() {
    let world = World::new();
    let calls = vec![r#"{"tool":"list_dir","arguments":{"path":"."}}"#; 40].join(",");
    let step = format!(r#"{{"calls":[{calls}]}}"#);
    let steps = vec![step.as_str(); 45].join(",");
    let model = world.script(&format!(r#"{{"steps":[{steps},{{"say":"The end."}}]}}"#));
    let mut child = world.spawn(&["query", "talk", "--model", &model]);
    wait_until(|| ended(&world));
    let mut talk = String::new();
    child.stderr.take().unwrap().read_to_string(&mut talk).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(talk.lines().filter(|line| line.starts_with('✓')).count(), 1_800);
    assert!(65_536 < talk.len(), "more than a pipe holds");
}

// Whoever goes away misses nothing, and the turn is none of their business.
#[test]
fn a_reader_who_leaves_in_the_middle_ends_no_turn() {
    let world = World::new();
    let model = talkative(&world);
    let args = ["query", "talk", "--permissions", "auto", "--model", &model];
    let mut command = world.command(&args);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut first = [0; 100];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert!(ended(&world));
    assert_eq!(std::fs::read_to_string(world.work("log")).unwrap().lines().count(), 1);
}
