//! Answers to a conversation that a live process works on: whoever dies, they count once.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::person::Person;
use crate::world::{Ran, World, lines, lines_of, wait_until};

const PAY: &str = r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"pay"}]},{"say":"Paid."}],
    "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"}]}"#;
const ASKED: &str =
    "(y) yes, (a) always, (v) never, (e) edit, (m) done by hand, (n) no, (?) help: ";
const ELSEWHERE: &str = "Answered elsewhere: ";

/// A process that asks the first of two questions on its terminal.
fn asking() -> (World, Person) {
    let world = World::new();
    let model = world.script(PAY);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees(ASKED);
    (world, person)
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn letters(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.path("home/inbox")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// How many answers the journal has.
fn answered(world: &World) -> usize {
    world.events().iter().filter(|event| event["type"] == "InquiryAnswered").count()
}

/// Another process answers while the one that asks is stopped, until its letter lies there.
fn left_unread(world: &World, person: &Person) -> Child {
    signal(person.pid(), Signal::STOP);
    let child = world.spawn(&["answer", "yes", "--wait", "600"]);
    wait_until(|| letters(world).iter().any(|path| !path.to_string_lossy().contains("half")));
    child
}

fn check_done(run: &Ran) {
    assert_eq!((run.code, run.stdout.as_str()), (0, "Paid.\n"), "{}", run.stderr);
}

// J34, M8: answered from a second terminal, the first one goes on, and asks its next question.
#[test]
fn a_live_process_takes_an_answer_from_elsewhere() {
    let (world, mut person) = asking();
    // Half an answer that is meant for a question which somebody else answers.
    person.types("n");
    let run = world.run(&["answer", "yes", "--continue"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let taken = format!("Process {} has taken it, and goes on with the turn.", person.pid());
    assert!(run.stderr.contains(&taken), "{}", run.stderr);
    person.sees(&format!("{ELSEWHERE}allowed")).sees(ASKED);
    assert_eq!(world.run(&["answer", "no"]).code, 0);
    person.sees(&format!("{ELSEWHERE}refused")).sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(lines_of(&world.work("pay.log")), 1);
    assert_eq!((answered(&world), letters(&world).len()), (2, 0));
    let nothing = world.run(&["answer", "yes"]);
    assert_eq!(nothing.code, 2, "{}", nothing.stderr);
}

// Both answer: the first one counts, and the other one is told.
#[test]
fn an_answer_that_comes_second_is_told_so() {
    let (world, mut person) = asking();
    let child = left_unread(&world, &person);
    // Typed before the letter was written, so the terminal has it first; either may win.
    person.types("n\n");
    signal(person.pid(), Signal::CONT);
    let run = world.finish(child);
    person.sees(ASKED).types("n\n").sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    let paid = lines_of(&world.work("pay.log"));
    match run.code {
        0 => assert_eq!(paid, 1, "{}", run.stderr),
        2 => {
            assert!(run.stderr.contains("already answered by user, refused"), "{}", run.stderr);
            assert_eq!(paid, 0);
        }
        code => panic!("{code}: {}", run.stderr),
    }
    assert_eq!((answered(&world), letters(&world).len()), (2, 0));
}

#[test]
fn a_process_that_waits_for_a_person_is_listed_so() {
    let (world, person) = asking();
    let listed = world.run(&["ls"]).stdout;
    assert!(listed.contains(&format!("running (pid {}), asks", person.pid())), "{listed}");
}

// kill -9 of the process that asks, with a letter that it has not read: who answers records it.
#[test]
fn a_letter_to_a_killed_process_is_recorded_by_who_left_it() {
    let (world, person) = asking();
    let child = left_unread(&world, &person);
    drop(person);
    let run = world.finish(child);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("Answered yes: Run pay?"), "{}", run.stderr);
    assert!(run.stderr.contains("1 more to answer") || run.stderr.contains("to go on"));
    assert_eq!((answered(&world), letters(&world).len()), (1, 0));
    assert_eq!(lines_of(&world.work("pay.log")), 0);
    check_done(&world.run(&["answer", "no", "--continue"]));
    assert_eq!(lines_of(&world.work("pay.log")), 1);
}

// kill -9 of who answers, as soon as the letter lies there: the one that asks takes it.
#[test]
fn a_letter_of_a_killed_process_is_taken() {
    let (world, mut person) = asking();
    let mut child = left_unread(&world, &person);
    child.kill().unwrap();
    child.wait().unwrap();
    signal(person.pid(), Signal::CONT);
    person.sees(&format!("{ELSEWHERE}allowed")).sees(ASKED).types("n\n").sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(lines_of(&world.work("pay.log")), 1);
    assert_eq!((answered(&world), letters(&world).len()), (2, 0));
}

// kill -9 of both: the next process takes it, and once.
#[test]
fn a_letter_survives_both_and_counts_once() {
    let (world, person) = asking();
    let mut child = left_unread(&world, &person);
    drop(person);
    child.kill().unwrap();
    child.wait().unwrap();
    let letter = letters(&world).remove(0);
    let body = fs::read(&letter).unwrap();
    assert_eq!(world.run(&["query", "--continue"]).code, 3, "the other question is open");
    assert_eq!((answered(&world), letters(&world).len()), (1, 0));
    assert_eq!(lines_of(&world.work("pay.log")), 1);
    // It comes back, as if its taker had died before it was taken away.
    fs::write(&letter, body).unwrap();
    check_done(&world.run(&["answer", "no", "--continue"]));
    assert_eq!(lines_of(&world.work("pay.log")), 1);
    assert_eq!((answered(&world), letters(&world).len()), (2, 0));
}

// What is not taken in time is kept, and said to be.
#[test]
fn an_answer_that_nobody_takes_is_kept_and_said_to_be() {
    let (world, mut person) = asking();
    signal(person.pid(), Signal::STOP);
    let run = world.run(&["answer", "yes", "--wait", "0"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    let kept = format!("the answer is kept, but process {} has not taken it", person.pid());
    assert!(run.stderr.contains(&kept), "{}", run.stderr);
    signal(person.pid(), Signal::CONT);
    person.sees(&format!("{ELSEWHERE}allowed")).sees(ASKED).types("n\n").sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(lines_of(&world.work("pay.log")), 1);
}

// J34: what is kept is shown, the same again is waited for again, and another answer replaces it.
#[test]
fn an_answer_that_is_kept_is_shown_and_can_be_replaced() {
    let (world, mut person) = asking();
    signal(person.pid(), Signal::STOP);
    assert_eq!(world.run(&["answer", "yes", "--wait", "0"]).code, 5);
    let shown = world.run(&["answer"]).stderr;
    let kept = "kept, and not taken yet: allowed; another answer replaces it";
    assert_eq!(shown.matches(kept).count(), 1, "{shown}");
    let json = lines(&world.run(&["answer", "--json"]).stdout);
    assert_eq!((&json[0]["kept"], &json[1]["kept"]), (&json!("allowed"), &Value::Null));
    assert!(
        world.run(&["ls"]).stdout.contains(&format!("(pid {}), asks, 1 answer kept", person.pid()))
    );
    assert_eq!(world.rows()[0]["kept_answers"], 1);
    let again = world.run(&["answer", "yes", "--wait", "0"]);
    assert_eq!(again.code, 5, "{}", again.stderr);
    assert!(again.stderr.contains("This answer is kept already: Run pay?"), "{}", again.stderr);
    assert_eq!(letters(&world).len(), 1);
    let other = world.run(&["answer", "no", "--wait", "0"]);
    assert_eq!(other.code, 5, "{}", other.stderr);
    let replaces = "Replaces the answer that was kept: allowed";
    assert!(other.stderr.contains(replaces), "{}", other.stderr);
    assert_eq!(letters(&world).len(), 1);
    signal(person.pid(), Signal::CONT);
    person.sees(&format!("{ELSEWHERE}refused")).sees(ASKED).types("n\n").sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!((answered(&world), letters(&world).len()), (2, 0));
    assert_eq!(lines_of(&world.work("pay.log")), 0);
    assert_eq!(world.rows()[0].get("kept_answers"), None);
}

// J34: also where nobody is left who could take it.
#[test]
fn an_answer_that_outlived_both_can_still_be_replaced() {
    let (world, person) = asking();
    signal(person.pid(), Signal::STOP);
    let always = ["answer", "always", "--scope", "user", "--wait", "0"];
    assert_eq!(world.run(&always).code, 5);
    drop(person);
    let run = world.run(&["answer", "no"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let replaces = "Replaces the answer that was kept: allowed, and from now on everywhere";
    assert!(run.stderr.contains(replaces), "{}", run.stderr);
    assert!(run.stderr.contains("The rule of that answer stays"), "{}", run.stderr);
    assert_eq!((answered(&world), letters(&world).len()), (1, 0));
    let given = world.events().into_iter().find(|event| event["type"] == "InquiryAnswered");
    assert_eq!(given.unwrap()["answer"]["answer"], "deny");
}

// J34, D48: all that is asked is kept, and each is named.
#[test]
fn all_answers_are_kept_at_once() {
    let (world, mut person) = asking();
    signal(person.pid(), Signal::STOP);
    let run = world.run(&["answer", "no", "--all", "--wait", "0"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert_eq!(run.stderr.matches("Kept: Run pay?").count(), 2, "{}", run.stderr);
    assert_eq!(letters(&world).len(), 2);
    signal(person.pid(), Signal::CONT);
    person.sees(&format!("{ELSEWHERE}refused")).sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!((answered(&world), letters(&world).len()), (2, 0));
}

// Who takes an answer and ends at once is named all the same, and there is nothing to go on with.
#[test]
fn a_process_that_ends_with_the_answer_is_named() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"Paid."}],
        "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"}]}"#,
    );
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees(ASKED);
    let pid = person.pid();
    let child = left_unread(&world, &person);
    signal(child.id(), Signal::STOP);
    signal(pid, Signal::CONT);
    person.sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    signal(child.id(), Signal::CONT);
    let run = world.finish(child);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let taken = format!("Process {pid} has taken it, and the turn is over.\n");
    assert!(run.stderr.ends_with(&taken), "{}", run.stderr);
    // Somebody who comes later is told what was answered.
    let late = world.run(&["answer", "no"]);
    assert_eq!(late.code, 2, "{}", late.stderr);
    assert!(late.stderr.contains("answered last, by user, allowed: Run pay?"), "{}", late.stderr);
}

// J34: whose answer is replaced while it is waited for is told so.
#[test]
fn who_waits_for_an_answer_that_is_replaced_is_told_so() {
    let (world, mut person) = asking();
    let child = left_unread(&world, &person);
    assert_eq!(world.run(&["answer", "no", "--wait", "0"]).code, 5);
    let run = world.finish(child);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let told = "taken away before it counted, and another one is kept, refused: Run pay?";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    signal(person.pid(), Signal::CONT);
    person.sees(&format!("{ELSEWHERE}refused")).sees(ASKED).types("n\n").sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!((answered(&world), letters(&world).len()), (2, 0));
}

// J34: who is second is told what counts, and where it came from.
#[test]
fn who_is_second_by_letter_is_told_what_counts() {
    let (world, mut person) = asking();
    let child = left_unread(&world, &person);
    signal(child.id(), Signal::STOP);
    let other = world.run(&["answer", "no", "--wait", "0"]);
    assert_eq!(other.code, 5, "{}", other.stderr);
    signal(person.pid(), Signal::CONT);
    person.sees(&format!("{ELSEWHERE}refused"));
    signal(child.id(), Signal::CONT);
    let run = world.finish(child);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let told = "already answered by user elsewhere, refused: Run pay?";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    person.sees(ASKED).types("n\n").sees("Paid.");
    assert_eq!(person.leaves().0, 0);
}

// D44: for a live process too, the rule is kept first, and counts for its next call.
#[test]
fn always_from_elsewhere_counts_for_the_next_call() {
    let (world, mut person) = asking();
    let run = world.run(&["answer", "always", "--scope", "user"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("From now on: allow pay, everywhere"), "{}", run.stderr);
    person.sees(&format!("{ELSEWHERE}allowed")).sees("Paid.");
    let (code, screen) = person.leaves();
    assert_eq!((code, screen.matches("(?) help: ").count()), (0, 1), "{screen}");
    assert_eq!(lines_of(&world.work("pay.log")), 2);
}

// J65: a secret never lies on a disk, not even for a moment.
#[test]
fn a_secret_is_typed_where_it_is_asked() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let asks = r#"{"questions":[{"id":"pin","text":"PIN?","kind":"secret"}]}"#;
    let line =
        format!("case $(cat) in *answers*fish*) echo open ;; *) echo '{asks}'; exit 75 ;; esac");
    let text =
        format!("[tools.unlock]\ndescription = \"Unlocks.\"\ncommand = \'\'\'{line}\'\'\'\n");
    fs::write(world.path("home/piton.toml"), text).unwrap();
    let model = world.script(r#"{"steps":[{"calls":[{"tool":"unlock"}]},{"say":"Open."}]}"#);
    let args = ["query", "go", "--permissions", "auto", "--model", &model];
    let mut person = Person::starts(&world, &args);
    person.sees("PIN?");
    let run = world.run(&["answer", "swordfish"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("type it where it is asked"), "{}", run.stderr);
    assert_eq!(letters(&world).len(), 0);
    person.types("swordfish\n").sees("Open.");
    assert_eq!(person.leaves().0, 0);
}
