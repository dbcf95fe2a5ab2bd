//! Plans: the mode that changes nothing, a plan that a person approves, and the task list.

use std::fs;

use crate::person::Person;
use crate::world::{World, lines};

const MENU: &str = "(y) carry it out, (e) change it with words, (q) leave it, (?) help: ";

/// Tries to write in every turn, and says what it would do.
const PLANS: &str = r#"{"steps":[
    {"calls":[{"tool":"list_dir","arguments":{"path":"."}},
              {"tool":"write_file","arguments":{"path":"a.txt","content":"x"}}]},
    {"say":"1. Write a.txt."},
    {"calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"x"}}]},
    {"say":"Written."}]}"#;

fn outcomes(world: &World) -> Vec<String> {
    let events = world.events();
    let ends = events.iter().filter(|event| event["type"] == "ToolFinished");
    ends.map(|event| event["outcome"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_a_terminal_a_plan_changes_nothing_and_says_how_to_carry_it_out() {
    let world = World::new();
    let model = world.script(PLANS);
    let ran = world.run(&["query", "--plan", "write a file", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1. Write a.txt.\n"), "{}", ran.stderr);
    assert!(!world.work("a.txt").exists());
    assert_eq!(outcomes(&world), ["denied", "ok"]);
    let told = world.finished("1.1.1")["output"]["text"].as_str().unwrap().to_owned();
    assert!(told.contains("wants a plan before anything is changed"), "{told}");
    let context = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(context.contains("the person wants a plan first"), "the model is told: {context}");
    let id = world.only_id();
    let hint = format!(
        "hint: nothing was changed; to carry the plan out: piton query --id {id} --permissions ask \
         \"Carry out the plan.\""
    );
    assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
    // The command that was named does it, and asks as ever.
    let asks = world.run(&["query", "--id", &id, "--permissions", "ask", "Carry out the plan."]);
    assert_eq!(asks.code, 3, "{}", asks.stderr);
    let done = world.run(&["answer", "yes", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Written.\n"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(world.work("a.txt")).unwrap(), "x");
}

#[test]
fn the_flag_and_the_mode_are_the_same_and_a_conversation_keeps_it() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"A plan."},{"say":"Another."}]}"#);
    let ran = world.run(&["query", "go", "--permissions", "plan", "--model", &model]);
    assert!(ran.stderr.contains("to carry the plan out"), "{}", ran.stderr);
    let ran = world.run(&["query", "again"]);
    assert!(ran.stderr.contains("permissions plan, as in the turn before"), "{}", ran.stderr);
    assert!(ran.stderr.contains("to carry the plan out"), "{}", ran.stderr);
    let both = world.run(&["query", "--plan", "--permissions", "auto", "go"]);
    assert_eq!(both.code, 2, "{}", both.stderr);
}

#[test]
fn a_rule_that_allows_does_not_count_while_a_plan_is_made() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let rule = "[[permissions]]\ntool = \"*\"\neffect = \"allow\"\n";
    fs::write(world.path("home/piton.toml"), rule).unwrap();
    let model = world.script(PLANS);
    let ran = world.run(&["query", "--plan", "go", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!world.work("a.txt").exists());
}

#[test]
fn a_person_approves_a_plan_and_it_is_carried_out_in_the_mode_before() {
    let world = World::new();
    let model = world.script(&PLANS.replacen('[', r#"[{"say":"Hello."},"#, 1));
    let begins = ["query", "hi", "--permissions", "accept-edits", "--model", &model];
    assert_eq!(world.run(&begins).code, 0);
    let mut person = Person::starts(&world, &["query", "--plan", "write a file"]);
    person.sees("1. Write a.txt.").sees(MENU);
    assert!(!world.work("a.txt").exists());
    // An empty line decides nothing.
    person.types("\r").sees("Not understood: type y, e or q").sees(MENU).types("y\r");
    person.sees("turn 3").sees("Written.");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(fs::read_to_string(world.work("a.txt")).unwrap(), "x");
    let printed = world.run(&["print"]).stdout;
    assert!(printed.contains("> The plan is approved. Carry it out."), "{printed}");
}

#[test]
fn a_plan_is_changed_with_words_and_left_and_stays_a_plan() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Plan A."},{"say":"Plan B."}]}"#);
    let mut person = Person::starts(&world, &["query", "--plan", "go", "--model", &model]);
    person.sees("Plan A.").sees(MENU).types("e\r");
    person.sees("what should be different: ").types("smaller steps\r");
    person.sees("Plan B.").sees(MENU).types("q\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("to carry the plan out:\r\n  piton query --id"), "{screen}");
    let printed = world.run(&["print"]).stdout;
    assert!(printed.contains("> smaller steps"), "{printed}");
}

#[test]
fn what_was_typed_before_a_plan_is_there_does_not_approve_it() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"slow"}]},{"say":"The plan."},{"say":"Done."}],
            "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#,
    );
    let mut person = Person::starts(&world, &["query", "--plan", "go", "--model", &model]);
    person.sees("• slow").types("c\r");
    fs::write(world.work("go"), "").unwrap();
    person.sees(MENU).types("q\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("Done."), "{screen}");
}

/// A list that grows, is said twice, and is refused.
const LISTS: &str = r#"{"steps":[
    {"calls":[{"tool":"update_plan","arguments":{"plan":[
        {"step":"look at the code","status":"in_progress"},{"step":"change it","status":"pending"}]}}]},
    {"calls":[{"tool":"update_plan","arguments":{"plan":[
        {"step":"look at the code","status":"in_progress"},{"step":"change it","status":"pending"}]}}]},
    {"calls":[{"tool":"update_plan","arguments":{"plan":[
        {"step":"look at the code","status":"done"},{"step":"change it","status":"in_progress"}]}}]},
    {"calls":[{"tool":"update_plan","arguments":{"plan":[{"step":" ","status":"done"}]}}]},
    {"say":"Done."}]}"#;

#[test]
fn the_task_list_is_shown_when_it_changes_and_asks_nobody() {
    let world = World::new();
    let model = world.script(LISTS);
    let ran = world.run(&["query", "go", "--permissions", "read-only", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    let first = "Plan, 0 of 2 done:\n  [>] look at the code\n  [ ] change it\n";
    let second = "Plan, 1 of 2 done:\n  [x] look at the code\n  [>] change it\n";
    assert_eq!(ran.stderr.matches(first).count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches(second).count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("a step has 1 to 200 characters"), "{}", ran.stderr);
    let printed = world.run(&["print"]).stdout;
    assert!(printed.ends_with(&format!("Done.\n\n{second}")), "{printed}");
    let data = &lines(&world.run(&["print", "--json"]).stdout)[0];
    let steps = &data["view"]["turns"][0]["items"];
    assert_eq!(steps[3]["calls"][0]["tasks"][0]["status"], "done", "{steps}");
}
