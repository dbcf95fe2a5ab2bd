//! Instructions of the project, and what the model is told of here and now.

use std::fs;

use serde_json::Value;

use crate::loopback::{Loopback, PROVIDERS, Provider, refusal, stream};
use crate::world::World;

fn anthropic() -> &'static Provider {
    PROVIDERS.iter().find(|provider| provider.model.starts_with("anthropic/")).unwrap()
}

fn ask(world: &World, server: &Loopback, text: &str) {
    let provider = anthropic();
    let ran = provider.run(world, server, &["query", text, "--model", provider.model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
}

/// The texts of the newest message of the user.
fn said(body: &Value) -> Vec<String> {
    let message = body["messages"].as_array().unwrap().last().unwrap();
    let parts = message["content"].as_array().unwrap().iter();
    parts.map(|part| part["text"].as_str().unwrap().to_owned()).collect()
}

/// A body without the marks that say how far a provider may keep it.
fn unmarked(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    strip(&mut value);
    value
}

// D6, D87, X27
#[test]
fn instructions_are_in_the_prompt_and_a_change_comes_with_the_next_message() {
    let (world, yes) = (World::new(), anthropic().yes);
    fs::write(world.work("AGENTS.md"), "Say ahoy.\n").unwrap();
    let server = Loopback::start(vec![stream(yes), stream(yes), stream(yes)]);
    ask(&world, &server, "one");
    fs::write(world.work("AGENTS.md"), "Say moin.\n").unwrap();
    ask(&world, &server, "two");
    ask(&world, &server, "three");
    let bodies: Vec<Value> = (0..3).map(|number| unmarked(server.request(number).1)).collect();
    let system = bodies[0]["system"].to_string();
    assert!(system.contains("AGENTS.md") && system.contains("Say ahoy."), "{system}");
    let [context, typed] = &*said(&bodies[0]) else { panic!("{}", bodies[0]) };
    assert_eq!(typed, "one");
    assert!(context.contains("Date: ") && context.contains("Workspace: "), "{context}");
    assert!(!context.contains("ahoy"), "what the prompt says is not said again: {context}");
    let [context, typed] = &*said(&bodies[1]) else { panic!("{}", bodies[1]) };
    assert_eq!(typed, "two");
    assert!(context.contains("Say moin.\n[The file has changed."), "{context}");
    assert_eq!(said(&bodies[2]), ["three"], "nothing is new");
    for (before, after) in [(0, 1), (1, 2)] {
        let (before, after) = (&bodies[before], &bodies[after]);
        assert_eq!((&before["system"], &before["tools"]), (&after["system"], &after["tools"]));
        let (before, after) = (&before["messages"], &after["messages"]);
        let before = before.as_array().unwrap();
        assert_eq!(before[..], after.as_array().unwrap()[..before.len()], "requests only grow");
    }
}

// X27
#[test]
fn a_resumed_request_is_the_same_although_everything_has_changed() {
    let (world, provider) = (World::new(), anthropic());
    fs::write(world.work("AGENTS.md"), "Say ahoy.\n").unwrap();
    let server = Loopback::start(vec![refusal("401 Unauthorized", "{}"), stream(provider.yes)]);
    let ran = provider.run(&world, &server, &["query", "one", "--model", provider.model]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    fs::write(world.work("AGENTS.md"), "Say moin.\n").unwrap();
    let ran = provider.run(&world, &server, &["query", "--continue", "--permissions", "auto"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(server.request(0).1, server.request(1).1);
}

#[test]
fn instructions_that_cannot_be_used_are_named_and_stop_nothing() {
    let (world, yes) = (World::new(), anthropic().yes);
    fs::write(world.work("AGENTS.md"), "x".repeat(10 * 1024 * 1024)).unwrap();
    std::os::unix::fs::symlink("AGENTS.md", world.path("AGENTS.md")).unwrap();
    let server = Loopback::start(vec![stream(yes)]);
    let provider = anthropic();
    let ran = provider.run(&world, &server, &["query", "one", "--model", provider.model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said = |what: &str| ran.stderr.lines().filter(|line| line.contains(what)).count();
    assert_eq!(said("work/AGENTS.md: its last 10452992 bytes are left out"), 1, "{}", ran.stderr);
    let system = server.request(0).1["system"].to_string();
    assert!(system.len() < 50_000, "{}", system.len());
}
