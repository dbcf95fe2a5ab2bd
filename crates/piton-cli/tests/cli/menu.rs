//! Ctrl-C on a terminal: a menu first, then a stop that keeps everything, then away.

use std::fs;

use expect_test::{Expect, expect};
use rustix::process::{Pid, Signal, kill_process};

use crate::person::Person;
use crate::world::{World, wait_until};

const CTRL_C: &str = "\x03";

/// The model has said a word, and says no more.
const STALLS: &str = r#"{"steps":[
    {"say":"Hello there.","chunk":6,"faults":[{"kind":"stall","after":1}]},{"say":"Very well."}]}"#;

/// One tool has ended, the other waits for a file.
const WAITS: &str = r#"{"steps":[
    {"say":"Two.","calls":[{"tool":"fast"},{"tool":"slow"}]},{"say":"Done."}],
    "tools":[{"name":"fast","effect":"read_only","output":"quick"},
             {"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;

const STREAMING_MENU: &str = "(d) discard the turn: ";
const TOOLS_MENU: &str = "(r) stop the tools and ask the model to run them again: ";

/// Somebody who has pressed Ctrl-C while the model was answering.
fn streaming() -> (World, Person) {
    let world = World::new();
    let model = world.script(STALLS);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    world.wait_for_events("ModelPartial", 1);
    person.types(CTRL_C).sees(STREAMING_MENU);
    (world, person)
}

/// Somebody who has pressed Ctrl-C while a tool ran.
fn in_tools() -> (World, Person) {
    let world = World::new();
    let model = world.script(WAITS);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("✓ fast");
    person.types(CTRL_C).sees(TOOLS_MENU);
    (world, person)
}

// J87, J88: nothing is stopped while somebody thinks.
#[test]
fn going_on_changes_nothing() {
    let (world, mut person) = in_tools();
    // An arrow is no escape.
    person.types("\x1b[A").types("c").sees("continue");
    person.types(CTRL_C).sees(TOOLS_MENU);
    // J92
    person.types("\x1b").sees("continue");
    fs::write(world.work("go"), "").unwrap();
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("✓ slow — late"), "{screen}");
    assert!(!world.events().iter().any(|event| event["type"] == "TurnBroke"));
}

#[test]
fn a_menu_goes_away_with_what_it_was_about() {
    let (world, person) = in_tools();
    fs::write(world.work("go"), "").unwrap();
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let (_, rest) = screen.rsplit_once("Done.\r\n").unwrap();
    assert!(rest.lines().count() == 1 && rest.contains(" s]"), "only what the turn took: {screen}");
}

/// Answers the menu with a reply, and looks at the conversation afterwards.
fn replies((world, mut person): (World, Person), reply: &str, expected: Expect) {
    person.types("t").sees("your reply: ").types(&format!("{reply}\r"));
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    world.check(&[&["print"]], expected);
}

// J90
#[test]
fn a_reply_comes_behind_what_was_said_in_the_same_turn() {
    replies(
        streaming(),
        "shorter",
        expect![[r#"
        $ piton print
        > go
        Hello
        [the answer broke off here]
        > shorter
        Hello there.
        2> conversation AAAAAAAAAA: 100 tokens in, 10 out
        exit 0
    "#]],
    );
}

// J88, X12
#[test]
fn an_answer_can_be_stopped_and_kept_or_thrown_away() {
    let (world, mut person) = streaming();
    person.types("s").sees("The turn is closed with what is there.");
    assert_eq!(person.leaves().0, 0);
    assert!(world.run(&["print"]).stdout.contains("Hello"));
    assert_eq!(world.rows()[0]["status"], "");

    let (world, mut person) = streaming();
    person.types("d").sees("The turn is discarded.");
    assert_eq!(person.leaves().0, 0);
    assert!(!world.run(&["print"]).stdout.contains("Hello"));
}

// J88, J89, O8
#[test]
fn tools_are_stopped_and_the_turn_is_left_or_replied_to() {
    let (world, mut person) = in_tools();
    person.types("s");
    let (code, screen) = person.leaves();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("– slow — cancelled"), "{screen}");
    assert_eq!(world.run(&["query", "--continue"]).stdout, "Done.\n");

    replies(
        in_tools(),
        "leave it",
        expect![[r#"
        $ piton print
        > go
        Two.
        ✓ fast — completed
        – slow — cancelled
        > leave it
        Done.
        2> conversation AAAAAAAAAA: 200 tokens in, 20 out
        exit 0
    "#]],
    );
}

// J88: the model is asked for it, so that no call runs twice by itself.
#[test]
fn tools_begin_again_by_the_word_of_the_model() {
    let (world, mut person) = in_tools();
    person.types("r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let starts = world.events().iter().filter(|event| event["type"] == "ToolStarted").count();
    assert_eq!(starts, 2);
    assert!(world.run(&["print"]).stdout.contains("then start them again."));
}

// J87, J92
#[test]
fn a_second_one_stops_and_keeps_everything() {
    let (world, mut person) = in_tools();
    person.types(CTRL_C);
    let (code, screen) = person.leaves();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("✓ fast — quick"), "{screen}");
    assert!(world.events().iter().any(|event| event["type"] == "TurnBroke"));
}

// J87
#[test]
fn a_third_one_leaves_at_once() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell",
            "arguments":{"command":"trap 'touch asked' TERM; touch here; while :; do sleep 0.1; done"}}]}]}"#,
    );
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts(&world, &args);
    wait_until(|| world.work("here").exists());
    person.sees("• shell").types(CTRL_C).sees(TOOLS_MENU).types(CTRL_C);
    wait_until(|| world.work("asked").exists());
    person.types(CTRL_C);
    let (code, screen) = person.leaves();
    assert_eq!(code, 130, "{screen}");
    assert!(!world.events().iter().any(|event| event["type"] == "TurnBroke"));
}

// J90: a reply that is not given after all loses nothing.
#[test]
fn whoever_breaks_off_the_reply_leaves_the_turn_to_be_resumed() {
    let (world, mut person) = streaming();
    person.types("t").sees("your reply: ").types(CTRL_C);
    let (code, screen) = person.leaves();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("hint: the work is kept"), "{screen}");
    assert_eq!(world.rows()[0]["status"], "interrupted (pending LLM response)");
}

// J91
#[test]
fn quitting_leaves_at_once() {
    let world = World::new();
    let model = world.script(WAITS);
    let child = world.spawn(&["query", "go", "--model", &model]);
    world.wait_for_events("ToolFinished", 1);
    kill_process(Pid::from_child(&child), Signal::QUIT).unwrap();
    assert_eq!(world.finish(child).code, 130);
    assert!(!world.events().iter().any(|event| event["type"] == "TurnBroke"));
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.run(&["query", "--continue"]).stdout, "Done.\n");
}
