//! Turns that nobody watches: limits, signs of life, answers for programs.

use std::fs;

use serde_json::Value;

use crate::world::{Ran, World};

/// Two steps of 110 tokens each.
const TWO_STEPS: &str = r#"{"steps":[
    {"calls":[{"tool":"look"}]},{"calls":[{"tool":"look"}]},{"say":"Done."}],
    "tools":[{"name":"look","effect":"read_only","output":"seen"}]}"#;

fn result(ran: &Ran) -> Value {
    serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap()
}

// D68
#[test]
fn a_turn_that_used_too_many_tokens_stops_and_is_kept() {
    let world = World::new();
    let model = world.script(TWO_STEPS);
    let ran = world.run(&["query", "go", "--json", "--model", &model, "--max-turn-tokens", "150"]);
    assert_eq!(ran.code, 4, "{}", ran.stdout);
    let result = result(&ran);
    assert_eq!(result["reason"], "limit");
    assert_eq!(result["message"], "220 tokens were used, 150 are allowed");
    // The answer that went beyond is there, and what it asked for was done.
    let printed = world.run(&["print"]).stdout;
    assert_eq!(printed.matches("✓ look — completed").count(), 2, "{printed}");
    assert_eq!(world.run(&["query", "--continue"]).stdout, "Done.\n");
}

// D68, D85
#[test]
fn the_settings_have_ceilings_for_every_turn() {
    let world = World::new();
    let model = world.script(TWO_STEPS);
    assert_eq!(world.run(&["config", "max_turn_tokens", "150"]).code, 0);
    let ran = world.run(&["query", "go", "--json", "--model", &model]);
    assert_eq!((ran.code, result(&ran)["reason"].as_str()), (4, Some("limit")), "{}", ran.stdout);
    let free = ["query", "--new", "go", "--model", &model, "--max-turn-tokens", "0"];
    assert_eq!(world.run(&free).stdout, "Done.\n");
    let waits = r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"sleep 600"}}]}]}"#;
    let model = world.script(waits);
    let mut command =
        world.command(&["query", "--new", "go", "--permissions", "auto", "--model", &model]);
    let ran = world.ran(command.env("PITON_MAX_TURN_SECONDS", "1").output().unwrap());
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("The time of the turn is up"), "{}", ran.stderr);
}

#[test]
fn a_limit_of_cost_needs_a_price() {
    let world = World::new();
    let ran = world.run(&["query", "go", "--max-cost", "0.5"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("the price of demo is not known"), "{}", ran.stderr);
    assert_eq!(world.run(&["query", "go", "--max-cost", "much"]).code, 2);
}

// D35
#[test]
fn a_log_shows_that_a_turn_goes_on() {
    let slow = r#"{"steps":[{"calls":[{"tool":"slow"}]},{"say":"Done."}],
        "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;
    for json in [false, true] {
        let world = World::new();
        let model = world.script(slow);
        let mut args = vec!["query", "go", "--model", &model, "--heartbeat", "1"];
        args.extend(json.then_some("--json"));
        let child = world.spawn(&args);
        world.wait_for_events("ToolStarted", 1);
        // wait: the sign of life comes after a second of the real clock.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        fs::write(world.work("go"), "").unwrap();
        let ran = world.finish(child);
        assert_eq!(ran.code, 0);
        if json {
            let beats =
                ran.stdout.lines().filter(|line| line.contains(r#""type":"heartbeat","turn":1"#));
            assert!(0 < beats.count(), "{}", ran.stdout);
        } else {
            assert!(ran.stderr.contains("[at work, 1 s: "), "{}", ran.stderr);
        }
    }
}

const SCHEMA: &str =
    r#"{"type":"object","required":["verdict"],"properties":{"verdict":{"enum":["ok","bad"]}}}"#;

#[test]
fn an_answer_matches_its_schema_or_is_asked_for_again() {
    let world = World::new();
    let schema = world.path("schema.json");
    fs::write(&schema, SCHEMA).unwrap();
    let schema = schema.to_str().unwrap();
    let model = world.script(
        r#"{"steps":[{"say":"All is well."},{"say":"{\"verdict\":\"fine\"}"},
        {"say":"```json\n{\"verdict\":\"ok\"}\n```"}]}"#,
    );
    let ran = world.run(&["query", "judge", "--model", &model, "--output-schema", schema]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{\"verdict\":\"ok\"}\n"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("does not match its schema").count(), 2, "{}", ran.stderr);
    let said = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(said.contains("answer-schema.json"), "{said}");
}

#[test]
fn an_answer_that_never_matches_fails() {
    let world = World::new();
    let schema = world.path("schema.json");
    fs::write(&schema, SCHEMA).unwrap();
    let schema = schema.to_str().unwrap();
    let ran = world.run(&["query", "list .", "--json", "--output-schema", schema]);
    assert_eq!((ran.code, result(&ran)["reason"].as_str()), (1, Some("output_schema")));
    fs::write(schema, "{").unwrap();
    let ran = world.run(&["query", "list .", "--output-schema", schema]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cannot use the schema"), "{}", ran.stderr);
}

// The job of docs/ci.md, as it stands there.
#[test]
fn the_job_of_the_documents_works() {
    let text = include_str!("../../../../docs/ci.md");
    let job = text.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"{\"verdict\":\"ok\",\"findings\":[]}"}]}"#);
    fs::write(
        world.work("review.schema.json"),
        text.split("```json\n").nth(1).unwrap().split("```").next().unwrap(),
    )
    .unwrap();
    let mut command =
        world.shell(&format!("git init -q . && PATH=\"$(dirname $PITON):$PATH\"\n{job}"));
    command.env("MODEL", &model);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let result: Value =
        serde_json::from_slice(&fs::read(world.work("review.json")).unwrap()).unwrap();
    assert_eq!((&result["ending"], &result["exit_code"]), (&"done".into(), &0.into()), "{result}");
}
