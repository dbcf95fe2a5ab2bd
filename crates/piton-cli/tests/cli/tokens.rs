//! `piton tokens`, and windows: how much fits into a request (X24, D7 to D12).

use std::fs;

use piton_sim::script::Script;
use piton_sim::serve::{Options, Server};

use crate::world::{Ran, World, lines};

/// Serves these steps to a model of ollama whose window the settings name.
fn world(window_tokens: u64) -> World {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let settings = format!("[providers.ollama]\nwindow_tokens = {window_tokens}\n");
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    world
}

fn serve(script: &str) -> Server {
    Server::with(Script::parse(script).unwrap(), Options::default()).unwrap()
}

fn query(world: &World, server: &Server, args: &[&str]) -> Ran {
    let mut command = world.command(&[&["query", "--model", "ollama/own"], args].concat());
    command.envs(server.variables()).env("NO_PROXY", "127.0.0.1");
    world.ran(command.output().unwrap())
}

fn row(shown: &str, name: &str) -> String {
    let found = shown.lines().find_map(|line| line.trim_start().strip_prefix(name));
    found.unwrap_or_else(|| panic!("{name}: {shown}")).trim().to_owned()
}

// Every row of the table, and the same as data.
#[test]
fn the_size_of_the_next_request_is_shown_by_part() {
    let world = world(200_000);
    let server = serve(r#"{"steps":[{"say":"Hello."}]}"#);
    let ran = query(&world, &server, &["hi"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    let ran = world.run(&["tokens"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert_eq!(row(&ran.stdout, "model"), "ollama/own");
    assert_eq!(row(&ran.stdout, "window"), "200000 (setting)");
    assert_eq!(row(&ran.stdout, "budget"), "190000; room is made above 171000");
    let number = |name: &str| row(&ran.stdout, name).parse::<u64>().unwrap();
    assert!(500 < number("prompt") && 500 < number("tools"), "{}", ran.stdout);
    assert_eq!((number("summary"), number("outputs")), (0, 0));
    assert!(number("prompt") + number("tools") < number("next request"), "{}", ran.stdout);
    let ran = world.run(&["tokens", "--json"]);
    let line = &lines(&ran.stdout)[0];
    assert_eq!((&line["type"], &line["tokens"]["window"]), (&"tokens".into(), &200_000.into()));
    assert_eq!(line["tokens"]["window_from"], "setting");
    assert_eq!(line["tokens"]["parts"]["prompt"], number("prompt"));
}

#[test]
fn without_a_known_window_there_is_a_usual_budget_and_a_setting_lowers_it() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Hello."},{"say":"Again."}]}"#);
    world.run(&["query", "hi", "--model", &model]);
    let shown = world.run(&["tokens"]).stdout;
    assert_eq!(row(&shown, "window"), "not known");
    assert_eq!(row(&shown, "budget"), "180000; room is made above 162000");
    fs::write(world.path("home/piton.toml"), "[context]\ntokens_max = 50000\n").unwrap();
    let ran = world.run(&["query", "-c", "again"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    let shown = world.run(&["tokens"]).stdout;
    assert_eq!(row(&shown, "budget"), "50000; room is made above 45000");
}

#[test]
fn nothing_is_shown_where_there_is_no_conversation() {
    let ran = World::new().run(&["tokens"]);
    assert_ne!(ran.code, 0);
    assert_eq!(ran.stdout, "");
}

// Bad input: a window of 4,096 tokens. A clear word, nothing lost, no request.
#[test]
fn a_window_of_4096_tokens_is_named_with_its_numbers_and_nothing_is_sent() {
    let world = world(4_096);
    let server = serve(r#"{"steps":[{"say":"Hello."}]}"#);
    let ran = query(&world, &server, &["hi there"]);
    assert_eq!(ran.code, 4, "{}", world.shown(&ran));
    assert!(ran.stderr.contains("the model takes 4096 tokens"), "{}", ran.stderr);
    assert!(ran.stderr.contains("your message 2"), "{}", ran.stderr);
    let events = world.events();
    assert!(!events.iter().any(|event| event["type"] == "ModelAsked"));
    assert!(events.iter().any(|event| event["type"] == "UserMessage"), "nothing is lost");
}

// K44: what a provider says when it refuses is kept, and shown.
#[test]
fn a_window_that_a_provider_names_in_its_refusal_is_learned() {
    let world = World::new();
    let long = "many words about the pond and its lilies ".repeat(60);
    let say = format!(r#"{{"say":"{long}"}},"#);
    let fault = r#"{"say":"Done.","faults":[{"kind":{"fail":"context_overflow"}}]}"#;
    let server = serve(&format!(r#"{{"steps":[{}{fault}]}}"#, say.repeat(6)));
    let ask = |text: &str| {
        let mut command = world.command(&["query", "-c", text, "--model", "anthropic/own"]);
        command.envs(server.variables()).env("NO_PROXY", "127.0.0.1");
        world.ran(command.env("ANTHROPIC_API_KEY", "key").output().unwrap())
    };
    for turn in 1..=7 {
        let ran = ask(&format!("question {turn}"));
        assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    }
    let events = world.events();
    let learned = events.iter().find(|event| event["type"] == "WindowLearned").unwrap();
    assert_eq!(learned["tokens"], 200_000);
    let sizes: Vec<u64> = events
        .iter()
        .filter(|event| event["type"] == "ModelAsked")
        .map(|event| event["tokens_estimated"].as_u64().unwrap())
        .collect();
    let [.., refused, next] = sizes[..] else { panic!("{sizes:?}") };
    assert!(next * 10 <= refused * 8, "{sizes:?}");
    let shown = world.run(&["tokens"]).stdout;
    assert_eq!(row(&shown, "window"), "200000 (learned)");
}

// Must show 3, with the real binary over HTTP: a long turn on a small window.
#[test]
fn a_long_turn_goes_on_in_a_small_window_over_http() {
    let world = world(16_384);
    fs::write(world.work("long.txt"), "a line of a long file\n".repeat(190)).unwrap();
    let read = r#"{"calls":[{"tool":"read_file","arguments":{"path":"long.txt"}}]},"#;
    let script = format!(r#"{{"steps":[{}{{"say":"Read."}}]}}"#, read.repeat(70));
    let server = serve(&script);
    let ran = query(&world, &server, &["read it again and again"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    let events = world.events();
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("ModelAsked"), count("ModelFailed"), count("ToolFinished")), (71, 0, 70));
    assert!(0 < count("SummaryLaid"), "{}", count("SummaryLaid"));
    let sizes = events.iter().filter(|event| event["type"] == "ModelAsked");
    assert!(sizes.map(|event| event["tokens_estimated"].as_u64().unwrap()).all(|it| it < 16_384));
    assert!(ran.stderr.contains("summed up"), "{}", ran.stderr);
    let shown = world.run(&["tokens"]).stdout;
    assert_ne!(row(&shown, "summary"), "0");
}
