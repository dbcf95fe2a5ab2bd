//! Changes of files by the real binary, which dies in the middle of them.

use std::fs;

use serde_json::json;

use crate::world::World;

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
