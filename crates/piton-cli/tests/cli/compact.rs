//! `piton compact` and what belongs to it: summaries by the model, wanted or needed (D14, D21, D22, J93).

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::person::Person;
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

/// A turn that has to be summed up by a model that never does so.
fn stalling() -> (World, String) {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), "[context]\ntokens_max = 9000\n").unwrap();
    let long = "many words about the pond and its lilies ".repeat(60);
    let look = r#""calls":[{"tool":"list_dir","arguments":{"path":"."}}]"#;
    let step = format!(r#"{{"say":"{long}",{look}}},"#);
    let script =
        format!(r#"{{"summaries":"stall","steps":[{}{{"say":"Done."}}]}}"#, step.repeat(9));
    let model = world.script(&script);
    (world, model)
}

// Ctrl-C stops only the summary; the turn goes on by itself.
#[test]
fn an_interrupt_while_the_model_sums_up_stops_only_that() {
    let (world, model) = stalling();
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

/// A process that works on a conversation of so many turns: its tool waits for the file `go`.
fn held(world: &World, turns: usize) -> std::process::Child {
    let said = r#"{"say":"x"},"#.repeat(turns);
    let steps = format!(r#"{said}{{"calls":[{{"tool":"slow"}}]}},{{"say":"Done."}}"#);
    let tool = r#"{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}"#;
    let model =
        world.script(&format!(r#"{{"summaries":"good","steps":[{steps}],"tools":[{tool}]}}"#));
    let args = ["query", "-c", "wait", "--model", &model, "--permissions", "auto"];
    let child = world.spawn(&args);
    world.wait_for_events("ToolStarted", 1);
    child
}

// Another process at work takes it over, and whoever asked hears that it did.
#[test]
fn a_conversation_that_another_process_works_on_is_summed_up_there() {
    let world = talked("good");
    let child = held(&world, 6);
    let ran = world.run(&["compact"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    let told = format!(
        "is held by process {}, which has taken it over and sums up before its next request.",
        child.id()
    );
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    assert_eq!(kinds(&world), ["SummaryWanted"]);
    fs::write(world.work("go"), "").unwrap();
    let ran = world.finish(child);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert!(kinds(&world).contains(&"SummaryLaid".to_owned()), "{:?}", kinds(&world));
}

// What the other process refuses is an error here too.
#[test]
fn a_refusal_by_the_process_at_work_is_told() {
    let world = talked("good");
    assert_eq!(world.run(&["compact"]).code, 0);
    let child = held(&world, 6);
    let ran = world.run(&["uncompact"]);
    assert_ne!(ran.code, 0, "{}", world.shown(&ran));
    assert!(ran.stderr.contains("the summary stays: "), "{}", ran.stderr);
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.finish(child).code, 0);
}

// Where there is nothing to sum up, nobody is waited for.
#[test]
fn nothing_to_sum_up_is_said_beside_a_process_at_work() {
    let world = World::new();
    let child = held(&world, 0);
    let ran = world.run(&["compact"]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    assert!(ran.stderr.contains("there is nothing to sum up yet"), "{}", ran.stderr);
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.finish(child).code, 0);
}

// What nobody takes in time is taken back: it must not come later as a surprise.
#[test]
fn a_summary_that_the_process_at_work_does_not_take_is_not_wanted_any_more() {
    let world = talked("good");
    let child = held(&world, 6);
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    let ran = world.run(&["compact", "--wait", "0"]);
    assert_eq!(ran.code, 5, "{}", world.shown(&ran));
    let told =
        format!("process {} has not reacted, and the conversation is not summed up", child.id());
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.finish(child).code, 0);
    assert_eq!(kinds(&world), [""; 0]);
}

#[test]
fn a_chat_sums_up_and_takes_the_summary_off() {
    let world = talked("good");
    let mut person = Person::starts(&world, &["-c"]);
    person.sees("question 6").sees("> ").types("/compact the lilies\r");
    person.sees("The older part was summed up: ").sees("> ").types("/uncompact\r");
    person.sees("everything is sent again").sees("> ").types("/quit\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let wanted =
        ["SummaryWanted", "SummaryAsked", "SummaryAnswered", "SummaryLaid", "SummaryLifted"];
    assert_eq!(kinds(&world), wanted);
}

// Who leaves while a summary is made does not wait for it, and what was typed before stays at the prompt.
#[test]
fn leaving_a_chat_stops_the_summary_that_was_wanted() {
    let world = talked("stall");
    let mut person = Person::starts(&world, &["-c"]);
    person.sees("question 6").sees("> ").types("/compact\r").sees("summing up");
    person.types("hello\r").sees("That has to wait until the summary is there");
    person.types("\x1b").sees("nothing has changed").sees("> hello");
    person.types("\x15/compact\r").sees("summing up").types("/quit\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(!kinds(&world).contains(&"SummaryLaid".to_owned()));
    assert!(!world.run(&["print"]).stdout.contains("hello"));
}

// The turn is stopped with its summary, and kept.
#[test]
fn leaving_a_chat_while_a_turn_is_summed_up_stops_the_turn() {
    let (world, model) = stalling();
    let mut person = Person::starts(&world, &["--model", &model]);
    person.sees("Ctrl-D leaves.").sees("> ").types("look\r");
    world.wait_for_events("SummaryAsked", 1);
    person.sees("summing up").types("/quit\r").sees("is kept");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("Done."), "{screen}");
    assert_eq!(world.rows()[0]["status"], "interrupted (pending follow-up)");
}
