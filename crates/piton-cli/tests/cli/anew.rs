//! A message that is changed and sent again, in a fork in front of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::person::Person;
use crate::world::{Ran, World, wait_until};

const ANSWERS: &str = r#"{"steps":[{"say":"One."},{"say":"Two."},{"say":"Three."}]}"#;
/// Writes a file and answers.
const WRITES: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"a\n"}}]},
    {"say":"Written."},{"say":"Again."}]}"#;

/// A world in which two things were said, and its conversation.
fn said_twice() -> (World, String) {
    let world = World::new();
    let model = world.script(ANSWERS);
    for text in ["first", "secnd"] {
        assert_eq!(world.run(&["query", text, "--model", &model, "-c"]).code, 0);
    }
    let id = world.only_id();
    (world, id)
}

/// What is printed of the newest conversation.
fn printed(world: &World) -> String {
    world.run(&["print"]).stdout
}

/// Runs a command with an editor that is this script.
fn with_editor(world: &World, script: &str, args: &[&str]) -> Ran {
    let editor = world.path("editor");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(world.path("tmp")).unwrap();
    let mut command = world.command(args);
    command.env_remove("VISUAL").env("EDITOR", &editor).env("TMPDIR", world.path("tmp"));
    world.ran(command.output().unwrap())
}

#[test]
fn the_last_message_is_changed_in_a_fork_and_stays_where_it_was() {
    let (world, id) = said_twice();
    let ran = world.run(&["retry", "--edit", "second,", "please"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Two.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("stays in conversation {id}")), "{}", ran.stderr);
    assert_eq!(printed(&world), "> first\nOne.\n\n> second, please\nTwo.\n");
    assert_eq!(world.run(&["print", &id]).stdout, "> first\nOne.\n\n> secnd\nTwo.\n");
    assert_eq!(world.rows().len(), 2);
}

#[test]
fn an_editor_opens_with_the_old_text_and_what_is_unchanged_is_not_sent() {
    let (world, _) = said_twice();
    let ran = with_editor(&world, "sed -i s/secnd/second/ \"$1\"", &["retry", "--edit"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Two.\n"), "{}", ran.stderr);
    assert_eq!(printed(&world), "> first\nOne.\n\n> second\nTwo.\n");
    for (script, said) in [
        ("true", "Nothing was changed, so nothing is sent."),
        (": > \"$1\"", "Nothing was written, so nothing is sent."),
    ] {
        let ran = with_editor(&world, script, &["retry", "--edit"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert_eq!(world.rows().len(), 2, "no fork was made for nothing");
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0, "nothing is left behind");
    let ran = world.run_with_input(&["retry", "--edit", "-"], "from a pipe\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(printed(&world), "> first\nOne.\n\n> from a pipe\nTwo.\n");
}

#[test]
fn an_earlier_message_is_changed_by_its_name_and_a_first_one_gives_the_title() {
    let (world, id) = said_twice();
    let events = world.events();
    let first = events.iter().find(|event| event["type"] == "UserMessage").unwrap();
    let name = first["message"].as_str().unwrap();
    let ran = world.run(&["retry", name, "--edit", "another beginning", "--id", &id]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "One.\n"), "{}", ran.stderr);
    assert_eq!(printed(&world), "> another beginning\nOne.\n");
    let titles: Vec<_> = world.rows().iter().map(|row| row["title"].clone()).collect();
    assert!(titles.contains(&"another beginning".into()), "{titles:?}");
    assert!(titles.contains(&"first".into()), "{titles:?}");
    // A name that is not there, and a model that is none: nothing is forked.
    for args in [["retry", "zzzz", "--edit", "x"], ["retry", "-m", "nobody/none", "--edit=x"]] {
        let ran = world.run(&args);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
    }
    assert_eq!(world.rows().len(), 2);
    let empty = World::new();
    assert_eq!(empty.run(&["retry", "--edit", "x"]).code, 2);
}

#[test]
fn files_go_along_unless_the_text_no_longer_mentions_them() {
    let world = World::new();
    let model = world.script(ANSWERS);
    fs::write(world.work("a.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    fs::write(world.work("b.txt"), "old b").unwrap();
    fs::write(world.work("c.txt"), "old c").unwrap();
    let ran = world.run(&["query", "see @b.txt and @c.txt", "-f", "a.png", "-m", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    fs::remove_file(world.work("a.png")).unwrap();
    fs::write(world.work("b.txt"), "new b").unwrap();
    let ran = world.run(&["retry", "--edit", "see only @b.txt"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let events = world.events();
    let said = events.iter().rfind(|event| event["type"] == "UserMessage").unwrap().to_string();
    for (part, is_there) in [("a.png", true), ("new b", true), ("old b", false), ("c.txt", false)] {
        assert_eq!(said.contains(part), is_there, "{part}: {said}");
    }
}

#[test]
fn what_was_done_behind_the_message_is_named() {
    let world = World::new();
    let model = world.script(WRITES);
    let ran = world.run(&["query", "write", "--permissions", "auto", "-m", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let id = world.only_id();
    let ran = world.run(&["retry", "--edit", "do not write", "--permissions", "read-only"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for said in [
        "What was done behind it is not undone:\n  ✓ write_file: a.txt — completed",
        &format!("piton undo --turn 1 --id {id}"),
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let undone = world.run(&["undo", "--turn", "1", "--id", &id]);
    assert!(undone.code == 0 && !world.work("a.txt").exists(), "{}", undone.stderr);
}

// The other process is not disturbed, and whoever changes the message hears of it.
#[test]
fn a_turn_that_another_process_performs_goes_on() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"slow"}]},{"say":"Late."}],
            "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#,
    );
    let busy = world.spawn(&["query", "go", "--permissions", "auto", "-m", &model]);
    world.wait_for_events("ToolStarted", 1);
    let id = world.only_id();
    let ran = world.run(&["retry", "--edit", "hello", "-m", "demo"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("to stop its turn: piton stop {id}")), "{}", ran.stderr);
    fs::write(world.work("go"), "").unwrap();
    let done = world.finish(busy);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Late.\n"), "{}", done.stderr);
}

#[test]
fn in_a_chat_the_last_message_is_there_to_be_changed() {
    let world = World::new();
    let model = world.script(ANSWERS);
    let mut person = Person::starts(&world, &["-m", &model]);
    person.sees("Ctrl-D leaves.").sees("> ");
    person.types("/edit\r").sees("there is no message to change").sees("> ");
    person.types("helo\r").sees("One.").sees("[script").sees("> ");
    person.types("/edit\r").sees("Change it and press Return").sees("> /edit helo");
    // Backspaces over the last two letters.
    person.types("\x7f\x7f").types("llo\r").sees("to a fork in front of it").sees("One.");
    person.sees("[script").sees("> ").types("\x04");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(printed(&world), "> hello\nOne.\n");
    wait_until(|| world.rows().len() == 2);
}
