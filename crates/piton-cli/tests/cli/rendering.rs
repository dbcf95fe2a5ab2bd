//! Answers, running commands and ends of turns on a terminal, and where there is none.

use std::fs;

use serde_json::json;

use crate::emulator::screen;
use crate::person::Person;
use crate::world::World;

const ANSWER: &str = "# Title\n\nSome **bold** words, `code` and [a link](http://x.y).\n\n\
    | a | b |\n|---|---|\n| 日本 | 2 |\n\n```rust\nlet x = 1; // one\n```\n- item";

fn answering(answer: &str) -> (World, String) {
    let world = World::new();
    let script = json!({ "steps": [{ "say": answer, "chunk": 7 }] });
    let model = world.script(&script.to_string());
    (world, model)
}

#[test]
fn markdown_is_laid_out_on_a_terminal_and_raw_in_a_pipe() {
    let (world, model) = answering(ANSWER);
    let piped = world.run(&["query", "go", "--model", &model]);
    assert_eq!(piped.stdout, format!("{ANSWER}\n"));
    let mut person = Person::starts(&world, &["query", "--new", "go", "--model", &model]);
    person.sees("\x1b[1m\x1b[4mTitle\x1b[0m\r\n").sees("Some \x1b[1mbold\x1b[0m words");
    person.sees("\x1b[36mcode\x1b[0m and \x1b[4ma link\x1b[0m\x1b[2m (http://x.y)\x1b[0m.\r\n");
    person.sees("日本\x1b[2m │ \x1b[0m2\r\n").sees("\x1b[90m// one\x1b[0m\r\n").sees("- item\r\n");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let mut person = Person::starts(&world, &["print"]);
    person.sees("> go\r\n").sees("\x1b[1m\x1b[4mTitle\x1b[0m\r\n").sees("- item\r\n");
    assert_eq!(person.leaves().0, 0);
}

#[test]
fn nothing_is_coloured_or_drawn_anew_where_that_is_not_wanted() {
    let (world, model) = answering(ANSWER);
    for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")], [("TERM", "")]] {
        let args = ["query", "--new", "go", "--model", &model];
        let mut person = Person::starts_on(&world, &args, (24, 40), &variables);
        person
            .sees("# Title\r\n")
            .sees("Some **bold** words, `code` and a link\r\n(http://x.y).\r\n");
        person.sees("日本 | 2\r\n").sees("```rust\r\nlet x = 1; // one\r\n```\r\n- item\r\n");
        let (code, screen) = person.leaves();
        let theirs = screen.replace("\r\n", "\n");
        assert_eq!(code, 0, "{screen}");
        assert!(!theirs.chars().any(|it| it.is_control() && it != '\n'), "{theirs:?}");
    }
}

#[test]
fn an_interrupted_answer_is_shown_as_far_as_it_came() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"First.\n\nThen **half of it","faults":[{"kind":{"fail":"auth"},"after":3}],"chunk":9}]}"#,
    );
    let person = Person::starts_on(
        &world,
        &["query", "go", "--model", &model],
        (24, 80),
        &[("NO_COLOR", "1")],
    );
    let (_, screen) = person.leaves();
    assert_eq!(screen.matches("First.").count(), 1, "{screen}");
    assert!(screen.contains("First.\r\n\r\nThen **half of it\r\n"), "{screen}");
}

#[test]
fn a_turn_ends_with_what_it_took() {
    let (world, model) = answering("Hello.");
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person
        .sees("Hello.\r\n")
        .sees("\x1b[2m[script:")
        .sees(" · context ")
        .sees(" in, ")
        .sees(" s]\x1b[0m\r\n");
    assert_eq!(person.leaves().0, 0);
    let piped = world.run(&["query", "go"]);
    assert!(!piped.stderr.contains(" s]"), "{}", piped.stderr);
}

#[test]
fn a_new_size_counts_from_the_next_block_on() {
    let world = World::new();
    let words = "word ".repeat(20);
    let script = json!({ "steps": [
        { "say": words, "calls": [{ "tool": "slow" }] }, { "say": words }],
        "tools": [{ "name": "slow", "effect": "read_only", "wait_for": "go", "output": "x" }] });
    let model = world.script(&script.to_string());
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), &[("NO_COLOR", "1")]);
    person.sees(&format!("{}\r\n", "word ".repeat(16).trim_end())).sees("• slow");
    person.resizes(24, 40);
    fs::write(world.work("go"), "").unwrap();
    person.sees("✓ slow").sees(&format!("\n{}\r\n", "word ".repeat(8).trim_end()));
    assert_eq!(person.leaves().0, 0);
}

/// A command that prints some lines and waits for a file.
fn running() -> (World, String) {
    let world = World::new();
    let command = "for i in 1 2 3 4 5; do echo row $i; done; until test -e go; do sleep 0.05; done";
    let calls = json!([{ "tool": "shell", "arguments": { "command": command } }]);
    let script = json!({ "steps": [{ "say": "Running.", "calls": calls }, { "say": "Done." }] });
    let model = world.script(&script.to_string());
    (world, model)
}

#[test]
fn a_running_command_shows_its_time_and_last_lines_and_leaves_nothing_behind() {
    let (world, model) = running();
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 60), &[]);
    person.sees("Running.").sees("row 3").sees("row 4").sees("row 5").sees(" 1 s: shell: for i in");
    fs::write(world.work("go"), "").unwrap();
    person.sees("✓ shell: for i in").sees("Done.");
    let (code, written) = person.leaves();
    assert_eq!(code, 0, "{written}");
    let lines = screen(&written, 60);
    assert!(
        !lines.iter().any(|line| line.trim() == "row 5" || line.contains(" s: shell")),
        "{lines:?}"
    );
    let told: Vec<_> = lines.iter().filter(|line| line.contains("shell: for i")).collect();
    assert_eq!(told.len(), 2, "its start and its end: {lines:?}");
}

// Where nothing can be drawn anew it is said from time to time, each time on a line of its own.
#[test]
fn a_running_command_is_told_of_on_a_plain_terminal() {
    let (world, model) = running();
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), &[("TERM", "dumb")]);
    person.sees("Running.\r\n").sees("• shell: for i in");
    person.sees("\r\n  10 s: shell: for i in").sees(": row 5\r\n");
    fs::write(world.work("go"), "").unwrap();
    person.sees("✓ shell: for i in").sees("Done.");
    let (code, screen) = person.leaves();
    let theirs = screen.replace("\r\n", "\n");
    assert!(code == 0 && !theirs.chars().any(|it| it.is_control() && it != '\n'), "{theirs:?}");
}

#[test]
fn what_still_runs_at_the_end_of_a_turn_is_said_and_not_ticked_off() {
    let world = World::new();
    let arguments = json!({ "command": "sleep 600", "keep": true, "wait_s": 0 });
    let calls = json!([{ "tool": "shell", "arguments": arguments }]);
    let script = json!({ "steps": [{ "calls": calls }, { "say": "Done." }] });
    let model = world.script(&script.to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    let id = world.only_id();
    assert!(ran.stderr.contains("… shell: sleep 600 — still running\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Still running: sleep 600\n"), "{}", ran.stderr);
    let hint = format!("to stop it: piton kill {id}/1.1.0");
    assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
    assert!(!ran.stderr.contains('✓'), "{}", ran.stderr);
    assert!(world.run(&["print"]).stdout.contains("… shell: sleep 600 — left running\n"));
    assert_eq!(world.run(&["kill", "1.1.0"]).code, 0);
}

#[test]
fn what_a_model_thinks_is_dim_and_short() {
    let world = World::new();
    let thoughts = "One.\nTwo.\nThree.\nFour.\nFive.";
    let script = json!({ "steps": [{ "think": thoughts, "say": "Answer." }] });
    let model = world.script(&script.to_string());
    let piped = world.run(&["query", "go", "--model", &model]);
    assert!(piped.stdout == "Answer.\n" && !piped.stderr.contains("One."), "{}", piped.stderr);
    let mut person = Person::starts(&world, &["query", "--new", "go", "--model", &model]);
    person.sees("\x1b[2m\x1b[3mthinking: One.\x1b[0m\r\n").sees("Three.").sees("… 2 more lines");
    person.sees("Answer.\r\n");
    let (code, screen) = person.leaves();
    assert!(code == 0 && screen.matches("thinking: One.").count() == 1, "{screen}");
    assert!(!screen.contains("Four."), "{screen}");
    let mut person = Person::starts(&world, &["print"]);
    person.sees("thinking: One.").sees("Answer.");
    assert_eq!(person.leaves().0, 0);
}

#[test]
fn talk_and_menus_are_broken_between_words_and_commands_are_not() {
    let world = World::new();
    let calls = json!([{ "tool": "shell", "arguments": { "command": "touch a" } }]);
    let model = world.script(&json!({ "steps": [{ "calls": calls }] }).to_string());
    let args = ["query", "go", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 40), &[("NO_COLOR", "1")]);
    person.sees("Run shell: touch a?").sees("(?) help: ").types("q\n");
    let (_, written) = person.leaves();
    let id = world.only_id();
    let lines: Vec<&str> = written.split("\r\n").collect();
    let command = format!("piton query --continue --id {id}");
    assert!(lines.iter().any(|line| line.trim() == command), "{command:?}: {lines:?}");
    for line in lines {
        let is_long = 40 < line.chars().count();
        assert!(!is_long || line.trim().starts_with("piton ") || line.contains('/'), "{line:?}");
        let last = line.split(' ').next_back().unwrap_or_default();
        assert!(!(last.len() == 3 && last.starts_with('(')), "a key without its word: {line:?}");
    }
}
