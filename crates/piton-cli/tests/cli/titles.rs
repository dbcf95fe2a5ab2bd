//! K21: titles that the model finds, beside everything else.

use piton_sim::script::Script;
use piton_sim::serve::{Options, Server};

use crate::person::Person;
use crate::world::{Ran, World, wait_until};

const MODEL: &str = "ollama/own";

fn serve(script: &str) -> Server {
    Server::with(Script::parse(script).unwrap(), Options::default()).unwrap()
}

fn command(world: &World, server: &Server, args: &[&str]) -> std::process::Command {
    let mut command = world.command(args);
    command.envs(server.variables()).env("NO_PROXY", "127.0.0.1").env_remove("PITON_TITLES");
    command
}

fn run(world: &World, server: &Server, args: &[&str], titles: &str) -> Ran {
    let mut command = command(world, server, args);
    command.env("PITON_TITLES", titles);
    world.ran(command.output().unwrap())
}

fn title(world: &World) -> String {
    world.rows()[0]["title"].as_str().unwrap().to_owned()
}

fn asked(server: &Server) -> usize {
    server.seen().len()
}

/// A script answers every request without a history with its first step, so the answer is the title, too.
const ANSWER: &str = r#"{"steps":[{"say":"\"A leak in the roof\".\n\nBecause."},{"say":"Yes."}]}"#;

#[test]
fn the_model_finds_a_title_after_the_first_turn_and_leaves_no_other_trace() {
    let world = World::new();
    let server = serve(ANSWER);
    let ran = run(&world, &server, &["query", "why is it wet?", "--model", MODEL], "model");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    wait_until(|| title(&world) == "A leak in the roof");
    // A request of its own: no tools, no history, nothing of the system prompt.
    let seen = server.seen();
    let body = String::from_utf8_lossy(&seen[1].body).into_owned();
    assert!(body.contains("why is it wet?") && body.contains("Because."), "{body}");
    assert!(!body.contains("\"tools\"") && body.len() < 3_000, "{body}");
    let given: Vec<_> = world.events().into_iter().map(|event| event["type"].clone()).collect();
    assert_eq!(given.iter().filter(|kind| **kind == "ModelAsked").count(), 1);
    assert_eq!(given.iter().filter(|kind| **kind == "TitleGiven").count(), 1);
    // Once.
    run(&world, &server, &["query", "-c", "and now?", "--model", MODEL], "model");
    assert_eq!(asked(&server), 3);
    let again = run(&world, &server, &["rename", "--suggest", "last"], "model");
    assert!(again.stderr.contains("has a title, and keeps it"), "{}", again.stderr);
}

#[test]
fn nobody_is_asked_where_that_is_not_wanted() {
    for (titles, model) in [("first-words", MODEL), ("model", "demo")] {
        let world = World::new();
        let server = serve(ANSWER);
        let ran = run(&world, &server, &["query", "list .", "--model", model], titles);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(asked(&server) <= 1);
        assert_eq!(title(&world), "list .");
    }
    // Nobody reads along, so nothing is paid for that was not asked for.
    let world = World::new();
    let server = serve(ANSWER);
    world.ran(command(&world, &server, &["query", "hi", "--model", MODEL]).output().unwrap());
    assert_eq!((asked(&server), title(&world)), (1, "hi".into()));
}

#[test]
fn a_title_of_a_person_counts_more_and_a_failure_is_for_the_log() {
    let world = World::new();
    let server = serve(ANSWER);
    let ran = run(&world, &server, &["query", "why is it wet?", "--model", MODEL], "first-words");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let refuses =
        serve(r#"{"steps":[{"say":"no","faults":[{"kind":{"fail":"auth"},"times":9}]}]}"#);
    let failed = run(&world, &refuses, &["rename", "--suggest", "last"], "model");
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert!(failed.stderr.contains("error: no title was found: "), "{}", failed.stderr);
    assert_eq!(title(&world), "why is it wet?");
    world.run(&["rename", "last", "Mine"]);
    let kept = run(&world, &server, &["rename", "--suggest", "last"], "model");
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    assert_eq!(title(&world), "Mine");
    assert_eq!(world.run(&["rename", "last"]).code, 2);
}

// Killed in between: the first words stay, and the conversation is as it was.
#[test]
fn a_search_for_a_title_that_is_killed_leaves_nothing() {
    let world = World::new();
    let server = serve(ANSWER);
    run(&world, &server, &["query", "why is it wet?", "--model", MODEL], "first-words");
    let before = world.events().len();
    let silent = serve(r#"{"steps":[{"say":"Late.","faults":[{"kind":"stall"}]}]}"#);
    let mut child = command(&world, &silent, &["rename", "--suggest", "last"]).spawn().unwrap();
    wait_until(|| asked(&silent) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((world.events().len(), title(&world)), (before, "why is it wet?".into()));
    let found = run(&world, &server, &["rename", "--suggest", "last"], "model");
    assert_eq!((found.code, title(&world)), (0, "A leak in the roof".into()), "{}", found.stderr);
}

// On a terminal it is so unless the settings say otherwise, and the prompt does not wait for it.
#[test]
fn a_chat_gets_its_title_while_the_person_goes_on() {
    let world = World::new();
    let server = serve(ANSWER);
    let mut person = Person::starts_command(command(&world, &server, &["-m", MODEL]));
    person.sees("Ctrl-D leaves.").sees("> ").types("why is it wet?\r").sees("Because.").sees("> ");
    wait_until(|| title(&world) == "A leak in the roof");
    person.types("\x04");
    assert_eq!(person.leaves().0, 0);
}
