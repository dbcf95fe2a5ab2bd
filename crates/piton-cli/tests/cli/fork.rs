//! `piton fork`, `piton rewind` and `piton undo --turn`, by the real binary.

use std::fs;

use serde_json::{Value, json};

use crate::person::Person;
use crate::world::{Ran, World, lines};

const MENU: &str = "(k) only the conversation";
const PERMISSION: &str = "(?) help: ";

/// Three turns of the demo model.
fn talk() -> (World, String) {
    let world = World::new();
    for said in ["one", "two", "three"] {
        let ran = world.run(&["query", said, "--model", "demo"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let id = world.only_id();
    (world, id)
}

/// The id that a command prints.
fn id(ran: &Ran) -> String {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let id = ran.stdout.trim_end();
    assert_eq!(ran.stdout, format!("{id}\n"), "the id and nothing else");
    id.to_owned()
}

fn turns(world: &World, id: &str) -> usize {
    let view = lines(&world.run(&["print", "--json", id]).stdout).remove(0);
    view["view"]["turns"].as_array().unwrap().len()
}

// J76
#[test]
fn a_fork_is_cut_where_it_is_asked_for_and_listed() {
    let (world, origin) = talk();
    for (args, expected) in [
        (&[][..], 3),
        (&["--at", "2"], 2),
        (&["--before", "2"], 1),
        (&["--until", "3"], 2),
        (&["--at", "3", "--title", "Another"], 3),
    ] {
        let ran = world.run(&[&["fork", &origin], args].concat());
        let fork = id(&ran);
        assert_eq!(turns(&world, &fork), expected, "{args:?}");
        let said = format!("Conversation {fork} is a fork of {origin}: {expected} turn");
        assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
        // It is the newest one, so the next message goes there.
        let ran = world.run(&["query", "on"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(turns(&world, &fork), expected + 1);
        assert_eq!(turns(&world, &origin), 3);
        let printed = world.run(&["print", &fork]);
        assert!(
            printed.stderr.contains(&format!("\nfork of {origin}, entry ")),
            "{}",
            printed.stderr
        );
    }
    let listed = world.run(&["ls"]).stdout;
    assert_eq!(listed.lines().count(), 7, "{listed}");
    assert!(listed.contains("Another") && listed.contains("one"), "{listed}");
}

#[test]
fn a_place_that_is_not_there_is_told() {
    let (world, origin) = talk();
    for (args, said, hint) in [
        (["--at", "9"], "has no turn 9", " shows the turns with their numbers"),
        (["--before", "zzz"], "has no message zzz", "piton rewind --id "),
        (["--entry", "9999"], "and no entry 9999", "piton print --json --raw"),
    ] {
        let ran = world.run(&["fork", &origin, args[0], args[1]]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(said) && ran.stderr.contains(hint), "{}", ran.stderr);
    }
    assert_eq!(world.run(&["fork", "--at", "1", "--entry", "2"]).code, 2);
    assert_eq!(world.rows().len(), 1);
    let ran = world.run(&["fork", "--json", "--at", "1"]);
    let result = lines(&ran.stdout).remove(0);
    assert_eq!(
        (result["type"].as_str(), result["ending"].as_str()),
        (Some("result"), Some("done"))
    );
    assert!(world.rows().iter().any(|row| row["conversation"] == result["conversation"]));
}

/// A turn that asks for permission.
fn asking() -> (World, String) {
    let world = World::new();
    let script = json!({ "steps": [
        { "calls": [{ "tool": "write_file", "arguments": { "path": "a.txt", "content": "x\n" } }] },
        { "say": "Done." }] });
    let model = world.script(&script.to_string());
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    let id = world.only_id();
    (world, id)
}

// J74
#[test]
fn the_question_of_an_incomplete_turn_is_answered_differently() {
    let (world, origin) = asking();
    let ran = world.run(&["fork"]);
    assert!(ran.stderr.contains(": 1 turn, the last one incomplete."), "{}", ran.stderr);
    let fork = id(&ran);
    let ran = world.run(&["answer", "no", "--continue", "--id", &fork]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!world.work("a.txt").exists());
    let ran = world.run(&["answer", "yes", "--continue", "--id", &origin]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(world.work("a.txt")).unwrap(), "x\n");
}

// X7, J74: a call that runs is not run a second time, and its end is taken over.
#[test]
fn a_call_of_the_origin_is_waited_for() {
    let world = World::new();
    let script = json!({ "steps": [{ "calls": [{ "tool": "slow" }] }, { "say": "Done." }],
        "tools": [{ "name": "slow", "effect": "once", "append_to": "log", "wait_for": "go", "output": "late" }] });
    let model = world.script(&script.to_string());
    let holder = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
    world.wait_for_events("ToolStarted", 1);
    let origin = world.only_id();
    let fork = id(&world.run(&["fork"]));
    let mut person = Person::starts(&world, &["query", "--continue", "--id", &fork]);
    person.sees("was started in conversation").sees("(w) wait: look again").types("w\n");
    person.sees("What did it give?").sees("(w) wait: look again");
    fs::write(world.work("go"), "").unwrap();
    let ran = world.finish(holder);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    person.types("w\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    let events = lines(&world.run(&["print", "--json", "--raw", &fork]).stdout);
    let ended: Vec<_> =
        events.iter().filter(|line| line["event"]["type"] == "ToolFinished").collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["event"]["output"]["text"], "late");
    assert!(!events.iter().any(|line| line["event"]["type"] == "ToolStarted"));
    assert_eq!(fs::read_to_string(world.work("log")).unwrap().lines().count(), 1);
    assert_eq!(turns(&world, &origin), 1);
}

#[test]
fn a_call_of_the_origin_is_answered_by_words_and_never_run() {
    let world = World::new();
    let script = json!({ "steps": [{ "calls": [{ "tool": "slow" }] }, { "say": "Done." }],
        "tools": [{ "name": "slow", "effect": "once", "append_to": "log", "wait_for": "go", "output": "late" }] });
    let model = world.script(&script.to_string());
    let mut holder = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
    world.wait_for_events("ToolStarted", 1);
    let fork = id(&world.run(&["fork"]));
    let mut person = Person::starts(&world, &["query", "--continue", "--id", &fork]);
    person.sees("(w) wait: look again").types("q\n");
    assert_eq!(person.leaves().0, 130, "the question stays open");
    let ran = world.run(&["answer", "run", "--id", &fork]);
    assert!(ran.code == 2 && ran.stderr.contains("wait, done, unknown"), "{}", ran.stderr);
    let ran = world.run(&["answer", "--text", "it was late", "--continue", "--id", &fork]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(
        !world.work("log").exists() || fs::read_to_string(world.work("log")).unwrap().is_empty()
    );
}

// J81
#[test]
fn a_held_conversation_is_forked_in_its_menu() {
    let world = World::new();
    let script = json!({ "steps": [{ "say": "Two.", "calls": [{ "tool": "slow" }] }, { "say": "Done." }],
        "tools": [{ "name": "slow", "effect": "read_only", "wait_for": "go", "output": "late" }] });
    let model = world.script(&script.to_string());
    let holder = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
    world.wait_for_events("ToolStarted", 1);
    let mut person = Person::starts(&world, &["query", "and now"]);
    person.sees("(k) fork it").types("k\n").sees("is a fork of").sees("has an incomplete turn");
    person.sees("(d) discard it").types("d\n");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(world.finish(holder).code, 0);
    assert_eq!(world.rows().len(), 2);
}

// A turn without its message could only be discarded.
#[test]
fn a_fork_is_never_cut_between_a_turn_and_its_message() {
    let (world, origin) = talk();
    let events = lines(&world.run(&["print", "--json", "--raw", &origin]).stdout);
    let entry = |kind: &str| {
        let found = events.iter().rfind(|it| it["event"]["type"] == kind).unwrap();
        found["seq"].as_u64().unwrap()
    };
    let (began, said) = (entry("TurnStarted"), entry("UserMessage"));
    let ran = world.run(&["fork", &origin, "--entry", &began.to_string()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    let hint = format!("piton fork {origin} --entry {said}");
    assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
    assert_eq!(world.run(&["fork", &origin, "--entry", &said.to_string()]).code, 0);
}

/// Two turns that change files: the first makes `a`, the second changes it twice and makes `b`.
fn changing() -> (World, String) {
    let world = World::new();
    let write = |path: &str, content: &str| json!({ "calls": [{ "tool": "write_file", "arguments": { "path": path, "content": content } }] });
    let steps = json!([
        write("a", "one\n"), { "say": "First." },
        write("a", "two\n"), write("b", "new\n"), write("a", "three\n"), { "say": "Second." },
        { "say": "Third." }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    for said in ["make a", "change it"] {
        let ran = world.run(&["query", said, "--permissions", "auto", "--model", &model]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let id = world.only_id();
    (world, id)
}

fn content(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.work(name)).ok()
}

#[test]
fn a_rewind_goes_back_in_front_of_a_turn_with_its_files() {
    let (world, origin) = changing();
    let ran = world.run(&["rewind"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "  1  make a\n  2  change it\n"),
        "{}",
        ran.stderr
    );
    let ran = world.run(&["rewind", "2", "--files", "--preview"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    let shown =
        "  a  (2 changes)  gets its old content\n  b  (1 change)  goes: it was not there before\n";
    assert_eq!(ran.stderr, shown);
    assert_eq!(content(&world, "a").as_deref(), Some("three\n"));
    assert_eq!(world.rows().len(), 1);
    let ran = world.run(&["rewind", "2", "--files"]);
    let fork = id(&ran);
    assert!(ran.stderr.contains(shown), "{}", ran.stderr);
    assert_eq!((content(&world, "a").as_deref(), content(&world, "b")), (Some("one\n"), None));
    assert_eq!((turns(&world, &fork), turns(&world, &origin)), (1, 2));
    // The undo of the undo.
    let again = world.run(&["undo", "--turn", "2", "--again", "--id", &origin]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(content(&world, "a").as_deref(), Some("three\n"));
    assert_eq!(content(&world, "b").as_deref(), Some("new\n"));
    let ran = world.run(&["rewind", "7", "--id", &origin]);
    assert!(ran.code == 2 && ran.stderr.contains("no turn and no message 7"), "{}", ran.stderr);
}

#[test]
fn all_changes_of_a_turn_are_taken_back_and_conflicts_stay() {
    let (world, origin) = changing();
    fs::write(world.work("a"), "mine\n").unwrap();
    let ran = world.run(&["undo", "--turn", "--preview"]);
    let shown = "  a  (2 changes)  stays: it was changed since by somebody else\n  b  (1 change)  goes: it was not there before\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, shown));
    let ran = world.run(&["undo", "--turn", "2", "--id", &origin]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.ends_with("1 file stays as it is.\n"), "{}", ran.stderr);
    assert_eq!((content(&world, "a").as_deref(), content(&world, "b")), (Some("mine\n"), None));
    // What the first turn made is not touched by this.
    let ran = world.run(&["undo", "--turn", "1", "--preview"]);
    assert!(ran.stderr.contains("a  (1 change)  stays"), "{}", ran.stderr);
    let ran = world.run(&["undo", "--turn", "2"]);
    assert_eq!(ran.code, 1, "the conflict is still there: {}", ran.stderr);
    assert!(ran.stderr.contains("b  (1 change)  taken back already"), "{}", ran.stderr);
}

// Lines for programs, and nothing else on standard output.
#[test]
fn turns_and_files_are_told_as_data() {
    let (world, origin) = changing();
    let data = |args: &[&str]| {
        let ran = world.run(args);
        (ran.code, lines(&ran.stdout))
    };
    let (code, listed) = data(&["rewind", "--json"]);
    assert_eq!((code, listed.len()), (0, 3), "{listed:?}");
    assert_eq!(listed[0]["type"], "turn");
    assert_eq!((&listed[1]["turn"], &listed[1]["text"]), (&json!(2), &json!("change it")));
    let message = listed[1]["message"].as_str().unwrap().to_owned();
    let told = |line: &Value| {
        let fields = ["path", "changes", "fate", "done"].map(|name| line[name].clone());
        Value::from(fields.to_vec())
    };
    for args in [&["rewind", "2", "--files", "--preview"][..], &["undo", "--turn", "--preview"]] {
        let (code, files) = data(&[args, &["--json"]].concat());
        assert_eq!((code, files.len()), (0, 3), "{files:?}");
        assert_eq!(told(&files[0]), json!(["a", 2, "restored", false]));
        assert_eq!(told(&files[1]), json!(["b", 1, "removed", false]));
        assert_eq!(
            (&files[2]["type"], &files[2]["conversation"]),
            (&json!("result"), &json!(origin))
        );
    }
    let (code, files) = data(&["undo", "--turn", "1", "--json"]);
    assert_eq!((code, told(&files[0])), (1, json!(["a", 1, "changed_again", false])), "{files:?}");
    assert_eq!(files[0]["changed_again_in"], 2);
    // The beginning of a message's id is enough, and turns are counted from the end.
    let (code, files) = data(&["rewind", &message[..8], "--files", "--json"]);
    assert_eq!((code, told(&files[1])), (0, json!(["b", 1, "removed", true])), "{files:?}");
    let (code, files) = data(&["undo", "--turn", "-1", "--again", "--id", &origin, "--json"]);
    assert_eq!((code, told(&files[0])), (0, json!(["a", 2, "taken_back", true])), "{files:?}");
}

#[test]
fn places_are_named_by_beginnings_of_ids_and_from_the_end() {
    let (world, origin) = talk();
    let listed = lines(&world.run(&["rewind", "--json"]).stdout);
    let second = &listed[1]["message"].as_str().unwrap()[..8];
    for (args, expected) in [
        (&["fork", &origin, "--behind", second][..], 2),
        (&["fork", &origin, "--before", second], 1),
        (&["fork", &origin, "--at", "-1"], 3),
        (&["fork", &origin, "--at", "-2"], 2),
        (&["fork", &origin, "--before", "-1"], 2),
        (&["rewind", "-2", "--id", &origin], 1),
    ] {
        assert_eq!(turns(&world, &id(&world.run(args))), expected, "{args:?}");
    }
    let ran = world.run(&["fork", &origin, "--behind", second]);
    let fork = ran.stdout.trim_end();
    let hint = format!("piton query --continue --id {fork}");
    assert!(ran.stderr.contains(&hint), "the turn is incomplete there: {}", ran.stderr);
    for args in [&["--at", "-4"][..], &["--at", "0"], &["--title", " "]] {
        let ran = world.run(&[&["fork", &origin], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn what_stays_is_named_by_who_did_it() {
    let (world, _) = changing();
    let ran = world.run(&["undo", "--turn", "1"]);
    let shown = "  a  (1 change)  stays: it was changed again in turn 2\n";
    assert!(ran.code == 1 && ran.stderr.contains(shown), "{}", ran.stderr);
    assert_eq!(content(&world, "a").as_deref(), Some("three\n"));
    let world = World::new();
    let call = json!({ "calls": [{ "tool": "shell", "arguments": { "command": "touch c" } }] });
    let model = world.script(&json!({ "steps": [call, { "say": "Done." }] }).to_string());
    let ran = world.run(&["query", "run it", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = world.run(&["undo", "--turn", "--preview"]);
    let told = "Turn 1 ran 1 command; what commands change is not taken back.\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
}

#[test]
fn a_chat_asks_before_it_takes_files_back() {
    let (world, origin) = changing();
    let mut person = Person::starts(&world, &["-c"]);
    person.sees("> ").types("/rewind 2\r").sees("gets its old content").sees(MENU);
    person.types("q\n").sees("Nothing is changed.").sees("> ");
    assert_eq!(content(&world, "a").as_deref(), Some("three\n"));
    assert_eq!(world.rows().len(), 1);
    person.types("/rewind 2\r").sees(MENU).types("k\n").sees("The next message goes there.");
    assert_eq!(content(&world, "a").as_deref(), Some("three\n"));
    person.sees("> ").types(&format!("/resume {origin}\r")).sees("Second.").sees("> ");
    person.types("/rewind 1\r").sees(MENU).types("y\n").sees("The next message");
    person.sees("> ").types("/quit\r");
    assert_eq!(person.leaves().0, 0);
    assert_eq!((content(&world, "a"), world.rows().len()), (None, 3));
}

// The question that is open in a fork is asked there, and a lone letter is never a message.
#[test]
fn a_chat_asks_what_is_open_where_it_goes() {
    let (world, origin) = asking();
    let mut person = Person::starts(&world, &["--id", &origin]);
    person.sees(PERMISSION).types("q\n").sees("> ").types("y\r").sees("Not sent");
    person.sees(PERMISSION).types("q\n").sees("> ").types("/fork\r").sees("is a fork of");
    person.sees(PERMISSION).types("y\n").sees("Done.").sees("> ").types("\r");
    person.sees("> ").types("/quit\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("error"), "{screen}");
    let said = |id: &str| world.run(&["print", id]).stdout.matches("> ").count();
    let fork = world.rows()[0]["conversation"].as_str().unwrap().to_owned();
    assert_ne!(fork, origin);
    assert_eq!((said(&origin), said(&fork)), (1, 1));
}

#[test]
fn a_chat_goes_on_in_a_fork() {
    let (world, origin) = talk();
    let mut person = Person::starts(&world, &["-c"]);
    person.sees("> ").types("/fork 3\r").sees("is a fork of").sees("The next message goes there.");
    person.types("four\r").sees("[demo").sees("> ");
    person.types("/rewind\r").sees("  1  one").sees("> ").types("/quit\r");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(turns(&world, &origin), 3);
    assert_eq!(world.rows().len(), 2);
}
