//! On a real terminal: questions, menus and Ctrl-C.

use std::fs;

use crate::kill::killed;
use crate::person::Person;
use crate::world::{World, lines_of};

const CTRL_C: &str = "\x03";
const PERMISSION: &str =
    "(y) yes, (a) always, (v) never, (e) edit, (m) done by hand, (n) no, (?) help: ";
const MENU: &str = "(r) resume it, (g) retry it, (d) discard it, (k) fork it, (q) quit, (?) help: ";
const MENU_WITH_EDIT: &str = "(r) resume it, (g) retry it, (d) discard it, (e) edit its message, (k) fork it, (q) quit, (?) help: ";
const IN_DOUBT: &str =
    "(r) run it again, (m) it is done, (t) type its result, (n) nobody knows, (?) help: ";
const HELD: &str = "(k) fork it, (o) other conversation, (q) quit,\r\n(?) help: ";

/// Two files to write, one after the other.
const WRITES: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"one","content":"1"}}]},
    {"calls":[{"tool":"write_file","arguments":{"path":"two","content":"2"}}]},
    {"say":"Written."},{"say":"More."}]}"#;
const WAITS: &str = r#"{"steps":[
    {"say":"Two.","calls":[{"tool":"fast"},{"tool":"slow"}]},{"say":"Done."},{"say":"More."}],
    "tools":[{"name":"fast","effect":"read_only","append_to":"fast.log","output":"quick"},
             {"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;

fn writing() -> (World, Person) {
    let world = World::new();
    let model = world.script(WRITES);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("Run write_file: one?").sees(PERMISSION);
    (world, person)
}

/// A turn that waits for permission, because nobody was there to give it.
fn waiting() -> World {
    let world = World::new();
    let model = world.script(WRITES);
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    world
}

/// Checks how it ended, and what the journal shows.
fn check(world: &World, person: Person, code: i32, printed: &[&str]) {
    let (left, screen) = person.leaves();
    assert_eq!(left, code, "{screen}");
    let text = world.run(&["print"]).stdout;
    let mut rest = text.as_str();
    for line in printed {
        let Some(at) = rest.find(line) else { panic!("no {line:?} in {text}") };
        rest = &rest[at + line.len()..];
    }
}

/// Where it is asked which rule to keep: the one for every call, in this conversation.
fn always_every_call(person: &mut Person) {
    person.sees("(2) wide: every call").sees("(c) in this conversation").types("2\n");
    person.sees("wide: every call: allow write_file (chosen)").sees("(c) in this conversation");
    person.types("c\n");
}

// D39
#[test]
fn a_person_permits_each_call() {
    let (world, mut person) = writing();
    person.types("y\n").sees("Run write_file: two?").sees(PERMISSION);
    person.types("perhaps\n").sees(PERMISSION).types("y\n").sees("Written.");
    check(&world, person, 0, &["✓ write_file: one", "✓ write_file: two", "Written."]);
    assert!(world.work("one").exists() && world.work("two").exists());
}

#[test]
fn a_person_permits_a_tool_for_good() {
    let (world, mut person) = writing();
    // Exactly this file comes first, and every call last.
    person.types("a\n").sees("(1) exactly this: allow write_file on one (chosen)");
    always_every_call(&mut person);
    person.sees("From now on: allow write_file, in this conversation").sees("Written.");
    let (code, screen) = person.leaves();
    assert_eq!((code, screen.matches(PERMISSION).count()), (0, 1), "{screen}");
    assert!(world.work("two").exists());
}

#[test]
fn a_person_denies_a_call() {
    let (world, mut person) = writing();
    person.types("n\n").sees("Run write_file: two?").sees(PERMISSION).types("y\n").sees("Written.");
    check(&world, person, 0, &["– write_file: one — denied", "✓ write_file: two"]);
    assert!(!world.work("one").exists() && world.work("two").exists());
}

// Whoever types has seen what they answer. In one write, so that all of it is there before anybody
// reads the first line.
#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[
        {"say":"First.","calls":[{"tool":"slow"}]},
        {"calls":[{"tool":"write_file","arguments":{"path":"one","content":"1"}},
                  {"tool":"write_file","arguments":{"path":"two","content":"2"}},
                  {"tool":"write_file","arguments":{"path":"three","content":"3"}}]},
        {"say":"Second.","calls":[{"tool":"late"}]},
        {"calls":[{"tool":"write_file","arguments":{"path":"four","content":"4"}}]},
        {"say":"Written."}],
        "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"x"},
                 {"name":"late","effect":"read_only","wait_for":"on","output":"x"}]}"#,
    );
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    // The terminal has all of it, and shows so, before there is a question.
    person.sees("First.").types("y\ny\ny\n#").sees("#");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Run write_file: one").sees(PERMISSION).types("n\ny\ny\n");
    person.sees("Run write_file: two").sees(PERMISSION).types("perhaps\nn\n");
    person.sees("Run write_file: three").sees(PERMISSION).types("n\n");
    person.sees("Second.").types("y\n#").sees("#");
    fs::write(world.work("on"), "").unwrap();
    person.sees("Run write_file: four").sees(PERMISSION).types("n\n").sees("Written.");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    for name in ["one", "two", "three", "four"] {
        assert!(!world.work(name).exists(), "{name}: {screen}");
    }
}

// J24
#[test]
fn an_incomplete_turn_is_resumed_from_the_menu_and_the_message_comes_after_it() {
    let world = waiting();
    let mut person = Person::starts(&world, &["query", "hello"]);
    person.sees("has an incomplete turn").sees(MENU).types("r\n");
    person.sees("Run write_file: one?").sees(PERMISSION).types("a\n");
    always_every_call(&mut person);
    person.sees("Written.").sees("More.");
    check(&world, person, 0, &["> go", "Written.", "> hello", "More."]);
}

#[test]
fn an_incomplete_turn_is_discarded_from_the_menu() {
    let world = waiting();
    let mut person = Person::starts(&world, &["query", "hello", "--permissions", "auto"]);
    person.sees(MENU).types("e\n").sees("Not understood: type r, g, d, k or q.");
    person.sees(MENU).types("d\n");
    person.sees("Turn 1 is discarded.").sees("Written.");
    check(&world, person, 0, &["> hello", "Written."]);
    assert!(!world.run(&["print"]).stdout.contains("> go"));
}

#[test]
fn an_incomplete_turn_is_left_alone_and_the_message_is_kept() {
    let world = waiting();
    let before = world.events().len();
    let mut person = Person::starts(&world, &["query", "hello"]);
    person.sees(MENU).types("q\n").sees("Nothing was changed.").sees("your message is kept");
    check(&world, person, 6, &["> go"]);
    assert_eq!(world.events().len(), before);
    let mut person = Person::starts(&world, &["query", "--draft"]);
    person.sees(MENU).types(CTRL_C).sees("[interrupted]").sees("your message is kept");
    check(&world, person, 130, &["> go"]);
    assert_eq!(world.run(&["query", "--discard-turn", "--draft"]).code, 3);
    assert!(world.run(&["print"]).stdout.contains("> hello"));
}

#[test]
fn a_message_without_an_answer_is_edited_from_the_menu() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}"#);
    world.run(&["query", "helo", "--model", &model]);
    world.script(r#"{"steps":[{"say":"Hello to you."}]}"#);
    let mut person = Person::starts(&world, &["query", "again"]);
    person.sees(MENU_WITH_EDIT).types("e\n").sees("The new message").types("hello\n");
    person.sees("Hello to you.");
    check(&world, person, 0, &["> hello", "Hello to you."]);
    let ran = world.run(&["query", "--draft"]);
    assert_eq!(ran.code, 2, "what was typed over is not kept: {}", ran.stderr);
}

#[test]
fn what_a_terminal_would_obey_is_shown_to_the_person() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[
            {"calls":[{"tool":"write_file","arguments":{"path":"\u001b[2Jx","content":"1"}}]},
            {"say":"\u001b]0;title\u0007\u202e\u009bend"}]}"#,
    );
    let plain = [("NO_COLOR", "1")];
    let args = ["query", "go", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), &plain);
    person.sees("Run write_file: ").sees(PERMISSION).types("y\n");
    person.sees("\\x1b]0;title\\x07\\u{202e}\\x9bend");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let theirs = screen.replace("\r\n", "\n");
    let obeyed = |letter: char| letter.is_control() && letter != '\n';
    assert!(!theirs.chars().any(|letter| obeyed(letter) || letter == '\u{202e}'), "{theirs:?}");
    for args in [&["print"][..], &["print", "--json", "--raw"], &["ls"]] {
        let (code, screen) = Person::starts_on(&world, args, (24, 80), &plain).leaves();
        let theirs = screen.replace("\r\n", "\n");
        assert!(code == 0 && !theirs.chars().any(obeyed), "{theirs:?}");
    }
}

// K38
#[test]
fn a_person_sees_a_broken_answer_and_the_new_one_as_they_come() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"Hello world.","chunk":6,"chunk_ms":20,"faults":[{"kind":"cut","after":1}]}]}"#,
    );
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("Hello\r\n").sees("try 1 of 5, next in 1 s").sees("Hello world.");
    assert_eq!(person.leaves().0, 0);
}

// K35, X12, J92: the menu is refused.
#[test]
fn ctrl_c_keeps_what_is_done() {
    let world = World::new();
    let model = world.script(WAITS);
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts(&world, &args);
    person.sees("✓ fast — quick").types(CTRL_C).sees("(s) stop the tools and exit").types(CTRL_C);
    person.sees("[interrupted]").sees("the work is kept");
    check(&world, person, 130, &["✓ fast — completed", "– slow — cancelled"]);
    assert_eq!(world.run(&["query", "--continue"]).stdout, "Done.\n");
    assert_eq!(lines_of(&world.work("fast.log")), 1);
}

#[test]
fn ctrl_c_at_a_question_leaves_it_open() {
    let (world, mut person) = writing();
    person.types(CTRL_C).sees("[interrupted]");
    check(&world, person, 130, &["> go", "write_file: one"]);
    let mut person = Person::starts(&world, &["query", "--continue"]);
    person.sees("Run write_file: one?").sees(PERMISSION).types("a\n");
    always_every_call(&mut person);
    person.sees("Written.");
    check(&world, person, 0, &["> go", "✓ write_file: one", "Written."]);
}

// J33
#[test]
fn a_person_settles_a_call_in_doubt() {
    for (keys, printed, times) in [
        ("r\n", "✓ slow — completed", 1),
        ("m\n", "slow — ", 0),
        ("t\n3 rows\n", "✓ slow — completed", 0),
        ("n\n", "? slow — outcome unknown", 0),
    ] {
        let world = killed("once");
        fs::write(world.work("go"), "").unwrap();
        let mut person = Person::starts(&world, &["query", "--continue"]);
        person.sees(IN_DOUBT).types(keys).sees("All done.");
        check(&world, person, 0, &[printed, "All done."]);
        assert_eq!(lines_of(&world.work("slow.log")), times, "{keys:?}");
    }
}

// J81
#[test]
fn a_held_conversation_is_waited_for_left_for_another_or_given_up() {
    let world = World::new();
    let model = world.script(WAITS);
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut holder = Person::starts(&world, &args);
    holder.sees("✓ fast — quick");
    let mut quits = Person::starts(&world, &["query", "me too"]);
    quits.sees("is held by process").sees(HELD).types("q\n").sees("your message is kept");
    assert_eq!(quits.leaves().0, 130);
    let mut elsewhere = Person::starts(&world, &["query", "me too", "--model", "demo"]);
    elsewhere.sees(HELD).types("x\n").sees(HELD).types("o\n").sees("(new), turn 1");
    assert_eq!(elsewhere.leaves().0, 0);
    assert_eq!(world.rows().len(), 2);
    let id = world.rows().iter().find(|row| row["title"] == "go").unwrap()["conversation"].clone();
    let id = id.as_str().unwrap();
    let mut waits = Person::starts(&world, &["query", "and me", "--id", id]);
    waits.sees(HELD).types("w\n").sees("Waiting for another process");
    fs::write(world.work("go"), "").unwrap();
    holder.sees("Done.");
    assert_eq!(holder.leaves().0, 0);
    waits.sees("More.");
    assert_eq!(waits.leaves().0, 0);
}
