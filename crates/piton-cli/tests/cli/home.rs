//! The home: who may look into it, and what is said when nothing can be found there.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use expect_test::expect;

use crate::world::World;

/// Everything in a directory that others may use in any way.
fn open_to_others(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if fs::metadata(&path).unwrap().permissions().mode() & 0o077 != 0 {
            found.push(path.display().to_string());
        }
        if path.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

/// Something that is no database in its place.
fn damaged(world: &World) {
    fs::create_dir_all(world.path("home")).unwrap();
    let garbage = "this is no database, and long enough to tell".repeat(100);
    fs::write(world.path("home").join("piton.db"), garbage).unwrap();
}

/// Flips a bit in the entry that holds a word.
fn spoil_entry(world: &World, word: &str) {
    let database = world.path("home").join("piton.db");
    let mut bytes = fs::read(&database).unwrap();
    let at = bytes.windows(word.len()).position(|here| here == word.as_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(&database, bytes).unwrap();
}

#[test]
fn nobody_else_can_read_conversations_and_drafts() {
    let world = World::new();
    let script = r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch x"}}]}]}"#;
    let model = world.script(script);
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    assert_eq!(world.run(&["query", "kept as a draft"]).code, 6);
    assert!(world.path("home/drafts").exists());
    assert!(open_to_others(&world.path("home")).is_empty());
    assert_eq!(fs::metadata(world.path("home")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_home_that_cannot_be_looked_into_is_not_taken_for_an_empty_one() {
    let file = World::new();
    fs::write(file.path("home"), "a file").unwrap();
    let circle = World::new();
    symlink("home", circle.path("home")).unwrap();
    for world in [file, circle] {
        for args in [&["ls"][..], &["ls", "--json"], &["print"], &["query", "a", "--no-persist"]] {
            let ran = world.run(args);
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}: {}", ran.stderr);
            let said = world.shown(&ran);
            assert!(said.starts_with("2> error: cannot look at DIR/home/piton.db: "), "{said}");
            assert!(said.contains("\n2> hint: PITON_HOME has to be a directory"), "{said}");
        }
    }
}

#[test]
fn what_needs_no_directory_works_without_one() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    let id = world.only_id();
    let run = |args: &[&str]| {
        fs::create_dir(world.path("gone")).unwrap();
        let piton = world.command(args);
        let mut command = Command::new("sh");
        command.args(["-c", "rmdir ../gone && exec \"$0\" \"$@\""]).arg(piton.get_program());
        command.args(piton.get_args()).current_dir(world.path("gone"));
        command.envs(piton.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, stdout, stderr) = run(&["ls"]);
    assert!(code == Some(0) && stdout.contains(&id), "{stdout}{stderr}");
    assert_eq!(run(&["print", &id]).1, "> a\nOne.\n");
    for args in [&["print"][..], &["query", "b"]] {
        let (code, _, stderr) = run(args);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.starts_with("error: cannot use the present directory: "), "{stderr}");
    }
}

#[test]
fn what_was_set_aside_is_mentioned_where_nothing_is_found() {
    let world = World::new();
    damaged(&world);
    assert!(world.run(&["ls"]).stderr.starts_with("warning: the database was damaged"));
    world.check(
        &[&["ls"], &["print"], &["print", "abc"], &["query", "--continue"], &["query", "list"]],
        expect![[r#"
            $ piton ls
            2> No conversations yet. Begin one: piton query "list the files here"
            2> hint: a damaged database lies beside the present one; to bring back what can be read: piton doctor --salvage DIR/home/piton.db.damaged-1
            exit 0
            $ piton print
            2> error: there is no conversation in this directory
            2> hint: piton ls --all shows the conversations of all directories
            2> hint: piton query "list the files here" begins one
            2> hint: a damaged database lies beside the present one; to bring back what can be read: piton doctor --salvage DIR/home/piton.db.damaged-1
            exit 2
            $ piton print abc
            2> error: there is no conversation abc
            2> hint: piton ls --all shows all of them
            2> hint: a damaged database lies beside the present one; to bring back what can be read: piton doctor --salvage DIR/home/piton.db.damaged-1
            exit 2
            $ piton query --continue
            2> hint: a damaged database lies beside the present one; to bring back what can be read: piton doctor --salvage DIR/home/piton.db.damaged-1
            2> There is no conversation to continue.
            2> hint: to begin one: piton query TEXT
            exit 0
            $ piton query list
            (demo model) On it.
            (demo model) Done. This is what the tools gave:

            list_dir:
            ```
            [`.` is empty]
            ```
            2> hint: a damaged database lies beside the present one; to bring back what can be read: piton doctor --salvage DIR/home/piton.db.damaged-1
            2> conversation AAAAAAAAAA (new), turn 1, model demo
            2> The demo model answers: no key, no network, no language model. Choose another with --model.
            2> • list_dir: .
            2> ✓ list_dir: . — [`.` is empty]
            exit 0
        "#]],
    );
    world.check(
        &[&["query", "list"]],
        expect![[r#"
            $ piton query list
            (demo model) On it.
            (demo model) Done. This is what the tools gave:

            list_dir:
            ```
            [`.` is empty]
            ```
            2> conversation AAAAAAAAAA, turn 2, model demo
            2> • list_dir: .
            2> ✓ list_dir: . — [`.` is empty]
            exit 0
        "#]],
    );
}

#[test]
fn a_damaged_conversation_leaves_the_others_to_work_with() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Xylophones."},{"say":"More."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    spoil_entry(&world, "Xylophones");
    let ran = world.run(&["query", "b"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let said = world.shown(&ran);
    assert!(said.contains("its checksum is wrong"), "{said}");
    assert!(said.contains("hint: other conversations still work: piton ls"), "{said}");
    assert!(said.contains("hint: to go on from there: piton fork AAAAAAAAAA --entry"), "{said}");
    let ran = world.run(&["query", "--new", "c", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Xylophones.\n"), "{}", ran.stderr);
    assert_eq!(world.run(&["query", "d"]).stdout, "More.\n");
}

// A draft whose conversation is damaged must not stand in the way of the others.
#[test]
fn a_draft_on_its_way_to_a_damaged_conversation_blocks_nothing() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Xylophones."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    let id = world.only_id();
    world.run(&["query", "kept", "--id", "nil"]);
    let drafts = fs::read_dir(world.path("home/drafts")).unwrap().next().unwrap().unwrap().path();
    let draft = fs::read_dir(drafts).unwrap().next().unwrap().unwrap().path();
    fs::rename(&draft, draft.with_extension(id)).unwrap();
    spoil_entry(&world, "Xylophones");
    let ran = world.run(&["query", "--new", "c", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Xylophones.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("An unsent message is kept: kept\n"), "{}", ran.stderr);
}
