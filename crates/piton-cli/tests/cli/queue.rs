//! `piton queue`: messages that wait are listed, changed, moved and taken back, from any process.

use std::fs;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::world::{World, lines};

/// A turn that waits for a file, and answers to what follows.
const WAITS: &str = r#"{"steps":[
    {"say":"At work.","calls":[{"tool":"fast"},{"tool":"slow"}]},
    {"say":"Done."},{"say":"Second."},{"say":"Third."},{"say":"Fourth."},{"say":"Fifth."}],
    "tools":[{"name":"fast","effect":"read_only","append_to":"fast.log","output":"quick"},
             {"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;

/// A process in the middle of a turn, and messages that wait behind it.
fn working(messages: &[&str]) -> (World, Child) {
    let world = World::new();
    let model = world.script(WAITS);
    let child = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
    world.wait_for_events("ToolFinished", 1);
    for (place, message) in (1..).zip(messages) {
        assert_eq!(world.run(&["query", message, "--queue", "--no-wait"]).code, 0);
        world.wait_for_events("MessageQueued", place);
    }
    (world, child)
}

/// Lets the turn go on; gives what was said in which order.
fn finish(world: &World, holder: Child) -> Vec<String> {
    fs::write(world.work("go"), "").unwrap();
    let held = world.finish(holder);
    assert_eq!(held.code, 0, "{}", held.stderr);
    let printed = world.run(&["print"]).stdout;
    printed.lines().filter_map(|line| line.strip_prefix("> ")).map(str::to_owned).collect()
}

fn changes(world: &World, args: &[&str]) {
    let ran = world.run(&[&["queue"], args].concat());
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
}

// O38, X13
#[test]
fn messages_that_wait_are_changed_while_another_process_works() {
    let (world, holder) = working(&["one", "two", "three", "four"]);
    let listed = world.run(&["queue"]).stdout;
    assert_eq!(listed, "  1  next   one\n  2  next   two\n  3  next   three\n  4  next   four\n");
    changes(&world, &["move", "3", "1"]);
    changes(&world, &["edit", "2", "one", "and", "a", "half"]);
    changes(&world, &["rm", "4"]);
    changes(&world, &["steer", "3"]);
    changes(&world, &["move", "1", "2"]);
    let mut rows = lines(&world.run(&["queue", "list", "--json"]).stdout);
    rows.retain(|row| row["type"] == "queued");
    let told: Vec<_> = rows.iter().map(|row| (&row["parts"][0]["text"], &row["place"])).collect();
    let expected = [("one and a half", "next"), ("three", "next"), ("two", "steer")];
    for ((text, place), (said, waits)) in told.iter().zip(expected) {
        assert_eq!((text.as_str(), place.as_str()), (Some(said), Some(waits)), "{rows:?}");
    }
    assert_eq!(told.len(), 3);
    let said = finish(&world, holder);
    assert_eq!(
        said,
        ["go", "two", "one and a half", "three"],
        "the one that steers is in the turn"
    );
}

// X13, O39: what waits stays where it is when its turn was stopped, and can be changed by anybody.
#[test]
fn messages_that_wait_are_changed_when_nobody_works() {
    let (world, mut holder) = working(&["one", "two"]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    changes(&world, &["move", "2", "1"]);
    changes(&world, &["steer", "2"]);
    changes(&world, &["next", "2"]);
    assert_eq!(world.run(&["queue"]).stdout, "  1  next   two\n  2  next   one\n");
    let printed = world.run(&["print"]).stdout;
    assert!(
        printed.ends_with("⏳ Waiting message\n> two\n\n⏳ Waiting message\n> one\n"),
        "{printed}"
    );
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.run(&["query", "--continue"]).code, 0);
    assert_eq!(world.run(&["queue"]).stderr.lines().count(), 1, "no message waits");
}

// The text is written in the editor; one that comes too late is not lost.
#[test]
fn a_message_is_written_anew_in_the_editor_and_its_files_stay() {
    let (world, holder) = working(&[]);
    fs::write(world.work("notes.txt"), "one\r\ntwo").unwrap();
    let queued = ["query", "see", "-f", "notes.txt", "--queue", "--no-wait"];
    assert_eq!(world.run(&queued).code, 0);
    world.wait_for_events("MessageQueued", 1);
    let mut edit = world.command(&["queue", "edit", "1"]);
    edit.env("EDITOR", "printf 'look at this' >");
    let ran = world.ran(edit.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let rows = lines(&world.run(&["queue", "--json"]).stdout);
    assert_eq!(rows[0]["parts"][0]["text"], "look at this");
    assert_eq!(rows[0]["parts"][1]["name"], "notes.txt");
    assert_eq!(rows[0]["parts"][1]["text"], "one\r\ntwo");
    finish(&world, holder);
}

// Typed refusals: what has its turn is changed no more.
#[test]
fn a_message_that_was_taken_meanwhile_is_refused_and_the_text_is_kept() {
    let (world, holder) = working(&["one"]);
    fs::write(world.path("edit.sh"), "#!/bin/sh\ntouch ../work/go\nuntil [ -e ../work/over ]; do sleep 0.05; done\necho late >\"$1\"\n").unwrap();
    let mut edit = world.command(&["queue", "edit", "1"]);
    edit.env("EDITOR", format!("sh {}", world.path("edit.sh").display()));
    let editing = edit.spawn().unwrap();
    assert_eq!(world.finish(holder).code, 0);
    fs::write(world.work("over"), "").unwrap();
    let ran = world.finish(editing);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("does not wait any more: it has its turn"), "{}", ran.stderr);
    let path = ran.stderr.split("What you wrote is in ").nth(1).unwrap();
    let path = path.lines().next().unwrap().trim_end_matches('.');
    assert_eq!(fs::read_to_string(path).unwrap(), "late\n");
    fs::remove_file(path).unwrap();
    let ran = world.run(&["queue", "rm", "1"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no message 1 that waits; there are 0"), "{}", ran.stderr);
}

// K58
#[test]
fn a_full_queue_takes_no_more_and_says_so() {
    let (world, holder) = working(&["1", "2", "3", "4", "5"]);
    let ran = world.run(&["query", "6", "--queue"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("queue is full: 5 messages wait"), "{}", ran.stderr);
    assert!(ran.stderr.contains("your message is kept"), "{}", ran.stderr);
    changes(&world, &["rm", "1"]);
    assert_eq!(world.run(&["query", "6", "--queue", "--no-wait"]).code, 0);
    world.wait_for_events("MessageQueued", 6);
    assert_eq!(finish(&world, holder), ["go", "2", "3", "4", "5", "6"]);
}

// K58: how many may wait is a setting.
// K58: whoever does not wait hears of it all the same, also while nobody takes letters.
#[test]
fn a_message_that_cannot_be_taken_is_not_left() {
    let (world, holder) = working(&["1", "2", "3", "4"]);
    let pid = Pid::from_child(&holder);
    kill_process(pid, Signal::STOP).unwrap();
    let left = world.run(&["query", "5", "--queue", "--no-wait", "--json"]);
    let result = lines(&left.stdout).pop().unwrap();
    assert_eq!(result["ending"], "accepted", "{result}");
    assert!(result["message_id"].as_str().is_some_and(|id| !id.is_empty()), "{result}");
    for way in ["--queue", "--steer"] {
        let ran = world.run(&["query", "6", way, "--no-wait"]);
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        assert!(ran.stderr.contains("queue is full: 5 messages wait"), "{}", ran.stderr);
        assert!(ran.stderr.contains("your message is kept"), "{}", ran.stderr);
        let ran = world.run(&["query", "7", way, "--no-wait", "-m", "demo", "--json"]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        let result = lines(&ran.stdout).pop().unwrap();
        assert_eq!(result["reason"], "refused", "{result}");
        assert!(ran.stderr.contains("flags count only when a turn begins"), "{}", ran.stderr);
    }
    kill_process(pid, Signal::CONT).unwrap();
    world.wait_for_events("MessageQueued", 5);
    finish(&world, holder);
    assert!(!world.events().iter().any(|event| event["type"] == "CommandRefused"));
}

#[test]
fn how_many_messages_may_wait_is_a_setting() {
    let world = World::new();
    let model = world.script(WAITS);
    let mut command = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
    let holder = command.env("PITON_QUEUE_MAX", "1").spawn().unwrap();
    world.wait_for_events("ToolFinished", 1);
    assert_eq!(world.run(&["query", "1", "--queue", "--no-wait"]).code, 0);
    world.wait_for_events("MessageQueued", 1);
    let ran = world.run(&["query", "2", "--queue"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("queue is full: 1 messages wait"), "{}", ran.stderr);
    assert_eq!(finish(&world, holder), ["go", "1"]);
}

#[test]
fn several_messages_are_taken_back_at_once_or_none_if_a_number_is_wrong() {
    let (world, holder) = working(&["one", "two", "three", "four"]);
    let wrong = world.run(&["queue", "rm", "1", "9"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("there is no message 9 that waits"), "{}", wrong.stderr);
    assert_eq!(world.run(&["queue"]).stdout.lines().count(), 4, "nothing was taken back");
    let ran = world.run(&["queue", "rm", "4", "1", "1", "2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("Messages 1, 2 and 4 are taken back."), "{}", ran.stderr);
    assert_eq!(world.run(&["queue"]).stdout, "  1  next   three\n");
    assert_eq!(world.run(&["queue", "rm"]).code, 2);
    assert_eq!(finish(&world, holder), ["go", "three"]);
}

// Whoever adds a message behind others is told its place.
#[test]
fn a_message_behind_others_is_told_its_place() {
    let (world, holder) = working(&[]);
    for (text, place) in [
        ("one", "runs behind its turn."),
        ("two", ", 2nd in the"),
        ("three", ", 3rd in the queue."),
    ] {
        let ran = world.run(&["query", text, "--queue", "--no-wait"]);
        assert!(ran.code == 0 && ran.stderr.contains(place), "{text}: {}", ran.stderr);
    }
    assert_eq!(finish(&world, holder), ["go", "one", "two", "three"]);
}
