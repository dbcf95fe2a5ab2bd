//! What comes back of damaged conversations and databases, and what a person is told about the rest.

use std::fs;

use piton_core::id::{ConversationId, Timestamp};
use piton_store::{Holder, Journal as _, SqliteJournal};
use serde_json::json;

use crate::world::{Ran, World, lines};

/// Runs a command that has to do its work.
fn done(world: &World, args: &[&str]) -> Ran {
    let ran = world.run(args);
    assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
    ran
}

/// Begins a conversation with the demo model.
fn begin(world: &World, said: &str) -> String {
    done(world, &["query", "--new", said, "--model", "demo"]);
    world.rows()[0]["conversation"].as_str().unwrap().to_owned()
}

fn fork(world: &World, of: &str) -> String {
    done(world, &["fork", of]).stdout.trim_end().to_owned()
}

/// Takes the database of a home away, as a copy.
fn taken(world: &World) -> String {
    let (from, to) = (world.path("home/piton.db"), world.path("copy.db"));
    assert!(!world.path("home/piton.db-wal").exists());
    fs::rename(from, &to).unwrap();
    to.to_str().unwrap().to_owned()
}

/// Changes one letter of a word wherever it is stored, as a disk does that decays.
fn decay(world: &World, word: &str) {
    let database = world.path("home/piton.db");
    let mut bytes = fs::read(&database).unwrap();
    let places: Vec<_> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(word.as_bytes())).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(&database, bytes).unwrap();
}

#[test]
fn what_was_purged_is_not_missing() {
    let world = World::new();
    begin(&world, "one");
    let second = begin(&world, "two");
    let third = begin(&world, "three");
    done(&world, &["query", "on", "--id", &second]);
    done(&world, &["rm", "--purge", "--yes", &third]);
    done(&world, &["query", "on", "--id", &second]);
    let copy = taken(&world);
    let ran = done(&world, &["doctor", "--salvage", &copy]);
    let told = "Brought back: 2 whole, 0 whose end may be missing. There already: 0. Not brought back: 0. \
                Of the database no commit is missing.";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}

#[test]
fn a_fork_comes_back_with_the_turns_that_it_shares() {
    let world = World::new();
    let origin = begin(&world, "one");
    done(&world, &["query", "two", "--id", &origin]);
    let first = fork(&world, &origin);
    done(&world, &["query", "three", "--id", &first]);
    let second = fork(&world, &first);
    let copy = taken(&world);
    let ran = done(&world, &["doctor", "--salvage", &copy]);
    assert!(ran.stdout.contains(&format!("{second}  1 entry, whole")), "{}", ran.stdout);
    let rows = world.rows();
    let turns =
        |id: &str| rows.iter().find(|row| row["conversation"] == id).unwrap()["turns"].clone();
    assert_eq!([turns(&origin), turns(&first), turns(&second)], [json!(2), json!(3), json!(3)]);
}

#[test]
fn what_was_purged_behind_a_detached_fork_is_not_missing() {
    let world = World::new();
    let origin = begin(&world, "one");
    let kept = fork(&world, &origin);
    done(&world, &["rm", "--purge", "--detach", "--yes", &origin]);
    done(&world, &["query", "two", "--id", &kept]);
    let copy = taken(&world);
    let ran = done(&world, &["doctor", "--salvage", &copy]);
    assert!(ran.stderr.contains("Not brought back: 0."), "{}", ran.stderr);
    assert!(!ran.stdout.contains(&origin), "{}", ran.stdout);
    assert!(done(&world, &["print", &kept]).stdout.starts_with("> one\n"));
}

#[test]
fn a_conversation_of_which_nothing_came_back_is_not_advised_to_be_read() {
    let world = World::new();
    let origin = begin(&world, "Kingfishers");
    let kept = fork(&world, &origin);
    done(&world, &["query", "two", "--id", &kept]);
    decay(&world, "Kingfishers");
    let copy = taken(&world);
    let ran = world.run(&["doctor", "--salvage", &copy]);
    let is_there = world.run(&["print", &origin]).code != 2;
    assert!(!is_there, "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains(&format!("piton print {origin}")), "{}", ran.stderr);
}

/// Takes a conversation away that a fork was cut from, which the command refuses.
async fn purge(world: &World, id: &str) {
    let (journal, _) = SqliteJournal::open(&world.path("home")).unwrap();
    let holder = Holder { pid: 1, host: "test".into(), since: Timestamp(0) };
    let lease = journal.lease(&ConversationId::new(id), holder).await.unwrap();
    assert_eq!(journal.purge(&[lease]).await.unwrap().conversations, 1);
}

#[tokio::test]
async fn what_did_not_come_back_is_named_and_a_fork_of_it_goes_on() {
    let world = World::new();
    let origin = begin(&world, "one");
    let kept = fork(&world, &origin);
    done(&world, &["query", "two", "--id", &kept]);
    purge(&world, &origin).await;
    let copy = taken(&world);
    let ran = world.run(&["doctor", "--salvage", &copy]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let told = format!("Not brought back: 1 ({origin}). Of the database no commit is missing.");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    let ran = done(&world, &["print", &kept]);
    assert!(ran.stderr.contains("is gone, and what was said there is missing"), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("> two\n"), "{}", ran.stdout);
    done(&world, &["query", "three", "--id", &kept]);
    let view = lines(&world.run(&["print", "--json", &kept]).stdout).remove(0);
    let turns: Vec<_> =
        view["view"]["turns"].as_array().unwrap().iter().map(|it| &it["head"]["id"]).collect();
    assert_eq!(turns, [&json!(2), &json!(3)]);
}

// A conversation that came back without its end goes on with other words; a fork that shares more must not take
// them for its past.
#[test]
fn a_fork_whose_origin_came_back_shorter_says_so_and_keeps_its_own_words() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"First."},{"say":"Kingfishers."},{"say":"Own."},{"say":"Inner."},
        {"say":"Later."},{"say":"Later."},{"say":"Later."},{"say":"Later."}]}"#,
    );
    done(&world, &["query", "one", "--model", &model]);
    let origin = world.only_id();
    done(&world, &["query", "two", "--id", &origin]);
    let outer = fork(&world, &origin);
    done(&world, &["query", "three", "--id", &outer]);
    let inner = fork(&world, &outer);
    done(&world, &["query", "four", "--id", &inner]);
    decay(&world, "Kingfishers");
    let copy = taken(&world);
    let ran = done(&world, &["doctor", "--salvage", &copy]);
    let told = format!(
        "It was forked from {origin}, which came back without its end: what they share is missing here."
    );
    assert_eq!(ran.stderr.matches(&told).count(), 1, "{}{}", ran.stdout, ran.stderr);
    let check = || {
        let ran = done(&world, &["print", &outer]);
        assert!(ran.stderr.contains("what was said there is missing here"), "{}", ran.stderr);
        assert!(ran.stdout.starts_with("> three\n"), "{}", ran.stdout);
        let ran = done(&world, &["print", &inner]);
        assert!(ran.stderr.contains("what was said there is missing here"), "{}", ran.stderr);
        assert!(ran.stdout.starts_with("> three\n"), "{}", ran.stdout);
        assert!(ran.stdout.contains("> four\n"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("Later."), "{}", ran.stdout);
    };
    check();
    world.run(&["query", "--discard-turn", "--id", &origin]);
    for said in ["five", "six", "seven"] {
        done(&world, &["query", said, "--id", &origin]);
    }
    check();
    done(&world, &["query", "eight", "--id", &outer]);
}

// The same where only the fork is here, and the other one comes from an older copy of the database.
#[tokio::test]
async fn a_conversation_of_which_forks_know_more_comes_back_under_another_name() {
    let world = World::new();
    let origin = begin(&world, "one");
    let copy = world.path("copy.db");
    fs::copy(world.path("home/piton.db"), &copy).unwrap();
    done(&world, &["query", "two", "--id", &origin]);
    let kept = fork(&world, &origin);
    done(&world, &["query", "three", "--id", &kept]);
    purge(&world, &origin).await;
    let ran = world.run(&["doctor", "--salvage", copy.to_str().unwrap()]);
    let told = format!("It is {origin}, under another name: forks of {origin}");
    assert!(ran.stderr.contains(&told), "{}{}", ran.stdout, ran.stderr);
    let rows = world.rows();
    let other = rows.iter().map(|row| row["conversation"].as_str().unwrap());
    let other = other.filter(|id| *id != kept).collect::<Vec<_>>();
    assert_eq!(other.len(), 1);
    assert_ne!(other, [&origin]);
    done(&world, &["query", "else", "--id", other[0]]);
    let ran = done(&world, &["print", &kept]);
    assert!(ran.stdout.starts_with("> three\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("what was said there is missing here"), "{}", ran.stderr);
}

#[test]
fn an_emptied_or_missing_database_of_a_used_home_is_told() {
    for is_missing in [false, true] {
        let world = World::new();
        begin(&world, "kestrel");
        done(&world, &["grep", "kestrel"]);
        let database = world.path("home/piton.db");
        let copy = taken(&world);
        if !is_missing {
            fs::write(&database, "").unwrap();
        }
        let told = format!(
            "warning: {} is missing or empty, although this home has been used\n",
            database.display()
        );
        let ran = world.run(&["doctor"]);
        assert_eq!((ran.code, ran.stdout.contains("although this home has been used")), (1, true));
        // As long as nobody does something about it.
        for _ in 0..2 {
            let ran = done(&world, &["ls"]);
            assert!(ran.stderr.starts_with(&told), "{}", ran.stderr);
            assert_eq!(ran.stderr.matches("hint: ").count(), 2, "{}", ran.stderr);
            assert!(!ran.stderr.contains("No conversations yet"), "{}", ran.stderr);
        }
        done(&world, &["doctor", "--salvage", &copy]);
        assert_eq!(world.rows().len(), 1);
        assert!(!done(&world, &["ls"]).stderr.contains("warning"));
    }
}

#[test]
fn a_new_home_is_not_taken_for_an_emptied_one() {
    let world = World::new();
    assert!(world.run(&["ls"]).stderr.starts_with("No conversations yet"));
    let id = begin(&world, "one");
    done(&world, &["grep", "one"]);
    done(&world, &["rm", "--purge", "--yes", &id]);
    world.run(&["grep", "one"]);
    assert!(world.run(&["ls"]).stderr.starts_with("No conversations yet"));
}

#[test]
fn what_lies_before_a_damaged_entry_is_shown_and_can_be_gone_on_from() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"First."},{"say":"Kingfishers."},{"say":"Again."},{"say":"Third."}]}"#,
    );
    done(&world, &["query", "one", "--model", &model]);
    let id = world.only_id();
    done(&world, &["query", "two", "--id", &id]);
    let entries = lines(&done(&world, &["print", "--json", "--raw", &id]).stdout);
    decay(&world, "Kingfishers");
    let ran = world.run(&["print", &id]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("> one\n") && ran.stdout.contains("> two\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("Here it breaks off"), "{}", ran.stderr);
    let exported = world.run(&["export", "--format", "jsonl", &id]);
    assert_eq!(exported.code, 1);
    let readable = lines(&exported.stdout);
    assert!(!readable.is_empty() && entries.starts_with(&readable), "{}", exported.stdout);
    assert!(readable.len() < entries.len());
    let export = world.run(&["export", &id]);
    assert!(export.code == 1 && export.stdout.contains("## Turn 1"), "{}", export.stdout);
    let last = readable.len().to_string();
    let hint = format!("hint: to go on from there: piton fork {id} --entry {last}");
    for ran in [&ran, &exported, &export, &world.run(&["query", "on", "--id", &id])] {
        assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
    }
    assert!(world.run(&["doctor"]).stdout.contains(&format!("piton fork {id} --entry {last}")));
    let fork = done(&world, &["fork", &id, "--entry", &last]).stdout.trim_end().to_owned();
    done(&world, &["query", "--continue", "--id", &fork]);
    done(&world, &["query", "three", "--id", &fork]);
    let shown = done(&world, &["print", &fork]).stdout;
    assert!(["> one\n", "> two\n", "> three\n"].iter().all(|said| shown.contains(said)), "{shown}");
}

#[test]
fn when_all_was_brought_back_the_doctor_says_that_the_old_file_may_go() {
    let world = World::new();
    begin(&world, "one");
    fs::rename(world.path("home/piton.db"), world.path("home/piton.db.damaged-1")).unwrap();
    let ran = done(&world, &["doctor", "--salvage"]);
    assert!(ran.stderr.contains("Brought back: 1 whole, 0 whose"), "{}", ran.stderr);
    assert_eq!(world.rows().len(), 1);
    let ran = done(&world, &["doctor"]);
    let aside = world.path("home/piton.db.damaged-1");
    let told = format!(
        "all that was in {0} was brought back; it may be removed: rm {0}*",
        aside.display()
    );
    assert!(ran.stdout.contains(&told), "{}", ran.stdout);
    assert!(!ran.stdout.contains("set aside"), "{}", ran.stdout);
    assert!(done(&world, &["doctor", "--salvage"]).stderr.contains("There already: 1."));
}
