//! Conversations as text.

use expect_test::expect;
use serde_json::json;

use crate::person::Person;
use crate::world::{World, lines};

// J72
#[test]
fn the_incomplete_turn_comes_after_the_complete_ones() {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hello\n").unwrap();
    let model = world.script(
        r#"{"steps":[{"say":"Hello.\nHow are you?"},
            {"calls":[{"tool":"read_file","arguments":{"path":"a.txt"}},
                      {"tool":"shell","arguments":{"command":"exit 1"}},
                      {"tool":"write_file","arguments":{"path":"b.txt","content":"x"}}]}]}"#,
    );
    world.run(&["query", "hi", "--model", &model]);
    world.run(&["query", "two\nlines"]);
    world.check(
        &[&["print"]],
        expect![[r#"
            $ piton print
            > hi
            Hello.
            How are you?

            ⏳ Incomplete turn (waiting for input)
            > two
            > lines
            ✓ read_file: a.txt — completed
            ⏸ shell: exit 1 — waiting for input: "Run shell: exit 1?"
            ⏸ write_file: b.txt — waiting for input: "Run write_file: b.txt?"
            2> conversation AAAAAAAAAA: 200 tokens in, 20 out
            exit 0
        "#]],
    );
    let by_flag = world.run(&["print", "--id", &world.only_id()]);
    assert_eq!((by_flag.code, by_flag.stdout), (0, world.run(&["print"]).stdout));
}

#[test]
fn a_conversation_is_found_by_the_beginning_of_its_id() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    let id = world.only_id();
    for prefix in [&id[..1], &id[..6], id.as_str(), &id.to_uppercase()] {
        assert_eq!(world.run(&["print", prefix]).stdout, "> a\nOne.\n", "{prefix}");
    }
}

#[test]
fn entries_are_printed_as_stored() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    let entries = lines(&world.run(&["print", "--json", "--raw"]).stdout);
    for (place, entry) in entries.iter().enumerate() {
        assert_eq!((&entry["v"], &entry["type"]), (&2.into(), &"entry".into()));
        assert_eq!(entry["seq"], place + 1);
        assert!(entry["at"].is_u64() && entry["event"]["type"].is_string(), "{entry}");
    }
}

#[test]
fn all_that_calls_gave_is_printed_if_that_is_wanted() {
    let world = World::new();
    let shell = json!({ "tool": "shell", "arguments": { "command": "seq 20000; exit 3" } });
    let made = json!({ "tool": "write_file", "arguments": { "path": "a.txt", "content": "x\n" } });
    let steps = json!([{ "calls": [shell, made] }, { "say": "Done." }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    let short = world.run(&["print"]).stdout;
    assert!(!short.contains("\n  7\n"), "{short}");
    let full = world.run(&["print", "--full"]).stdout;
    let numbers = full.lines().filter_map(|line| line.strip_prefix("  ")?.parse::<u32>().ok());
    assert!(numbers.eq(1..=20_000), "every line, once: {} bytes", full.len());
    let (_, end) = full.split_once("\n  20000\n").unwrap();
    assert!(end.starts_with("  [exit code 3]\n✓ write_file: a.txt"), "{end}");
    assert_eq!(full.matches("+x").count(), 1, "a change is shown as a difference");
    // A person who watches is told how to see it, at the end of a turn and of the short form.
    let mut person = Person::starts(&world, &["print"]);
    person.sees("Done.\r\n").sees("hint: with all that calls gave: piton print --full ");
    assert_eq!(person.leaves().0, 0);
    let args = ["query", "--new", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), &[("NO_COLOR", "1")]);
    person.sees("✗ shell: seq 20000").sees("lines before; piton print --full shows them\r\n");
    person.sees("  20000\r\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
}

fn three_turns() -> World {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"One."},
            {"say":"I write.","calls":[{"tool":"update_plan","arguments":{"steps":[]}}]},
            {"say":"Two."},{"say":"Three."}]}"#,
    );
    world.run(&["query", "first", "--model", &model]);
    world.run(&["query", "second"]);
    world.run(&["query", "third"]);
    world
}

// J73
#[test]
fn turns_are_chosen_by_their_number_and_from_the_end() {
    let world = three_turns();
    let shown = |args: &[&str]| {
        let ran = world.run(&[&["print"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.lines().filter(|line| line.starts_with('>')).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown(&["--last"]), "> third");
    assert_eq!(shown(&["--last=2"]), "> second > third");
    assert_eq!(shown(&["--turns", "1"]), "> first");
    assert_eq!(shown(&["--turns", "2.."]), "> second > third");
    assert_eq!(shown(&["--turns", "-2"]), "> second");
    assert_eq!(shown(&["--turns", "..-2"]), "> first > second");
    assert_eq!(shown(&["--turns", "-9.."]), "> first > second > third");
    let none = world.run(&["print", "--turns", "4"]);
    assert_eq!((none.code, none.stdout.as_str()), (2, ""));
    assert!(none.stderr.contains("there are no such turns; the last turn is 3"), "{}", none.stderr);
    assert_eq!(world.run(&["print", "--turns", "0"]).code, 2);
    let view = &lines(&world.run(&["print", "--json", "--last"]).stdout)[0]["view"];
    assert_eq!(view["turns"].as_array().unwrap().len(), 1);
    assert_eq!(view["head"]["title"], "first");
}

// J73
#[test]
fn styles_show_more_and_more() {
    let world = three_turns();
    let shown = |style: &str| {
        world.run(&["print", "--turns", "2", "--style", style]).stdout.lines().count()
    };
    let user = world.run(&["print", "--style", "user"]).stdout;
    assert_eq!(user, "> first\n\n> second\n\n> third\n");
    let chat = world.run(&["print", "--turns", "2", "--style", "chat"]).stdout;
    assert_eq!(chat, "> second\nI write.\nTwo.\n");
    assert!(shown("chat") < shown("brief") && shown("brief") <= shown("full"));
}

#[test]
fn the_last_turn_is_the_same_however_it_is_read() {
    let world = three_turns();
    let whole = world.run(&["print", "--turns", "3"]).stdout;
    assert_eq!(world.run(&["print", "--last"]).stdout, whole);
    let model = world
        .script(r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch x"}}]}]}"#);
    world.run(&["query", "--new", "wait", "--model", &model]);
    assert_eq!(world.run(&["print", "--last"]).stdout, world.run(&["print"]).stdout);
}

#[test]
fn a_long_conversation_is_shown_page_by_page_unless_that_is_refused() {
    let world = three_turns();
    let pager = [("PAGER", "sed s/^/PAGED:/")];
    let mut person = Person::starts_on(&world, &["print"], (8, 80), &pager);
    person.sees("PAGED:> first").sees("PAGED:> third");
    assert_eq!(person.leaves().0, 0);
    // It fits, so nobody has to turn pages.
    for (args, rows) in [(&["print", "--no-pager"][..], 8), (&["print"][..], 60)] {
        let mut person = Person::starts_on(&world, args, (rows, 80), &pager);
        person.sees("> first").sees("> third");
        let (code, screen) = person.leaves();
        assert!(code == 0 && !screen.contains("PAGED:"), "{screen}");
    }
    let gone = [("PAGER", "/no/such/pager 2>/dev/null")];
    let mut person = Person::starts_on(&world, &["print"], (8, 80), &gone);
    person.sees("> first").sees("> third");
    assert_eq!(person.leaves().0, 0);
}

#[test]
fn a_turn_that_was_discarded_is_counted_and_shown_among_the_attempts() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}"#);
    world.run(&["query", "lost words", "--model", &model]);
    assert_eq!(world.run(&["query", "--discard-turn"]).code, 0);
    let id = world.only_id();
    let told = format!("hint: 1 turn is discarded; to see it: piton print --attempts {id}\n");
    let ran = world.run(&["print"]);
    assert!(
        ran.code == 0 && ran.stdout.is_empty() && ran.stderr.ends_with(&told),
        "{}",
        ran.stderr
    );
    let ran = world.run(&["print", "--turns", "1"]);
    assert!(ran.code == 2 && ran.stderr.ends_with(&told), "{}", ran.stderr);
    let ran = world.run(&["rewind"]);
    assert!(ran.code == 0 && ran.stderr.ends_with(&told), "{}", ran.stderr);
    assert!(ran.stderr.contains("has no turn to go back in front of"), "{}", ran.stderr);
    for args in [&["print", "--attempts"][..], &["print", "--attempts", "--turns", "1"]] {
        let ran = world.run(args);
        assert!(ran.stdout.starts_with("> lost words\n"), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("discarded") && !ran.stderr.contains("hint"), "{}", ran.stdout);
    }
    let tried = lines(&world.run(&["print", "--attempts", "--json"]).stdout);
    assert_eq!((tried.len(), &tried[0]["ended"]), (1, &json!("discarded")), "{tried:?}");
}
