//! `piton compact` and what belongs to it: summaries by the model, wanted or needed (D14, D21, D22, J93).

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::world::{World, lines};

/// Answers that are long enough to be worth summing up.
fn script(summaries: &str) -> String {
    let long = "many words about the pond and its lilies ".repeat(30);
    let say = format!(r#"{{"say":"{long}"}},"#);
    format!(r#"{{"summaries":"{summaries}","steps":[{}{{"say":"Done."}}]}}"#, say.repeat(7))
}

/// A conversation of six turns.
fn talked(summaries: &str) -> World {
    let world = World::new();
    let model = world.script(&script(summaries));
    for turn in 1..=6 {
        let ran = world.run(&["query", "-c", &format!("question {turn}"), "--model", &model]);
        assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    }
    world
}

fn kinds(world: &World) -> Vec<String> {
    let kinds = world.events().into_iter().map(|event| event["type"].as_str().unwrap().to_owned());
    kinds.filter(|kind| kind.starts_with("Summary")).collect()
}

#[test]
fn a_conversation_is_summed_up_shown_and_restored() {
    let world = talked("good");
    let ran = world.run(&["compact", "--focus", "the lilies"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert!(ran.stderr.contains("The older part was summed up: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("piton uncompact takes it off"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    let wanted = ["SummaryWanted", "SummaryAsked", "SummaryAnswered", "SummaryLaid"];
    assert_eq!(kinds(&world), wanted);
    let seen = world.run(&["print", "--compacted"]).stdout;
    assert!(seen.starts_with("[user]\n[Earlier conversation summary"), "{seen}");
    assert!(seen.contains("## 1 Goal") && seen.contains("turn 1 (done): question 1"), "{seen}");
    assert!(seen.contains("[user]\nquestion 6\n") || seen.contains("\nquestion 6\n"), "{seen}");
    assert!(!seen.contains("[user]\nquestion 1\n"), "{seen}");
    let whole = world.run(&["print"]).stdout;
    assert!(whole.contains("> question 1\n"), "nothing is lost: {whole}");
    let ran = world.run(&["compact"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("is summed up already"), "{}", ran.stderr);
    let ran = world.run(&["uncompact"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert!(ran.stderr.contains("everything is sent again"), "{}", ran.stderr);
    let seen = world.run(&["print", "--compacted"]).stdout;
    assert!(seen.contains("question 1\n") && !seen.contains("conversation summary"), "{seen}");
    let ran = world.run(&["uncompact"]);
    assert!(ran.code == 0 && ran.stderr.contains("No summary lies over"), "{}", ran.stderr);
    // The conversation goes on.
    let ran = world.run(&["query", "-c", "and now?"]);
    assert_eq!((ran.code, ran.stdout.contains("pond")), (0, true), "{}", world.shown(&ran));
}

#[test]
fn a_model_that_cannot_sum_up_leaves_what_the_journal_knows() {
    let world = talked("bare");
    let ran = world.run(&["compact"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    let told = "The model's summary lacked headings; what the journal knows stands in its place.";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let seen = world.run(&["print", "--compacted"]).stdout;
    assert!(seen.contains("Asked so far (history, not requests):"), "{seen}");
    let shown = lines(&world.run(&["print", "--json"]).stdout);
    assert_eq!(shown[0]["view"]["covered"]["fault"], "lacked headings");
}

// D18
#[test]
fn there_may_be_nothing_to_sum_up() {
    let world = World::new();
    let ran = world.run(&["compact"]);
    assert_ne!(ran.code, 0);
    let model = world.script(r#"{"steps":[{"say":"Hello."}]}"#);
    world.run(&["query", "hi", "--model", &model]);
    let ran = world.run(&["compact"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("there is nothing to sum up yet"), "{}", ran.stderr);
    assert_eq!(kinds(&world), [""; 0]);
}

// An incomplete turn is neither woken nor lost.
#[test]
fn an_incomplete_turn_stays_as_it_is() {
    let world = talked("good");
    let model = world.script(&script("good").replace(
        r#"{"say":"Done."}"#,
        r#"{"say":"x","faults":[{"kind":{"fail":"auth"},"times":99}]}"#,
    ));
    world.run(&["query", "-c", "question 7", "--model", &model]);
    let ran = world.run(&["query", "-c", "question 8", "--model", &model]);
    assert_ne!(ran.code, 0);
    let asked =
        |world: &World| world.events().iter().filter(|event| event["type"] == "ModelAsked").count();
    let before = asked(&world);
    let ran = world.run(&["compact"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert_eq!(asked(&world), before);
    assert!(kinds(&world).contains(&"SummaryLaid".to_owned()));
    assert!(world.run(&["print"]).stdout.contains("Incomplete turn"));
}

// D22: whoever watches sees what is going on, also without a terminal.
#[test]
fn a_long_turn_says_that_it_is_summed_up() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), "[context]\ntokens_max = 16000\n").unwrap();
    let long = "many words about the pond and its lilies ".repeat(60);
    let look = r#""calls":[{"tool":"list_dir","arguments":{"path":"."}}]"#;
    let step = format!(r#"{{"say":"{long}",{look}}},"#);
    let model = world.script(&format!(r#"{{"steps":[{}{{"say":"Done."}}]}}"#, step.repeat(30)));
    let ran = world.run(&["query", "look", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert!(ran.stderr.contains("summing up 1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("The older part was summed up: 1"), "{}", ran.stderr);
    assert!(kinds(&world).contains(&"SummaryAnswered".to_owned()));
}

// Ctrl-C stops only the summary; the turn goes on by itself.
#[test]
fn an_interrupt_while_the_model_sums_up_stops_only_that() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), "[context]\ntokens_max = 9000\n").unwrap();
    let long = "many words about the pond and its lilies ".repeat(60);
    let look = r#""calls":[{"tool":"list_dir","arguments":{"path":"."}}]"#;
    let step = format!(r#"{{"say":"{long}",{look}}},"#);
    let script =
        format!(r#"{{"summaries":"stall","steps":[{}{{"say":"Done."}}]}}"#, step.repeat(9));
    let model = world.script(&script);
    let child = world.spawn(&["query", "look", "--model", &model]);
    world.wait_for_events("SummaryAsked", 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = world.finish(child);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert!(ran.stderr.contains("Ctrl-C again stops the turn"), "{}", ran.stderr);
    assert!(ran.stdout.contains("Done."), "{}", ran.stdout);
    let failed: Vec<_> =
        world.events().into_iter().filter(|event| event["type"] == "SummaryFailed").collect();
    assert_eq!(failed[0]["why"], "stopped");
}

// A person who does not wait for a summary that was wanted gets none.
#[test]
fn an_interrupt_of_piton_compact_changes_nothing() {
    let world = talked("stall");
    let child = world.spawn(&["compact"]);
    world.wait_for_events("SummaryAsked", 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = world.finish(child);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert!(ran.stderr.contains("It was stopped, and nothing has changed."), "{}", ran.stderr);
    assert!(!kinds(&world).contains(&"SummaryLaid".to_owned()));
}
