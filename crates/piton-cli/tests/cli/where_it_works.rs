//! Which directory a conversation works in, and which conversations are found from where.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::world::{Ran, World, lines};

const ONE: &str = r#"{"steps":[{"say":"One."},{"say":"Two."},{"say":"Three."}]}"#;

/// A world with a repository `repo` that has a directory `src/deep` in it.
fn world() -> World {
    let world = World::new();
    fs::create_dir_all(world.path("repo/src/deep")).unwrap();
    world
}

fn make_repository(world: &World) {
    fs::create_dir_all(world.path("repo/.git")).unwrap();
}

fn run_in(world: &World, directory: &str, args: &[&str]) -> Ran {
    let mut command = world.command(args);
    world.ran(command.current_dir(world.path(directory)).output().unwrap())
}

fn rows(world: &World) -> Vec<(Value, Value)> {
    let rows = world.rows().into_iter();
    rows.map(|row| (row["title"].clone(), row["workspace"].clone())).collect()
}

fn works_in(world: &World, directory: &str) -> Value {
    world.path(directory).to_str().unwrap().into()
}

#[test]
fn a_conversation_works_in_the_repository_and_is_found_from_all_of_it() {
    let world = world();
    make_repository(&world);
    let model = world.script(ONE);
    let ran = run_in(&world, "repo/src/deep", &["query", "first", "-m", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for directory in ["repo", "repo/src"] {
        assert_eq!(run_in(&world, directory, &["query", "more"]).code, 0);
    }
    assert_eq!(rows(&world), [("first".into(), works_in(&world, "repo"))]);
    assert_eq!(world.rows()[0]["turns"], 3);
    assert!(run_in(&world, "repo/src", &["print"]).stdout.contains("> first\n"));
    let outside = run_in(&world, "work", &["print"]);
    assert_eq!(outside.code, 2, "{}", outside.stdout);
}

#[test]
fn a_conversation_that_was_begun_in_a_subdirectory_stays_found_there() {
    let world = world();
    let model = world.script(ONE);
    assert_eq!(run_in(&world, "repo/src", &["query", "old", "-m", &model]).code, 0);
    let lost = run_in(&world, "repo/src", &["query", "unsent", "--new", "-m", "anthropic/opus"]);
    assert_eq!(lost.code, 2);
    make_repository(&world);
    assert!(run_in(&world, "repo/src", &["print"]).stdout.contains("> old\n"));
    assert_eq!(
        run_in(&world, "repo", &["print"]).code,
        2,
        "it is no conversation of the repository"
    );
    assert!(run_in(&world, "repo/src", &["drafts"]).stdout.contains("unsent"));
    // From now on the newest one counts, whichever it is.
    assert_eq!(run_in(&world, "repo", &["query", "new", "-m", &model]).code, 0);
    assert!(run_in(&world, "repo/src", &["print"]).stdout.contains("> new\n"));
    let deep = run_in(&world, "repo/src/deep", &["print"]).stdout;
    assert!(deep.contains("> new\n"), "{deep}");
    let listed = lines(&run_in(&world, "repo/src/deep", &["ls", "--json"]).stdout);
    assert_eq!(listed.len(), 2, "{listed:?}");
}

#[test]
fn a_repository_of_all_settings_is_no_workspace() {
    let world = world();
    make_repository(&world);
    let model = world.script(ONE);
    let mut command = world.command(&["query", "hello", "-m", &model]);
    command.env("HOME", world.path("repo")).current_dir(world.path("repo/src"));
    assert_eq!(world.ran(command.output().unwrap()).code, 0);
    assert_eq!(rows(&world), [("hello".into(), works_in(&world, "repo/src"))]);
}

#[test]
fn tools_work_in_the_root_and_files_are_named_from_where_one_is() {
    let world = world();
    make_repository(&world);
    fs::write(world.path("repo/src/note.txt"), "noted").unwrap();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"write_file","arguments":{"path":"made","content":"1"}},
            {"tool":"shell","arguments":{"command":"pwd > where"}}]},{"say":"Done."}]}"#,
    );
    let args = ["query", "go", "-f", "note.txt", "--permissions", "auto", "-m", &model];
    let ran = run_in(&world, "repo/src", &args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(world.path("repo/made").exists());
    let told = fs::read_to_string(world.path("repo/where")).unwrap();
    assert_eq!(Path::new(told.trim()), world.path("repo"));
    let print = lines(&run_in(&world, "repo", &["print", "--json", "--raw"]).stdout);
    let said = print.iter().find(|entry| entry["event"]["type"] == "UserMessage").unwrap();
    assert_eq!(said["event"]["parts"][1]["text"], "noted");
    let undone = run_in(&world, "repo/src/deep", &["undo"]);
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert!(!world.path("repo/made").exists());
}

#[test]
fn a_draft_finds_its_files_from_anywhere_in_the_repository() {
    let world = world();
    make_repository(&world);
    fs::write(world.path("repo/src/note.txt"), "noted").unwrap();
    let args = ["query", "see", "-f", "note.txt", "-m", "anthropic/opus"];
    assert_eq!(run_in(&world, "repo/src", &args).code, 2);
    let model = world.script(ONE);
    let ran = run_in(&world, "repo/src/deep", &["query", "--draft", "-m", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let print = run_in(&world, "repo", &["print", "--json", "--raw"]).stdout;
    assert!(print.contains("noted"), "{print}");
}

#[test]
fn a_list_has_the_conversations_of_the_workspace_or_all() {
    let world = world();
    make_repository(&world);
    let model = world.script(ONE);
    assert_eq!(run_in(&world, "work", &["query", "elsewhere", "-m", &model]).code, 0);
    let none = run_in(&world, "repo/src", &["ls"]);
    assert_eq!(none.stdout, "");
    let told = "No conversations in this workspace; those of all directories: piton ls --all\n";
    assert_eq!(none.stderr, told);
    assert_eq!(run_in(&world, "repo/src", &["query", "here", "-m", &model]).code, 0);
    let here = run_in(&world, "repo/src", &["ls"]).stdout;
    assert!(here.contains("here") && !here.contains("elsewhere"), "{here}");
    assert!(!here.contains("DIRECTORY"), "{here}");
    let all = run_in(&world, "repo/src", &["ls", "--all"]).stdout;
    assert!(all.contains("DIRECTORY") && all.contains("elsewhere"), "{all}");
    let listed = lines(&run_in(&world, "repo/src", &["ls", "--json"]).stdout);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["workspace"], works_in(&world, "repo"));
}

#[test]
fn the_servers_of_a_repository_are_trusted_for_all_of_it() {
    let world = world();
    make_repository(&world);
    fs::write(world.path("repo/.mcp.json"), r#"{"mcpServers":{"x":{"command":"true"}}}"#).unwrap();
    let trusted = run_in(&world, "repo/src", &["mcp", "trust"]);
    assert_eq!(trusted.code, 0, "{}", trusted.stderr);
    let revoked = run_in(&world, "repo/src/deep", &["mcp", "trust", "--revoke"]);
    assert!(revoked.stderr.contains("is no longer trusted"), "{}", revoked.stderr);
}
