//! Lists.

use expect_test::expect;

use crate::world::World;

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
