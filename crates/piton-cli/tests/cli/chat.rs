//! `piton` alone on a terminal: a chat by lines.

use std::fs;
use std::io::{Read as _, Write as _};
use std::sync::mpsc;

use pty_process::blocking::{Command, Pty, open};
use rustix::process::{Pid, Signal, kill_process};

use crate::person::Person;
use crate::world::{DEADLINE, World};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const PERMISSION: &str = "(?) help: ";

/// A tool that waits for a file, then answers.
const WAITS: &str = r#"{"steps":[
    {"say":"First.","calls":[{"tool":"slow"}]},
    {"say":"Second."},{"say":"Third."},{"say":"Fourth."}],
    "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;

fn sits_down(world: &World, args: &[&str]) -> Person {
    let mut person = Person::starts(world, args);
    person.sees("Ctrl-D leaves.").sees("> ");
    person
}

#[test]
fn messages_are_turns_of_one_conversation_until_another_is_wanted() {
    let world = World::new();
    fs::write(world.work("notes.txt"), "remember the milk\n").unwrap();
    let mut person = sits_down(&world, &[]);
    person.types("list the files here\r").sees("(new), turn 1, model demo").sees("notes.txt");
    person.sees("[demo").sees("> ").types("what is in notes.txt?\r").sees("remember the milk");
    person.sees("[demo").sees("> ").types("/new\r").sees("The next message begins").sees("> ");
    person.types("find *.txt\r").sees("(new), turn 1").sees("notes.txt").sees("[demo").sees("> ");
    person.types(CTRL_D).sees("is kept; to go on with it: piton -c");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let listed = world.run(&["ls"]).stdout;
    assert_eq!(listed.lines().count(), 3, "{listed}");
}

// K58, K59: what is typed while a turn runs has its turn behind it, in order.
#[test]
fn a_line_that_is_typed_while_a_turn_runs_is_queued() {
    let world = World::new();
    let model = world.script(WAITS);
    let mut person = sits_down(&world, &["--model", &model, "--permissions", "auto"]);
    person.types("go\r").sees("slow").types("one\r").sees("queued: one");
    person.types("two\r").sees("queued: two (2nd in the queue)").types("half");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Second.").sees("> one").sees("Third.").sees("> two").sees("Fourth.");
    // What was not ended is typed on at the prompt.
    person.sees("[script").sees("> half").types("\x15/quit\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let printed = world.run(&["print"]).stdout;
    let said: Vec<&str> = printed.lines().filter(|line| line.starts_with("> ")).collect();
    assert_eq!(said, ["> go", "> one", "> two"], "{printed}");
}

// K58
#[test]
fn the_queue_has_an_end_and_can_be_taken_back() {
    let world = World::new();
    let model = world.script(WAITS);
    let mut person = sits_down(&world, &["--model", &model, "--permissions", "auto"]);
    person.types("go\r").sees("slow");
    for number in 1..=5 {
        person.types(&format!("m{number}\r")).sees(&format!("queued: m{number}"));
    }
    person.types("m6\r").sees("Queue is full");
    person.types("/queue\r").sees("1  next   m1").sees("5  next   m5");
    person.types("/queue drop\r").sees("are taken back");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Second.").sees("[script").sees("> ").types(CTRL_D);
    let (_, screen) = person.leaves();
    assert!(!screen.contains("Third."), "{screen}");
}

// X13: the same changes as `piton queue` makes, while the turn runs.
#[test]
fn messages_that_wait_are_changed_in_a_chat() {
    let world = World::new();
    let model = world.script(WAITS);
    let mut person = sits_down(&world, &["--model", &model, "--permissions", "auto"]);
    person.types("go\r").sees("slow").types("one\r").sees("queued: one");
    person.types("two\r").sees("queued: two");
    person.types("/queue move 2 1\r").sees("Message 2 is number 1 now.");
    person.types("/queue edit 2 better\r").sees("Message 2 is changed.");
    person.types("/queue rm\r").sees("Which one? /queue rm N").sees("1  next   two");
    person.types("/queue move 2\r").sees("Which one? /queue move N M");
    person.types("/queue rm 7\r").sees("there is no message 7 that waits; there are 2");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Second.").sees("> two").sees("Third.").sees("> better").sees("Fourth.");
    person.sees("[script").sees("> ").types("/queue rm\r").sees("No message waits; /queue rm N");
    person.sees("> ").types(CTRL_D);
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn a_message_steers_the_turn_that_runs() {
    let world = World::new();
    let model = world.script(WAITS);
    let mut person = sits_down(&world, &["--model", &model, "--permissions", "auto"]);
    person
        .types("go\r")
        .sees("slow")
        .types("/steer be short\r")
        .sees("goes into the turn: be short");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Second.").sees("[script").sees("> ").types(CTRL_D);
    person.leaves();
    let printed = world.run(&["print"]).stdout;
    let places = ["> go", "> be short", "Second."].map(|line| printed.find(line));
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{printed}");
}

// K60
#[test]
fn what_would_change_the_conversation_waits_and_a_side_question_does_not() {
    let world = World::new();
    let model = world.script(WAITS);
    let mut person = sits_down(&world, &["--model", &model, "--permissions", "auto"]);
    person.types("go\r").sees("slow");
    for command in ["/new", "/model demo", "/mode auto", "/undo", "!ls"] {
        person.types(&format!("{command}\r")).sees("has to wait until the turn is over");
    }
    let before = world.events().len();
    person.types("/btw and?\r").sees("by the way:").sees("Second.");
    assert_eq!(world.events().len(), before);
    fs::write(world.work("go"), "").unwrap();
    person.sees("Second.").sees("[script").sees("> ").types(CTRL_D);
    person.leaves();
    assert!(!world.run(&["print"]).stdout.contains("and?"));
}

// X1
#[test]
fn ctrl_c_stops_the_turn_and_the_next_message_is_added_to_it() {
    let world = World::new();
    let model = world.script(WAITS);
    let mut person = sits_down(&world, &["--model", &model, "--permissions", "auto"]);
    person.types("go\r").sees("slow").types(CTRL_C);
    person.sees("[interrupted]").sees("to go on: /continue").sees("> ");
    person.types("go on, please\r").sees("The message is added to the incomplete turn.");
    person.sees("Second.").sees("[script").sees("> ").types(CTRL_D);
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
}

// X1: the turn of a chat that was killed is offered first.
#[test]
fn an_incomplete_turn_is_offered_before_anything_else() {
    let world = World::new();
    let model = world.script(WAITS);
    let args = ["--model", model.as_str(), "--permissions", "auto"];
    let mut person = sits_down(&world, &args);
    person.types("go\r").sees("slow");
    drop(person);
    fs::write(world.work("go"), "").unwrap();
    let mut person = Person::starts(&world, &[]);
    person.sees("has an incomplete turn.").sees("> go").sees("(y) go on with it").types("y\n");
    person.sees("Second.").sees("> ").types(CTRL_D);
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"First.","calls":[{"tool":"slow"}]},
        {"calls":[{"tool":"write_file","arguments":{"path":"one","content":"1"}}]},{"say":"End."}],
        "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"x"}]}"#,
    );
    let mut person = sits_down(&world, &["--model", &model]);
    person.types("go\r").sees("slow").types("y").sees("> y");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Run write_file: one").sees(PERMISSION).types("n\n").sees("End.");
    person.sees("> y").types("\x15").types(CTRL_D);
    let (_, screen) = person.leaves();
    assert!(!world.work("one").exists(), "{screen}");
}

#[test]
fn a_command_of_the_person_goes_along_with_the_next_message() {
    let world = World::new();
    let mut person = sits_down(&world, &[]);
    person.types("!echo 4711; exit 3\r").sees("4711").sees("[exit status: 3] goes along");
    person.sees("> ").types("list .\r").sees("[demo").sees("> ").types(CTRL_D);
    person.leaves();
    let printed = world.run(&["print", "--json"]).stdout;
    assert!(printed.contains("a command of the user"), "{printed}");
}

#[test]
fn wrong_names_are_told_with_what_is_near() {
    let world = World::new();
    let mut person = sits_down(&world, &[]);
    person.types("/modle\r").sees("There is no command /modle; did you mean /mode").sees("> ");
    person.types("/model antropic\r").sees("anthropic").sees("> ");
    person.types("/mode loud\r").sees("to choose: /mode ask|").sees("> ");
    person.types("/help\r").sees("/btw TEXT").sees("> ").types("/tokens\r").sees("No tokens");
    person.sees("> ").types("/continue\r").sees("There is no conversation to").sees("> ");
    person.types(CTRL_C).sees("Ctrl-D or /quit leaves").sees("> ").types(CTRL_D);
    assert_eq!(person.leaves().0, 0);
}

#[test]
fn another_conversation_is_chosen_from_a_list() {
    let world = World::new();
    world.run(&["query", "list ."]);
    world.run(&["query", "--new", "find *.rs"]);
    let mut person = sits_down(&world, &[]);
    person.types("/resume\r").sees("1  ").sees("find *.rs").sees("2  ").sees("list .");
    person.sees("which one").types("2\n").sees("> list .").sees("> ");
    person.types("list . then list .\r").sees("[demo").sees("> ").types(CTRL_D);
    person.leaves();
    let listed = world.run(&["ls"]).stdout;
    let row = listed.lines().find(|line| line.ends_with("list .")).unwrap();
    assert!(row.contains(" 2 "), "{listed}");
}

// Several lines, history and completion.
#[test]
fn lines_are_edited_remembered_and_completed() {
    let world = World::new();
    fs::write(world.work("sample.txt"), "x\n").unwrap();
    let mut person = sits_down(&world, &[]);
    person
        .types("what is in \\\rsam")
        .sees("sam")
        .types("ple.txt?\r")
        .sees("sample.txt")
        .sees("[demo");
    person.sees("> ").types("/tok\t\r").sees("/tokens").sees("> ");
    person.types("look at @sam\t").sees("@sample.txt").types("\x15");
    person.types("\x1b[A\x1b[A").sees("ple.txt?").types("\x03").sees("> ").types(CTRL_D);
    assert_eq!(person.leaves().0, 0);
    let mut person = sits_down(&world, &[]);
    person.types("\x1b[A").sees("/tokens").types("\x03").sees("> ").types(CTRL_D);
    assert_eq!(person.leaves().0, 0);
}

#[test]
fn a_chat_without_a_terminal_is_told_what_there_is() {
    let world = World::new();
    let ran = world.run(&[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("Usage: piton") && ran.stderr.contains("query"), "{}", ran.stderr);
}

#[test]
fn a_polite_kill_at_the_prompt_leaves_the_terminal_as_it_was() {
    let world = World::new();
    let mut person = sits_down(&world, &[]);
    person.types("half a li").sees("half a li");
    let pid = Pid::from_raw(person.pid().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let (code, screen) = person.leaves();
    assert_eq!(code, 130, "{screen}");
}

fn reads_until(mut terminal: &Pty, text: &str) {
    let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&shown).contains(text) {
        let bytes = terminal.read(&mut piece).unwrap();
        shown.extend(&piece[..bytes]);
    }
}

/// Closes the window of what is run by a line of a shell, in the middle of a turn. It ends then.
fn is_closed(world: &World, line: &str, says: &str) {
    let (terminal, other_end) = open().unwrap();
    let mut shell = world.shell(line);
    shell.env_remove("PITON_NO_INPUT").env("TERM", "xterm");
    let mut child = Command::from(shell).spawn(other_end).unwrap();
    reads_until(&terminal, "/help lists the commands");
    (&terminal).write_all(says.as_bytes()).unwrap();
    reads_until(&terminal, "slow");
    drop(terminal);
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait().unwrap().code()));
    ended.recv_timeout(DEADLINE).expect("it goes on without a terminal");
}

// Also where the signal of a closed window is ignored, as under nohup.
#[test]
fn a_chat_whose_window_is_closed_ends_and_keeps_its_turn() {
    for before in ["", "trap '' HUP;"] {
        let world = World::new();
        let model = world.script(WAITS);
        let line = format!("{before} exec \"$PITON\" --model '{model}' --permissions auto");
        is_closed(&world, &line, "go\r");
        let listed = world.run(&["ls"]).stdout;
        assert!(listed.contains("interrupted"), "{listed}");
        fs::write(world.work("go"), "").unwrap();
        assert_eq!(world.run(&["query", "--continue"]).stdout, "Second.\n");
    }
}

#[test]
fn an_attached_terminal_whose_window_is_closed_ends_and_leaves_the_turn_alone() {
    for before in ["", "trap '' HUP;"] {
        let world = World::new();
        let model = world.script(WAITS);
        let args = ["--model", &model, "--permissions", "auto"];
        let mut holder = sits_down(&world, &args);
        holder.types("go\r").sees("slow");
        is_closed(&world, &format!("{before} exec \"$PITON\" attach"), "");
        fs::write(world.work("go"), "").unwrap();
        holder.sees("Second.").sees("> ").types(CTRL_D);
        assert_eq!(holder.leaves().0, 0);
    }
}
