//! Turns that end: streaming, tools, limits, failures, exit codes.

use std::fs::File;
use std::process::Stdio;

use expect_test::expect;

use crate::world::World;

#[test]
fn the_first_command_works_without_key_or_network() {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hello\n").unwrap();
    world
        .check(&[&["query", "list . then read a.txt"], &["query", "read a.txt"]], expect![[r#"
            $ piton query "list . then read a.txt"
            (demo model) On it.
            (demo model) Done. This is what the tools gave:

            list_dir:
            ```
            a.txt  6 bytes
            ```

            read_file:
            ```
            hello
            ```
            2> conversation AAAAAAAAAA (new), turn 1, model demo
            2> The demo model answers: no key, no network, no language model. Choose another with --model.
            2> • list_dir: .
            2> ✓ list_dir: . — a.txt  6 bytes
            2> • read_file: a.txt
            2> ✓ read_file: a.txt — hello
            exit 0
            $ piton query "read a.txt"
            (demo model) On it.
            (demo model) Done. This is what the tools gave:

            read_file:
            ```
            hello
            ```
            2> conversation AAAAAAAAAA, turn 2, model demo
            2> • read_file: a.txt
            2> ✓ read_file: a.txt — hello
            exit 0
        "#]]);
}

#[test]
fn a_query_goes_on_with_the_newest_conversation_of_its_directory() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."},{"say":"Three."}]}"#);
    world.check(
        &[
            &["query", "a", "--model", &model],
            &["query", "b"],
            &["query", "--new", "c", "--model", &model],
        ],
        expect![[r#"
            $ piton query a --model script:DIR/script.json
            One.
            2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
            exit 0
            $ piton query b
            Two.
            2> conversation AAAAAAAAAA, turn 2, model script:DIR/script.json
            exit 0
            $ piton query --new c --model script:DIR/script.json
            One.
            2> conversation BBBBBBBBBB (new), turn 1, model script:DIR/script.json
            exit 0
        "#]],
    );
    let id = world.run(&["ls", "--json"]).stdout;
    assert_eq!(id.lines().count(), 2);
    let elsewhere = world.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let output = world.command(&["query", "d"]).current_dir(&elsewhere).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("(new), turn 1, model demo"));
}

#[test]
fn text_comes_from_standard_input_when_told_so() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Yes."}]}"#);
    let ran = world.run_with_input(&["query", "-", "--model", &model], "from the pipe\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"));
    assert_eq!(world.rows()[0]["title"], "from the pipe");
}

// D34
#[test]
fn a_streamed_answer_appears_exactly_once() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"think":"hm","say":"The quick brown fox jumps.","chunk":3,"chunk_ms":1}]}"#,
    );
    let ran = world.run(&["query", "go", "--model", &model]);
    assert_eq!(ran.stdout, "The quick brown fox jumps.\n");
}

// K38, X10
#[test]
fn a_retry_is_told_and_a_pipe_gets_the_whole_answer_only() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"Hello world.","chunk":6,"chunk_ms":20,
            "faults":[{"kind":"cut","after":1},{"kind":{"fail":"overloaded"},"retry_after_ms":0},
                      {"kind":"empty"}]}]}"#,
    );
    world.check(
        &[&["query", "go", "--model", &model]],
        expect![[r#"
        $ piton query go --model script:DIR/script.json
        Hello world.
        2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
        2> try 1 of 5, next in 1 s: the stream ended without its end mark after 6 bytes
        2> try 2 of 5, next at once: scripted failure: Overloaded
        2> next try at once, with a note: the answer was empty
        exit 0
    "#]],
    );
}

#[test]
fn every_retry_has_a_number_of_its_own() {
    let world = World::new();
    // Slow enough that what came is recorded, which ends the row of failures.
    let cut = r#"{"kind":"cut","after":2}"#;
    let model = world.script(&format!(
        r#"{{"steps":[{{"say":"Hello world.","chunk":6,"chunk_ms":300,"faults":[{cut},{cut}]}}]}}"#
    ));
    let ran = world.run(&["query", "go", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Hello world.\n"), "{}", ran.stderr);
    for attempt in ["try 1 of 5, next in ", "try 2 of 6, next in "] {
        assert_eq!(ran.stderr.matches(attempt).count(), 1, "{}", ran.stderr);
    }
}

// K61
#[test]
fn text_that_never_became_an_answer_goes_to_the_person() {
    let world = World::new();
    let fails = r#"{"kind":{"fail":"auth"}}"#;
    let model = world.script(&format!(
        r#"{{"steps":[{{"say":"Hello world.","chunk":6,"chunk_ms":20,
            "faults":[{{"kind":"cut","after":1}},{fails}]}}]}}"#
    ));
    world.check(
        &[&["query", "go", "--model", &model]],
        expect![[r#"
            $ piton query go --model script:DIR/script.json
            2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
            2> try 1 of 5, next in 1 s: the stream ended without its end mark after 6 bytes
            2> [the answer broke off; this much came]
            2> Hello
            2> The turn is incomplete: scripted failure: Auth.
            2> hint: see to the key of script, then: piton query --continue --id AAAAAAAAAA
            2> hint: to try with another model: piton query --continue --id AAAAAAAAAA --model MODEL
            2> hint: to begin the turn anew, from its message: piton retry --id AAAAAAAAAA
            2> hint: to discard the turn: piton query --discard-turn --id AAAAAAAAAA
            exit 1
        "#]],
    );
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success_and_costs_no_turn() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#);
    let full = |args: &[&str]| {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let output = world.command(args).stdout(file).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let lost = "could not be written to standard output: No space left on device";
    for args in [
        &["query", "a", "--model", &model][..],
        &["query", "b", "--json"],
        &["print"],
        &["print", "--json", "--raw"],
        &["ls"],
        &["ls", "--json"],
        &["--help"],
    ] {
        let (code, stderr) = full(args);
        assert_eq!((code, stderr.matches(lost).count()), (Some(1), 1), "{args:?}: {stderr}");
        let is_kept = ["query", "print"].contains(&args[0]);
        let hint = is_kept.then(|| format!("to read it: piton print {}\n", world.only_id()));
        assert!(stderr.ends_with(&hint.unwrap_or_default()), "{args:?}: {stderr}");
    }
    let printed = world.run(&["print"]).stdout;
    assert_eq!(printed, "> a\nOne.\n\n> b\nTwo.\n", "both turns are complete");
    assert_eq!(world.rows()[0]["status"], "");
    // Another failure keeps its own code.
    assert_eq!(full(&["query", "--json", ""]).0, Some(2));
}

#[test]
fn a_message_that_is_too_large_is_refused_before_anything_is_begun() {
    let world = World::new();
    let most = 2 * 1024 * 1024;
    let check = |input: String, said: &str| {
        let ran = world.run_with_input(&["query", "-"], &input);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
        assert!(ran.stderr.contains("put it into a file and name the file"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("conversation"), "{}", ran.stderr);
    };
    let long = "error: the message is larger than 2097152 bytes\n";
    check(format!("{}\nand the rest", "a".repeat(most)), long);
    check(format!("a{}", "é".repeat(most / 2)), long);
    let stored = "error: the message takes 12582914 bytes as it is stored, more than 8384512\n";
    check("\x01".repeat(most), stored);
    assert!(!world.path("home").exists());
}

#[test]
fn what_a_terminal_would_obey_is_seen_wherever_it_goes() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"look"}]},{"say":"\u001b[2J\u202ered"}],
          "tools":[{"name":"look","effect":"read_only","output":"\u001b]0;title\u0007\u009b2J"}]}"#,
    );
    let ran = world.run(&["query", "go", "--model", &model]);
    assert_eq!(ran.stdout, "\\x1b[2J\\u{202e}red\n");
    assert!(ran.stderr.contains("✓ look — \\x1b]0;title\\x07\\x9b2J\n"), "{}", ran.stderr);
    // A list is for people, wherever it goes.
    assert_eq!(world.run(&["query", "--new", "list .\x1b[2J"]).code, 0);
    let ran = world.run(&["ls"]);
    assert!(ran.stdout.contains("list .\\x1b[2J\n"), "{}", ran.stdout);
    let ran = world.run(&["print", "\x1b[2J"]);
    assert!(ran.stderr.starts_with("error: there is no conversation \\x1b[2J\n"), "{}", ran.stderr);
}

#[test]
fn failures_that_may_pass_exit_with_5_and_others_with_1() {
    let overloaded = r#"{"kind":{"fail":"overloaded"},"retry_after_ms":0}"#;
    let script = |faults: &str| format!(r#"{{"steps":[{{"say":"x","faults":[{faults}]}}]}}"#);
    let world = World::new();
    let model = world.script(&script(&[overloaded; 5].join(",")));
    world.check(
        &[&["query", "go", "--model", &model]],
        expect![[r#"
            $ piton query go --model script:DIR/script.json
            2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
            2> try 1 of 5, next at once: scripted failure: Overloaded
            2> try 2 of 5, next at once: scripted failure: Overloaded
            2> try 3 of 5, next at once: scripted failure: Overloaded
            2> try 4 of 5, next at once: scripted failure: Overloaded
            2> The turn is incomplete: scripted failure: Overloaded.
            2> hint: to try again: piton query --continue --id AAAAAAAAAA
            2> hint: to try with another model: piton query --continue --id AAAAAAAAAA --model MODEL
            2> hint: to begin the turn anew, from its message: piton retry --id AAAAAAAAAA
            2> hint: to discard the turn: piton query --discard-turn --id AAAAAAAAAA
            exit 5
        "#]],
    );
    let world = World::new();
    let model = world.script(&script(r#"{"kind":{"fail":"auth"}}"#));
    world.check(
        &[&["query", "go", "--model", &model]],
        expect![[r#"
            $ piton query go --model script:DIR/script.json
            2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
            2> The turn is incomplete: scripted failure: Auth.
            2> hint: see to the key of script, then: piton query --continue --id AAAAAAAAAA
            2> hint: to try with another model: piton query --continue --id AAAAAAAAAA --model MODEL
            2> hint: to begin the turn anew, from its message: piton retry --id AAAAAAAAAA
            2> hint: to discard the turn: piton query --discard-turn --id AAAAAAAAAA
            exit 1
        "#]],
    );
    let world = World::new();
    let model = world.script(&script(r#"{"kind":"empty"},{"kind":"empty"}"#));
    world.check(
        &[&["query", "go", "--model", &model]],
        expect![[r#"
            $ piton query go --model script:DIR/script.json
            2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
            2> next try at once, with a note: the answer was empty
            2> The turn is incomplete: the model answered with nothing, twice.
            2> hint: to try again: piton query --continue --id AAAAAAAAAA
            2> hint: to try with another model: piton query --continue --id AAAAAAAAAA --model MODEL
            2> hint: to begin the turn anew, from its message: piton retry --id AAAAAAAAAA
            2> hint: to discard the turn: piton query --discard-turn --id AAAAAAAAAA
            exit 1
        "#]],
    );
}

#[test]
fn a_limit_exits_with_4_and_continuing_grants_a_fresh_allowance() {
    let world = World::new();
    let call = r#"{"say":"Looking.","calls":[{"tool":"look","arguments":{"path":"a.txt"}}]}"#;
    let model = world.script(&format!(
        r#"{{"steps":[{call},{call},{{"say":"Done."}}],
            "tools":[{{"name":"look","effect":"read_only","output":"seen"}}]}}"#
    ));
    world.check(
        &[
            &["query", "go", "--max-steps", "1", "--model", &model],
            &["query", "--continue"],
            &["query", "--continue", "--max-steps", "5"],
        ],
        expect![[r#"
            $ piton query go --max-steps 1 --model script:DIR/script.json
            Looking.
            2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
            2> • look: a.txt
            2> ✓ look: a.txt — seen
            2> The turn is incomplete: 1 step was used. So far the turn took 100 in, 10 out.
            2> hint: to go on with a fresh allowance: piton query --continue --id AAAAAAAAAA
            2> hint: to go on with a higher limit: piton query --continue --id AAAAAAAAAA --max-steps 2
            2> hint: to begin the turn anew, from its message: piton retry --id AAAAAAAAAA
            2> hint: to discard the turn: piton query --discard-turn --id AAAAAAAAAA
            exit 4
            $ piton query --continue
            Looking.
            2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
            2> Resuming. Interrupted (pending follow-up): 1 step was used
            2> • look: a.txt
            2> ✓ look: a.txt — seen
            2> The turn is incomplete: 1 step was used. So far the turn took 200 in, 20 out.
            2> hint: to go on with a fresh allowance: piton query --continue --id AAAAAAAAAA
            2> hint: to go on with a higher limit: piton query --continue --id AAAAAAAAAA --max-steps 2
            2> hint: to begin the turn anew, from its message: piton retry --id AAAAAAAAAA
            2> hint: to discard the turn: piton query --discard-turn --id AAAAAAAAAA
            exit 4
            $ piton query --continue --max-steps 5
            Done.
            2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
            2> Resuming. Interrupted (pending follow-up): 1 step was used
            exit 0
        "#]],
    );
}

// D24, D40
#[test]
fn tool_lines_say_how_each_call_ended() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[
            {"calls":[{"tool":"shell","arguments":{"command":"echo out; exit 3"}},
                      {"tool":"read_file","arguments":{"path":"gone.txt"}},
                      {"tool":"nothing","arguments":{}}]},
            {"calls":[{"tool":"shell","arguments":{"command":"true"}}]},
            {"say":"Done."}]}"#,
    );
    world.check(&[&["query", "go", "--permissions", "auto", "--model", &model]], expect![[r#"
        $ piton query go --permissions auto --model script:DIR/script.json
        Done.
        2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
        2> ✗ nothing — failed: There is no tool nothing. Available: read_file, list_dir, glob, grep, write_fil…
        2> • shell: echo out; exit 3
        2> ✗ read_file: gone.txt — failed: there is no `gone.txt` in the workspace DIR/work: use list_dir or g…
        2> ✗ shell: echo out; exit 3 — exit code 3: out
        2> • shell: true
        2> ✓ shell: true — [exit code 0, no output]
        exit 0
    "#]]);
    world.check(
        &[&["query", "--new", "go", "--permissions", "read-only", "--model", &model]],
        expect![[r#"
            $ piton query --new go --permissions read-only --model script:DIR/script.json
            Done.
            2> conversation BBBBBBBBBB (new), turn 1, model script:DIR/script.json
            2> – shell: echo out; exit 3 — denied
            2> ✗ nothing — failed: There is no tool nothing. Available: read_file, list_dir, glob, grep, write_fil…
            2> ✗ read_file: gone.txt — failed: there is no `gone.txt` in the workspace DIR/work: use list_dir or g…
            2> – shell: true — denied
            exit 0
        "#]],
    );
}

#[test]
fn nobody_reading_the_answer_does_not_cost_the_turn() {
    let world = World::new();
    let model =
        world.script(r#"{"steps":[{"say":"A long answer in pieces.","chunk":2,"chunk_ms":2}]}"#);
    let mut child = world.spawn(&["query", "go", "--model", &model]);
    drop(child.stdout.take());
    let ran = world.finish(child);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(world.rows()[0]["status"], "");
    let closed = world.command(&["ls"]).stdout(Stdio::null()).status().unwrap();
    assert!(closed.success());
}

// J84
#[test]
fn what_is_not_to_be_recorded_leaves_no_trace() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#);
    world.check(
        &[&["query", "a", "--no-persist", "--model", &model]],
        expect![[r#"
        $ piton query a --no-persist --model script:DIR/script.json
        One.
        2> conversation AAAAAAAAAA (not recorded), turn 1, model script:DIR/script.json
        exit 0
    "#]],
    );
    assert!(!world.path("home").exists());
    world.run(&["query", "a", "--model", &model]);
    let before = world.rows();
    world.check(
        &[&["query", "b", "--no-persist"]],
        expect![[r#"
        $ piton query b --no-persist
        Two.
        2> conversation BBBBBBBBBB (not recorded), turn 2, model script:DIR/script.json
        exit 0
    "#]],
    );
    assert_eq!(world.rows(), before);
}
