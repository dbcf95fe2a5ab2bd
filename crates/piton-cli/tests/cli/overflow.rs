//! A request that is too large inside an open turn (K44, X24).

use crate::world::World;

/// Three steps with long outputs; the model takes so many tokens, and the last request meets a fault.
fn script(window_tokens: u32, fault: &str) -> String {
    let read = r#"{"calls":[{"tool":"read_file","arguments":{"path":"long.txt"}}]}"#;
    format!(
        r#"{{"window_tokens":{window_tokens},
            "steps":[{read},{read},{read},{{"say":"Read.","faults":[{fault}]}}]}}"#
    )
}

fn world() -> World {
    let world = World::new();
    std::fs::write(world.work("long.txt"), "a line of a long file\n".repeat(1_200)).unwrap();
    world
}

fn count(world: &World, kind: &str) -> usize {
    world.events().iter().filter(|event| event["type"] == kind).count()
}

#[test]
fn continuing_after_an_overflow_shortens_old_outputs_and_finishes_the_turn() {
    let world = world();
    let model = world.script(&script(0, r#"{"kind":{"fail":"auth"}}"#));
    let ran = world.run(&["query", "go", "--model", &model]);
    assert_ne!(ran.code, 0);
    world.script(&script(15_000, ""));
    let ran = world.run(&["query", "--continue"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert!(world.shown(&ran).contains("shortened to make room"), "{}", world.shown(&ran));
    assert_eq!(count(&world, "OutputsShortened"), 1);
    // The whole output is still in the journal.
    let finished: Vec<_> =
        world.events().into_iter().filter(|event| event["type"] == "ToolFinished").collect();
    assert_eq!(finished.len(), 3);
    for event in finished {
        assert!(20_000 < event["output"]["text"].as_str().unwrap().len());
    }
}

#[test]
fn a_request_that_cannot_shrink_is_not_sent_again() {
    let world = world();
    let model = world.script(&script(1, ""));
    let ran = world.run(&["query", "go", "--model", &model]);
    assert_ne!(ran.code, 0);
    assert!(world.shown(&ran).contains("a model that takes more"), "{}", world.shown(&ran));
    assert_eq!(count(&world, "ModelAsked"), 1);
    let ran = world.run(&["query", "--continue"]);
    assert_ne!(ran.code, 0);
    assert!(world.shown(&ran).contains("a model that takes more"), "{}", world.shown(&ran));
    assert_eq!(count(&world, "ModelAsked"), 1, "the same request would be refused again");
}
