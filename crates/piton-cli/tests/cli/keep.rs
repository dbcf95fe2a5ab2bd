//! X19: conversations that are put away, removed, and purged.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use piton_core::id::{ConversationId, Timestamp};
use piton_server::Drafts;
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal as _, NewRecord, SqliteJournal, StatusRow,
};

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
    // What somebody types on a page of the server.
    let typed = Drafts::of(&home).file(&ConversationId::new(id.clone()));
    fs::create_dir_all(typed.parent().unwrap()).unwrap();
    fs::write(&typed, CANARY).unwrap();
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
    assert_eq!(held.code, 5, "{}", held.stderr);
    assert!(held.stderr.contains("is held by"), "{}", held.stderr);
    let busy = world.run(&["rm", "--purge", "--yes", &other]);
    assert_eq!(busy.code, 5, "{}", busy.stderr);
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

/// A conversation of three turns, forks behind the first and the last one, and a fork of the second fork.
fn forked(world: &World) -> (String, [String; 3]) {
    let id = |ran: crate::world::Ran| {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.trim_end().to_owned()
    };
    for said in ["one", CANARY, "three"] {
        assert_eq!(world.run(&["query", said, "--model", "demo"]).code, 0);
    }
    let origin = world.only_id();
    let first = id(world.run(&["fork", &origin, "--at", "1"]));
    let second = id(world.run(&["fork", &origin]));
    let inner = id(world.run(&["fork", &second]));
    assert_eq!(world.run(&["query", "mine", "--id", &inner]).code, 0);
    (origin, [first, second, inner])
}

fn printed(world: &World, ids: &[String]) -> Vec<String> {
    ids.iter().map(|id| world.run(&["print", id]).stdout).collect()
}

// X19, J74
#[test]
fn what_forks_need_is_not_purged_before_they_have_a_copy() {
    let world = World::new();
    let (origin, forks) = forked(&world);
    let before = printed(&world, &forks);
    assert!(before[2].contains(CANARY) && before[2].contains("> mine"), "{}", before[2]);
    let refused = world.run(&["rm", "--purge", "--yes", &origin]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    // The fork of a fork needs the fork.
    let (one, two) = (&forks[0], &forks[1]);
    let (low, high) = if one < two { (one, two) } else { (two, one) };
    assert_eq!(
        refused.stderr,
        format!(
            "error: {low}, {high} are forks of {origin}, and begin with what was said there\n\
             hint: to copy that first, so that they lose nothing: piton rm --purge --detach {origin}\n\
             hint: to purge the forks: piton rm --purge {low} {high}\n"
        )
    );
    assert_eq!(world.run(&["rm", "--detach", &origin]).code, 2);
    let purged = world.run(&["rm", "--purge", "--detach", "--yes", &origin]);
    assert_eq!(purged.code, 0, "{}", purged.stderr);
    assert!(purged.stderr.contains(&format!("Purged: {origin}\n")), "{}", purged.stderr);
    assert!(purged.stderr.contains(&format!("Fork {one} has a copy of what")), "{}", purged.stderr);
    assert_eq!(world.run(&["print", &origin]).code, 2);
    assert_eq!(printed(&world, &forks), before);
    assert!(!world.run(&["print", &forks[2]]).stderr.contains("warning"));
    // Each goes on, and can be forked where it was shared.
    assert_eq!(world.run(&["query", "on", "--id", &forks[0]]).code, 0);
    let again = world.run(&["fork", &forks[2], "--at", "1"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    // The copies are no conversations of their own, and go with their forks.
    assert_eq!(titles(&world, &[]).len(), 4);
    assert_eq!(world.run(&["rm", "--purge", "--yes", again.stdout.trim_end()]).code, 0);
    assert_eq!(world.run(&["rm", "--purge", "--yes", &forks[1]]).code, 2);
    let all = world.run(&["rm", "--purge", "--yes", &forks[0], &forks[1], &forks[2]]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    assert_eq!(holding(&world.path("home"), CANARY), Vec::<PathBuf>::new());
}

// X19: killed at any moment, no fork loses anything.
#[test]
fn a_purge_that_is_killed_while_forks_are_copied_loses_nothing() {
    let world = World::new();
    let (origin, forks) = forked(&world);
    let before = printed(&world, &forks);
    let args = ["rm", "--purge", "--detach", "--yes", &origin];
    let mut killed = 0;
    for ms in (0..60).step_by(3) {
        killed += u32::from(world.live(&args, Some(std::time::Duration::from_millis(ms))));
        assert_eq!(printed(&world, &forks), before, "killed after {ms} ms");
        if world.run(&["print", &origin]).code != 0 {
            break;
        }
    }
    assert!(0 < killed);
    let rest = world.run(&args);
    assert!(rest.code == 0 || rest.stderr.contains(&origin), "{}", rest.stderr);
    assert_eq!(world.run(&["print", &origin]).code, 2);
    assert_eq!(printed(&world, &forks), before);
}

/// Puts a row into the list whose last turn was so many days ago.
fn make_old(world: &World, id: &str, days: u64) {
    let (journal, _) = SqliteJournal::open(&world.path("home")).unwrap();
    let id = ConversationId::new(id);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listed = journal.status(&id).await.unwrap().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let touched = Timestamp(u64::try_from(now).unwrap() - days * 86_400_000);
        let holder = Holder { pid: 1, host: "h".into(), since: touched };
        let lease = journal.lease(&id, holder).await.unwrap();
        // An entry that no build knows changes nothing else.
        let body = r#"{"type":"OfTomorrow"}"#.to_owned();
        let batch = Batch {
            name: CommitName::fresh(),
            expected: listed.end,
            records: vec![NewRecord { at: touched, format: 1, body }],
            status: StatusRow { touched, ..listed.row },
            durability: Durability::Synced,
        };
        journal.append(&lease, batch).await.unwrap();
        journal.release(lease).await.unwrap();
    });
}

// X19: retention, only where it is set.
#[test]
fn old_conversations_go_only_if_the_settings_say_so_and_nothing_stands_against_it() {
    let world = World::new();
    let old = conversation(&world, "old");
    let young = conversation(&world, "young");
    let needed = conversation(&world, "needed");
    let fork = world.run(&["fork", &needed]).stdout.trim_end().to_owned();
    let asks = r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"exit 1"}}]}]}"#;
    let model = world.script(asks);
    assert_eq!(world.run(&["query", "--new", "open", "--model", &model]).code, 3);
    let open = world.rows()[0]["conversation"].as_str().unwrap().to_owned();
    for id in [&old, &needed, &open] {
        make_old(&world, id, 11);
    }
    make_old(&world, &young, 9);
    let listed = world.run(&["ls"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (0, ""));
    assert_eq!(titles(&world, &[]).len(), 5);

    assert_eq!(world.run(&["config", "keep_days", "10"]).code, 0);
    let listed = world.run(&["ls", "--json"]);
    assert_eq!(
        listed.stderr,
        format!("Purged, because nothing was said in them for 10 days (keep_days): {old}\n")
    );
    assert_eq!(lines(&listed.stdout).len(), 5, "what was asked for comes first");
    assert_eq!(world.run(&["print", &old]).code, 2);
    for kept in [&young, &needed, &open, &fork] {
        assert_eq!(world.run(&["print", kept]).code, 0, "{kept}");
    }
    assert_eq!(world.run(&["ls"]).stderr, "");
    // The fork has grown old as well.
    make_old(&world, &fork, 11);
    let listed = world.run(&["ls"]).stderr;
    assert!(listed.contains(&fork) && listed.contains(&needed), "{listed}");
}

#[test]
fn a_letter_or_two_of_an_id_change_no_conversation() {
    let world = World::new();
    assert_eq!(world.run(&["query", "one", "--model", "demo"]).code, 0);
    let id = world.only_id();
    for args in
        [&["rename", &id[..3], "other"][..], &["archive", &id[..1]], &["rm", "--yes", &id[..3]]]
    {
        let ran = world.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("is too short to change a conversation by"), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("the one that begins so is {id}")), "{}", ran.stderr);
    }
    assert_eq!(world.rows()[0]["title"], "one");
    assert_eq!(world.run(&["rename", &id[..4], "other"]).code, 0);
    assert_eq!(world.run(&["archive", "last"]).code, 0);
}
