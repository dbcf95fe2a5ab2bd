//! A message that is written in an editor.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::person::Person;
use crate::world::World;

const ONE: &str = r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#;

/// A query without a text, and an editor that is this script. Temporary files are in `tmp`.
fn query(world: &World, script: &str, args: &[&str]) -> Command {
    let editor = world.path("editor");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(world.path("tmp")).unwrap();
    let mut command = world.command(&[&["query"], args].concat());
    command.env_remove("VISUAL").env("EDITOR", format!("{} --wait", editor.display()));
    command.env("TMPDIR", world.path("tmp"));
    command
}

fn left(world: &World) -> usize {
    fs::read_dir(world.path("tmp")).unwrap().count()
}

#[test]
fn without_a_text_on_a_terminal_an_editor_opens() {
    let world = World::new();
    let model = world.script(ONE);
    let script = r#"test "$1" = --wait && test -t 1 && printf 'from the\neditor\n' > "$2""#;
    // The editor has the terminal also if the answer goes elsewhere.
    let mut command = world.shell("$PITON query -m \"$MODEL\" > answer");
    let prepared = query(&world, script, &[]);
    command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env_remove("VISUAL").env("MODEL", &model);
    let mut person = Person::starts_command(command);
    person.sees("Write your message in ").sees("conversation ");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(fs::read_to_string(world.work("answer")).unwrap(), "One.\n");
    assert_eq!(world.user_parts()[0]["text"], "from the\neditor");
    assert_eq!(left(&world), 0);
}

#[test]
fn nothing_written_is_nothing_sent() {
    let world = World::new();
    for script in ["true", "printf ' \\n' > \"$2\""] {
        let mut person = Person::starts_command(query(&world, script, &[]));
        person.sees("Nothing was written, so nothing is sent.");
        assert_eq!(person.leaves().0, 0);
        assert_eq!(left(&world), 0);
    }
    assert!(!world.path("home").exists());
}

#[test]
fn an_editor_that_fails_sends_nothing_and_loses_nothing() {
    let world = World::new();
    let mut person = Person::starts_command(query(&world, "echo text > \"$2\"; exit 3", &[]));
    person.sees("has failed (exit status: 3), so nothing is sent").sees("what you wrote is in ");
    assert_eq!(person.leaves().0, 1);
    assert_eq!(left(&world), 1);
    let mut person = Person::starts_command(query(&world, "exit 3", &[]));
    person.sees("has failed").sees("VISUAL or EDITOR names the editor");
    assert_eq!(person.leaves().0, 1);
    assert_eq!(left(&world), 1, "an empty file is not kept");
}

#[test]
fn what_was_written_is_kept_when_it_cannot_be_sent() {
    let world = World::new();
    let mut command = query(&world, "echo long text > \"$2\"", &["-m", "anthropic/opus"]);
    command.env_remove("ANTHROPIC_API_KEY");
    let mut person = Person::starts_command(command);
    person.sees("anthropic needs a key").sees("your message is kept");
    assert_eq!(person.leaves().0, 2);
    assert!(world.run(&["drafts"]).stdout.ends_with("  long text\n"));
    assert_eq!(left(&world), 0);
}

#[test]
fn without_a_person_or_an_editor_there_is_nothing_to_say() {
    let world = World::new();
    let script = "echo text > \"$2\"";
    let nobody = world.ran(query(&world, script, &[]).output().unwrap());
    assert!(nobody.stderr.starts_with("error: there is nothing to say\n"), "{}", nobody.stderr);
    let mut person = Person::starts_command(query(&world, script, &["-p"]));
    person.sees("error: there is nothing to say");
    assert_eq!(person.leaves().0, 2);
    let mut command = query(&world, script, &[]);
    command.env_remove("EDITOR");
    let mut person = Person::starts_command(command);
    person.sees("error: there is nothing to say");
    assert_eq!(person.leaves().0, 2);
}
