//! What comes on standard input: along with the message, or as the message.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::person::Person;
use crate::world::{DEADLINE, World};

const ONE: &str = r#"{"steps":[{"say":"One."},{"say":"Two."},{"say":"Three."}]}"#;
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const WAITS: &str = "Waiting for the end of standard input, which is a pipe. If nothing is to be read \
     from there: --no-stdin";

/// A world in whose lines `$M` is a script that answers three times.
fn world() -> World {
    let world = World::new();
    world.script(ONE);
    world
}

/// A line with the script as its model.
fn line(world: &World, line: &str) -> String {
    line.replace("$M", &format!("-m script:{}", world.path("script.json").display()))
}

/// Runs a line that must succeed; returns the parts of all messages, each with its name and text.
fn said(world: &World, written: &str) -> Vec<(String, String)> {
    let ran = world.run_line(&line(world, written));
    assert_eq!(ran.code, 0, "{written}: {}", ran.stderr);
    parts(world)
}

fn parts(world: &World) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parts = world.user_parts();
    parts.iter().map(|part| (text(&part["name"]), text(&part["text"]))).collect()
}

fn typed(text: &str) -> (String, String) {
    (String::new(), text.into())
}

fn piped(text: &str) -> (String, String) {
    ("stdin".into(), text.into())
}

#[test]
fn a_pipe_goes_along_with_the_message() {
    let written = "printf '+a\\n-b\\n' | $PITON query 'review this' $M";
    assert_eq!(said(&world(), written), [typed("review this"), piped("+a\n-b\n")]);
}

#[test]
fn a_file_goes_along_with_the_message_behind_the_files_that_are_named() {
    let world = world();
    fs::write(world.work("a.diff"), "+a\n").unwrap();
    fs::write(world.work("b.txt"), "b").unwrap();
    let parts = said(&world, "$PITON query review -f b.txt $M < a.diff");
    assert_eq!(parts, [typed("review"), ("b.txt".into(), "b".into()), piped("+a\n")]);
}

#[test]
fn a_socket_goes_along_with_the_message() {
    let world = world();
    let (ours, theirs) = UnixStream::pair().unwrap();
    (&ours).write_all(b"from a socket").unwrap();
    drop(ours);
    let model = world.script(ONE);
    let mut command = world.command(&["query", "read", "--model", &model]);
    let ran = world.ran(command.stdin(Stdio::from(OwnedFd::from(theirs))).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(parts(&world), [typed("read"), piped("from a socket")]);
}

#[test]
fn what_has_nothing_in_it_or_is_not_to_be_read_does_not_go_along() {
    for written in [
        "true | $PITON query hello $M",
        "$PITON query hello $M < /dev/null",
        "$PITON query hello $M <&-",
        "$PITON query hello $M < /dev/zero",
        "echo x | $PITON query hello --no-stdin $M",
    ] {
        assert_eq!(said(&world(), written), [typed("hello")], "{written}");
    }
}

#[test]
fn without_a_text_standard_input_is_the_message() {
    let world = world();
    fs::write(world.work("task.md"), "# Task\n\ndo it\n\n").unwrap();
    assert_eq!(said(&world, "$PITON query $M < task.md"), [typed("# Task\n\ndo it")]);
    let again = said(&world, "echo and this | $PITON query");
    assert_eq!(again.last(), Some(&typed("and this")));
    let named = said(&world, "echo and that | $PITON query -");
    assert_eq!(named.last(), Some(&typed("and that")));
}

#[test]
fn without_a_text_and_with_an_empty_input_there_is_nothing_to_say() {
    for written in
        ["true | $PITON query", "printf ' \\n' | $PITON query", "$PITON query </dev/null"]
    {
        let ran = world().run_line(written);
        assert_eq!(ran.code, 2, "{written}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: there is nothing to say\n"), "{}", ran.stderr);
    }
}

#[test]
fn words_need_no_quotes() {
    let world = world();
    assert_eq!(said(&world, "$PITON query fix the bug $M"), [typed("fix the bug")]);
    let ran = world.run_line("$PITON query -p tell me --json -- --why - not");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(parts(&world).last(), Some(&typed("tell me --why - not")));
}

#[test]
fn a_message_is_taken_from_a_file() {
    let world = world();
    fs::write(world.work("p.md"), "From a file.\n").unwrap();
    let parts = said(&world, "echo x | $PITON query --prompt-file p.md $M");
    assert_eq!(parts, [typed("From a file."), piped("x\n")]);
    fs::write(world.work("binary"), [0xff, 0xfe]).unwrap();
    for (written, told) in [
        ("$PITON query --prompt-file none.md", "error: cannot read none.md: No such file"),
        ("$PITON query --prompt-file binary", "error: cannot read binary: invalid utf-8"),
        ("$PITON query x --prompt-file p.md", "error: there are two texts: one in --prompt-file"),
        ("$PITON query - -f - </dev/null", "error: standard input can be read once"),
        ("$PITON query - --no-stdin </dev/null", "error: - stands for standard input, which"),
    ] {
        let ran = world.run_line(written);
        assert_eq!(ran.code, 2, "{written}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(told) && ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
}

#[test]
fn standard_input_is_attached_by_name() {
    let world = world();
    let parts = said(&world, "echo x | $PITON query look -f - $M");
    assert_eq!(parts, [typed("look"), piped("x\n")]);
    let ran = world.run_line("$PITON query look -f - </dev/null");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: standard input is empty\n"), "{}", ran.stderr);
}

#[test]
fn an_image_goes_as_a_file_and_what_is_no_text_is_refused() {
    let world = world();
    fs::write(world.work("a.png"), PNG).unwrap();
    fs::write(world.work("blob"), [0, 159, 146, 150]).unwrap();
    let run = |written: &str| world.run_line(&line(&world, written));
    assert_eq!(run("$PITON query see $M < a.png").code, 0);
    let parts = world.user_parts();
    assert_eq!(
        (&parts[1]["name"], &parts[1]["media_type"]),
        (&json!("stdin"), &json!("image/png"))
    );
    assert_eq!(run("$PITON query $M < a.png").code, 0, "a message can be an image alone");
    let told = "error: stdin cannot be sent: anthropic/opus takes no files of type \
         application/octet-stream";
    for written in ["$PITON query see --new $A < blob", "$PITON query --new $A < blob"] {
        let ran = run(&format!("ANTHROPIC_API_KEY=x; export ANTHROPIC_API_KEY; {written}")
            .replace("$A", "-m anthropic/opus"));
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

#[test]
fn an_input_without_an_end_is_refused_and_the_text_kept() {
    let world = world();
    let ran = world.run_line(&line(&world, "yes | $PITON query look $M"));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("error: standard input is larger than 14.6 MB\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("your message is kept"), "{}", ran.stderr);
    let ran = world.run_line(&line(&world, "yes | $PITON query $M"));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: the message is larger than 2097152 bytes\n"));
}

// What was piped in cannot be read a second time.
#[test]
fn a_message_that_could_not_be_sent_keeps_what_was_piped_in() {
    let world = world();
    let unsent = "echo diff | $PITON query review --model anthropic/opus";
    for _ in 0..2 {
        let ran = world.run_line(unsent);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("your message is kept"), "{}", ran.stderr);
    }
    let drafts = world.run(&["drafts"]).stdout;
    assert!(drafts.ends_with("  review (with stdin)\n"), "{drafts}");
    assert_eq!(drafts.lines().count(), 1, "said twice, it is one message: {drafts}");
    fs::write(world.work("b.txt"), "b").unwrap();
    let parts = said(&world, "$PITON query --draft -f b.txt $M");
    assert_eq!(parts, [typed("review"), ("b.txt".into(), "b".into()), piped("diff\n")]);
    assert_eq!(world.run(&["drafts"]).stdout, "");
}

/// A query whose standard input stays open.
fn begins(world: &World, args: &[&str]) -> Child {
    world.command(args).stdin(Stdio::piped()).spawn().unwrap()
}

/// Reads the talk until a line is there.
fn hears(child: &mut Child, wanted: &str) -> String {
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut heard = String::new();
    while !heard.contains(wanted) {
        assert!(talk.read_line(&mut heard).unwrap() != 0, "no {wanted:?} in {heard}");
    }
    child.stderr = Some(talk.into_inner());
    heard
}

#[test]
fn a_pipe_that_stays_open_is_waited_for_and_that_is_said() {
    let world = world();
    let model = world.script(ONE);
    let mut child = begins(&world, &["query", "look", "--model", &model]);
    hears(&mut child, WAITS);
    child.stdin.take().unwrap().write_all(b"late").unwrap();
    assert_eq!(world.finish(child).code, 0);
    assert_eq!(parts(&world), [typed("look"), piped("late")]);
}

#[test]
fn a_wait_for_standard_input_ends_with_an_interrupt_and_the_text_is_kept() {
    let world = world();
    let model = world.script(ONE);
    let mut child = begins(&world, &["query", "look", "--model", &model]);
    hears(&mut child, WAITS);
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let begun = Instant::now();
    let status = child.wait().unwrap();
    assert!(begun.elapsed() < DEADLINE);
    let mut talk = String::new();
    child.stderr.take().unwrap().read_to_string(&mut talk).unwrap();
    assert_eq!(status.code(), Some(130), "{talk}");
    assert!(talk.contains("your message is kept"), "{talk}");
}

// A parent that leaves a pipe open holds up nobody who has nothing to say.
#[test]
fn what_sends_no_message_reads_nothing() {
    let world = world();
    let script = r#"{"steps":[{"calls":[{"tool":"write_file","arguments":{"path":"a","content":"1"}}]},
        {"say":"Done."}]}"#;
    let model = world.script(script);
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    for (args, code) in [
        (&["query", "--continue"][..], 3),
        (&["query", "-c"], 3),
        (&["answer", "yes", "--continue"], 0),
        (&["query", "--continue"], 0),
        (&["query", "--discard-turn"], 0),
        (&["query", "on", "--no-stdin"], 0),
        (&["ls"], 0),
    ] {
        let mut child = begins(&world, args);
        let open = child.stdin.take();
        let ran = world.finish(child);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("standard input"), "{args:?}: {}", ran.stderr);
        drop(open);
    }
}

#[test]
fn what_is_piped_to_a_query_without_a_message_is_not_passed_over_in_silence() {
    let world = world();
    said(&world, "$PITON query hello $M");
    fs::write(world.work("a"), "a").unwrap();
    let ran = world.run_line("$PITON query --continue < a");
    assert!(ran.stderr.starts_with("Standard input is not read, because"), "{}", ran.stderr);
}

#[test]
fn dash_c_goes_on_and_takes_words() {
    let world = world();
    let failing = r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}"#;
    let model = world.script(failing);
    assert_eq!(world.run(&["query", "go", "-m", &model]).code, 1);
    world.script(ONE);
    let ran = world.run(&["query", "-c", "and", "say", "why"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "One.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("The message is added to the incomplete turn."), "{}", ran.stderr);
    assert_eq!(parts(&world), [typed("go"), typed("and say why")]);
    let ran = world.run(&["query", "-c"]);
    assert!(ran.stderr.contains("There is no incomplete turn to continue."), "{}", ran.stderr);
    let ran = world.run(&["query", "-c", "more"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Two.\n"), "{}", ran.stderr);
}

#[test]
fn help_is_a_command_too() {
    let world = World::new();
    let ran = world.run(&["help", "query"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("Usage: piton query"), "{}", ran.stdout);
    assert!(world.run(&["help"]).stdout.contains("piton <COMMAND>"));
    assert_eq!(world.run(&["help", "nothing"]).code, 2);
}

// Whoever pipes something in is still there to be asked.
#[test]
fn a_person_is_asked_on_the_terminal_while_standard_input_is_a_pipe() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"write_file","arguments":{"path":"a","content":"1"}}]},
        {"say":"Written."}]}"#,
    );
    let command = world.shell(&format!("echo diff | $PITON query go -m {model}"));
    let mut person = Person::starts_command(command);
    person.sees("Run write_file: a?").types("y\n").sees("Written.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(parts(&world), [typed("go"), piped("diff\n")]);
    let command = world.shell(&format!("echo diff | $PITON query -p go -m {model}"));
    let (code, screen) = Person::starts_command(command).leaves();
    assert!(code == 0 && !screen.contains("Run write_file"), "{screen}");
}

// J68: the terminal is found by opening it, whatever the three streams are.
#[test]
fn a_person_is_asked_on_the_terminal_while_no_stream_is_one() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"write_file","arguments":{"path":"a","content":"1"}}]},
        {"say":"Written."}]}"#,
    );
    let line = format!("$PITON query go -m {model} < /dev/null > ../out 2> ../talk");
    let mut person = Person::starts_command(world.shell(&line));
    person.sees("Run write_file: a?").types("y\n");
    let (code, screen) = person.leaves();
    assert_eq!((code, fs::read_to_string(world.path("out")).unwrap().as_str()), (0, "Written.\n"));
    assert!(!screen.contains("Written."), "{screen}");
    assert_eq!(fs::read_to_string(world.work("a")).unwrap(), "1");
    // Nobody has a terminal: nobody is asked, and the turn waits.
    let line = format!("setsid -w $PITON query --new go -m {model}");
    let ran = world.ran(world.shell(&line).env_remove("PITON_NO_INPUT").output().unwrap());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
}

#[test]
fn a_terminal_that_is_read_is_said_to_be() {
    let world = world();
    let model = world.script(ONE);
    let mut person = Person::starts(&world, &["query", "-", "-m", &model]);
    person.sees("Reading from the terminal: Ctrl-D").types("typed here\n").types("\x04");
    person.sees("One.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(parts(&world), [typed("typed here")]);
    let mut person = Person::starts(&world, &["query", "-"]);
    person.sees("Reading from the terminal").types("\x03").sees("[interrupted]");
    assert_eq!(person.leaves().0, 130);
}

#[test]
fn a_regular_file_is_read_from_where_it_stands() {
    let world = world();
    fs::write(world.work("list"), "first\nsecond\n").unwrap();
    let model = world.script(ONE);
    let file = File::open(world.work("list")).unwrap();
    let mut skipped = [0; 6];
    (&file).read_exact(&mut skipped).unwrap();
    let ran =
        world.ran(world.command(&["query", "go", "-m", &model]).stdin(file).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(parts(&world), [typed("go"), piped("second\n")]);
}
