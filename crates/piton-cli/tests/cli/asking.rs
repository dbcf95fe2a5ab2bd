//! What a person can answer on a terminal beside yes and no: another command, a reason, a rule.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::person::Person;
use crate::world::World;

const ASKED: &str =
    "(y) yes, (a) always, (v) never, (e) edit, (m) done by hand, (n) no, (?) help: ";
/// Which of several commands is never to run is not known.
const CHAIN: &str = "(y) yes, (a) always, (e) edit, (m) done by hand, (n) no, (?) help: ";
/// Nothing that stands can be said of it.
const NO_RULE: &str = "(y) yes, (e) edit, (m) done by hand, (n) no, (?) help: ";
/// Deletes the text in front of the cursor.
const CTRL_U: &str = "\x15";

/// A conversation whose model runs these commands, one after the other, and a person who looks on.
fn running(world: &World, commands: &[&str]) -> Person {
    let call = |command: &&str| json!({ "calls": [{ "tool": "shell", "arguments": { "command": command } }] });
    let mut steps: Vec<_> = commands.iter().map(call).collect();
    steps.push(json!({ "say": "Done." }));
    let model = world.script(&json!({ "steps": steps }).to_string());
    Person::starts(world, &["query", "go", "--model", &model])
}

fn write_settings(world: &World, text: &str) {
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), text).unwrap();
}

fn settings(world: &World) -> String {
    fs::read_to_string(world.path("home/piton.toml")).unwrap_or_default()
}

fn leaves(person: Person, code: i32) -> String {
    let (left, screen) = person.leaves();
    assert_eq!(left, code, "{screen}");
    screen
}

#[test]
fn a_person_changes_the_command_and_that_is_what_runs() {
    let world = World::new();
    let mut person = running(&world, &["touch one"]);
    person
        .sees("Run shell: touch one?")
        .sees(ASKED)
        .types("e\n")
        .sees("run instead")
        .sees("touch one");
    // The old text is there to be changed.
    person.types("\x7f\x7f\x7ftwo\r").sees("shell: touch two").sees("Done.");
    leaves(person, 0);
    assert!(world.work("two").exists() && !world.work("one").exists());
    let raw = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(raw.contains(r#""answer":"changed""#), "{raw}");
    let printed = world.run(&["print"]).stdout;
    assert!(
        printed.contains("shell: touch two (changed from: touch one) — completed"),
        "{printed}"
    );
}

#[test]
fn a_command_is_changed_on_the_line_and_on_a_plain_terminal() {
    for (keys, term) in [("e touch two\n", "xterm"), ("e\ntouch two\n", "dumb")] {
        let world = World::new();
        let model = world.script(
            r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch one"}}]},{"say":"Done."}]}"#,
        );
        let args = ["query", "go", "--model", &model];
        let mut person = Person::starts_on(&world, &args, (24, 80), &[("TERM", term)]);
        person.sees(ASKED).types(keys).sees("Done.");
        leaves(person, 0);
        assert!(world.work("two").exists() && !world.work("one").exists(), "{keys:?}");
    }
}

#[test]
fn a_rule_forbids_what_a_person_made_of_a_command() {
    let world = World::new();
    write_settings(
        &world,
        "[[permissions]]\ntool = \"shell\"\ncommand = \"rm *\"\neffect = \"deny\"\n",
    );
    fs::write(world.work("victim"), "").unwrap();
    let mut person = running(&world, &["touch one"]);
    person
        .sees(ASKED)
        .types("e rm victim\n")
        .sees("rm victim (changed from: touch one) — denied")
        .sees("Done.");
    leaves(person, 0);
    assert!(world.work("victim").exists() && !world.work("one").exists());
    let raw = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(raw.contains("A permission rule forbids shell `rm *`"), "{raw}");
}

#[test]
fn a_text_that_is_left_changes_nothing_and_the_same_text_is_a_yes() {
    let world = World::new();
    let mut person = running(&world, &["touch one"]);
    person.sees(ASKED).types("e\n").sees("run instead").types("\x1b").sees(ASKED);
    person.types("e\n").sees("run instead").types("\r").sees("Done.");
    leaves(person, 0);
    assert!(world.work("one").exists());
    let raw = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(!raw.contains(r#""answer":"changed""#), "{raw}");
}

#[test]
fn a_reason_is_told_to_the_model() {
    let world = World::new();
    let mut person = running(&world, &["touch one"]);
    person.sees(ASKED).types("n not on a Friday, for all I know\n").sees("Done.");
    leaves(person, 0);
    let raw = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(raw.contains("The user says: not on a Friday, for all I know"), "{raw}");
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch one"}}]},{"say":"Done."}]}"#,
    );
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    let no = world.run(&["answer", "no", "--text", "too late", "--continue"]);
    assert_eq!((no.code, no.stdout.as_str()), (0, "Done.\n"), "{}", no.stderr);
    let raw = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(raw.contains("The user says: too late"), "{raw}");
}

#[test]
fn the_command_is_changed_from_the_command_line() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch one"}}]},{"say":"Done."}]}"#,
    );
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    let alone = world.run(&["answer", "edit"]);
    assert!(alone.code == 2 && alone.stderr.contains("edit --text COMMAND"), "{}", alone.stderr);
    let edit = world.run(&["answer", "edit", "--text", "touch two", "--continue"]);
    assert_eq!((edit.code, edit.stdout.as_str()), (0, "Done.\n"), "{}", edit.stderr);
    assert!(world.work("two").exists() && !world.work("one").exists());
}

// D44: the rule is chosen where the question is.
#[test]
fn a_rule_is_made_of_the_first_words_of_a_command() {
    let world = World::new();
    let mut person = running(&world, &["touch -a one", "touch -a two"]);
    person
        .sees(ASKED)
        .types("a\n")
        .sees("(1) exactly this: allow shell `touch -a one`, outside the sandbox (chosen)");
    person.sees("(2) its first words: allow shell `touch *`").sees("(b) back: ").types("2\n");
    person.sees("allow shell `touch *` (chosen)").sees("(b) back: ").types("c\n");
    person.sees("From now on: allow shell `touch *`, in this conversation").sees("Done.");
    let screen = leaves(person, 0);
    assert_eq!(screen.matches("(?) help: ").count(), 1, "{screen}");
    assert!(world.work("one").exists() && world.work("two").exists());
}

// D44
#[test]
fn a_person_writes_the_rule() {
    let world = World::new();
    let mut person = running(&world, &["cp -a a b c", "cp -a d e"]);
    person
        .sees(ASKED)
        .types("a\n")
        .sees("(e) edit the rule")
        .types("e\n")
        .sees("the rule (empty: back): ");
    person.types(&format!("{CTRL_U}mv *\r")).sees("this rule does not allow `cp -a a b c`");
    person.sees("the rule (empty: back): ").types(&format!("{CTRL_U}cp -a *\r"));
    person.sees("allow shell `cp -a *`").sees("(b) back: ").types("p\n");
    person.sees("From now on: allow shell `cp -a *`").sees("Done.");
    let screen = leaves(person, 0);
    assert_eq!(screen.matches("(?) help: ").count(), 1, "{screen}");
    assert!(settings(&world).contains("command = \"cp -a *\""), "{}", settings(&world));
}

// D44: from the command line.
#[test]
fn the_width_of_a_rule_is_chosen_from_the_command_line() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"write_file","arguments":{"path":"src/a","content":"a"}}]},
            {"calls":[{"tool":"write_file","arguments":{"path":"src/b","content":"b"}}]},
            {"calls":[{"tool":"write_file","arguments":{"path":"c","content":"c"}}]},{"say":"Done."}]}"#,
    );
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    let shown = world.run(&["answer"]).stderr;
    assert!(shown.contains("always --width directory: allow write_file on src/**"), "{shown}");
    let always = world.run(&["answer", "always", "--width", "directory", "--continue"]);
    assert_eq!(always.code, 3, "{}", always.stderr);
    assert!(world.work("src/b").exists() && !world.work("c").exists());
    let none = world.run(&["answer", "always", "--width", "first-words"]);
    assert_eq!(none.code, 2, "{}", none.stderr);
}

// Item 6: chains ask for their parts.
#[test]
fn a_chain_says_which_of_its_commands_need_a_yes() {
    let world = World::new();
    write_settings(
        &world,
        "[[permissions]]\ntool = \"shell\"\ncommand = \"touch *\"\neffect = \"allow\"\n",
    );
    let mut person = running(&world, &["touch a && mkdir d", "mkdir d2 && touch d2/b"]);
    person.sees("always would mean: allow shell `mkdir d`, outside the sandbox\r\n");
    person.sees("allowed by a rule: touch a").sees("needs a yes: mkdir d").sees(CHAIN);
    person.types("a\n").sees("(3) its program: allow shell `mkdir *`").types("e\n");
    person
        .sees("the rule (empty: back): ")
        .types(&format!("{CTRL_U}mkdir *\r"))
        .sees("(b) back: ")
        .types("c\n");
    person.sees("Done.");
    let screen = leaves(person, 0);
    assert_eq!(screen.matches("(?) help: ").count(), 1, "{screen}");
    assert!(world.work("d2/b").exists());
}

#[test]
fn a_command_that_no_rule_can_be_made_of_says_why() {
    let world = World::new();
    let mut person = running(&world, &["touch $HOME", "(touch one)"]);
    person.sees("no rule can be kept: the command uses a variable\r\n").sees(NO_RULE).types("n\n");
    person.sees("no rule can be kept: the command has parentheses\r\n");
    person.sees(NO_RULE).types("a\n").sees("no rule can say always of this call: the command has");
    person.sees(NO_RULE).types("y\n").sees("Done.");
    leaves(person, 0);
    assert!(world.work("one").exists());
}

// Never is for this path at first, and as wide as somebody wants it.
#[test]
fn one_path_is_refused_for_good() {
    let world = World::new();
    let write = |path: &str| json!({ "calls": [{ "tool": "write_file", "arguments": { "path": path, "content": "x" } }] });
    let steps = [write("src/a"), write("src/a"), write("src/b"), json!({ "say": "Done." })];
    let model = world.script(&json!({ "steps": steps }).to_string());
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person
        .sees("(v) never")
        .types("v\n")
        .sees("(1) exactly this: deny write_file on src/a (chosen)");
    person.sees("(2) this directory: deny write_file on src/**").sees("(b) back: ").types("p\n");
    person.sees("From now on: deny write_file on src/a").sees("write_file: src/a — denied");
    person.sees("Run write_file: src/b?").types("v\n").sees("(b) back: ").types("2\n");
    person.sees("deny write_file on src/** (chosen)").sees("(b) back: ").types("c\n");
    person.sees("Done.");
    leaves(person, 0);
    assert!(
        settings(&world).contains("path = \"src/a\"\neffect = \"deny\""),
        "{}",
        settings(&world)
    );
    assert!(!world.work("src/a").exists() && !world.work("src/b").exists());
}

/// A call, and an editor that is this script; `$1` is the file.
fn writing(world: &World, call: &serde_json::Value, script: &str) -> Person {
    let editor = world.path("editor");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(world.path("tmp")).unwrap();
    let steps = json!([{ "calls": [call] }, { "say": "Done." }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let mut command = world.command(&["query", "go", "--model", &model]);
    command.env_remove("VISUAL").env("EDITOR", &editor).env("TMPDIR", world.path("tmp"));
    Person::starts_command(command)
}

// What a call writes is changed where files are changed: in an editor.
#[test]
fn the_content_of_a_file_is_changed_in_the_editor() {
    let long = "x\n".repeat(4_000);
    let write = json!({ "tool": "write_file", "arguments": { "path": "a.rs", "content": long } });
    let edit = json!({ "tool": "edit_file", "arguments": { "path": "b", "old": "1", "new": "2" } });
    let text = "*** Begin Patch\n*** Add File: c\n+one\n*** End Patch\n";
    let patch = json!({ "tool": "apply_patch", "arguments": { "patch": text } });
    for (call, script, file, expected) in [
        (&write, r#"case "$1" in *.rs) printf 'one\n\n' > "$1";; esac"#, "a.rs", "one\n\n"),
        (&edit, r#"printf 3 > "$1""#, "b", "03\n"),
        (&patch, r#"sed -i s/+one/+two/ "$1""#, "c", "two\n"),
    ] {
        let world = World::new();
        fs::write(world.work("b"), "01\n").unwrap();
        let mut person = writing(&world, call, script);
        if file == "a.rs" {
            // Longer than the screen, and than what can be changed on a line.
            person.sees("q: answer now -- ").types("q");
        }
        person.sees("(e) edit").sees("help: ").types("e\n").sees("Change what is written in ");
        person.sees("(changed from: ").sees("Done.");
        leaves(person, 0);
        assert_eq!(fs::read_to_string(world.work(file)).unwrap(), expected);
        assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
    }
}

#[test]
fn an_editor_that_changes_nothing_or_fails_leads_back_to_the_question() {
    let write = json!({ "tool": "write_file", "arguments": { "path": "a", "content": "x" } });
    for (script, told) in [
        ("true", "Nothing was changed."),
        (r#": > "$1""#, "Nothing was changed."),
        ("exit 1", "has failed"),
    ] {
        let world = World::new();
        let mut person = writing(&world, &write, script);
        person.sees("help: ").types("e\n").sees(told).sees("Run write_file: a?").sees("help: ");
        person.types("y\n").sees("Done.");
        leaves(person, 0);
        assert_eq!(fs::read_to_string(world.work("a")).unwrap(), "x");
    }
    // What a rule forbids is not written, whoever made it of the call.
    let world = World::new();
    write_settings(
        &world,
        "[[permissions]]\ntool = \"write_file\"\narguments = { content = \"bad\" }\neffect = \"deny\"\n",
    );
    let mut person = writing(&world, &write, r#"printf bad > "$1""#);
    person.sees("help: ").types("e\n").sees("denied").sees("Done.");
    leaves(person, 0);
    assert!(!world.work("a").exists());
}

// Ctrl-C leaves the text, not the turn. At the question itself it stops.
#[test]
fn ctrl_c_in_a_text_or_a_rule_leads_back_to_the_question() {
    let world = World::new();
    let mut person = running(&world, &["touch one"]);
    person.sees(ASKED).types("e\n").sees("run instead").types("x\x03").sees(ASKED);
    person.types("a\n").sees("(b) back: ").types("\x03").sees("Run shell: touch one?").sees(ASKED);
    person.types("v\n").sees("(e) edit the rule").types("e\n").sees("the rule (empty: back): ");
    person.types("\x03").sees(ASKED).types("y\n").sees("Done.");
    leaves(person, 0);
    assert!(world.work("one").exists());
    let world = World::new();
    let mut person = running(&world, &["touch one"]);
    person.sees(ASKED).types("a\n").sees("(b) back: ").types("\x03").sees(ASKED).types("\x03");
    person.sees("[interrupted]");
    leaves(person, 130);
    assert!(!world.work("one").exists());
}

// A question with options takes other words, and nobody has to answer.
#[test]
fn a_question_with_options_is_answered_in_own_words_or_not_at_all() {
    const MENU: &str = "  3  (t) your own answer\r\n  4  (n) no answer\r\nnumber or words: ";
    for (keys, told) in [
        (&["t\n", "\x03", "t\n", "a dark green\n"][..], "a dark green"),
        (&["t a dark green\n"], "a dark green"),
        (&["green\n", "2\n"], "blue"),
        (&["n\n"], "The user declined to answer."),
    ] {
        let world = World::new();
        let ask = r#"{"question":"Which colour?","options":["red","blue"]}"#;
        let model = world.script(&format!(
            r#"{{"steps":[{{"calls":[{{"tool":"ask_user","arguments":{ask}}}]}},{{"say":"Done."}}]}}"#
        ));
        let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
        person.sees(MENU);
        for (place, line) in keys.iter().enumerate() {
            person.types(line);
            match *line {
                "t\n" => drop(person.sees("your own answer (empty: back): ")),
                _ if place + 1 < keys.len() => drop(person.sees(MENU)),
                _ => {}
            }
        }
        person.sees("Done.");
        leaves(person, 0);
        let raw = world.run(&["print", "--json", "--raw"]).stdout;
        assert!(raw.contains(&format!(r#""text":"{told}""#)), "{raw}");
    }
    // From the command line: a word is one of the options, a text is any.
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"ask_user","arguments":{"question":"Which?","options":["red"]}}]},{"say":"Done."}]}"#,
    );
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    let word = world.run(&["answer", "green"]);
    assert!(
        word.code == 2 && word.stderr.contains("red, --text TEXT, --decline"),
        "{}",
        word.stderr
    );
    assert_eq!(world.run(&["answer", "--text", "green", "--continue"]).code, 0);
    let raw = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(raw.contains(r#""text":"green""#), "{raw}");
}

// The same keys everywhere.
#[test]
fn a_menu_explains_itself_and_takes_words_and_numbers() {
    let world = World::new();
    let mut person = running(&world, &["touch one", "touch two"]);
    person
        .sees(ASKED)
        .types("?\n")
        .sees("1  y  yes: it runs, this once")
        .sees("q  leave the question open");
    person.sees(ASKED).types("1\n").sees("Run shell: touch two?").sees(ASKED).types("quit\n");
    person.sees("[interrupted]");
    leaves(person, 130);
    assert!(world.work("one").exists() && !world.work("two").exists());
    let mut person = Person::starts(&world, &["query", "--continue"]);
    person.sees("Run shell: touch two?").sees(ASKED).types("yes\n").sees("Done.");
    leaves(person, 0);
}

// A question of a tool, too: whoever types ahead does not know what will be asked.
#[test]
fn what_was_typed_before_a_question_of_a_tool_does_not_answer_it() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"slow"}]},
            {"calls":[{"tool":"ask_user","arguments":{"question":"Which colour?"}}]},{"say":"Done."}],
            "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#,
    );
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("• slow").types("red\n").sees("red\r\n");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Which colour?").sees("no answer) ").types("blue\n").sees("Done.");
    leaves(person, 0);
    let raw = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(raw.contains(r#""text":"blue""#) && !raw.contains(r#""text":"red""#), "{raw}");
}
