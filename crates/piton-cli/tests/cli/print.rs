//! Conversations as text.

use expect_test::expect;

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
            2> conversation AAAAAAAAAA: 200 tokens in, R for each estimated, 20 out
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
