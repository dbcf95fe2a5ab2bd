//! `piton doctor`: what holds here, and what to do about the rest.

use std::fs;

use piton_tools::sandbox::Kernel;
use serde_json::Value;

use crate::world::{Ran, World, lines};

/// What was found about something, verdict first.
fn findings(ran: &Ran, about: &str) -> Vec<String> {
    let of = |line: &Value| line["about"] == about;
    let text = |line: Value| {
        assert_eq!(line["type"], "finding");
        let (verdict, said) = (line["verdict"].as_str().unwrap(), line["said"].as_str().unwrap());
        // Whatever is not well comes with advice.
        assert_eq!(verdict != "ok", line["advice"].is_string(), "{line}");
        format!("{verdict}: {said}")
    };
    lines(&ran.stdout).into_iter().filter(of).map(text).collect()
}

fn doctor(world: &World, failing: &str) -> Ran {
    let mut command = world.command(&["doctor", "--json"]);
    command.env("PITON_FAIL_POINT", failing).env("ANTHROPIC_API_KEY", "canary-key");
    world.ran(command.output().unwrap())
}

#[test]
fn a_machine_that_holds_everything_is_told_so() {
    let world = World::new();
    let ran = doctor(&world, "");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("canary"), "{}", ran.stdout);
    assert!(findings(&ran, "store")[0].starts_with("ok: none yet"));
    assert!(!world.path("home").exists(), "looking makes nothing");
    assert_eq!(findings(&ran, "commands"), ["ok: none is running"]);
    assert!(findings(&ran, "providers")[0].starts_with("ok: key for anthropic"));
    let kernel = Kernel::ask();
    let holds = kernel.landlock.is_some() && kernel.filters && !kernel.leaks_signals();
    let tried = findings(&ran, "sandbox");
    assert_eq!(tried.len(), 5, "{tried:?}");
    assert_eq!(holds, tried.iter().all(|line| line.starts_with("ok: a child")), "{tried:?}");
    let looking = findings(&ran, "looking");
    assert_eq!(kernel.has_wall(), looking[0].starts_with("ok: a command that only"), "{looking:?}");
    world.run(&["query", "hello"]);
    let ran = doctor(&world, "");
    assert!(findings(&ran, "store")[0].ends_with("checked; log ahead, every commit is synced"));
    // For people, the same in columns.
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("ok      store            "), "{}", ran.stdout);
    assert!(ran.stderr.starts_with("Usable.") || ran.stderr.starts_with("All is well."));
}

#[test]
fn what_the_kernel_lacks_is_found_by_trying() {
    let world = World::new();
    let ran = doctor(&world, "no-landlock");
    assert_eq!(ran.code, 0, "lacking is not broken: {}", ran.stdout);
    assert!(findings(&ran, "landlock")[0].starts_with("lacks: not there"));
    assert!(findings(&ran, "looking")[0].starts_with("lacks: there is no wall"));
    let unused = findings(&ran, "namespaces");
    assert!(unused[0].starts_with("lacks: not used without Landlock"), "{unused:?}");
    let tried = findings(&ran, "sandbox");
    let wrote = "lacks: a child tried to write outside the workspace and could".to_owned();
    assert!(tried.contains(&wrote), "{tried:?}");
    let ran = doctor(&world, "no-filters");
    let tried = findings(&ran, "sandbox");
    let got = "lacks: a child tried to get a network socket and could".to_owned();
    // Landlock keeps TCP from connecting, not sockets from being made.
    assert!(tried.contains(&got), "{tried:?}");
    let ran = doctor(&world, "no-namespaces");
    let lacks = findings(&ran, "namespaces");
    assert!(
        lacks[0].starts_with("lacks: none (") && lacks[0].contains("compared after"),
        "{lacks:?}"
    );
}

#[test]
fn a_home_that_is_no_directory_is_told_so() {
    let world = World::new();
    fs::write(world.path("file"), "mine").unwrap();
    let mut command = world.command(&["doctor", "--json"]);
    let ran = world.ran(command.env("PITON_HOME", world.path("file")).output().unwrap());
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let told = findings(&ran, "store");
    assert!(told[0].starts_with("broken: ") && told[0].ends_with("is no directory"), "{told:?}");
    assert!(!ran.stdout.contains("chmod"), "{}", ran.stdout);
}

// A mistyped rule protects nothing; the page that is named is the one that helps.
#[test]
fn settings_that_say_nothing_or_nonsense_are_told_with_the_right_page() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let write = |text: &str| fs::write(world.path("home/piton.toml"), text).unwrap();
    write(
        "[[permissions]]\ntool = \"shel\"\neffect = \"deny\"\n\
         [[permissions]]\ntool = \"later__read\"\neffect = \"deny\"\n\
         [mcp.later]\ncommand = \"/no/such/server\"\n",
    );
    let told = "the rule `deny shel` says nothing: there is no tool shel, did you mean shell?";
    let ran = doctor(&world, "");
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert_eq!(findings(&ran, "rules"), [format!("lacks: {told}")]);
    for command in [["permissions", "--json"], ["query", "hello"]] {
        let ran = world.run(&command);
        assert!(ran.stderr.contains(&format!("warning: {told}")), "{}", ran.stderr);
        assert!(!ran.stderr.contains("there is no tool later"), "{}", ran.stderr);
    }
    for (text, page) in [
        ("[[permissions]]\ntool = \"*\"\neffect = \"perhaps\"\n", "permissions"),
        ("[[permissions]]\ntool = \"*\"\neffect = \"deny\"\ncommand = \"a && b\"\n", "permissions"),
        ("[unattended]\npermissions = 1\n", "permissions"),
        ("model = \"demo\"\n[sandbox]\nmode = \"perhaps\"\n", "sandbox"),
        ("[tools.x]\nnothing = 1\n", "tools"),
        ("[tools.x]\n", "tools"),
        ("[mcp.x]\nnothing = 1\n", "mcp"),
        ("[providers.x]\ndialect = \"klingon\"\n", "models"),
        ("nonsense = 1\n", "settings"),
    ] {
        write(text);
        let hint = format!("mend the file; piton help {page} has its form");
        let ran = world.run(&["query", "hello"]);
        assert_eq!(ran.code, 2, "{text}: {}", ran.stderr);
        assert!(ran.stderr.contains(&hint), "{text}: {}", ran.stderr);
        assert!(doctor(&world, "").stdout.contains(&hint), "{text}");
    }
}

#[test]
fn a_broken_store_or_settings_file_is_found_and_named() {
    let world = World::new();
    world.run(&["query", "hello"]);
    fs::write(world.path("home/piton.toml"), "[sandbox]\nmode = \"perhaps\"\n").unwrap();
    let ran = doctor(&world, "");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let told = &findings(&ran, "settings")[0];
    assert!(told.starts_with("broken: ") && told.contains("perhaps"), "{told}");
    fs::remove_file(world.path("home/piton.toml")).unwrap();
    let database = world.path("home/piton.db");
    let mut bytes = fs::read(&database).unwrap();
    bytes[..64].fill(b'x');
    fs::write(&database, &bytes).unwrap();
    let ran = doctor(&world, "");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(findings(&ran, "store")[0].starts_with("broken: "), "{}", ran.stdout);
    assert_eq!(fs::read(&database).unwrap(), bytes, "looking changes nothing");
    assert!(ran.stderr.contains("Not usable as it is. Broken: 1"), "{}", ran.stderr);
}

/// Flips a bit in the entry that holds a word, and in what moving the entry has left of it.
fn spoil(world: &World, word: &[u8]) {
    let database = world.path("home/piton.db");
    let mut bytes = fs::read(&database).unwrap();
    let is_word = |at: &usize| bytes[*at..].starts_with(word);
    let places: Vec<_> = (0..bytes.len()).filter(is_word).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(&database, bytes).unwrap();
}

// J19: a flipped bit within a row is nothing that SQLite sees.
#[test]
fn an_entry_that_is_not_as_it_was_written_is_found_and_its_conversation_named() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Xylophones."},{"say":"More."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    let id = world.only_id();
    world.run(&["query", "--new", "hello"]);
    let ran = doctor(&world, "");
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let whole = "ok: conversations: 2, blobs: 0: all as they were written";
    assert_eq!(findings(&ran, "entries"), [whole]);
    spoil(&world, b"Xylophones");
    let ran = doctor(&world, "");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let told = findings(&ran, "entries");
    let start = format!("broken: conversation {id} cannot be read from entry ");
    assert!(told.len() == 1 && told[0].starts_with(&start), "{told:?}");
    assert!(told[0].ends_with("its checksum is wrong"), "{told:?}");
    assert!(findings(&ran, "store")[0].starts_with("ok: "), "{}", ran.stdout);
    // What the advice says.
    assert_eq!(world.run(&["query", "--new", "hello"]).code, 0);
}

// What an entry speaks of must be there: a file that was attached, the whole of a long output.
#[test]
fn a_blob_that_is_missing_is_found_and_its_conversation_named() {
    let world = World::new();
    let command = "for i in $(seq 20000); do echo line $i; done";
    let call = serde_json::json!({ "tool": "shell", "arguments": { "command": command } });
    let steps = serde_json::json!({ "steps": [{ "calls": [call] }, { "say": "." }] });
    let model = world.script(&steps.to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let name = world.finished("1.1.0")["output"]["blob"]["digest"].as_str().unwrap().to_owned();
    assert_eq!(doctor(&world, "").code, 0);
    let blob = world.path("home/blobs").join(&name[..2]).join(&name);
    fs::remove_file(&blob).unwrap();
    let ran = doctor(&world, "");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let told = format!("broken: {} is missing; used by {}", blob.display(), world.only_id());
    assert_eq!(findings(&ran, "entries"), [told]);
}

#[test]
fn a_skill_that_does_not_count_is_told_with_the_reason() {
    let world = World::new();
    for (name, head) in [("good", "description: Fine."), ("bad", "nothing: here")] {
        let folder = world.path("home/skills").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), format!("---\n{head}\n---\nText.\n")).unwrap();
    }
    let ran = doctor(&world, "");
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let file = world.path("home/skills/bad/SKILL.md");
    let told = format!("lacks: {} does not count: its head has no description", file.display());
    assert_eq!(findings(&ran, "skills"), [told]);
}
