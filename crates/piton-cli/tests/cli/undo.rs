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

#[test]
fn the_list_is_shown_by_its_word_too() {
    let world = changed_twice();
    let [word, flag] = [&["undo", "list"], &["undo", "--list"]].map(|args| world.run(args));
    assert_eq!((word.code, &word.stdout), (0, &flag.stdout), "{}", word.stderr);
    assert_eq!(word.stdout.lines().count(), 2, "{}", word.stdout);
    assert_eq!(content(&world), "two\n", "nothing was taken back");
    let ran = world.run(&["undo", "lits"]);
    assert!(ran.code == 2 && ran.stderr.contains("a number, or list"), "{}", ran.stderr);
}

// One change after the other, and all of them again.
#[test]
fn changes_of_one_file_are_taken_back_one_after_the_other_and_keep_their_numbers() {
    let world = World::new();
    let step = |content: &str| json!({ "calls": [{ "tool": "write_file", "arguments": { "path": "f.txt", "content": content } }] });
    let steps = json!([step("one\n"), step("two\n"), step("three\n"), { "say": "Done." }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    assert_eq!(world.run(&["query", "go", "--permissions", "auto", "--model", &model]).code, 0);
    let numbers = || listed(&world).iter().map(|row| row["number"].clone()).collect::<Vec<_>>();
    for left in ["two\n", "one\n", ""] {
        let ran = world.run(&["undo"]);
        assert_eq!((ran.code, content(&world).as_str()), (0, left), "{}", ran.stderr);
        assert_eq!(numbers(), [3, 2, 1]);
    }
    let ran = world.run(&["undo"]);
    assert_eq!(ran.stderr, "Nothing to take back in this directory.\n");
    for (number, made) in [("1", "one\n"), ("2", "two\n"), ("3", "three\n")] {
        let ran = world.run(&["undo", number]);
        assert_eq!((ran.code, content(&world).as_str()), (0, made), "{}", ran.stderr);
        assert_eq!(numbers(), [3, 2, 1]);
    }
}

// The same two contents again and again are so many changes.
#[test]
fn a_file_that_was_changed_to_and_fro_is_taken_back_all_the_way() {
    let world = World::new();
    let step = |content: &str| json!({ "calls": [{ "tool": "write_file", "arguments": { "path": "f.txt", "content": content } }] });
    let all = ["a", "b", "a", "b", "a", "b"];
    let steps: Vec<_> =
        all.iter().map(|content| step(content)).chain([json!({"say": "."})]).collect();
    let model = world.script(&json!({ "steps": steps }).to_string());
    assert_eq!(world.run(&["query", "go", "--permissions", "auto", "--model", &model]).code, 0);
    for left in all.iter().rev().skip(1).chain([&""]) {
        let ran = world.run(&["undo"]);
        assert_eq!((ran.code, content(&world).as_str()), (0, *left), "{}", ran.stderr);
    }
    assert!(world.run(&["undo"]).stderr.starts_with("Nothing to take back"));
    for (number, made) in (1..).zip(all) {
        let ran = world.run(&["undo", &format!("{number}")]);
        assert_eq!((ran.code, content(&world).as_str()), (0, made), "{number}: {}", ran.stderr);
    }
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
    let ran = world.run(&["undo", "2"]);
    assert_eq!((ran.code, content(world).as_str()), (0, other), "{what}: {}", ran.stderr);
    let left: Vec<_> = fs::read_dir(world.path("work")).unwrap().collect();
    assert_eq!(left.len(), 1, "{what}: {left:?}");
}

/// Does something to an undo at every one of its changes of the disk; gives how often.
fn at_every_change(
    begin: fn() -> World,
    calls: &[&str],
    fault: &str,
    after: impl Fn(&World, i32, &str),
) -> u32 {
    let mut tried = 0;
    for (call, count) in points(&begin(), &["undo"], calls) {
        for when in 1..=count {
            let (world, what) = (begin(), format!("{call}:{fault}:when={when}"));
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
        let tried = at_every_change(changed_twice, &CHANGES, "signal=SIGKILL", |world, _, what| {
            both_are_there(world, what);
        });
        println!("an undo killed at {tried} changes of the disk, 0 violations");
        assert!(5 < tried, "too few points: {tried}");
    }
}

// Without a journal: a disk that is full fails no write by which threads wake each other, and `strace`
// cannot tell them apart.
#[test]
fn an_undo_on_a_full_disk_is_refused_and_loses_neither_version() {
    let without_journal = || {
        let world = changed_twice();
        forget_journal(&world);
        world
    };
    if can_trace() {
        let tried =
            at_every_change(without_journal, &["write"], "error=ENOSPC", |world, code, what| {
                let done = if code == 0 { "one\n" } else { "two\n" };
                assert_eq!(content(world), done, "{what}");
                both_are_there(world, what);
            });
        assert!(2 < tried, "too few points: {tried}");
    }
}

// Never a silent success: what is done is recorded, or an error says that it is not.
#[test]
fn an_undo_with_a_journal_on_a_full_disk_loses_neither_version() {
    if can_trace() {
        let tried =
            at_every_change(changed_twice, &["pwrite64"], "error=ENOSPC", |world, code, what| {
                if code == 0 {
                    assert_eq!(content(world), "one\n", "{what}");
                    assert_eq!(
                        kinds(world).last().map(String::as_str),
                        Some("UndoFinished"),
                        "{what}"
                    );
                }
                both_are_there(world, what);
            });
        println!("an undo on a disk that is full at {tried} writes of the journal, 0 violations");
        assert!(2 < tried, "too few points: {tried}");
    }
}

#[test]
fn two_who_take_back_at_once_lose_neither_version() {
    for round in 0..5 {
        let world = changed_twice();
        let both = [world.spawn(&["undo", "2"]), world.spawn(&["undo", "2"])];
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

/// Somebody removes the journal.
fn forget_journal(world: &World) {
    for entry in fs::read_dir(world.path("home")).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("piton.db") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

/// What was recorded about commands and undos.
fn kinds(world: &World) -> Vec<String> {
    let events = world.events();
    let kinds = events.iter().map(|event| event["type"].as_str().unwrap().to_owned());
    kinds.filter(|kind| kind.starts_with("Undo") || kind.starts_with("Command")).collect()
}

#[test]
fn an_undo_is_recorded_before_the_file_is_touched_and_its_outcome_behind() {
    let world = changed_twice();
    let before = kinds(&world).len();
    assert_eq!(world.run(&["undo"]).code, 0);
    assert_eq!(kinds(&world)[before..], ["CommandTaken", "UndoStarted", "UndoFinished"]);
    assert_eq!(content(&world), "one\n");
}

#[test]
fn nothing_is_taken_back_under_a_running_turn() {
    let world = changed_twice();
    // A step of a script is told by how many there were before.
    let wait = r#"{"steps":[{"say":"1"},{"say":"2"},{"say":"3"},{"calls":[{"tool":"wait"}]},{"say":"."}],
        "tools":[{"name":"wait","effect":"read_only","wait_for":"never"}]}"#;
    let model = world.script(wait);
    let id = world.only_id();
    let args = ["query", "more", "--id", &id, "--permissions", "auto", "--model", &model];
    let mut running = world.spawn(&args);
    // One start of the first turn for each of its calls, then that of the second.
    world.wait_for_events("ToolStarted", 3);
    let ran = world.run(&["undo"]);
    let pid = running.id();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    for told in [
        format!("Conversation {id} is held by process {pid}, which is asked to do it."),
        format!("nothing is taken back while a turn of conversation {id} is running"),
        format!("piton stop {id}"),
    ] {
        assert!(ran.stderr.contains(&told), "{told}: {}", ran.stderr);
    }
    assert_eq!(content(&world), "two\n");
    let after = world.run(&["undo"]);
    assert_eq!(after.code, 1, "{}", after.stderr);
    assert!(after.stderr.contains("a call is in doubt"), "{}", after.stderr);
    assert_eq!(world.run(&["query", "--discard-turn", "--id", &id]).code, 0);
    assert_eq!(world.run(&["undo"]).code, 0);
    assert_eq!(content(&world), "one\n");
}

#[test]
fn a_change_whose_conversation_is_gone_is_taken_back_all_the_same() {
    let world = changed_twice();
    forget_journal(&world);
    let ran = world.run(&["undo"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(content(&world), "one\n");
    // Another conversation has begun since, in a new journal.
    let model = world.script(r#"{"steps":[{"say":"."}]}"#);
    assert_eq!(world.run(&["query", "hello", "--model", &model]).code, 0);
    let ran = world.run(&["undo", "2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(content(&world), "two\n");
}
