//! J77: finding what was said.

use std::fs;

use expect_test::expect;

use crate::world::{World, lines};

fn told() -> World {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[
            {"say":"I look.","calls":[{"tool":"list_dir","arguments":{"path":"."}}]},
            {"say":"First line.\nThe Kestrel flies.\nLast line."}]}"#,
    );
    fs::write(world.work("nest.txt"), "eggs").unwrap();
    world.run(&["query", "--new", "where is the kestrel", "--model", &model]);
    let model = world.script(r#"{"steps":[{"say":"Done."}]}"#);
    world.run(&["query", "--new", "a blackbird", "--model", &model]);
    world
}

#[test]
fn hits_have_a_place_a_speaker_and_a_kind() {
    let world = told();
    world.check(
        &[
            &["grep", "kestrel"],
            &["grep", "Kestrel"],
            &["grep", "estre", "--scope", "user,tool"],
            &["grep", "kestrel", "-C", "1", "--scope", "assistant"],
            &["grep", "--regex", "^(last|first) l"],
            &["grep", "nest.txt", "--output", "text", "--scope", "tool"],
            &["grep", "e", "--output", "count"],
            &["grep", "e", "--output", "ids"],
            &["grep", "line", "--limit", "1"],
            &["grep", "line", "-m", "1"],
        ],
        expect![[r#"
            $ piton grep kestrel
            AAAAAAAAAA:1:user:message:where is the kestrel
            AAAAAAAAAA:1:assistant:answer:The Kestrel flies.
            exit 0
            $ piton grep Kestrel
            AAAAAAAAAA:1:assistant:answer:The Kestrel flies.
            exit 0
            $ piton grep estre --scope user,tool
            AAAAAAAAAA:1:user:message:where is the kestrel
            exit 0
            $ piton grep kestrel -C 1 --scope assistant
            AAAAAAAAAA-1-assistant-answer-First line.
            AAAAAAAAAA:1:assistant:answer:The Kestrel flies.
            AAAAAAAAAA-1-assistant-answer-Last line.
            exit 0
            $ piton grep --regex "^(last|first) l"
            AAAAAAAAAA:1:assistant:answer:First line.
            AAAAAAAAAA:1:assistant:answer:Last line.
            exit 0
            $ piton grep nest.txt --output text --scope tool
            nest.txt  4 bytes
            exit 0
            $ piton grep e --output count
            BBBBBBBBBB:1
            AAAAAAAAAA:5
            exit 0
            $ piton grep e --output ids
            BBBBBBBBBB
            AAAAAAAAAA
            exit 0
            $ piton grep line --limit 1
            AAAAAAAAAA:1:assistant:answer:First line.
            2> There are more hits: piton grep --limit 0
            exit 0
            $ piton grep line -m 1
            AAAAAAAAAA:1:assistant:answer:First line.
            exit 0
        "#]],
    );
}

#[test]
fn a_bad_pattern_is_misuse_and_nothing_found_is_told_by_the_code() {
    let world = told();
    world.check(
        &[
            &["grep", "--regex", "(a"],
            &["grep", ""],
            &["grep", "(a"],
            &["grep", "osprey"],
            &["grep", "osprey", "--all"],
        ],
        expect![[r#"
            $ piton grep --regex (a
            2> error: regex parse error:
            2>     (a
            2>     ^
            2> error: unclosed group
            2> hint: without --regex it is taken as it is
            exit 2
            $ piton grep ""
            2> error: the pattern is empty
            exit 2
            $ piton grep (a
            2> Nothing was found. To look in all directories: piton grep --all
            exit 1
            $ piton grep osprey
            2> Nothing was found. To look in all directories: piton grep --all
            exit 1
            $ piton grep osprey --all
            2> Nothing was found.
            exit 1
        "#]],
    );
}

#[test]
fn hits_as_data() {
    let world = told();
    let found = lines(&world.run(&["grep", "flies", "--json", "-C", "1"]).stdout);
    assert_eq!(found.len(), 1, "{found:?}");
    let hit = &found[0];
    assert_eq!((&hit["type"], &hit["turn"], &hit["line"]), (&"hit".into(), &1.into(), &2.into()));
    assert_eq!((&hit["scope"], &hit["kind"]), (&"assistant".into(), &"answer".into()));
    assert_eq!(hit["before"][0], "First line.");
    let counts = lines(&world.run(&["grep", "line", "--json", "--output", "count"]).stdout);
    assert_eq!(counts[0]["hits"], 2, "{counts:?}");
}

#[test]
fn other_directories_are_searched_when_that_is_asked_for() {
    let world = told();
    fs::create_dir(world.path("else")).unwrap();
    let mut elsewhere = world.command(&["grep", "kestrel"]);
    let ran = world.ran(elsewhere.current_dir(world.path("else")).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    let mut elsewhere = world.command(&["grep", "kestrel", "--all", "--output", "ids"]);
    let ran = world.ran(elsewhere.current_dir(world.path("else")).output().unwrap());
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1), "{}", ran.stderr);
}

#[test]
fn what_is_new_is_found_and_an_index_that_is_gone_or_damaged_is_made_again() {
    let world = told();
    let hits = || world.run(&["grep", "kestrel"]).stdout.lines().count();
    assert_eq!(hits(), 2);
    let model = world.script(r#"{"steps":[{"say":"Another kestrel."}]}"#);
    world.run(&["query", "--new", "and now", "--model", &model]);
    assert_eq!(hits(), 3);
    let index = world.path("home").join("search.db");
    fs::remove_file(&index).unwrap();
    assert_eq!(hits(), 3);
    fs::write(&index, "no database at all, not even nearly").unwrap();
    assert_eq!(hits(), 3);
    let mut bytes = fs::read(&index).unwrap();
    // The kind of every page but the first.
    for byte in bytes.iter_mut().skip(4096).step_by(4096) {
        *byte = 0x5a;
    }
    fs::write(&index, bytes).unwrap();
    assert_eq!(hits(), 3);
}

#[test]
fn a_discarded_turn_is_found_only_if_that_is_asked_for() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch osprey"}}]}]}"#,
    );
    world.run(&["query", "look for the osprey", "--model", &model]);
    assert_eq!(world.run(&["grep", "osprey"]).stdout.lines().count(), 2);
    world.run(&["query", "--discard-turn"]);
    assert_eq!(world.run(&["grep", "osprey", "--scope", "user,tool"]).code, 1);
    let all = world.run(&["grep", "osprey", "--discarded", "--scope", "user"]).stdout;
    assert!(all.contains(":1:user:message.discarded:look for the osprey"), "{all}");
}

#[test]
fn two_processes_fill_the_index_at_the_same_time() {
    let world = told();
    let running: Vec<_> = (0..4).map(|_| world.spawn(&["grep", "kestrel"])).collect();
    for child in running {
        let ran = world.finish(child);
        assert_eq!((ran.code, ran.stdout.lines().count()), (0, 2), "{}", ran.stderr);
    }
}

#[test]
fn a_fork_is_searched_with_what_it_shares_and_nothing_behind_the_cut() {
    let world = World::new();
    let model = world
        .script(r#"{"steps":[{"say":"A kestrel."},{"say":"An osprey."},{"say":"A merlin."}]}"#);
    world.run(&["query", "one", "--model", &model]);
    world.run(&["query", "two", "--model", &model]);
    let origin = world.only_id();
    let fork = world.run(&["fork", &origin, "--at", "1"]).stdout.trim_end().to_owned();
    let ran = world.run(&["grep", "kestrel", "--id", &fork]);
    assert_eq!(ran.stdout, format!("{origin}:1:assistant:answer:A kestrel.\n"), "{}", ran.stderr);
    assert_eq!(world.run(&["grep", "osprey", "--id", &fork]).code, 1);
    assert_eq!(world.run(&["grep", "kestrel"]).stdout.lines().count(), 1, "not once more");
    // The origin is put away; what the fork shares stays its own.
    assert_eq!(world.run(&["rm", "--yes", &origin]).code, 0);
    assert_eq!(world.run(&["grep", "kestrel", "--id", &fork]).code, 0);
    assert_eq!(world.run(&["grep", "kestrel"]).code, 1);
}

#[test]
fn what_a_fork_says_in_a_turn_that_it_finishes_is_of_that_turn() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"First."},
            {"calls":[{"tool":"shell","arguments":{"command":"touch osprey"}}]},
            {"say":"A merlin."}]}"#,
    );
    world.run(&["query", "one", "--model", &model]);
    assert_eq!(world.run(&["query", "two", "--model", &model]).code, 3);
    let fork = world.run(&["fork"]).stdout.trim_end().to_owned();
    let inner = world.run(&["fork", &fork]).stdout.trim_end().to_owned();
    let ran = world.run(&["answer", "no", "--continue", "--id", &inner]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = world.run(&["grep", "merlin"]);
    assert_eq!(ran.stdout, format!("{inner}:2:assistant:answer:A merlin.\n"), "{}", ran.stderr);
}

#[test]
fn only_the_present_title_is_found_and_a_fork_has_one_if_it_was_given_it() {
    let world = told();
    let ids = world.run(&["grep", "--output", "ids", "kestrel"]).stdout;
    let origin = ids.trim_end();
    world.run(&["rename", origin, "Falcons"]);
    world.run(&["fork", origin]);
    let named = world.run(&["fork", origin, "--title", "Falcons and owls"]).stdout;
    let named = named.trim_end();
    let titles = |word: &str| world.run(&["grep", word, "--scope", "title"]).stdout;
    assert_eq!(
        titles("alcons"),
        format!("{named}:0:title:title:Falcons and owls\n{origin}:0:title:title:Falcons\n")
    );
    world.run(&["rename", origin, "Buzzards"]);
    assert_eq!(titles("alcons"), format!("{named}:0:title:title:Falcons and owls\n"));
    assert_eq!(titles("uzzards"), format!("{origin}:0:title:title:Buzzards\n"));
    let old = world.run(&["grep", "Falcons", "--scope", "title", "--discarded", "--id", origin]);
    assert_eq!(old.stdout, format!("{origin}:0:title:title.renamed:Falcons\n"));
}
