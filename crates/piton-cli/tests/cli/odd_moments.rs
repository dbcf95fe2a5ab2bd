//! Two processes and one conversation, at odd moments: what each person is told, and what is said once.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::person::Person;
use crate::world::{World, wait_until};

/// A turn that waits for a file, and an answer more.
const WAITS: &str = r#"{"steps":[
    {"say":"Two.","calls":[{"tool":"slow"}]},{"say":"Done."},{"say":"More."}],
    "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;
const WAITING_MENU: &str = "(q) keep them and send nothing, (?) help: ";

/// A person whose process is in the middle of a turn.
fn working() -> (World, Person) {
    let world = World::new();
    let model = world.script(WAITS);
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts(&world, &args);
    person.sees("Two.");
    world.wait_for_events("ToolStarted", 1);
    (world, person)
}

fn go(world: &World) {
    fs::write(world.work("go"), "").unwrap();
}

/// A conversation in which a message waits, and no turn is open.
fn waiting() -> World {
    let (world, person) = working();
    assert_eq!(world.run(&["query", "first", "--queue", "--no-wait"]).code, 0);
    world.wait_for_events("MessageQueued", 1);
    drop(person);
    go(&world);
    wait_until(|| world.run(&["query", "--discard-turn", "--lock-wait", "0"]).code == 0);
    world
}

#[test]
fn a_person_at_work_is_shown_what_others_say_and_not_the_own_message() {
    let (world, mut person) = working();
    assert_eq!(world.run(&["query", "mind the gap", "--steer", "--no-wait"]).code, 0);
    world.wait_for_events("MessageQueued", 1);
    go(&world);
    person.sees("> mind the gap").sees("Done.");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("> go"), "{screen}");
}

// They would restrict nothing: the turn runs already.
#[test]
fn a_message_with_flags_for_a_turn_that_runs_is_refused_and_says_why() {
    let (world, person) = working();
    let ran = world.run(&["query", "carefully", "--queue", "--permissions", "read-only"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("flags count only when a turn begins"), "{}", ran.stderr);
    assert!(ran.stderr.contains("your message is kept"), "{}", ran.stderr);
    go(&world);
    assert_eq!(person.leaves().0, 0);
    assert!(!world.run(&["print"]).stdout.contains("carefully"));
}

#[test]
fn a_list_counts_waiting_messages_also_where_no_turn_is_open() {
    let world = waiting();
    let listed = world.run(&["ls"]).stdout;
    assert!(listed.contains("1 message waits") && !listed.contains(", 1 message"), "{listed}");
}

// A menu holds nothing: the message is said at once, and not again by the next process.
#[test]
fn a_message_beside_a_menu_whose_process_dies_is_said_once() {
    let world = waiting();
    let mut person = Person::starts(&world, &["query", "second"]);
    person.sees(WAITING_MENU);
    let ran = world.run(&["query", "third", "--queue"]);
    let pid = Pid::from_raw(i32::try_from(person.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let printed = world.run(&["print"]).stdout;
    let said = |text| printed.matches(text).count();
    assert_eq!((said("> first"), said("> second"), said("> third")), (1, 0, 1), "{printed}");
    assert!(printed.ends_with("More.\n"), "{printed}");
}
