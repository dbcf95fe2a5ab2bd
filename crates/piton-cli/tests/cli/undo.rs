//! Taking changes back: whoever dies at it, or does it twice, and a disk that is full.

use std::fs;

use serde_json::{Value, json};

use crate::faults::{can_trace, points, trace};
use crate::world::World;

/// What changes something on the disk.
const CHANGES: [&str; 7] =
    ["rename", "renameat2", "unlink", "unlinkat", "write", "fsync", "fdatasync"];

/// A workspace with a turn that makes `f.txt` and changes it then.
fn changed_twice() -> World {
    let world = World::new();
    let step = |content: &str| json!({ "calls": [{ "tool": "write_file", "arguments": { "path": "f.txt", "content": content } }] });
    let steps = json!([step("one\n"), step("two\n"), { "say": "Done." }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    world
}

fn content(world: &World) -> String {
    fs::read_to_string(world.work("f.txt")).unwrap_or_default()
}

fn listed(world: &World) -> Vec<Value> {
    let lines = crate::world::lines(&world.run(&["undo", "--list", "--json"]).stdout);
    lines.into_iter().filter(|line| line["type"] == "change").collect()
}

/// Both versions are to be had: the change is made, or was taken back and can be made again.
fn both_are_there(world: &World, what: &str) {
    let newest = listed(world).first().map(|line| line["state"].clone());
    let (state, other) = match content(world).as_str() {
        "two\n" => ("made", "one\n"),
        "one\n" => ("taken_back", "two\n"),
        found => panic!("{what}: {found:?}"),
    };
    assert_eq!(newest, Some(state.into()), "{what}: {:?}", listed(world));
    let ran = world.run(&["undo", "1"]);
    assert_eq!((ran.code, content(world).as_str()), (0, other), "{what}: {}", ran.stderr);
    let left: Vec<_> = fs::read_dir(world.path("work")).unwrap().collect();
    assert_eq!(left.len(), 1, "{what}: {left:?}");
}

/// Does something to an undo at every one of its changes of the disk; gives how often.
fn at_every_change(calls: &[&str], fault: &str, after: impl Fn(&World, i32, &str)) -> u32 {
    let mut tried = 0;
    for (call, count) in points(&changed_twice(), &["undo"], calls) {
        for when in 1..=count {
            let (world, what) = (changed_twice(), format!("{call}:{fault}:when={when}"));
            let ran =
                trace(&world, &["undo"], &[format!("trace={call}"), format!("inject={what}")]);
            after(&world, ran.code, &format!("{what}: {}", ran.stderr));
            tried += 1;
        }
    }
    tried
}

// The same for a file that was made: it is there or not, and nothing lies beside it in the end.
#[test]
fn crash_of_an_undo_of_a_new_file_loses_nothing_and_leaves_nothing() {
    let made = || {
        let world = World::new();
        let call =
            json!({ "tool": "write_file", "arguments": { "path": "f.txt", "content": "x" } });
        let steps = json!({ "steps": [{ "calls": [call] }, { "say": "." }] });
        let model = world.script(&steps.to_string());
        assert_eq!(world.run(&["query", "go", "--permissions", "auto", "--model", &model]).code, 0);
        world
    };
    if !can_trace() {
        return;
    }
    for (call, count) in points(&made(), &["undo"], &CHANGES) {
        for when in 1..=count {
            let (world, what) = (made(), format!("{call}:signal=SIGKILL:when={when}"));
            trace(&world, &["undo"], &[format!("trace={call}"), format!("inject={what}")]);
            for _ in 0..2 {
                let before = content(&world);
                let ran = world.run(&["undo", "1"]);
                assert_eq!(ran.code, 0, "{what}: {}", ran.stderr);
                assert_ne!(content(&world), before, "{what}");
            }
            let left = fs::read_dir(world.path("work")).unwrap().count();
            assert_eq!(left, content(&world).len(), "{what}");
        }
    }
}

// M14: whoever dies while taking a change back loses neither version.
#[test]
fn crash_of_an_undo_loses_neither_version() {
    if can_trace() {
        let tried = at_every_change(&CHANGES, "signal=SIGKILL", |world, _, what| {
            both_are_there(world, what);
        });
        println!("an undo killed at {tried} changes of the disk, 0 violations");
        assert!(5 < tried, "too few points: {tried}");
    }
}

#[test]
fn an_undo_on_a_full_disk_is_refused_and_loses_neither_version() {
    if can_trace() {
        let tried = at_every_change(&["write"], "error=ENOSPC", |world, code, what| {
            let done = if code == 0 { "one\n" } else { "two\n" };
            assert_eq!(content(world), done, "{what}");
            both_are_there(world, what);
        });
        assert!(2 < tried, "too few points: {tried}");
    }
}

#[test]
fn two_who_take_back_at_once_lose_neither_version() {
    for round in 0..5 {
        let world = changed_twice();
        let both = [world.spawn(&["undo", "1"]), world.spawn(&["undo", "1"])];
        let codes = both.map(|child| world.finish(child).code);
        assert!(codes.contains(&0), "{round}: {codes:?}");
        both_are_there(&world, &format!("round {round}, {codes:?}"));
    }
}

#[test]
fn a_name_in_the_list_has_one_line() {
    let world = World::new();
    let call = json!({ "tool": "write_file", "arguments": { "path": "a\nb", "content": "x" } });
    let model =
        world.script(&json!({ "steps": [{ "calls": [call] }, { "say": "." }] }).to_string());
    assert_eq!(world.run(&["query", "go", "--permissions", "auto", "--model", &model]).code, 0);
    let ran = world.run(&["undo", "--list"]);
    assert!(ran.stdout.ends_with("  a\\nb\n"), "{}", ran.stdout);
    let ran = world.run(&["undo"]);
    assert!(ran.stderr.starts_with("`a\\nb`: taken back"), "{}", ran.stderr);
}
