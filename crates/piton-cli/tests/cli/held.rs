//! A conversation that another process works on: queued and steering messages, and `piton stop`.

use std::fs;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::person::Person;
use crate::world::{World, wait_until};

/// A turn that waits for a file, and two answers more.
const WAITS: &str = r#"{"steps":[
    {"say":"Two.","calls":[{"tool":"fast"},{"tool":"slow"}]},{"say":"Done."},{"say":"More."},{"say":"Most."}],
    "tools":[{"name":"fast","effect":"read_only","append_to":"fast.log","output":"quick"},
             {"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;
const MENU: &str = "(l) look on, (f) first its turn, then the message, (s) steer its turn with the message, (w) wait for it, (k) fork it, (o) other conversation, (q) quit, (?) help: ";

/// A process in the middle of a turn.
fn working() -> (World, Child) {
    let world = World::new();
    let model = world.script(WAITS);
    let child = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
    world.wait_for_events("ToolFinished", 1);
    (world, child)
}

fn go(world: &World) {
    fs::write(world.work("go"), "").unwrap();
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

// J96, J81: the message is performed by the process that holds the conversation.
#[test]
fn a_queued_message_follows_its_own_turn_and_takes_its_exit_code() {
    let (world, holder) = working();
    let queued = world.spawn(&["query", "and then", "--queue"]);
    world.wait_for_events("MessageQueued", 1);
    let listed = world.run(&["ls"]).stdout;
    assert!(listed.contains(", 1 message waits"), "{listed}");
    let printed = world.run(&["print"]).stdout;
    assert!(printed.contains("⏳ Waiting message\n> and then\n"), "{printed}");
    go(&world);
    let ran = world.finish(queued);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "More.\n"), "{}", ran.stderr);
    let held = world.finish(holder);
    assert_eq!(held.code, 0, "{}", held.stderr);
    assert!(held.stdout.ends_with("Done.\nMore.\n"), "{}", held.stdout);
}

#[test]
fn a_retry_of_a_held_conversation_hints_at_what_a_retry_can_do() {
    let (world, child) = working();
    let ran = world.run(&["retry", "--lock-wait", "0"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    for part in ["is held by process", "piton stop ", "piton retry --fork --id ", "--lock-wait"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("--queue"), "{}", ran.stderr);
    go(&world);
    assert_eq!(world.finish(child).code, 0);
}

#[test]
fn a_message_that_nobody_has_taken_yet_is_listed_and_printed() {
    let (world, mut holder) = working();
    signal(&holder, Signal::STOP);
    for said in ["and then", "and more"] {
        assert_eq!(world.run(&["query", said, "--queue", "--no-wait"]).code, 0);
    }
    let listed = world.run(&["ls"]).stdout;
    assert!(listed.contains(", 2 messages left, not taken yet"), "{listed}");
    assert_eq!(world.rows()[0]["untaken_messages"], 2);
    let printed = world.run(&["print"]).stdout;
    let head = format!("\n\n⏳ Message left for process {}, not taken yet\n", holder.id());
    let expected = format!("{head}> and then\n{}> and more\n", &head[1..]);
    assert!(printed.ends_with(&expected), "{printed}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    let printed = world.run(&["print"]).stdout;
    assert!(printed.contains("left for the next process, not taken yet\n> and then"), "{printed}");
    // The next process takes them: they wait like all others then.
    assert_eq!(world.run(&["query", "--discard-turn"]).code, 0);
    let listed = world.run(&["ls"]).stdout;
    assert!(listed.contains("2 messages wait") && !listed.contains("taken yet"), "{listed}");
}

#[test]
fn a_queued_message_need_not_be_waited_for() {
    let (world, holder) = working();
    let ran = world.run(&["query", "and then", "--queue", "--no-wait"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("The message is left for process"), "{}", ran.stderr);
    go(&world);
    assert_eq!(world.finish(holder).code, 0);
    let printed = world.run(&["print"]).stdout;
    assert!(printed.ends_with("> and then\nMore.\n"), "{printed}");
    let next = world.run(&["query", "bye"]);
    assert_eq!(next.stdout, "Most.\n");
    assert!(!next.stderr.contains("unsent"), "{}", next.stderr);
}

#[test]
fn a_steering_message_goes_into_the_turn_that_runs() {
    let (world, holder) = working();
    let steering = world.spawn(&["query", "mind the gap", "--steer"]);
    world.wait_for_events("MessageQueued", 1);
    go(&world);
    let ran = world.finish(steering);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout, "Done.\n");
    assert_eq!(world.finish(holder).code, 0);
    let turns = world.events().iter().filter(|event| event["type"] == "TurnStarted").count();
    assert_eq!(turns, 1);
}

#[test]
fn without_a_holder_a_queued_message_just_runs_and_steering_has_nothing_to_steer() {
    let world = World::new();
    assert_eq!(world.run(&["query", "hello", "--model", "demo"]).code, 0);
    let ran = world.run(&["query", "again", "--queue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = world.run(&["query", "again", "--steer"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("the message steers nothing: no turn is open"), "{}", ran.stderr);
    assert!(ran.stderr.contains("your message is kept"), "{}", ran.stderr);
    let ran = world.run(&["query", "x", "--no-wait"]);
    assert_eq!(ran.code, 2, "it says nothing without --queue or --steer: {}", ran.stderr);
}

// The holder dies: the message is kept behind the turn that it has left.
#[test]
fn a_message_behind_a_killed_process_waits_and_runs_when_the_turn_is_resumed() {
    let (world, mut holder) = working();
    let queued = world.spawn(&["query", "and then", "--queue"]);
    world.wait_for_events("MessageQueued", 1);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let ran = world.finish(queued);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(ran.stderr.contains("Your message waits in conversation"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("--draft"), "{}", ran.stderr);
    go(&world);
    let resumed = world.run(&["query", "--continue"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(resumed.stdout.ends_with("Done.\nMore.\n"), "{}", resumed.stdout);
}

// A letter that nobody has taken is taken by the process that left it, and performed there.
#[test]
fn a_message_for_a_process_that_dies_before_it_looks_is_kept() {
    let (world, mut holder) = working();
    signal(&holder, Signal::STOP);
    let queued = world.spawn(&["query", "and then", "--queue"]);
    wait_until(|| fs::read_dir(world.path("home/inbox")).is_ok_and(|found| 0 < found.count()));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let ran = world.finish(queued);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert_eq!(world.events().iter().filter(|it| it["type"] == "MessageQueued").count(), 1);
}

#[test]
fn a_turn_is_stopped_from_another_terminal() {
    let (world, holder) = working();
    let ran = world.run(&["stop"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("has stopped the turn of conversation"), "{}", ran.stderr);
    let held = world.finish(holder);
    assert_eq!(held.code, 130, "{}", held.stderr);
    let again = world.run(&["stop"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stderr.contains("there is nothing to stop"), "{}", again.stderr);
    go(&world);
    assert_eq!(world.run(&["query", "--continue"]).code, 0);
}

#[test]
fn a_process_that_does_not_react_is_named_and_a_later_turn_is_not_stopped() {
    let (world, mut holder) = working();
    signal(&holder, Signal::STOP);
    let ran = world.run(&["stop", "--wait", "0"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("has not reacted"), "{}", ran.stderr);
    signal(&holder, Signal::CONT);
    go(&world);
    assert!(holder.wait().unwrap().success());
}

// J81
#[test]
fn a_person_looks_on_and_queues() {
    let (world, holder) = working();
    let mut person = Person::starts(&world, &["query", "and then"]);
    person.sees("is held by process").sees(MENU).types("l\n").sees("✓ fast — quick");
    go(&world);
    person.sees("Done.").sees("turn 2").sees("More.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(world.finish(holder).code, 0);

    let (world, holder) = working();
    let mut person = Person::starts(&world, &["query", "and then"]);
    person.sees(MENU).types("f\n").sees("The message is left for process");
    world.wait_for_events("MessageQueued", 1);
    go(&world);
    person.sees("More.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(world.finish(holder).code, 0);
}

/// A conversation in which a message waits, and no turn is open.
fn waiting() -> World {
    let (world, mut holder) = working();
    assert_eq!(world.run(&["query", "first", "--queue", "--no-wait"]).code, 0);
    world.wait_for_events("MessageQueued", 1);
    holder.kill().unwrap();
    holder.wait().unwrap();
    go(&world);
    assert_eq!(world.run(&["query", "--discard-turn"]).code, 0);
    world
}

#[test]
fn a_new_message_goes_behind_those_that_wait_and_says_so() {
    let world = waiting();
    let ran = world.run(&["query", "second"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("it goes first, and yours comes after it"), "{}", ran.stderr);
    let printed = world.run(&["print"]).stdout;
    let (first, second) = (printed.find("> first").unwrap(), printed.find("> second").unwrap());
    assert!(first < second, "{printed}");
}

#[test]
fn messages_that_wait_go_on_with_continue() {
    let world = waiting();
    let ran = world.run(&["query", "--continue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("The message that waits goes now."), "{}", ran.stderr);
    assert!(!world.run(&["ls"]).stdout.contains("waits"));
}

#[test]
fn a_person_decides_about_messages_that_wait() {
    let world = waiting();
    let mut person = Person::starts(&world, &["query", "second"]);
    person.sees("Waiting: first").sees("(q) keep them and send nothing, (?) help: ").types("q\n");
    person.sees("your message is kept");
    assert_eq!(person.leaves().0, 6);
    let mut person = Person::starts(&world, &["query", "second"]);
    person.sees("(q) keep them and send nothing, (?) help: ").types("d\n");
    assert_eq!(person.leaves().0, 0);
    let printed = world.run(&["print"]).stdout;
    assert!(!printed.contains("> first") && printed.contains("> second"), "{printed}");
}

/// An incomplete turn that nobody works on, with a message that waits behind it.
fn waiting_behind() -> World {
    let (world, mut holder) = working();
    assert_eq!(world.run(&["query", "first", "--queue", "--no-wait"]).code, 0);
    world.wait_for_events("MessageQueued", 1);
    holder.kill().unwrap();
    holder.wait().unwrap();
    go(&world);
    world
}

#[test]
fn a_message_that_waits_does_not_go_out_unasked_when_the_turn_before_it_is_discarded() {
    let world = waiting_behind();
    let mut person = Person::starts(&world, &["query", "second"]);
    person.sees("(d) discard it").types("d\n").sees("(q) keep them and send nothing, (?) help: ");
    person.types("q\n").sees("Nothing was changed.").sees("your message is kept");
    assert_eq!(person.leaves().0, 6);
    assert!(world.rows()[0]["status"].as_str().unwrap().contains("interrupted"));
    let mut person = Person::starts(&world, &["query", "second"]);
    person.sees("(d) discard it").types("d\n").sees("(q) keep them and send nothing, (?) help: ");
    person.types("d\n").sees("is discarded");
    assert_eq!(person.leaves().0, 0);
    let printed = world.run(&["print"]).stdout;
    assert!(!printed.contains("> first") && printed.contains("> second"), "{printed}");
}

#[test]
fn a_message_that_goes_first_when_a_turn_is_discarded_is_told() {
    let world = waiting_behind();
    let ran = world.run(&["query", "second", "--discard-turn"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("it goes first, and yours comes after it"), "{}", ran.stderr);
}

const TURN_MENU: &str =
    "(r) resume it, (g) retry it, (d) discard it, (k) fork it, (q) quit, (?) help: ";

#[test]
fn a_menu_holds_nothing_while_a_person_thinks() {
    let world = waiting_behind();
    let mut person = Person::starts(&world, &["query", "second"]);
    person.sees(TURN_MENU);
    wait_until(|| world.rows()[0]["running_pid"].is_null());
    person.types("r\n");
    let (code, screen) = person.leaves();
    assert_eq!((code, screen.contains("moved on")), (0, false), "{screen}");
    let printed = world.run(&["print"]).stdout;
    let (first, second) = (printed.find("> first").unwrap(), printed.find("> second").unwrap());
    assert!(first < second, "{printed}");
}

#[test]
fn a_choice_counts_for_what_was_shown_only() {
    let world = waiting_behind();
    let mut person = Person::starts(&world, &["query", "second"]);
    person.sees(TURN_MENU);
    // Another process has discarded that turn when the choice is made.
    let left = world.run(&["query", "third", "--discard-turn", "--permissions", "read-only"]);
    assert_eq!(left.code, 0, "{}", left.stderr);
    person.types("d\n").sees("(q) keep them").types("f\n").sees("moved on meanwhile");
    assert_eq!(person.leaves().0, 0);
    let printed = world.run(&["print"]).stdout;
    assert!(printed.contains("> third") && printed.contains("> second"), "{printed}");
}

#[test]
fn quitting_the_menu_of_a_held_conversation_is_no_error() {
    let (world, mut holder) = working();
    let mut person = Person::starts(&world, &["query", "and then"]);
    person.sees(MENU).types("q\n").sees("Nothing was sent or changed.").sees("is kept");
    let (code, screen) = person.leaves();
    assert_eq!((code, screen.contains("error")), (130, false), "{screen}");
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn whoever_looks_on_sees_the_whole_question_and_hears_what_comes_next() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"write_file","arguments":{"path":"b","content":"fresh\n"}}]},
                     {"say":"Written."},{"say":"More."}]}"#,
    );
    let mut asked = Person::starts(&world, &["query", "go", "--model", &model]);
    asked.sees("(n) no, (?) help: ");
    let mut person = Person::starts(&world, &["query", "and then"]);
    person.sees(MENU).types("l\n").sees("asks: Run write_file: b?").sees("+fresh");
    person.sees(&format!("hint: to answer it: piton answer --id {}", world.only_id()));
    asked.types("y\n");
    assert_eq!(asked.leaves().0, 0);
    person.sees("Written.").sees("That turn is over. Your message goes as soon as");
    person.sees("turn 2").sees("More.");
    assert_eq!(person.leaves().0, 0);
}

#[test]
fn a_call_in_doubt_without_its_directory_has_one_way_out() {
    let world = World::new();
    for name in ["old", "new"] {
        fs::create_dir(world.path(name)).unwrap();
    }
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"Paid."}],
        "tools":[{"name":"pay","effect":"once","wait_for":"never"}]}"#,
    );
    let mut pays = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
    let mut pays = pays.current_dir(world.path("old")).spawn().unwrap();
    wait_until(|| !world.rows().is_empty());
    let id = world.only_id();
    wait_until(|| world.run(&["print", &id]).stdout.contains("pay — running"));
    pays.kill().unwrap();
    pays.wait().unwrap();
    fs::remove_dir(world.path("old")).unwrap();
    let bind = ["query", "--workspace", "../new", "--id", &id];
    let go_on = ["query", "--continue", "--id", &id];
    let (bound, continued) = (world.run(&bind), world.run(&go_on));
    assert_eq!((bound.code, continued.code), (2, 2), "{}", bound.stderr);
    assert_eq!(bound.stderr, continued.stderr, "the same way out");
    assert!(bound.stderr.contains("mkdir -p"), "{}", bound.stderr);
    // As the hints say.
    fs::create_dir(world.path("old")).unwrap();
    let ran = world.run(&go_on);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Paid.\n"), "{}", ran.stderr);
    assert_eq!(world.run(&bind).code, 0);
}

#[test]
fn a_conversation_without_its_directory_is_bound_to_another_one() {
    let world = World::new();
    fs::create_dir(world.path("old")).unwrap();
    fs::create_dir(world.path("new")).unwrap();
    let begun = world
        .command(&["query", "hello", "--model", "demo"])
        .current_dir(world.path("old"))
        .output();
    assert!(begun.unwrap().status.success());
    fs::remove_dir(world.path("old")).unwrap();
    let id = world.only_id();
    let gone = world.run(&["query", "again", "--id", &id]);
    assert_eq!(gone.code, 2, "{}", gone.stderr);
    assert!(gone.stderr.contains("--workspace DIR"), "{}", gone.stderr);
    assert!(world.run(&["print", &id]).stdout.contains("> hello"));
    let bound = world.run(&["query", "again", "--id", &id, "--workspace", "../new"]);
    assert_eq!(bound.code, 0, "{}", bound.stderr);
    let place = world.path("new");
    let said = format!("works in {} from now on", place.display());
    assert!(bound.stderr.contains(&said), "{}", bound.stderr);
    assert_eq!(world.rows()[0]["workspace"], place.to_str().unwrap());
    let nowhere = world.run(&["query", "--id", &id, "--workspace", "../nowhere"]);
    assert_eq!(nowhere.code, 1, "{}", nowhere.stderr);
}

#[test]
fn a_conversation_without_its_directory_is_answered_and_discarded() {
    let world = World::new();
    fs::create_dir(world.path("old")).unwrap();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"Paid."}],
        "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"}]}"#,
    );
    let mut asks = world.command(&["query", "go", "--model", &model]);
    assert_eq!(asks.current_dir(world.path("old")).output().unwrap().status.code(), Some(3));
    fs::remove_dir(world.path("old")).unwrap();
    let id = world.only_id();
    assert!(world.run(&["print", &id]).stdout.contains("waiting for input"));
    let answered = world.run(&["answer", "yes", "--id", &id]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    let discarded = world.run(&["query", "--discard-turn", "--id", &id]);
    assert_eq!(discarded.code, 0, "{}", discarded.stderr);
    assert_eq!(world.rows()[0]["status"], "");
}

#[test]
fn a_message_is_sent_in_a_fork_in_front_of_an_incomplete_turn() {
    let world = waiting_behind();
    let before = world.only_id();
    let mut person = Person::starts(&world, &["query", "second"]);
    person.sees(TURN_MENU).types("k\n").sees(&format!("is a fork of {before}: no turn"));
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let printed = world.run(&["print"]).stdout;
    assert!(printed.starts_with("> second\n"), "{printed}");
    assert!(world.run(&["print", &before]).stdout.contains("Incomplete turn"));
}
