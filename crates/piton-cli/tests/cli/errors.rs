//! What goes wrong says what to do next.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use expect_test::expect;

use crate::world::World;

#[test]
fn what_was_typed_cannot_be_done() {
    let world = World::new();
    world.check(
        &[
            &["query"],
            &["query", "  "],
            &["query", "a", "--continue", "b"],
            &["query", "a", "--model", "anthropic/opus"],
            &["query", "a", "--model", "script:gone.json"],
            &["query", "a", "--id", "abc"],
            &["print"],
            &["query", "a", "--new", "--id", "abc"],
            &["query", "a", "--permissions", "perhaps"],
            &["query", "a", "--max-steps", "-1"],
        ],
        expect![[r#"
            $ piton query
            2> error: there is nothing to say
            2> hint: piton query "list the files here"
            2> hint: to go on with an incomplete turn: piton query --continue
            exit 2
            $ piton query "  "
            2> error: the message is empty
            2> hint: say something, or give - and pipe a text in
            exit 2
            $ piton query a --continue b
            2> error: there are two texts: one for --continue and one beside it
            2> hint: keep one of them
            exit 2
            $ piton query a --model anthropic/opus
            2> error: anthropic needs a key: set ANTHROPIC_API_KEY
            2> hint: piton models shows the providers and what they lack
            2> hint: your message is kept; to send it: piton query --draft
            exit 2
            $ piton query a --model script:gone.json
            2> error: cannot read the script gone.json: No such file or directory (os error 2)
            2> hint: mend the file, or choose another model; piton help sim has its form
            2> hint: your message is kept; to send it: piton query --draft
            exit 2
            $ piton query a --id abc
            2> error: there is no conversation abc
            2> hint: piton ls --all shows all of them
            2> hint: your message is kept; to send it: piton query --draft
            exit 2
            $ piton print
            2> error: there is no conversation in this directory
            2> hint: piton ls --all shows the conversations of all directories
            2> hint: piton query "list the files here" begins one
            exit 2
            $ piton query a --new --id abc
            2> error: the argument '--new' cannot be used with '--id <ID>'
            2>
            2> Usage: piton query --new <TEXT>...
            2>
            2> hint: try --help
            exit 2
            $ piton query a --permissions perhaps
            2> error: invalid value 'perhaps' for '--permissions <MODE>'
            2>   [possible values: ask, accept-edits, auto, read-only, plan]
            2>
            2> hint: try --help
            exit 2
            $ piton query a --max-steps -1
            2> error: invalid value '-1' for '--max-steps <N>': -1 is not in 0..=4294967295
            2>
            2> hint: try --help
            exit 2
        "#]],
    );
    assert!(world.rows().is_empty(), "nothing is left behind");
}

#[test]
fn a_script_that_makes_no_sense() {
    let world = World::new();
    let model = world.script("{\"steps\":1}");
    world.check(&[&["query", "a", "--model", &model]], expect![[r#"
        $ piton query a --model script:DIR/script.json
        2> error: cannot use the script DIR/script.json: not a script: invalid type: integer `1`, expected a sequence at line 1 column 10
        2> hint: mend the file, or choose another model; piton help sim has its form
        2> hint: your message is kept; to send it: piton query --draft
        exit 2
    "#]]);
}

#[test]
fn an_id_that_fits_several_conversations_or_none() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    let id = |world: &World| world.rows()[0]["conversation"].as_str().unwrap().to_owned();
    // Ids are random: go on until two begin with the same letter.
    let mut ids: Vec<String> = Vec::new();
    let (first, second) = loop {
        world.run(&["query", "--new", "a", "--model", &model]);
        let new = id(&world);
        if let Some(old) = ids.iter().find(|old| old[..1] == new[..1]) {
            break (old.clone(), new);
        }
        ids.push(new);
    };
    let ran = world.run(&["print", &first[..1]]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains(&first) && ran.stderr.contains(&second), "{}", ran.stderr);
    let ran = world.run(&["print", &format!("{first}x")]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains(&format!("these are near: {first}")), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: piton ls"), "{}", ran.stderr);
}

#[test]
fn a_workspace_that_is_gone() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    let id = world.only_id();
    fs::rename(world.path("work"), world.path("moved")).unwrap();
    fs::create_dir(world.path("elsewhere")).unwrap();
    let args = ["query", "b", "--id", &id];
    let output = world.command(&args).current_dir(world.path("elsewhere")).output().unwrap();
    let stderr =
        String::from_utf8(output.stderr).unwrap().replace(world.path("").to_str().unwrap(), "DIR/");
    assert_eq!(output.status.code(), Some(2));
    expect![[r#"
        error: the workspace DIR/work cannot be used: No such file or directory (os error 2)
        hint: the conversation works in that directory: bring it back
        hint: to work in another directory: piton query --workspace DIR --id ID "TEXT"
        hint: or begin another one here: piton query --new "TEXT"
        hint: your message is kept; to send it: piton query --draft
    "#]]
    .assert_eq(&stderr);
}

#[test]
fn a_damaged_database_is_set_aside_and_work_goes_on() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(
        world.path("home").join("piton.db"),
        "this is no database, and long enough to tell".repeat(100),
    )
    .unwrap();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    let ran = world.run(&["query", "a", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "One.\n"), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("warning: the database was damaged"), "{}", ran.stderr);
}

#[test]
fn a_database_of_a_newer_piton_is_left_alone() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    let database = world.path("home").join("piton.db");
    let mut bytes = fs::read(&database).unwrap();
    // Where SQLite keeps the number that an application gives its format.
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    fs::write(&database, &bytes).unwrap();
    world.check(
        &[&["query", "b"], &["ls"]],
        expect![[r#"
            $ piton query b
            2> error: DIR/home/piton.db has format 9999, this piton knows up to 3
            2> hint: use the newer piton, or set PITON_HOME to another directory
            2> hint: your message is kept; to send it: piton query --draft
            exit 1
            $ piton ls
            2> error: DIR/home/piton.db has format 9999, this piton knows up to 3
            2> hint: use the newer piton, or set PITON_HOME to another directory
            exit 1
        "#]],
    );
    assert_eq!(fs::read(&database).unwrap(), bytes);
}

#[test]
fn a_home_that_cannot_be_used() {
    let world = World::new();
    fs::write(world.path("home"), "a file").unwrap();
    let ran = world.run(&["query", "a"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn help_and_version_are_data() {
    let world = World::new();
    let ran = world.run(&["--version"]);
    assert_eq!((ran.code, ran.stdout.starts_with("piton ")), (0, true));
    let ran = world.run(&["query", "--help"]);
    assert_eq!((ran.code, ran.stdout.contains("--discard-turn")), (0, true));
    assert_eq!(world.run(&[]).code, 2);
}

// X20
#[test]
fn a_word_that_is_no_text_is_refused_in_a_sentence() {
    let world = World::new();
    for command in ["ls", "nonsense"] {
        let output = world.command(&[command]).arg(OsStr::from_bytes(b"\xff")).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.starts_with("error: ") && !told.contains("panicked"), "{told}");
    }
}

// X20: the same end has the same code, whichever command comes to it.
#[test]
fn what_is_not_there_and_what_need_not_be_done_have_the_same_codes_everywhere() {
    let world = World::new();
    let check = |rows: &str, expected: i32| {
        for row in rows.split('|').map(str::trim) {
            let args: Vec<&str> = row.split(' ').collect();
            let ran = world.run(&args);
            assert_eq!(ran.code, expected, "{row}: {}", ran.stderr);
        }
    };
    // No conversation.
    let of_newest = "fork | rewind | retry | retry --fork | retry --edit x | queue | queue rm 1 |\
         compact | uncompact | export | tokens | print | undo --turn | answer | stop";
    check(of_newest, 2);
    check("doctor --salvage | ls | draft | undo", 0);
    assert_eq!(world.run(&["query", "list .", "--model", "demo"]).code, 0);
    // A name or a number that is not there.
    let by_name = "fork zz | fork --at 9 | fork --before zz | fork --entry 999 | rewind 9 |\
         rewind zz | retry zz | retry zz --fork | retry zz --edit x | retry --id zz |\
         queue rm 1 | queue edit 1 x | queue move 1 2 | queue --id zz | compact zz |\
         uncompact zz | grep --id zz x | export zz | rm zz --yes | archive zz |\
         rename zz title | tokens zz | print zz | print --turns 9 | undo 9 |\
         undo --turn 9 | import zz | import 7 | draft drop zz";
    check(by_name, 2);
    // What was typed makes no sense.
    let misused = "fork --at x | queue rm | queue rm x | grep | grep --regex ( |\
         export --format pdf | rm | archive | rename | rename last |\
         retry --edit x --fork | import";
    check(misused, 2);
    // Nothing has to be done.
    let done = "queue | compact | uncompact | undo --turn | answer | stop | doctor --salvage";
    check(done, 0);
    // What was looked for is nowhere.
    check("grep qqqq", 1);
}
