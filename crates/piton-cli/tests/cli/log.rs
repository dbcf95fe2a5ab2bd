//! The log: retries are in it, secrets are not, and a run without trouble makes none.

use std::fs;

use crate::loopback::{CANARY, Loopback, PROVIDERS, refusal, stream};
use crate::world::World;

const BUSY: &str = r#"{"steps":[{"say":"Done.","faults":[
    {"kind":{"fail":"overloaded"},"retry_after_ms":0}]},{"say":"More."}]}"#;

fn log(world: &World) -> String {
    fs::read_to_string(world.path("home/log/piton.log")).unwrap_or_default()
}

// C26
#[test]
fn a_retry_is_in_the_log_with_who_was_asked_why_and_the_wait() {
    let world = World::new();
    let model = world.script(BUSY);
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 0);
    let text = log(&world);
    assert_eq!(text.lines().count(), 1, "{text}");
    let id = world.only_id();
    for part in [
        " WARN piton::noted: the request failed, and is sent again ",
        &format!("conversation={id} turn=1 "),
        "model=\"script/",
        "tries=1 wait=\"0 s\" class=Overloaded ",
        "reason=\"scripted failure: Overloaded\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_run_without_trouble_makes_no_log_and_a_word_says_more_or_less() {
    let world = World::new();
    let run = |level: &str| {
        let mut command = world.command(&["query", "hello", "--model", "demo"]);
        world.ran(command.env("PITON_LOG", level).output().unwrap())
    };
    assert_eq!(run("").code, 0);
    assert!(!world.path("home/log").exists());
    assert_eq!(run("debug").code, 0);
    let text = log(&world);
    assert!(text.contains("a turn began") && text.contains("a request leaves"), "{text}");
    assert!(!text.contains("hello"), "what is said stays in the journal: {text}");
    assert_eq!(run("off").code, 0);
    assert_eq!(log(&world), text);
    let ran = run("dbug");
    let word = "warning: PITON_LOG cannot be dbug: a level is one of off, error, warn, info, debug, trace; did you mean debug?\n";
    assert!(ran.code == 0 && ran.stderr.starts_with(word), "{}", ran.stderr);
}

#[test]
fn what_is_not_recorded_is_not_in_the_log() {
    let world = World::new();
    let model = world.script(BUSY);
    assert_eq!(world.run(&["query", "go", "--model", &model, "--no-persist"]).code, 0);
    assert_eq!(log(&world), "");
}

#[test]
fn no_key_is_in_the_log_at_any_level() {
    let provider = &PROVIDERS[0];
    let world = World::new();
    let said = format!(r#"{{"error":{{"type":"overloaded_error","message":"busy, {CANARY}"}}}}"#);
    let busy = refusal("529 Overloaded\r\nretry-after: 0", &said);
    let server = Loopback::start(vec![busy, stream(provider.yes)]);
    let mut command =
        provider.command(&world, &server, &["query", "go", "--model", provider.model]);
    command.env("PITON_LOG", "trace,hyper=trace,hyper_util=trace,reqwest=trace,h2=trace");
    let ran = world.ran(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = log(&world);
    assert!(text.contains("is sent again") && text.contains("hyper"), "{text}");
    assert!(!text.contains(CANARY), "{text}");
}

#[test]
fn it_is_said_where_the_log_is() {
    let world = World::new();
    let place = world.path("home/log/piton.log");
    let place = place.to_str().unwrap();
    for args in [&["doctor"][..], &["help"]] {
        let ran = world.run(args);
        assert!(ran.stdout.contains(place), "{}", ran.stdout);
    }
}
