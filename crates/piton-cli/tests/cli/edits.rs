//! Changes of files by the real binary, which dies in the middle of them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{World, lines};

/// Somebody without rights.
const NOBODY: u32 = 65_534;

/// A workspace with `f.txt`, and a turn that changes it and makes `g.txt`.
fn edited() -> World {
    let world = World::new();
    fs::write(world.work("f.txt"), "old\n").unwrap();
    let calls = json!([
        { "tool": "edit_file", "arguments": { "path": "f.txt", "old": "old", "new": "new" } },
        { "tool": "write_file", "arguments": { "path": "g.txt", "content": "made\n" } }
    ]);
    let steps = json!([{ "calls": [calls[0]] }, { "calls": [calls[1]] }, { "say": "Done." }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    world
}

#[test]
fn changes_are_listed_and_taken_back_one_after_the_other() {
    let world = edited();
    let list = world.run(&["undo", "--list"]).stdout;
    let paths: Vec<_> = list.lines().map(|line| line.split_whitespace().last().unwrap()).collect();
    assert_eq!(paths, ["g.txt", "f.txt"], "{list}");
    assert_eq!(world.run(&["undo", "--show", "1"]).stdout, "old\n");
    for left in [&["f.txt"][..], &["f.txt"][..]] {
        let ran = world.run(&["undo"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(names(&world), left);
    }
    assert_eq!(fs::read_to_string(world.work("f.txt")).unwrap(), "old\n");
    let ran = world.run(&["undo"]);
    assert!(ran.stderr.contains("Nothing to take back"), "{}", ran.stderr);
    // Once more by number: the change is made again.
    assert_eq!(world.run(&["undo", "1"]).code, 0);
    assert_eq!(fs::read_to_string(world.work("f.txt")).unwrap(), "new\n");
    let none = world.run(&["undo", "--list", "--id", "nobody"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
}

#[test]
fn changes_are_listed_shown_and_taken_back_as_data() {
    let world = edited();
    let data = |args: &[&str]| lines(&world.run(&[&["undo", "--json"], args].concat()).stdout);
    let listed = data(&["--list"]);
    let told = |at: usize| {
        let line: &Value = &listed[at];
        assert_eq!(line["conversation"], world.only_id().as_str());
        assert!(line["at"].as_u64().unwrap() > 1_700_000_000_000, "{line}");
        ["type", "number", "path", "state"].map(|field| line[field].to_string()).join(" ")
    };
    assert_eq!(told(0), r#""change" 2 "g.txt" "made""#);
    assert_eq!(told(1), r#""change" 1 "f.txt" "made""#);
    assert_eq!((listed.len(), &listed[2]["ending"]), (3, &"done".into()));
    let version = &data(&["--show", "1"])[0];
    assert_eq!((&version["type"], &version["text"]), (&"version".into(), &"old\n".into()));
    assert_eq!(data(&["1"])[0]["ending"], "done");
    assert_eq!(data(&["--list"])[1]["state"], "taken_back");
    fs::write(world.work("f.txt"), "mine\n").unwrap();
    let refused = &data(&["1"])[0];
    assert_eq!((&refused["ending"], &refused["exit_code"]), (&"error".into(), &1.into()));
    assert_eq!(data(&["--list", "--id", "nobody"])[0]["ending"], "done");
}

#[test]
fn a_change_under_a_foreign_one_is_not_taken_back_and_both_are_kept() {
    let world = edited();
    fs::write(world.work("f.txt"), "mine\n").unwrap();
    let ran = world.run(&["undo", "1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("changed since"), "{}", ran.stderr);
    assert!(ran.stderr.contains("piton undo --show 1"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(world.work("f.txt")).unwrap(), "mine\n");
    assert_eq!(world.run(&["undo", "--show", "1"]).stdout, "old\n");
    assert!(world.run(&["undo", "--list"]).stdout.contains("f.txt  changed since"));
    assert_eq!(lines(&world.run(&["undo", "--list", "--json"]).stdout)[1]["state"], "changed");
    let ran = world.run(&["undo", "7"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there is no change 7"), "{}", ran.stderr);
}

/// A turn that changes a file, and dies at a point of that.
fn died(point: &str) -> World {
    let world = World::new();
    fs::write(world.work("f.txt"), "old\n").unwrap();
    let arguments = json!({ "path": "f.txt", "old": "old", "new": "new" });
    let steps = json!([{ "calls": [{ "tool": "edit_file", "arguments": arguments }] }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let mut agent = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
    let ran = agent.env("PITON_FAIL_POINT", point).output().unwrap();
    assert!(!ran.status.success(), "{point}: it lives");
    assert_eq!(names(&world).len(), 2, "{point}: {:?}", names(&world));
    world
}

fn names(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path("work")).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

// J20: a discarded turn leaves no temporary file, wherever its edit died.
#[test]
fn a_discarded_turn_leaves_nothing_beside_the_file_that_it_changed() {
    for (point, content) in [("edit-written", "old\n"), ("edit-swapped", "new\n")] {
        let world = died(point);
        let ran = world.run(&["query", "--discard-turn"]);
        assert_eq!(ran.code, 0, "{point}: {}", ran.stderr);
        assert_eq!(names(&world), ["f.txt"], "{point}");
        assert_eq!(fs::read_to_string(world.work("f.txt")).unwrap(), content, "{point}");
    }
}

#[test]
fn an_edit_in_doubt_is_settled_and_leaves_nothing_beside_the_file() {
    for point in ["edit-written", "edit-swapped"] {
        let world = died(point);
        let ran = world.run(&["query", "--continue"]);
        assert_eq!(ran.code, 0, "{point}: {}", ran.stderr);
        assert_eq!(names(&world), ["f.txt"], "{point}");
        assert_eq!(fs::read_to_string(world.work("f.txt")).unwrap(), "new\n", "{point}");
    }
}

// Somebody else saved the file after the death: both are kept or known, and nothing is left over.
#[test]
fn an_edit_in_doubt_under_a_foreign_one_is_reported_and_leaves_nothing() {
    let world = died("edit-written");
    fs::write(world.work("f.txt"), "theirs\n").unwrap();
    let ran = world.run(&["query", "--continue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let events = world.events();
    let end = events.iter().find(|event| event["type"] == "ToolFinished").unwrap();
    assert_eq!(end["outcome"], "unknown", "{end}");
    assert_eq!(names(&world), ["f.txt"]);
    assert_eq!(fs::read_to_string(world.work("f.txt")).unwrap(), "theirs\n");
}

/// Edits `f.txt` as somebody without rights; says what came of it. None where that cannot be tried.
fn edited_by_nobody(world: &World) -> Option<String> {
    let call = json!({ "tool": "edit_file", "arguments": { "path": "f.txt", "old": "old", "new": "new" } });
    let model =
        world.script(&json!({ "steps": [{ "calls": [call] }, { "say": "." }] }).to_string());
    let inner = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg(inner.get_program()).args(inner.get_args()).stdin(Stdio::null());
    command.current_dir(inner.get_current_dir().unwrap());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let could_start = said.contains("edit_file");
    if !could_start {
        println!("skipped: nobody cannot run this binary here: {said}");
    }
    could_start.then_some(said)
}

/// A workspace of nobody's with a file of somebody's, if this process may make one.
fn foreign(owner: u32, mode: u32) -> Option<World> {
    let world = World::new();
    let give = |path: &Path, owner: u32| chown(path, Some(owner), Some(owner));
    fs::write(world.work("f.txt"), "old\n").unwrap();
    fs::set_permissions(world.work("f.txt"), fs::Permissions::from_mode(mode)).unwrap();
    let top = world.path("work").parent().unwrap().to_owned();
    let given = give(&top, NOBODY)
        .and_then(|()| give(&world.path("work"), NOBODY))
        .and_then(|()| give(&world.work("f.txt"), owner));
    if given.is_err() {
        println!("skipped: only root may give files away");
    }
    given.is_ok().then_some(world)
}

// An edit is no way round the rights of a file, and takes it from nobody.
#[test]
fn the_rights_and_the_owner_of_a_file_count() {
    let found = |world: &World| {
        let file = world.work("f.txt");
        (fs::read_to_string(&file).unwrap(), fs::metadata(file).unwrap().uid())
    };
    for (owner, mode) in [(NOBODY, 0o444), (1234, 0o644)] {
        let Some(world) = foreign(owner, mode) else { return };
        let Some(said) = edited_by_nobody(&world) else { return };
        assert!(said.contains("write-protected"), "{owner} {mode:o}: {said}");
        assert_eq!(found(&world), ("old\n".into(), owner), "{mode:o}");
    }
    let Some(world) = foreign(1234, 0o666) else { return };
    let Some(said) = edited_by_nobody(&world) else { return };
    assert_eq!(found(&world), ("new\n".into(), 1234), "{said}");
}
