//! A database with one bad page, and directories that cannot be used: what a person is told.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use expect_test::expect;

use crate::world::{Ran, World, lines};

/// Size of a page of the database, in bytes.
const PAGE_BYTES: usize = 512;
/// What a person is told to do about it.
const HINTS: [&str; 2] = [
    "hint: to have all of it checked, and what can be read brought back: piton doctor --salvage, while no other piton is at work",
    "hint: a damaged database is then kept under another name",
];

/// A conversation, and the page with its first answer overwritten.
fn spoiled() -> World {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Xylophones."},{"say":"More."}]}"#);
    assert_eq!(world.run(&["query", "a", "--model", &model]).code, 0);
    overwrite_page(&world, b"Xylophones");
    world
}

/// Overwrites the first page with a word on it.
fn overwrite_page(world: &World, word: &[u8]) {
    let database = world.path("home/piton.db");
    let mut bytes = fs::read(&database).unwrap();
    let at = bytes.windows(word.len()).position(|here| here == word).unwrap();
    let page = at - at % PAGE_BYTES;
    bytes[page..page + PAGE_BYTES].fill(0xff);
    fs::write(&database, bytes).unwrap();
}

fn is_told(ran: &Ran) {
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("piton.db is damaged: "), "{}", ran.stderr);
    for hint in HINTS {
        assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("other conversations still work"), "{}", ran.stderr);
}

/// The first command after the damage was met sets the database aside.
fn is_set_aside(world: &World, ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("warning: the database was damaged ("), "{}", ran.stderr);
    let aside = world.path("home/piton.db.damaged-1");
    let saving = format!("piton doctor --salvage {}", aside.display());
    assert!(ran.stderr.contains(&saving) && aside.exists(), "{}", ran.stderr);
}

// J19, J86
#[test]
fn a_bad_page_is_told_and_the_next_command_sets_the_database_aside() {
    for first in [&["ls"][..], &["print"], &["query", "list ."]] {
        let world = spoiled();
        is_told(&world.run(first));
        is_set_aside(&world, &world.run(&["ls"]));
        let ran = world.run(&["query", "list ."]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(world.run(&["print"]).code, 0);
    }
}

// A turn that nobody can read again is not done.
#[test]
fn a_new_conversation_is_not_said_to_be_done_in_a_damaged_database() {
    let world = spoiled();
    let ran = world.run(&["query", "--new", "list ."]);
    is_told(&ran);
    assert_eq!(ran.stdout, "");
    is_set_aside(&world, &world.run(&["query", "--new", "list ."]));
    assert_eq!(world.run(&["print"]).code, 0);
    assert_eq!(world.run(&["query", "list ."]).code, 0);
}

#[test]
fn what_doctor_says_of_a_damaged_database_is_true() {
    let world = spoiled();
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let advice = "stop all piton processes, then `piton doctor --salvage`";
    assert!(ran.stdout.contains(advice), "{}", ran.stdout);
    is_set_aside(&world, &world.run(&["ls"]));
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("a damaged database was set aside as "), "{}", ran.stdout);
}

// The hint is one command, and it does all that can be done.
#[test]
fn a_damaged_database_is_set_aside_and_brought_back_by_one_command() {
    let world = spoiled();
    is_told(&world.run(&["print"]));
    let ran = world.run(&["doctor", "--salvage"]);
    assert!(ran.stderr.starts_with("warning: the database was damaged ("), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nBrought back: "), "{}", ran.stderr);
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let told = "what can be read in DIR/home/piton.db.damaged-1 was brought back";
    let told = told.replace("DIR", world.path("").to_str().unwrap().trim_end_matches('/'));
    assert!(ran.stdout.contains(&told), "{}", ran.stdout);
    assert!(!ran.stdout.contains("set aside"), "{}", ran.stdout);
}

/// Letters that cannot be packed, the same at every run.
fn noise() -> String {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'A' + u8::try_from((state >> 40) % 26).unwrap())
    };
    (0..4000).map(|_| letter()).collect()
}

/// Overwrites a page that holds nothing but a piece of a long text.
fn overwrite_middle(world: &World, long: &str) {
    // What is packed, or lies on the border of two pages, is not found.
    let stored = fs::read(world.path("home/piton.db")).unwrap();
    let is_stored = |word: &&[u8]| stored.windows(word.len()).any(|here| here == *word);
    let word = long.as_bytes().windows(12).skip(long.len() / 2).find(is_stored).unwrap();
    overwrite_page(world, word);
}

fn conversations(world: &World) -> Vec<String> {
    let rows = lines(&world.run(&["ls", "--json"]).stdout);
    rows.iter().rev().map(|row| row["conversation"].as_str().unwrap().to_owned()).collect()
}

// J86
#[test]
fn a_damaged_database_gives_its_conversations_back() {
    let world = World::new();
    let say = |word: &str| world.script(&format!(r#"{{"steps":[{{"say":"{word}"}}]}}"#));
    // Long enough for pages that hold nothing else.
    let long = noise();
    for word in [&long, "Zithers.", "Bassoons."] {
        assert_eq!(world.run(&["query", "--new", "a", "--model", &say(word)]).code, 0);
    }
    let ids = conversations(&world);
    overwrite_middle(&world, &long);
    is_told(&world.run(&["print", &ids[0]]));
    is_set_aside(&world, &world.run(&["ls"]));
    let aside = world.path("home/piton.db.damaged-1");
    let before = fs::read(&aside).unwrap();
    let ran = world.run(&["doctor", "--salvage", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("Brought back: 2 whole, 1 whose end may be missing."),
        "{}",
        ran.stderr
    );
    let found = lines(&ran.stdout);
    let extents: Vec<_> = found.iter().map(|row| (&row["conversation"], &row["extent"])).collect();
    assert_eq!(
        extents,
        [
            (&ids[0].as_str().into(), &"end_in_doubt".into()),
            (&ids[1].as_str().into(), &"whole".into()),
            (&ids[2].as_str().into(), &"whole".into()),
        ]
    );
    for (id, word) in [(&ids[1], "Zithers."), (&ids[2], "Bassoons.")] {
        let ran = world.run(&["print", id]);
        assert_eq!((ran.code, ran.stdout.contains(word)), (0, true), "{}", ran.stderr);
        let ran = world.run(&["query", "--id", id, "list ."]);
        assert_eq!(ran.code, 0, "it goes on: {}", ran.stderr);
    }
    assert_eq!(world.run(&["print", &ids[0]]).code, 0);
    let again = world.run(&["doctor", "--salvage"]);
    assert!(again.stderr.contains("There already: 3."), "{}", again.stderr);
    assert_eq!(fs::read(&aside).unwrap(), before, "nothing in it was changed");
    assert_eq!(world.run(&["doctor"]).code, 0);
}

// J86: what was lost may have been the start of a call, or its end.
#[test]
fn a_conversation_whose_end_may_be_missing_does_not_go_on_by_itself() {
    let world = World::new();
    let pay = r#"{"steps":[{"calls":[{"tool":"write_file","arguments":{"path":"paid","content":"1"}}]},{"say":"Done."}]}"#;
    let model = world.script(pay);
    let asked = world.run(&["query", "pay", "--permissions", "ask", "--model", &model]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    let long = noise();
    let other = world.path("other.json");
    fs::write(&other, format!(r#"{{"steps":[{{"say":"{long}"}}]}}"#)).unwrap();
    let other = format!("script:{}", other.display());
    assert_eq!(world.run(&["query", "--new", "a", "--model", &other]).code, 0);
    let ids = conversations(&world);
    overwrite_middle(&world, &long);
    is_told(&world.run(&["print", &ids[1]]));
    is_set_aside(&world, &world.run(&["ls"]));
    let ran = world.run(&["doctor", "--salvage"]);
    assert!(ran.stdout.contains("more may be missing at its end"), "{}", ran.stdout);
    let ran = world.run(&["print", &ids[0]]);
    assert!(ran.stdout.contains("entries may be missing at its end"), "{}", ran.stdout);
    // Whatever is allowed: the call may have run, so it does not run, and the model is told.
    let ran = world.run(&["query", "--continue", "--id", &ids[0], "--permissions", "auto"]);
    assert!(ran.stderr.contains("write_file: paid — outcome unknown"), "{}", ran.stderr);
    assert!(!world.work("paid").exists());
}

#[test]
fn there_must_be_something_to_bring_back() {
    let world = World::new();
    let ran = world.run(&["doctor", "--salvage"]);
    assert!(ran.stderr.contains("No damaged database"), "{}", ran.stderr);
    let present = world.path("home/piton.db");
    let ran = world.run(&["doctor", "--salvage", present.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stderr.contains("the database in use")), (2, true), "{}", ran.stderr);
    fs::write(world.path("noise"), noise()).unwrap();
    for file in [world.path("noise").to_str().unwrap(), "/etc/passwd"] {
        let ran = world.run(&["doctor", "--salvage", file]);
        let told = format!("error: {file} is no database of piton");
        assert_eq!((ran.code, ran.stderr.contains(&told)), (2, true), "{}", ran.stderr);
    }
}

/// A conversation that is in the log only, as a killed process leaves it; and the log.
fn killed() -> (World, Vec<u8>) {
    let world = World::new();
    let home = world.path("home");
    // As long as somebody has it open, nobody moves the log into the database.
    let (open, _) = piton_store::SqliteJournal::open(&home).unwrap();
    let model = world.script(r#"{"steps":[{"say":"Xylophones."}]}"#);
    assert_eq!(world.run(&["query", "a", "--model", &model]).code, 0);
    let log = fs::read(home.join("piton.db-wal")).unwrap();
    drop(open);
    fs::write(home.join("piton.db-wal"), &log).unwrap();
    (world, log)
}

// J19: SQLite takes an empty file for a new database, and removes the log.
#[test]
fn a_database_that_is_empty_or_gone_is_taken_from_its_log() {
    for gone in [false, true] {
        let (world, log) = killed();
        let database = world.path("home/piton.db");
        fs::write(&database, "").unwrap();
        if gone {
            fs::remove_file(&database).unwrap();
        }
        let ran = world.run(&["doctor"]);
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        assert!(ran.stdout.contains("it is empty or gone, and its log is still there"));
        assert_eq!(fs::read(world.path("home/piton.db-wal")).unwrap(), log);
        let ran = world.run(&["ls"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let told =
            format!("warning: {0} was empty or gone, but its log {0}-wal", database.display());
        assert!(ran.stderr.starts_with(&told), "{}", ran.stderr);
        assert!(world.run(&["print"]).stdout.contains("Xylophones."));
        assert_eq!(world.run(&["doctor"]).code, 0);
    }
}

#[test]
fn a_log_that_cannot_be_used_is_kept_and_told() {
    let (world, log) = killed();
    let home = world.path("home");
    fs::remove_file(home.join("piton.db")).unwrap();
    fs::write(home.join("piton.db-wal"), &log[..200]).unwrap();
    world.check(
        &[&["ls"], &["ls"]],
        expect![[r#"
            $ piton ls
            2> warning: the database was empty or gone, and its log has a part of it only; the log is kept as DIR/home/piton.db.damaged-1-log and a new database was begun; if there is a copy of the database, put it in the new one's place while no piton is at work
            2> No conversations yet. Begin one: piton query "list the files here"
            exit 0
            $ piton ls
            2> No conversations yet. Begin one: piton query "list the files here"
            exit 0
        "#]],
    );
    assert_eq!(fs::read(home.join("piton.db.damaged-1-log")).unwrap(), &log[..200]);
    assert_eq!(world.run(&["query", "list ."]).code, 0);
    assert_eq!(world.run(&["doctor"]).code, 0);
}

// Where nothing can be written, no message is taken; nobody may be told that all is well. The
// kernel lets nobody make files here, not even root.
#[test]
fn doctor_tries_to_write_where_the_home_is_or_will_be() {
    let world = World::new();
    let mut command = world.command(&["doctor", "--json"]);
    let ran = world.ran(command.env("PITON_HOME", "/proc/piton/home").output().unwrap());
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let lines = lines(&ran.stdout);
    let store = lines.iter().find(|line| line["about"] == "store").unwrap();
    assert_eq!(store["verdict"], "broken");
    let said = store["said"].as_str().unwrap();
    assert!(said.starts_with("nothing can be written in /proc: "), "{said}");
    // Where it can be written nothing is left of the attempt.
    assert_eq!(world.run(&["doctor"]).code, 0);
    let left: Vec<_> = fs::read_dir(world.path("")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| entry.file_name() == "work"), "{left:?}");
}

// A conversation would be recorded under a name that belongs to another directory, and go on there.
#[test]
fn a_directory_whose_path_is_no_text_is_refused_before_anything_is_written() {
    let world = World::new();
    let directory = world.path("work").join(OsStr::from_bytes(b"kd\xfd"));
    fs::create_dir(&directory).unwrap();
    let run =
        |args: &[&str]| world.ran(world.command(args).current_dir(&directory).output().unwrap());
    for args in [&["query", "list ."][..], &["query", "--new", "list ."], &["query", "--continue"]]
    {
        let ran = run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
    }
    expect![[r#"
        2> error: the path of the present directory is not UTF-8: DIR/work/kd�
        2> hint: a conversation records where it works, as text: rename the directory, or work in another one
        exit 2
    "#]]
    .assert_eq(&world.shown(&run(&["query", "list ."])));
    assert!(!world.path("home").exists());
    // What needs no directory works there.
    assert_eq!(run(&["ls"]).code, 0);
    assert_eq!(world.run(&["query", "list ."]).code, 0);
    let id = world.only_id();
    assert_eq!(run(&["print", &id]).code, 0);
}

// The kernel's way to say that a file may not grow is to kill.
#[test]
fn a_limit_on_the_size_of_files_is_told_like_a_full_disk() {
    let world = World::new();
    let piton = world.command(&["query", "list ."]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 0 && exec \"$0\" \"$@\""]).arg(piton.get_program());
    command.args(piton.get_args()).current_dir(world.path("work"));
    command.envs(piton.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = world.ran(command.output().unwrap());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("error: "), "{}", ran.stderr);
}
