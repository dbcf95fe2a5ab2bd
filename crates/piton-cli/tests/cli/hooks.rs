//! Hooks of the settings, and how a person is called back to the terminal.

use std::fs;

use crate::person::Person;
use crate::world::{World, lines_of};

const WRITE: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"one","content":"1"}}]},{"say":"Done."}]}"#;
/// What a terminal is sent that shows notifications.
const OVER: &str = "\x07\x1b]9;piton: the turn is over\x07";
const ASKS: &str = "\x07\x1b]9;piton: a question waits for you\x07";

/// Settings, and a script that writes a file.
fn prepare(world: &World, settings: &str) -> String {
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    world.script(WRITE)
}

fn hook(list: &str, line: &str, more: &str) -> String {
    format!("[[hooks.{list}]]\ncommand = '''{line}'''\n{more}\n")
}

fn query(model: &str) -> [&str; 6] {
    ["query", "go", "--permissions", "auto", "--model", model]
}

// Issue 12, item 14
#[test]
fn a_hook_denies_a_write_and_the_model_reads_why() {
    let world = World::new();
    let line = r#"grep -q '"path":"one"' && { echo "one is mine" >&2; exit 2; }"#;
    let model = prepare(&world, &hook("before_tool", line, "tool = \"write_*\""));
    let run = world.run(&query(&model));
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{}", run.stderr);
    assert!(!world.work("one").exists());
    let ended = world.finished("1.1.0");
    assert_eq!(ended["outcome"], "denied");
    let told = "A hook of the user denied this call: one is mine\nIt was not run.";
    assert_eq!(ended["output"]["text"], told);
    let events = world.events();
    let looked = events.iter().find(|event| event["type"] == "CallLocated").expect("a verdict");
    assert_eq!(looked["found"]["hooks"]["denied"], "one is mine");
    assert!(!events.iter().any(|event| event["type"] == "ToolStarted"));
}

#[test]
fn a_person_is_not_asked_about_what_a_hook_denies_and_always_does_not_help() {
    let world = World::new();
    let rule = "[[permissions]]\ntool = \"write_file\"\neffect = \"allow\"\n";
    let model = prepare(&world, &(hook("before_tool", "exit 2", "") + rule));
    for mode in ["ask", "auto"] {
        let run = world.run(&["query", "go", "--permissions", mode, "--model", &model]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(!world.work("one").exists());
    }
}

#[test]
fn a_hook_that_fails_is_told_of_and_the_call_runs() {
    let world = World::new();
    let model = prepare(&world, &hook("before_tool", "echo broken >&2; exit 1", ""));
    let run = world.run(&query(&model));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(world.work("one").exists());
    let warning = "warning: hook `echo broken >&2; exit 1` failed: exit status: 1 (broken); it denied nothing";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
}

#[test]
fn hooks_are_told_what_happens_in_the_workspace_and_get_no_key() {
    let world = World::new();
    let line = r#"cat >> heard; echo "key:$OPENAI_API_KEY" >> keys"#;
    let lists = ["before_tool", "after_tool", "question", "turn_end"];
    // The end of a turn is told last: it does not overtake a slow hook.
    let slow = format!("sleep 0.3; {line}");
    let line = |list: &str| if list == "after_tool" { &*slow } else { line };
    let model = prepare(&world, &lists.map(|list| hook(list, line(list), "")).concat());
    let ask = ["query", "go", "--permissions", "ask", "--model", &model];
    let run = world.command(&ask).env("OPENAI_API_KEY", "sk-secret").output().unwrap();
    assert_eq!(world.ran(run).code, 3, "nobody is there to answer");
    let run = world.run(&["answer", "yes", "--continue"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let heard = fs::read_to_string(world.work("heard")).unwrap();
    let heard = crate::world::lines(&heard);
    let events: Vec<_> = heard.iter().map(|news| news["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["before_tool", "question", "after_tool", "turn_end"]);
    assert_eq!(heard[0]["arguments"]["content"], "1");
    assert_eq!(heard[1]["question"], "Run write_file: one?");
    assert_eq!((&heard[2]["outcome"], &heard[2]["call"]), (&"ok".into(), &"1.1.0".into()));
    assert_eq!(heard[3]["end"], "completed");
    assert_eq!(heard[3]["workspace"].as_str(), world.path("work").to_str());
    assert_eq!(fs::read_to_string(world.work("keys")).unwrap(), "key:\n".repeat(4));
}

// What a repository brings is not run.
#[test]
fn a_repository_brings_no_hooks() {
    let world = World::new();
    let model = prepare(&world, "");
    for place in ["piton.toml", ".piton/piton.toml", ".piton.toml", ".config/piton/piton.toml"] {
        let path = world.work(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, hook("before_tool", "echo ran >> ran; exit 2", "")).unwrap();
    }
    assert_eq!(world.run(&query(&model)).code, 0);
    assert_eq!((world.work("one").exists(), lines_of(&world.work("ran"))), (true, 0));
}

#[test]
fn hooks_that_make_no_sense_are_refused_before_anything_is_done() {
    let world = World::new();
    let model = prepare(&world, &hook("turn_end", "true", "timeout_seconds = 600"));
    let run = world.run(&query(&model));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("timeout_seconds is 1 to 60, not 600"), "{}", run.stderr);
    assert!(run.stderr.contains("piton help hooks"), "{}", run.stderr);
}

/// What a person is shown of a turn with one question.
fn shown(variables: &[(&str, &str)]) -> String {
    let world = World::new();
    let model = world.script(WRITE);
    let args = ["query", "go", "--model", &model];
    let mut person = Person::starts_on(&world, &args, (24, 80), variables);
    person.sees("Run write_file: one?").types("y\n").sees("Done.");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    screen
}

// Issue 12, item 14
#[test]
fn a_terminal_rings_and_notifies_when_a_turn_that_took_long_asks_or_is_over() {
    let screen = shown(&[("PITON_NOTIFY_SECONDS", "0")]);
    assert!(screen.contains(ASKS) && screen.contains(OVER), "{screen:?}");
    let bells = |variables: &[(&str, &str)]| {
        let screen = shown(&[&[("PITON_NOTIFY_SECONDS", "0")], variables].concat());
        assert!(!screen.contains("\x1b]9"), "{screen:?}");
        screen.matches('\x07').count()
    };
    assert_eq!(bells(&[("PITON_NOTIFY", "bell")]), 2);
    assert_eq!(bells(&[("NO_COLOR", "1")]), 2, "a bell has no colour");
    assert_eq!(bells(&[("PITON_NOTIFY", "off")]), 0);
    assert_eq!(bells(&[("TERM", "dumb")]), 0);
}

#[test]
fn a_turn_that_was_short_calls_nobody() {
    let screen = shown(&[]);
    assert!(!screen.contains('\x07'), "{screen:?}");
}
