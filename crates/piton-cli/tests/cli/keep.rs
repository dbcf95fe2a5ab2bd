//! X19: conversations that are put away, removed, and purged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::person::Person;
use crate::world::{World, lines};

const CANARY: &str = "canary93871";

fn conversation(world: &World, text: &str) -> String {
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    world.run(&["query", "--new", text, "--model", &model]);
    world.rows()[0]["conversation"].as_str().unwrap().to_owned()
}

fn titles(world: &World, args: &[&str]) -> Vec<String> {
    let rows = lines(&world.run(&[&["ls", "--json"], args].concat()).stdout);
    rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_archived_conversation_is_listed_apart_until_a_turn_brings_it_back() {
    let world = World::new();
    let first = conversation(&world, "first");
    conversation(&world, "second");
    let put = world.run(&["archive", &first]);
    assert_eq!(
        put.stderr,
        format!("Conversation {first} is archived; to see it: piton ls --archived\n")
    );
    assert_eq!(titles(&world, &[]), ["second"]);
    assert_eq!(titles(&world, &["--archived"]), ["first"]);
    assert_eq!(world.run(&["print", &first]).stdout, "> first\nOne.\n");
    assert_eq!(world.run(&["grep", "first", "--output", "ids"]).stdout, format!("{first}\n"));
    // It is not the last one any more.
    let second = world.rows()[0]["conversation"].as_str().unwrap().to_owned();
    world.run(&["archive", &second]);
    assert_eq!(world.run(&["print"]).code, 2);
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#);
    world.run(&["query", "--id", &first, "again", "--model", &model]);
    assert_eq!(titles(&world, &[]), ["first"]);
    assert_eq!(titles(&world, &["--archived"]), ["second"]);
}

#[test]
fn a_removed_conversation_is_hidden_and_can_be_brought_back() {
    let world = World::new();
    let id = conversation(&world, "first");
    let asked = world.run(&["rm", &id]);
    assert_eq!(asked.code, 2, "{}", asked.stderr);
    assert!(asked.stderr.contains(&format!("piton rm --yes {id}")), "{}", asked.stderr);
    assert_eq!(world.run(&["rm", "--yes", &id]).code, 0);
    assert_eq!((titles(&world, &[]).len(), titles(&world, &["--removed"]).len()), (0, 1));
    assert_eq!(world.run(&["grep", "first"]).code, 1);
    assert_eq!(world.run(&["archive", "--back", &id]).code, 0);
    assert_eq!(titles(&world, &[]), ["first"]);
}

/// All files below a directory that hold some bytes.
fn holding(directory: &Path, bytes: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, bytes));
        } else if fs::read(&path)
            .unwrap()
            .windows(bytes.len())
            .any(|window| window == bytes.as_bytes())
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn nothing_of_a_purged_conversation_is_left_in_any_file() {
    let world = World::new();
    // Old versions of changed files, blobs, records of commands, letters and the index: all of it.
    fs::write(world.work("notes.txt"), format!("{CANARY}\n").repeat(3)).unwrap();
    let image = [&b"\x89PNG\r\n\x1a\n"[..], CANARY.as_bytes()].concat();
    fs::write(world.work("a.png"), image).unwrap();
    let other = conversation(&world, "the other one");
    let model = world.script(&format!(
        r#"{{"steps":[{{"calls":[
            {{"tool":"write_file","arguments":{{"path":"notes.txt","content":"new"}}}},
            {{"tool":"shell","arguments":{{"command":"seq 9000; echo {CANARY}"}}}}]}},
            {{"say":"Done {CANARY}."}}]}}"#
    ));
    world.run(&[
        "query",
        "--new",
        CANARY,
        "--file",
        "a.png",
        "--permissions",
        "auto",
        "--model",
        &model,
    ]);
    let id = world.rows()[0]["conversation"].as_str().unwrap().to_owned();
    world.run(&["rename", &id, &format!("{CANARY} two")]);
    assert_eq!(world.run(&["grep", CANARY]).code, 0);
    let home = world.path("home");
    let before = holding(&home, CANARY);
    assert!(4 <= before.len(), "the control finds too little: {before:?}");
    let purged = world.run(&["rm", "--purge", "--yes", &id]);
    assert_eq!((purged.code, purged.stderr), (0, format!("Purged: {id}\n")));
    assert_eq!(holding(&home, CANARY), Vec::<PathBuf>::new());
    assert_eq!(holding(&home, &id), Vec::<PathBuf>::new());
    assert_eq!(world.run(&["print", &id]).code, 2);
    // The others are as they were.
    assert_eq!(world.run(&["print", &other]).stdout, "> the other one\nOne.\n");
    assert_eq!(titles(&world, &[]), ["the other one"]);
    assert_eq!(world.run(&["grep", "other"]).code, 0);
    let checked = world.run(&["doctor"]);
    assert!(!checked.stdout.contains("damaged"), "{}", checked.stdout);
    conversation(&world, "a third one");
    assert_eq!(titles(&world, &[]), ["a third one", "the other one"]);
}

#[test]
fn a_file_that_another_conversation_has_stays() {
    let world = World::new();
    fs::write(world.work("a.png"), [&b"\x89PNG\r\n\x1a\n"[..], CANARY.as_bytes()].concat())
        .unwrap();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    for text in ["first", "second"] {
        world.run(&["query", "--new", text, "--file", "a.png", "--model", &model]);
    }
    let blobs = world.path("home").join("blobs");
    assert_eq!(holding(&blobs, CANARY).len(), 1);
    assert_eq!(world.run(&["rm", "--purge", "--yes", "last"]).code, 0);
    assert_eq!(holding(&blobs, CANARY).len(), 1);
    assert_eq!(world.run(&["rm", "--purge", "--yes", "last"]).code, 0);
    assert_eq!(holding(&blobs, CANARY).len(), 0);
}

#[test]
fn what_is_at_work_is_not_purged() {
    let world = World::new();
    let other = conversation(&world, "the other one");
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"echo > ready; sleep 60"}}]},
            {"say":"Done."}]}"#,
    );
    let child =
        world.spawn(&["query", "--new", "wait", "--permissions", "auto", "--model", &model]);
    crate::world::wait_until(|| world.work("ready").exists());
    let id = world.rows()[0]["conversation"].as_str().unwrap().to_owned();
    let held = world.run(&["rm", "--purge", "--yes", &id]);
    assert_eq!(held.code, 2, "{}", held.stderr);
    assert!(held.stderr.contains("is held by"), "{}", held.stderr);
    let busy = world.run(&["rm", "--purge", "--yes", &other]);
    assert!(busy.stderr.contains("a process works on another conversation"), "{}", busy.stderr);
    world.run(&["stop", &id]);
    world.finish(child);
    world.run(&["query", "--discard-turn", "--id", &id]);
    assert_eq!(world.run(&["rm", "--purge", "--yes", &other]).code, 0);
    assert_eq!(world.run(&["rm", "--purge", "--yes", &id]).code, 0);
    assert_eq!(titles(&world, &["--all"]).len(), 0);
}

#[test]
fn a_person_is_asked_before_anything_is_removed() {
    let world = World::new();
    let id = conversation(&world, "first");
    let mut person = Person::starts(&world, &["rm", "--purge", &id]);
    person.sees(&format!("Purge {id} \"first\"?")).sees("[y/N]").types("\n");
    person.sees("Nothing is removed.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(titles(&world, &[]), ["first"]);
    let mut person = Person::starts(&world, &["rm", &id]);
    person.sees("[y/N]").types("y\n").sees("is removed");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(titles(&world, &["--removed"]), ["first"]);
}

#[test]
fn workers_go_with_the_conversation_that_they_work_for() {
    let world = World::new();
    fs::write(world.work("a.txt"), format!("{CANARY}\n")).unwrap();
    world.run(&["query", "delegate: read a.txt"]);
    let names: Vec<_> =
        world.rows().iter().map(|row| row["conversation"].as_str().unwrap().to_owned()).collect();
    let (worker, parent) = names.iter().partition::<Vec<_>, _>(|name| name.contains('_'));
    assert_eq!((worker.len(), parent.len()), (1, 1), "{names:?}");
    let alone = world.run(&["rm", "--purge", "--yes", worker[0]]);
    assert_eq!(alone.code, 2);
    assert!(alone.stderr.contains(&format!("piton rm --purge {}", parent[0])), "{}", alone.stderr);
    assert_eq!(world.run(&["rm", "--purge", "--yes", parent[0]]).code, 0);
    assert_eq!(world.rows().len(), 0);
    assert_eq!(holding(&world.path("home"), CANARY), Vec::<PathBuf>::new());
}

// A fork is new, whatever was done with its origin.
#[test]
fn a_fork_of_what_is_put_away_is_listed_and_the_newest() {
    for away in [&["archive"][..], &["rm", "--yes"]] {
        let world = World::new();
        let (old, _other) = (conversation(&world, "old"), conversation(&world, "other"));
        assert_eq!(world.run(&[away, &[old.as_str()]].concat()).code, 0);
        let ran = world.run(&["fork", &old, "--title", "fork"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(titles(&world, &[]), ["fork", "other"], "{away:?}");
        assert_eq!(world.run(&["query", "go on", "-m", "demo"]).code, 0);
        assert_eq!(titles(&world, &[]), ["fork", "other"], "{away:?}");
        let ran = world.run(&["fork", &old, "--at", "1", "--title", "whole"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(titles(&world, &[]), ["whole", "fork", "other"], "{away:?}");
    }
}

#[test]
fn what_was_put_away_is_told_as_data() {
    let world = World::new();
    let id = conversation(&world, "old");
    for (args, shelf) in [
        (&["archive", "--json"][..], "archived"),
        (&["archive", "--back", "--json"], "listed"),
        (&["rm", "--yes", "--json"], "removed"),
    ] {
        let ran = world.run(&[args, &[id.as_str()]].concat());
        let told = lines(&ran.stdout);
        assert_eq!((ran.code, told.len()), (0, 2), "{}", ran.stderr);
        assert_eq!(
            (&told[0]["conversation"], &told[0]["shelf"]),
            (&id.clone().into(), &shelf.into())
        );
        assert_eq!(told[1]["type"], "result");
        if shelf == "removed" {
            let hint = format!("piton archive --back {id}");
            assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
        }
    }
    let ran = world.run(&["rename", &id, "new", "--json"]);
    assert_eq!((ran.code, &lines(&ran.stdout)[0]["conversation"]), (0, &id.into()));
    for (typed, hint) in [
        ("search", "piton grep"),
        ("history", "piton ls"),
        ("delete", "piton rm"),
        ("discard", "--discard-turn"),
    ] {
        let ran = world.run(&[typed]);
        assert!(ran.code == 2 && ran.stderr.contains(hint), "{}", ran.stderr);
    }
}
