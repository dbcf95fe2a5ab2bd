//! What a person sees before saying yes: differences, and long questions page by page.

use std::fs;

use serde_json::json;

use crate::person::Person;
use crate::world::World;

const CHOICES: &str =
    "(y) yes, (a) always, (v) never, (e) edit, (m) done by hand, (n) no, (?) help: ";

/// A turn that makes one call, and a file of so many lines.
fn world(call: &serde_json::Value, lines: usize) -> (World, String) {
    let world = World::new();
    let content: Vec<String> = (1..=lines).map(|number| format!("line {number}\n")).collect();
    fs::write(world.work("a.txt"), content.concat()).unwrap();
    let script = json!({ "steps": [{ "calls": [call] }, { "say": "Done." }] });
    let model = world.script(&script.to_string());
    (world, model)
}

fn write(content: &str) -> serde_json::Value {
    json!({ "tool": "write_file", "arguments": { "path": "a.txt", "content": content } })
}

#[test]
fn an_edit_is_asked_about_with_a_coloured_difference_and_line_numbers() {
    let arguments = json!({ "path": "a.txt", "old": "line 12\n", "new": "twelve\n" });
    let (world, model) = world(&json!({ "tool": "edit_file", "arguments": arguments }), 20);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("\x1b[1mRun edit_file: a.txt?\x1b[0m\r\n");
    person.sees("  changes the file, 1 line lost, 1 line new:\r\n");
    person.sees("\x1b[2m  11 \x1b[0m line 11\r\n");
    person.sees("\x1b[2m  12 \x1b[0m\x1b[31m-line 12\x1b[0m\r\n");
    person.sees("\x1b[2m  12 \x1b[0m\x1b[32m+twelve\x1b[0m\r\n").sees(CHOICES).types("y\n");
    // What was on the screen is not shown again when it is made.
    person.sees("✓ edit_file: a.txt").sees("(+1 −1)\r\n").sees("Done.");
    let (code, screen) = person.leaves();
    assert!(code == 0 && screen.matches("+twelve").count() == 1, "{screen}");
}

#[test]
fn an_edit_that_nobody_was_asked_about_is_shown_when_it_is_made() {
    let (world, model) = world(&write("new\n"), 40);
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), &[("NO_COLOR", "1")]);
    person.sees("✓ write_file: a.txt").sees("   1 -line 1\r\n");
    person.sees("more lines: piton print\r\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    let printed = world.run(&["print"]).stdout;
    assert!(printed.contains("\n  39 -line 39\n  40 -line 40\n   1 +new\n"), "{printed}");
}

#[test]
fn an_overwrite_says_what_is_lost() {
    let (world, model) = world(&write("new\n"), 200);
    let args = ["query", "go", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), &[("NO_COLOR", "1")]);
    person.sees("Run write_file: a.txt?\r\n");
    person.sees("  overwrites the file: replaces 200 lines, 1 line new:\r\n");
    person.sees("   1 -line 1\r\n").sees("-- lines 1 to 21 of 203; ").types("q").sees(CHOICES);
    person.types("n\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(fs::read_to_string(world.work("a.txt")).unwrap().lines().count(), 200);
}

#[test]
fn a_long_question_is_read_page_by_page_and_answered_behind_the_last() {
    let (world, model) = world(&write(""), 20);
    let args = ["query", "go", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (12, 60), &[("NO_COLOR", "1")]);
    person.sees("Run write_file: a.txt?\r\n").sees("   7 -line 7\r\n");
    person.sees("-- lines 1 to 9 of 22; space: on, b: back, q: answer now -- ").types(" ");
    // Nothing that is typed at a page answers the question.
    person.sees("Run write_file: a.txt?\r\n").sees("  16 -line 16\r\n").sees("-- ").types("yb");
    person.sees("   7 -line 7\r\n").sees("-- lines 1 to 9").types("\r");
    person.sees("-- lines 10 to 18 of 22").types(" ");
    person.sees("Run write_file: a.txt?\r\n").sees("  20 -line 20\r\n").sees(CHOICES);
    assert_eq!(fs::read_to_string(world.work("a.txt")).unwrap().lines().count(), 20);
    person.types("more\n").sees("-- lines 1 to 9 of 22").types("q");
    person.sees("  [13 lines not seen; more shows them]\r\n").sees(CHOICES);
    person.types("y\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(fs::read_to_string(world.work("a.txt")).unwrap(), "");
}

#[test]
fn a_page_can_be_left_with_ctrl_c_and_the_question_stays() {
    let (world, model) = world(&write(""), 40);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("q: answer now -- ").types("\x03").sees("[interrupted]");
    assert_eq!(person.leaves().0, 130);
    assert!(world.run(&["print"]).stdout.contains("waiting for input"));
}

// A question that is answered from elsewhere goes away, also while it is read.
#[test]
fn a_page_goes_away_with_its_question() {
    let (world, model) = world(&write(""), 40);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("q: answer now -- ");
    let answered = world.run(&["answer", "no"]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    person.sees("Answered elsewhere").sees("Done.");
    assert_eq!(person.leaves().0, 0);
}

#[test]
fn a_name_with_a_line_end_forges_no_line() {
    let path = "a\n✓ shell: forged — ok";
    let call = json!({ "tool": "write_file", "arguments": { "path": path, "content": "+x\n@@ -1 +1 @@\n(y) yes\n" } });
    let (world, model) = world(&call, 1);
    let args = ["query", "go", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), &[("NO_COLOR", "1")]);
    person.sees(CHOICES).types("y\n").sees("Done.");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    for forged in ["✓ shell", "@@ -1 +1", "(y) yes\r"] {
        assert!(!screen.lines().any(|line| line.trim_start().starts_with(forged)), "{screen}");
    }
}

#[test]
fn a_long_question_of_a_tool_has_pages_too() {
    let lines: Vec<String> = (1..=40).map(|number| format!("point {number}\n")).collect();
    let question = format!("Is this right?\n{}All of it?", lines.concat());
    let (world, model) =
        world(&json!({ "tool": "ask_user", "arguments": { "question": question } }), 1);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person
        .sees("Is this right?\r\n")
        .sees("point 21\r\n")
        .sees("-- lines 1 to 21 of 40; ")
        .types(" ");
    person
        .sees("Is this right?\r\n")
        .sees("point 40\r\n")
        .sees("All of it? (empty line: no answer) ");
    person.types("yes\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert!(world.run(&["print", "--json", "--raw"]).stdout.contains(r#""text":"yes""#));
}

#[test]
fn a_change_that_was_not_asked_about_whole_is_shown_when_it_is_made() {
    let (world, model) = world(&write("new\n"), 40);
    let args = ["query", "go", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), &[("NO_COLOR", "1")]);
    person.sees("-- lines 1 to 21 of ").types("q").sees(CHOICES).types("y\n");
    person.sees("✓ write_file: a.txt").sees("   1 -line 1\r\n").sees("more lines").sees("Done.");
    assert_eq!(person.leaves().0, 0);
}
