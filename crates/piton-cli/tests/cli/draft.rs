//! A message is in the journal or in a draft, never lost and never sent twice.

use std::fs;
use std::path::PathBuf;

use expect_test::expect;

use crate::faults::{can_trace, points, trace};
use crate::world::{World, lines};

const TWO: &str = r#"{"steps":[{"say":"One."},{"say":"Two."},{"say":"Three."}]}"#;
const WAITS: &str = r#"{"steps":[{"say":"Look.","calls":[{"tool":"slow"}]},{"say":"Done."},{"say":"More."}],
    "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;

/// System calls at which a run is killed: all that touch a file, a lock or a stream.
const CALLS: [&str; 11] = [
    "openat",
    "mkdir",
    "flock",
    "fcntl",
    "write",
    "pwrite64",
    "fdatasync",
    "fsync",
    "rename",
    "unlink",
    "getdents64",
];

/// Those that change something.
const CHANGES: [&str; 6] = ["flock", "write", "pwrite64", "fdatasync", "rename", "unlink"];

/// The files that hold unsent messages.
fn drafts(world: &World) -> Vec<PathBuf> {
    let within = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
    within(world.path("home").join("drafts"))
        .flat_map(|workspace| within(workspace.path()))
        .map(|file| file.path())
        .filter(|path| path.extension().is_none_or(|end| end != "half"))
        .collect()
}

/// How often a message was said, in all conversations together.
fn said(world: &World, text: &str) -> usize {
    let mut count = 0;
    for row in world.rows() {
        let entries =
            world.run(&["print", row["conversation"].as_str().unwrap(), "--json", "--raw"]).stdout;
        let is_it = |entry: &serde_json::Value| {
            let event = &entry["event"];
            event["type"] == "UserMessage" && event["parts"][0]["text"] == text
        };
        count += lines(&entries).iter().filter(|entry| is_it(entry)).count();
    }
    count
}

/// A turn that waits for a person, and a message that was refused because of that.
fn refused() -> World {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"write_file","arguments":{"path":"b","content":"x"}}]},
                     {"say":"Written."},{"say":"More."}]}"#,
    );
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    assert!(drafts(&world).is_empty(), "it is in the journal");
    assert_eq!(world.run(&["query", "and now?\nsecond line"]).code, 6);
    world
}

// J39
#[test]
fn a_refused_message_is_kept_told_and_sent_on_demand() {
    let world = refused();
    world.check(
        &[
            &["query", "--continue", "--permissions", "auto"],
            &["query", "--draft"],
            &["query", "--draft"],
            &["print"],
        ],
        expect![[r#"
            $ piton query --continue --permissions auto
            Written.
            2> An unsent message is kept: and now?
            2> hint: to send it to conversation AAAAAAAAAA: piton query --draft
            2> hint: to forget it: piton draft drop DRAFT
            2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
            2> Resuming. Waiting for input: write_file — "Run write_file: b?"
            2> • write_file: b
            2> ✓ write_file: b — created `b` (1 line, 1 byte)
            exit 0
            $ piton query --draft
            More.
            2> conversation AAAAAAAAAA, turn 2, model script:DIR/script.json
            2> permissions auto, as in the turn before; to be asked again: --permissions ask
            exit 0
            $ piton query --draft
            2> error: no unsent message is kept for this directory
            2> hint: say something: piton query "TEXT"
            exit 2
            $ piton print
            > go
            ✓ write_file: b — completed
                 @@ -0,0 +1,1 @@
               1 +x
            Written.

            > and now?
            > second line
            More.
            2> conversation AAAAAAAAAA: 300 tokens in, 30 out
            exit 0
        "#]],
    );
    assert!(drafts(&world).is_empty());
}

#[test]
fn a_kept_message_goes_to_the_conversation_that_it_was_meant_for() {
    let world = refused();
    let old = world.only_id();
    let model = format!("script:{}", world.path("script.json").display());
    let ran = world.run(&["query", "else", "--new", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let hint = format!("hint: to send it to conversation {old}: piton query --draft\n");
    assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
    let ran = world.run(&["query", "--draft", "--continue"]);
    let where_to = format!("conversation {old}, turn 1");
    assert!(ran.code == 0 && ran.stderr.contains(&where_to), "{}", ran.stderr);
    let printed = world.run(&["print", &old]).stdout;
    assert!(printed.contains("> and now?\n"), "{printed}");
}

#[test]
fn a_kept_message_that_was_to_begin_a_conversation_begins_one() {
    let world = refused();
    let kept = drafts(&world).remove(0);
    // As a process leaves it that dies before the first entry of its conversation.
    fs::rename(&kept, kept.with_extension("zzzzzzzzzz")).unwrap();
    let model = format!("script:{}", world.path("script.json").display());
    let ran = world.run(&["query", "--draft", "--permissions", "auto", "--model", &model]);
    assert!(ran.code == 0 && ran.stderr.contains(" (new), turn 1"), "{}", ran.stderr);
    assert_eq!((world.rows().len(), said(&world, "and now?\nsecond line")), (2, 1));
}

#[test]
fn kept_messages_are_listed_and_forgotten() {
    let world = refused();
    assert_eq!(world.run(&["query", "second"]).code, 6);
    let listed = world.run(&["drafts"]).stdout;
    let rows: Vec<_> =
        listed.lines().map(|row| row.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(rows.len(), 2, "{listed}");
    assert!(rows[0].contains(&"second") && rows[1].ends_with(&["and", "now?"]), "{listed}");
    assert!(rows[0].contains(&world.only_id().as_str()), "{listed}");
    let ran = world.run(&["drafts", "--forget", rows[1][0]]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "Forgotten: and now?\n"));
    assert_eq!(world.run(&["drafts", "--forget", rows[1][0]]).code, 2);
    let left = lines(&world.run(&["drafts", "--json"]).stdout);
    assert_eq!((left.len(), &left[0]["text"]), (2, &"second".into()), "{left:?}");
    assert_eq!(drafts(&world).len(), 1);
}

#[test]
fn a_kept_message_is_shown_written_anew_and_dropped() {
    let world = refused();
    assert_eq!(world.run(&["query", "second"]).code, 6);
    let shown = world.run(&["draft", "show"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, "second\n"), "{}", shown.stderr);
    let meant = format!("meant for conversation {}\n", world.only_id());
    assert_eq!(shown.stderr, meant);
    let older = lines(&world.run(&["draft", "--json"]).stdout)[1]["name"].clone();
    let older = older.as_str().unwrap();
    assert_eq!(world.run(&["draft", "show", older]).stdout, "and now?\nsecond line\n");
    let edit = |editor: &str, name: &[&str]| {
        let mut command = world.command(&[&["draft", "edit"], name].concat());
        world.ran(command.env_remove("VISUAL").env("EDITOR", editor).output().unwrap())
    };
    let ran = edit("sed -i s/second/third/", &[older]);
    assert!(ran.code == 0 && ran.stderr.contains("Kept: and now?"), "{}", ran.stderr);
    assert_eq!(world.run(&["draft", "show", older]).stdout, "and now?\nthird line\n");
    for (editor, word) in [("true", "stays as it was"), ("truncate -s 0", "Nothing was written")] {
        let ran = edit(editor, &[]);
        assert!(ran.code == 0 && ran.stderr.contains(word), "{editor}: {}", ran.stderr);
    }
    let ran = edit("false", &[]);
    assert!(ran.code == 1 && ran.stderr.contains("has failed"), "{}", ran.stderr);
    assert_eq!(edit("", &[]).code, 2, "no editor");
    let newest = world.run(&["draft", "show"]).stdout;
    assert_eq!(newest, "and now?\nthird line\n", "it was written last");
    assert_eq!(world.run(&["draft", "drop"]).code, 2, "which one?");
    assert_eq!(world.run(&["draft", "drop", older]).stderr, "Forgotten: and now?\n");
    assert_eq!(world.run(&["draft", "drop"]).stderr, "Forgotten: second\n");
    assert_eq!(world.run(&["draft", "show"]).code, 2);
    assert!(drafts(&world).is_empty());
}

// A bad one nags nobody.
#[test]
fn a_kept_message_that_cannot_be_read_is_told_once_and_stops_nothing() {
    let world = World::new();
    let model = world.script(TWO);
    assert_eq!(world.run(&["query", "a", "--model", &model]).code, 0);
    let mut command = world.command(&["query", "b", "--model", "anthropic/opus"]);
    assert_eq!(world.ran(command.env_remove("ANTHROPIC_API_KEY").output().unwrap()).code, 2);
    let kept = drafts(&world).remove(0);
    fs::write(&kept, [b'b', 0xff]).unwrap();
    let name = kept.file_stem().unwrap().to_str().unwrap().to_owned();
    let ran = world.run(&["query", "c"]);
    let word = "warning: a kept message cannot be read (it is not UTF-8); it is now ";
    let hint = format!("to forget it: piton draft drop {name}\n");
    assert!(ran.code == 0 && ran.stderr.contains(word) && ran.stderr.contains(&hint));
    let ran = world.run(&["query", "d"]);
    assert!(ran.code == 0 && !ran.stderr.contains("cannot be read"), "{}", ran.stderr);
    let listed = world.run(&["draft"]);
    assert!(listed.stderr.contains(&format!("{name} cannot be read; it is ")), "{}", listed.stderr);
    let row = lines(&world.run(&["draft", "--json"]).stdout).remove(0);
    assert_eq!(row["type"], "unreadable_draft");
    assert_eq!(fs::read(row["path"].as_str().unwrap()).unwrap(), [b'b', 0xff], "nothing is lost");
    assert_eq!(world.run(&["draft", "drop", &name]).code, 0);
    assert_eq!(world.run(&["draft"]).stderr, "No unsent message is kept for this directory.\n");
}

#[test]
fn a_kept_message_is_injected_when_the_turn_is_continued_with_it() {
    let world = refused();
    world.check(&[&["query", "--continue", "--draft"], &["print"]], expect![[r#"
        $ piton query --continue --draft
        Written.
        2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
        2> The message is added to the incomplete turn. write_file gets no answer to "Run write_file: b?".
        2> – write_file: b — cancelled
        exit 0
        $ piton print
        > go
        – write_file: b — cancelled
        > and now?
        > second line
        Written.
        2> conversation AAAAAAAAAA: 200 tokens in, 20 out
        exit 0
    "#]]);
    assert!(drafts(&world).is_empty());
}

#[test]
fn a_message_typed_again_is_the_same_message() {
    let world = refused();
    assert_eq!(world.run(&["query", "and now?\nsecond line"]).code, 6);
    assert_eq!(drafts(&world).len(), 1);
    let ran = world.run(&["query", "--discard-turn", "and now?\nsecond line"]);
    assert!(!ran.stderr.contains("unsent"), "{}", ran.stderr);
    assert!(drafts(&world).is_empty());
    assert_eq!(said(&world, "and now?\nsecond line"), 1);
}

#[test]
fn a_new_text_leaves_the_older_one_where_it_is() {
    let world = refused();
    let ran = world.run(&["query", "--discard-turn", "else"]);
    assert!(ran.stderr.starts_with("An unsent message is kept: and now?\n"), "{}", ran.stderr);
    let kept = drafts(&world);
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "and now?\nsecond line");
    assert_eq!(said(&world, "else"), 1);
}

#[test]
fn only_so_many_are_kept_and_the_one_that_goes_is_named() {
    let world = refused();
    for n in 2..=9 {
        assert_eq!(world.run(&["query", &format!("try {n}")]).code, 6);
    }
    assert_eq!(drafts(&world).len(), 9, "eight, and the one that is under way");
    let ran = world.run(&["query", "--discard-turn"]);
    assert!(
        ran.stderr.starts_with("More than 8 messages are unsent, so this one goes: and now?\n")
    );
    assert!(ran.stderr.contains("8 unsent messages are kept, the newest: try 9\n"));
    assert_eq!(drafts(&world).len(), 8);
}

#[test]
fn what_makes_no_sense_with_a_draft_is_refused() {
    let world = refused();
    for args in [
        &["query", "--draft", "text"][..],
        &["query", "--draft", "--no-persist"],
        &["query", "--draft", "--continue", "text"],
    ] {
        assert_eq!(world.run(args).code, 2, "{args:?}");
    }
    assert_eq!(drafts(&world).len(), 1);
}

// J84
#[test]
fn what_is_not_recorded_is_not_kept_either() {
    let world = refused();
    let ran = world.run(&["query", "psst", "--no-persist"]);
    assert_eq!((ran.code, ran.stderr.contains("kept")), (6, false), "{}", ran.stderr);
    assert_eq!(drafts(&world).len(), 1);
}

#[test]
fn a_message_waits_in_its_draft_while_another_process_is_at_work() {
    let world = World::new();
    let model = world.script(WAITS);
    let busy = world.spawn(&["query", "go", "--model", &model]);
    world.wait_for_events("ToolStarted", 1);
    let mut waiting = world.spawn(&["query", "me too", "--lock-wait", "60"]);
    crate::world::wait_until(|| drafts(&world).len() == 1);
    // It is on its way, and nobody else's.
    let ran = world.run(&["query", "--draft", "--lock-wait", "0"]);
    assert_eq!((ran.code, ran.stderr.contains("no unsent message")), (2, true), "{}", ran.stderr);
    waiting.kill().unwrap();
    world.finish(waiting);
    let ran = world.run(&["query", "--draft", "--lock-wait", "0"]);
    assert_eq!((ran.code, ran.stderr.contains("your message is kept")), (5, true));
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.finish(busy).code, 0);
    assert_eq!(world.run(&["query", "--draft"]).code, 0);
    assert_eq!((said(&world, "me too"), drafts(&world).len()), (1, 0));
}

#[test]
fn a_store_that_cannot_be_opened_does_not_cost_the_message() {
    let world = World::new();
    let model = world.script(TWO);
    world.run(&["query", "a", "--model", &model]);
    let database = world.path("home").join("piton.db");
    let good = fs::read(&database).unwrap();
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    fs::write(&database, newer).unwrap();
    assert_eq!(world.run(&["query", "b"]).code, 1);
    fs::write(&database, good).unwrap();
    let ran = world.run(&["query", "--draft"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Two.\n"), "{}", ran.stderr);
    assert_eq!((said(&world, "b"), drafts(&world).len()), (1, 0));
}

/// Every how many-th system call is tried; `PITON_DRAFT_STEP=1`, as in `dev/faults`, tries all.
const STEP: usize = 3;

/// Kills a query at some system calls, and sees what became of its message.
fn crash_everywhere(calls: &[&str], query: &[&str], before: impl Fn(&World)) -> (usize, usize) {
    let start = || {
        let world = World::new();
        let model = world.script(TWO);
        before(&world);
        (world, model)
    };
    let (world, model) = start();
    let points = points(&world, &[query, &["--model", &model]].concat(), calls);
    let (mut from_draft, mut from_journal) = (0, 0);
    let step = std::env::var("PITON_DRAFT_STEP").map_or(STEP, |typed| typed.parse().unwrap());
    for (call, count) in points {
        for when in (1..=count).step_by(step) {
            let what = format!("{call}:signal=SIGKILL:when={when}");
            let (world, model) = start();
            let kept_before = !drafts(&world).is_empty();
            let args = [query, &["--model", &model]].concat();
            trace(&world, &args, &[format!("trace={call},rename"), format!("inject={what}")]);
            let log = fs::read_to_string(world.path("trace")).unwrap();
            // Before its draft has its name, the message is where it was typed.
            let named = |line: &str| line.contains(".half\"") && line.ends_with("= 0");
            let saved = kept_before || log.lines().any(named);
            let in_journal = said(&world, "hello");
            assert!(!saved || in_journal == 1 || drafts(&world).len() == 1, "{what}: lost");
            let sent = world.run(&["query", "--draft", "--model", &model]).code;
            let unsent = saved && in_journal == 0;
            assert_eq!(sent, if unsent { 0 } else { 2 }, "{what}");
            assert_eq!(said(&world, "hello"), usize::from(saved), "{what}: not once");
            assert!(drafts(&world).is_empty(), "{what}");
            from_draft += usize::from(unsent);
            from_journal += in_journal;
        }
    }
    println!("killed {query:?}: {from_draft} times unsent, {from_journal} times sent, never both");
    (from_draft, from_journal)
}

// M1, J39
#[test]
fn crash_at_every_early_system_call_leaves_the_message_in_the_journal_or_in_its_draft() {
    if can_trace() {
        let (unsent, sent) = crash_everywhere(&CALLS, &["query", "hello"], |_| {});
        assert!(20 < unsent && 5 < sent, "too few: {unsent} {sent}");
    }
}

// Counts are per thread, and making a store takes more syncs than a commit: without this, no kill
// would fall between leaving and arriving.
#[test]
fn crash_in_a_store_that_is_there_leaves_the_message_in_the_journal_or_in_its_draft() {
    if can_trace() {
        let (unsent, sent) = crash_everywhere(&CHANGES, &["query", "hello"], |world| {
            let model = world.script(TWO);
            assert_eq!(world.run(&["query", "first", "--model", &model]).code, 0);
        });
        assert!(10 < unsent && 5 < sent, "too few: {unsent} {sent}");
    }
}

#[test]
fn crash_while_a_draft_is_sent_neither_loses_nor_doubles_it() {
    if can_trace() {
        let (unsent, sent) = crash_everywhere(&CHANGES, &["query", "--draft"], |world| {
            assert_eq!(world.run(&["query", "hello", "--id", "none"]).code, 2);
        });
        assert!(10 < unsent && 5 < sent, "too few: {unsent} {sent}");
    }
}

#[test]
fn a_wrong_flag_loses_no_message() {
    let world = World::new();
    let model = world.script(TWO);
    fs::write(world.work("notes.txt"), "remember\n").unwrap();
    let wrong: [&[&str]; 4] = [
        &["-m", "nobody/nothing"],
        &["-m", "anthropic/claude-x"],
        &["--add-dir", "../none"],
        &["--output-schema", "none.json"],
    ];
    for flags in wrong {
        let args = [&["query", "look at this", "-f", "notes.txt"], flags].concat();
        let ran = world.run_with_input(&args, "piped\n");
        assert_ne!(ran.code, 0, "{}", ran.stderr);
        let hint = "hint: your message is kept; to send it: piton query --draft";
        assert!(ran.stderr.contains(hint), "{flags:?}: {}", ran.stderr);
        assert_eq!(drafts(&world).iter().filter(|path| path.is_file()).count(), 1, "{flags:?}");
    }
    let ran = world.run(&["query", "--draft", "-m", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "One.\n"), "{}", ran.stderr);
    let names: Vec<_> = world.user_parts().iter().map(|part| part["name"].clone()).collect();
    assert_eq!(names[1..], ["notes.txt", "stdin"], "{names:?}");
    // A command of the user is kept as what it says.
    fs::create_dir_all(world.path("home/commands")).unwrap();
    fs::write(world.path("home/commands/hi.md"), "---\nmodel: nobody/x\n---\nSay $1.\n").unwrap();
    let ran = world.run(&["query", "/hi there"]);
    assert!(ran.code == 2 && ran.stderr.contains("is kept"), "{}", ran.stderr);
    let ran = world.run(&["query", "--draft"]);
    assert_eq!((ran.code, said(&world, "/hi there\n\nSay there.")), (0, 1), "{}", ran.stderr);
    let ran = world.run(&["query", "gone", "-m", "nobody/x", "--no-persist"]);
    assert!(!ran.stderr.contains("is kept"), "{}", ran.stderr);
    assert!(drafts(&world).iter().all(|path| !path.is_file()));
}
