//! `piton init`: a first `AGENTS.md`.

use std::fs;

use crate::person::Person;
use crate::world::World;

fn world() -> World {
    let world = World::new();
    fs::write(world.work("Cargo.toml"), "[package]\n").unwrap();
    world
}

#[test]
fn the_text_is_shown_and_written_only_if_that_is_wanted() {
    let world = world();
    let ran = world.run(&["init"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("- `cargo test` (Cargo.toml)\n"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "Nothing is written; to write it: piton init --yes\n");
    assert!(!world.work("AGENTS.md").exists());
    let mut person = Person::starts(&world, &["init"]);
    person.sees("AGENTS.md? [y/N]").types("\n").sees("Nothing is written.");
    assert_eq!(person.leaves().0, 0);
    let mut person = Person::starts(&world, &["init"]);
    person.sees("AGENTS.md? [y/N]").types("y\n").sees("is written.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(fs::read_to_string(world.work("AGENTS.md")).unwrap(), ran.stdout);
}

#[test]
fn a_file_that_is_there_stays() {
    let world = world();
    fs::write(world.work("AGENTS.md"), "mine").unwrap();
    let ran = world.run(&["init", "--yes"]);
    assert!(ran.stderr.contains("is there already, and stays."), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(world.work("AGENTS.md")).unwrap(), "mine");
}
