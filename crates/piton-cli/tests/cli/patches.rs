//! Patches of several files by the real binary, which dies in the middle of them.

use std::fs;

use serde_json::json;

use crate::world::{World, lines};

const PATCH: &str = "*** Begin Patch\n*** Add File: new.txt\n+made\n*** Update File: f.txt\n@@\n-old\n+new\n*** Delete File: g.txt\n*** End Patch\n";

/// A workspace with two files, and a model that patches them.
fn world() -> (World, String) {
    let world = World::new();
    fs::write(world.work("f.txt"), "old\n").unwrap();
    fs::write(world.work("g.txt"), "gone\n").unwrap();
    let call = json!({ "tool": "apply_patch", "arguments": { "patch": PATCH } });
    let steps = json!([{ "calls": [call] }, { "say": "Done." }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    (world, model)
}

/// The files, with what is in them.
fn found(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path("work")).unwrap().map(Result::unwrap);
    let mut found: Vec<String> = entries
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).unwrap();
            format!("{} {}", entry.file_name().display(), text.trim_end())
        })
        .collect();
    found.sort();
    found
}

const BEFORE: [&str; 2] = ["f.txt old", "g.txt gone"];
const AFTER: [&str; 2] = ["f.txt new", "new.txt made"];

#[test]
fn a_patch_is_applied_shown_and_taken_back_as_one() {
    let (world, model) = world();
    let ran = world.run(&["query", "go", "--permissions", "accept-edits", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(found(&world), AFTER);
    assert!(ran.stderr.contains("apply_patch: new.txt, f.txt, g.txt"), "{}", ran.stderr);
    let printed = world.run(&["print"]).stdout;
    for told in ["*** Add File: new.txt", "*** Update File: f.txt", "1 +new", "1 -gone"] {
        assert!(printed.contains(told), "{told}: {printed}");
    }
    let list = world.run(&["undo", "--list"]).stdout;
    assert_eq!(list.lines().count(), 3, "{list}");
    let undone = world.run(&["undo"]);
    assert_eq!((undone.code, found(&world)), (0, BEFORE.map(String::from).to_vec()));
    assert_eq!(undone.stderr.matches("taken back").count(), 3, "{}", undone.stderr);
    assert!(world.run(&["undo"]).stderr.starts_with("Nothing to take back"));
    // By its number one file alone.
    assert_eq!(world.run(&["undo", "1"]).code, 0);
    assert_eq!(found(&world), ["f.txt old", "g.txt gone", "new.txt made"]);
}

// D29: nobody decides on what they cannot see.
#[test]
fn a_question_about_a_patch_names_every_file_and_what_is_lost() {
    let (world, model) = world();
    let ran = world.run(&["query", "go", "--model", &model]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let asked = world.run(&["answer"]).stdout;
    for told in [
        "Run apply_patch: new.txt, f.txt, g.txt?",
        "creates \"new.txt\", 1 line",
        "changes \"f.txt\", 1 line lost, 1 line new",
        "removes \"g.txt\", 1 line lost",
        "| -old",
        "| +new",
    ] {
        assert!(asked.contains(told), "{told}: {asked}");
    }
    assert_eq!(found(&world), BEFORE);
    let denied = world.run(&["answer", "no", "--continue"]);
    assert_eq!((denied.code, found(&world)), (0, BEFORE.map(String::from).to_vec()));
}

// Must show 3: a rule against one of its files stops all of it.
#[test]
fn must_show_3_a_patch_of_a_forbidden_file_changes_nothing() {
    let (world, model) = world();
    let rule = "[[permissions]]\ntool = \"edit_file\"\npath = \"g.*\"\neffect = \"deny\"\n";
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), rule).unwrap();
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(found(&world), BEFORE);
    let printed = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(printed.contains("A permission rule forbids apply_patch"), "{printed}");
}

/// A turn that dies at a point of the patch.
fn died(point: &str) -> World {
    let (world, model) = world();
    let mut agent = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
    let ran = agent.env("PITON_FAIL_POINT", point).output().unwrap();
    assert!(!ran.status.success(), "{point}: it lives");
    world
}

// M6, K22: killed half way, it is rolled forward once, and its turn goes on.
#[test]
fn a_patch_that_was_killed_half_way_is_rolled_forward() {
    for point in ["edit-written", "edit-swapped", "edits-one-made"] {
        let world = died(point);
        let ran = world.run(&["query", "--continue"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{point}: {}", ran.stderr);
        assert_eq!(found(&world), AFTER, "{point}");
        let printed = lines(&world.run(&["print", "--json"]).stdout);
        let told = format!("{printed:?}");
        assert!(told.contains("applied the patch to 3 files"), "{point}: {told}");
        assert_eq!(world.run(&["undo"]).code, 0);
        assert_eq!(found(&world), BEFORE, "{point}");
    }
}

// J20: a turn that is discarded leaves none of it.
#[test]
fn a_patch_that_was_killed_half_way_is_rolled_back_with_its_turn() {
    for point in ["edit-written", "edit-swapped", "edits-one-made"] {
        let world = died(point);
        let ran = world.run(&["query", "--discard-turn"]);
        assert_eq!(ran.code, 0, "{point}: {}", ran.stderr);
        assert_eq!(found(&world), BEFORE, "{point}");
    }
}

#[test]
fn a_patch_that_was_killed_half_way_under_a_foreign_edit_is_rolled_back() {
    let world = died("edits-one-made");
    fs::write(world.work("g.txt"), "mine\n").unwrap();
    let ran = world.run(&["query", "--continue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(found(&world), ["f.txt old", "g.txt mine"]);
    let printed = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(printed.contains("Nothing of the patch was applied"), "{printed}");
}
