//! Lists.

use expect_test::expect;

use crate::world::{World, lines};

#[test]
fn an_empty_list_says_how_to_begin_and_makes_nothing() {
    let world = World::new();
    world.check(
        &[&["ls"], &["ls", "--json"]],
        expect![[r#"
        $ piton ls
        2> No conversations yet. Begin one: piton query "list the files here"
        exit 0
        $ piton ls --json
        exit 0
    "#]],
    );
    assert!(!world.path("home").exists());
}

#[test]
fn the_newest_conversations_come_first_and_the_rest_is_counted() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#);
    for text in ["first", "second", "third"] {
        world.run(&["query", "--new", text, "--model", &model]);
    }
    world.check(
        &[&["ls", "--limit", "2"], &["ls", "--limit", "0"]],
        expect![[r#"
        $ piton ls --limit 2
        ID          TOUCHED   TURNS  STATUS  TITLE
        CCCCCCCCCC  just now  1              third
        BBBBBBBBBB  just now  1              second
        2> There are more: piton ls --limit 0
        exit 0
        $ piton ls --limit 0
        ID          TOUCHED   TURNS  STATUS  TITLE
        CCCCCCCCCC  just now  1              third
        BBBBBBBBBB  just now  1              second
        AAAAAAAAAA  just now  1              first
        exit 0
    "#]],
    );
    let all = world.run(&["ls", "--all", "--limit", "1"]);
    let rows: Vec<_> = all.stdout.lines().collect();
    assert!(rows[0].contains("DIRECTORY") && rows[1].ends_with("/work  third"), "{rows:?}");
    assert_eq!(all.stderr, "There are more: piton ls --all --limit 0\n");
    let titles: Vec<_> = world.rows().iter().map(|row| row["title"].clone()).collect();
    assert_eq!(titles, ["third", "second", "first"]);
}

#[test]
fn a_row_of_the_list_as_data() {
    let world = World::new();
    let model = world
        .script(r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch x"}}]}]}"#);
    world.run(&["query", "look around", "--model", &model]);
    let row = world.rows().remove(0);
    let keys: Vec<_> = row.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = [
        "v",
        "type",
        "conversation",
        "title",
        "workspace",
        "turns",
        "status",
        "running_pid",
        "touched",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(row["status"], "waiting-for-input (shell)");
    assert_eq!(row["workspace"], world.path("work").to_str().unwrap());
    assert!(row["running_pid"].is_null());
}

#[test]
fn filters_leave_out_what_is_not_wanted() {
    let world = World::new();
    let asking = world
        .script(r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch x"}}]}]}"#);
    world.run(&["query", "--new", "paint the shed", "--model", &asking]);
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    world.run(&["query", "--new", "mend the roof", "--model", &model]);
    let titles = |args: &[&str]| -> Vec<String> {
        let ran = world.run(&[&["ls", "--json"], args].concat());
        let title = |row: &serde_json::Value| row["title"].as_str().unwrap().to_owned();
        lines(&ran.stdout).iter().map(title).collect()
    };
    assert_eq!(titles(&["--open"]), ["paint the shed"]);
    assert_eq!(titles(&["--waiting"]), ["paint the shed"]);
    assert_eq!(titles(&["--text", "ROOF"]), ["mend the roof"]);
    assert_eq!(titles(&["--since", "1h"]).len(), 2);
    assert_eq!(titles(&["--since", "0m"]).len(), 0);
    assert_eq!(titles(&["--text", "roof", "--open"]).len(), 0);
    let none = world.run(&["ls", "--text", "cellar"]);
    assert_eq!(none.stderr, "No conversation fits; without filters: piton ls\n");
    assert_eq!(world.run(&["ls", "--since", "soon"]).code, 2);
}

// J85
#[test]
fn the_last_and_the_previous_conversation_have_names() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    for text in ["first", "second"] {
        world.run(&["query", "--new", text, "--model", &model]);
    }
    assert_eq!(world.run(&["print", "last"]).stdout, "> second\nOne.\n");
    for word in ["previous", "prev", "-"] {
        assert_eq!(world.run(&["print", "--id", word]).stdout, "> first\nOne.\n", "{word}");
    }
}

#[test]
fn a_conversation_gets_another_title() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    world.run(&["query", "--new", "first", "--model", &model]);
    let id = world.only_id();
    let named = world.run(&["rename", &id, "the", "roof\n of it"]);
    assert_eq!(named.stderr, format!("Conversation {id} is now called: the roof of it\n"));
    assert_eq!(world.rows()[0]["title"], "the roof of it");
    assert_eq!(world.run(&["rename", &id, " "]).code, 2);
    assert_eq!(world.run(&["grep", "roof", "--scope", "title"]).code, 0);
}
