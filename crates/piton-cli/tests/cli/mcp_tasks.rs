//! Calls that a server makes a task of, or answers with questions: whoever comes after a kill asks
//! for the one, and goes on with the other. Effects are counted in the server's ledger; what is not
//! known any more is said to be unknown, and nothing is sent twice.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::mcp::{HttpServer, calls, ledger, person, query, result, with_server};
use crate::person::Person;
use crate::world::{Ran, World, wait_until};

/// A server that outlives agents, and speaks the newest revision.
fn modern(args: &[&str]) -> (World, HttpServer) {
    let world = World::new();
    let server = HttpServer::start(&world, &[&["--modern"], args].concat());
    (world, server)
}

fn one(world: &World, tool: &str) -> String {
    calls(world, &format!(r#"{{"tool":"{tool}","arguments":{{"key":"a","until":"go"}}}}"#))
}

/// The server runs in the workspace, too.
fn release(world: &World) {
    fs::write(world.work("go"), "").unwrap();
}

fn dying(world: &World, point: &str, script: &str) -> Command {
    let mut command = world.command(&["query", "go", "--permissions", "auto", "--model", script]);
    command.env("PITON_FAIL_POINT", point);
    command
}

/// Runs until it dies at a point.
fn die(world: &World, point: &str, script: &str) {
    let ran = world.ran(dying(world, point, script).output().unwrap());
    assert_eq!(ran.code, -1, "{point}: {}", ran.stderr);
}

fn go_on(world: &World) -> Ran {
    let ran = world.run(&["query", "--continue"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    ran
}

fn starts(world: &World) -> usize {
    let events = world.events();
    events.iter().filter(|event| event["type"] == "ToolStarted").count()
}

#[test]
fn a_task_is_followed_to_its_end() {
    let (world, _server) = modern(&[]);
    let ran = query(&world, &one(&world, "far__count"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(result(&world), ("ok".into(), "count a: done".into()));
    assert_eq!(ledger(&world), ["count a"]);
    let events = world.events();
    let tracked = events.iter().find(|event| event["type"] == "CallTracked").unwrap();
    assert_eq!(tracked["handle"]["id"], "task-1");
}

// Before the task is recorded nobody can ask for it; from then on everybody can.
#[test]
fn crash_at_every_phase_of_a_task() {
    for (point, outcome) in [
        ("task-created", "unknown"),
        ("task-tracked", "ok"),
        ("task-polled", "ok"),
        ("task-done", "ok"),
    ] {
        let (world, _server) = modern(&[]);
        if point == "task-done" {
            release(&world);
        }
        die(&world, point, &one(&world, "far__slow"));
        release(&world);
        wait_until(|| !ledger(&world).is_empty());
        go_on(&world);
        let (found, text) = result(&world);
        assert_eq!(found, outcome, "{point}: {text}");
        assert_eq!(text == "3 steps", outcome == "ok", "{point}: {text}");
        assert_eq!(ledger(&world), ["slow a"], "{point}");
    }
}

#[test]
fn crash_twice_while_a_task_works_and_it_is_found_working() {
    let (world, _server) = modern(&[]);
    let script = one(&world, "far__slow");
    die(&world, "task-tracked", &script);
    let mut second = world.spawn(&["query", "--continue"]);
    wait_until(|| starts(&world) == 2);
    second.kill().unwrap();
    second.wait().unwrap();
    let third = world.spawn(&["query", "--continue"]);
    wait_until(|| starts(&world) == 3);
    release(&world);
    let ran = world.finish(third);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    assert_eq!(result(&world).0, "ok");
    assert_eq!(ledger(&world), ["slow a"]);
}

// A class that allows a second run is not needed where the task is known. Without that, the second
// run is counted: the control of this file.
#[test]
fn a_known_task_is_not_begun_again_whatever_its_class() {
    for (point, effects) in [("task-created", 2), ("task-tracked", 1)] {
        let (world, _server) = modern(&[]);
        let settings = world.path("home/piton.toml");
        let text = fs::read_to_string(&settings).unwrap();
        fs::write(&settings, format!("{text}trust = true\n")).unwrap();
        die(&world, point, &one(&world, "far__put"));
        wait_until(|| !ledger(&world).is_empty());
        go_on(&world);
        assert_eq!(ledger(&world), vec!["put a"; effects], "{point}");
        assert_eq!(result(&world), ("ok".into(), "put a: done".into()));
    }
}

#[test]
fn a_task_that_the_server_has_forgotten_is_in_doubt() {
    let (world, server) = modern(&[]);
    die(&world, "task-tracked", &one(&world, "far__slow"));
    drop(server);
    let _other = HttpServer::start(&world, &["--modern"]);
    go_on(&world);
    let (outcome, text) = result(&world);
    assert_eq!(outcome, "unknown");
    assert!(text.contains("does not know it any more (no task task-1)"), "{text}");
    assert_eq!(ledger(&world), Vec::<String>::new());
}

// A server that counts anew gives the name of a lost task to another one.
#[test]
fn another_task_of_the_same_name_is_not_taken_for_it() {
    let (world, server) = modern(&[]);
    die(&world, "task-tracked", &one(&world, "far__slow"));
    let first = world.only_id();
    drop(server);
    let _other = HttpServer::start(&world, &["--modern"]);
    assert_eq!(query(&world, &one(&world, "far__count")).code, 0);
    let ran = world.run(&["query", "--continue", "--id", &first]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let printed = world.run(&["print", &first, "--json"]).stdout;
    assert!(printed.contains("(another task has its name)"), "{printed}");
    assert!(!printed.contains("count a: done"), "{printed}");
    assert_eq!(ledger(&world), ["count a"]);
}

#[test]
fn a_task_of_a_server_that_is_gone_is_in_doubt() {
    let (world, server) = modern(&[]);
    let settings = world.path("home/piton.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("{text}connect_seconds = 1\n")).unwrap();
    die(&world, "task-tracked", &one(&world, "far__slow"));
    drop(server);
    go_on(&world);
    let (outcome, text) = result(&world);
    assert_eq!(outcome, "unknown");
    assert!(text.contains("cannot be asked now"), "{text}");
}

// Over pipes a task ends with its server, and that with its agent.
#[test]
fn a_task_over_pipes_is_followed_and_lost_with_its_server() {
    let world = with_server("", &["--modern"]);
    let script = one(&world, "sim__count");
    die(&world, "task-done", &script);
    go_on(&world);
    assert_eq!(result(&world).0, "unknown");
    assert_eq!(ledger(&world), ["count a"]);
    let world = with_server("", &["--modern", "--fault", "die@polled:task-1"]);
    assert_eq!(query(&world, &one(&world, "sim__count")).code, 0);
    let (outcome, text) = result(&world);
    assert_eq!(outcome, "unknown", "{text}");
    assert!(text.contains("it does not know the task any more"), "{text}");
    assert_eq!(ledger(&world), ["count a"]);
}

#[test]
fn an_interrupt_cancels_the_task() {
    let (world, _server) = modern(&[]);
    let script = one(&world, "far__slow");
    let child = world.spawn(&["query", "go", "--permissions", "auto", "--model", &script]);
    world.wait_for_events("CallTracked", 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(world.finish(child).code, 130);
    assert_eq!(result(&world).0, "unknown");
    assert_eq!(ledger(&world), ["cancelled task-1"]);
}

fn fill_in(mut person: Person) {
    person
        .sees("The MCP server far asks: Who are you? (y) answer, (n) no answer, (?) help: ")
        .types("y\n");
    person.sees("name: ").types("Ada\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
}

const ADA: &str = r#"{"action":"accept","content":{"name":"Ada"}}"#;

// M9: nothing is open at the server while a person thinks, so an agent may die meanwhile.
#[test]
fn a_question_of_a_server_outlives_the_agent() {
    for tool in ["ask_back", "ask_in_task"] {
        let (world, _server) = modern(&[]);
        let mut asked = person(&world, &one(&world, &format!("far__{tool}")));
        asked.sees("Who are you?");
        drop(asked);
        fill_in(Person::starts(&world, &["query", "--continue"]));
        assert_eq!(result(&world), ("ok".into(), ADA.into()), "{tool}");
        assert_eq!(ledger(&world), [format!("{tool} a accept")]);
    }
}

// J33: and where nobody is there, the turn waits.
#[test]
fn a_question_of_a_server_waits_for_a_person() {
    for tool in ["ask_back", "ask_in_task"] {
        let (world, _server) = modern(&[]);
        let ran = query(&world, &one(&world, &format!("far__{tool}")));
        assert_eq!(ran.code, 3, "{tool}: {}", ran.stderr);
        assert_eq!(world.run(&["query", "--continue"]).code, 3, "nobody has answered");
        assert_eq!(ledger(&world), Vec::<String>::new());
        let ran = world.run(&["answer", "--text", r#"{"name":"Ada"}"#, "--continue"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{tool}: {}", ran.stderr);
        assert_eq!(result(&world), ("ok".into(), ADA.into()), "{tool}");
        assert_eq!(ledger(&world), [format!("{tool} a accept")]);
    }
}

// The answers may have left: from then on nobody knows, and they are not sent again.
#[test]
fn crash_at_every_phase_of_a_question_in_a_result() {
    let (world, _server) = modern(&[]);
    let script = one(&world, "far__ask_back");
    die(&world, "round-asked", &script);
    go_on(&world);
    assert_eq!(result(&world).0, "unknown");
    let (world, _server) = modern(&[]);
    let script = one(&world, "far__ask_back");
    die(&world, "round-tracked", &script);
    fill_in(Person::starts(&world, &["query", "--continue"]));
    assert_eq!(ledger(&world), ["ask_back a accept"]);
    let (world, _server) = modern(&[]);
    let script = one(&world, "far__ask_back");
    assert_eq!(query(&world, &script).code, 3);
    assert_eq!(world.run(&["answer", "--text", r#"{"name":"Ada"}"#]).code, 0);
    let mut dying = world.command(&["query", "--continue"]);
    let ran = world.ran(dying.env("PITON_FAIL_POINT", "round-answered").output().unwrap());
    assert_eq!(ran.code, -1, "{}", ran.stderr);
    go_on(&world);
    assert_eq!(result(&world).0, "unknown");
    assert_eq!(ledger(&world), Vec::<String>::new());
}
