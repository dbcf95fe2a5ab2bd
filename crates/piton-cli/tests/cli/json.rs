//! `--json`: one object per line on standard output, nothing else.

use serde_json::Value;

use crate::world::{World, lines};

fn kinds(lines: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

// D82, D23, D27
#[test]
fn a_turn_as_data() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"think":"hm","say":"Hello there.","chunk":6,"chunk_ms":10,
            "calls":[{"tool":"look"}]},{"say":"Done."}],
          "tools":[{"name":"look","effect":"read_only","output":"seen"}]}"#,
    );
    let ran = world.run(&["query", "--json", "go", "--model", &model]);
    let lines = lines(&ran.stdout);
    assert!(lines.iter().all(|line| line["v"] == 1));
    assert_eq!(kinds(&lines)[..3], ["conversation", "entry", "live"]);
    assert_eq!(lines[0]["conversation"], world.only_id());
    assert_eq!(lines[0]["turn"], 1);
    let live = |kind| -> String {
        let of_kind = lines.iter().filter(|line| line["type"] == "live" && line["kind"] == kind);
        of_kind.map(|line| line["text"].as_str().unwrap()).collect()
    };
    assert_eq!(live("reasoning"), "hm");
    assert!("Hello there.Done.".starts_with(&live("text")), "{}", live("text"));
    let entries: Vec<_> = lines.iter().filter(|line| line["type"] == "entry").collect();
    let stored = crate::world::lines(&world.run(&["print", "--json"]).stdout);
    assert_eq!(entries, stored.iter().collect::<Vec<_>>(), "every entry, as stored, once");
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["type"], &last["ending"], &last["exit_code"]),
        (&"result".into(), &"done".into(), &0.into())
    );
}

#[test]
fn every_way_to_end_has_a_result_with_its_exit_code() {
    let world = World::new();
    let model =
        world.script(r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"ls"}}]}]}"#);
    let check = |args: &[&str], code: i32, ending: &str, reason: Value| {
        let ran = world.run(args);
        let last = lines(&ran.stdout).pop().unwrap();
        assert_eq!(ran.code, code, "{args:?} {}", ran.stderr);
        let found = (&last["ending"], &last["reason"], &last["exit_code"]);
        assert_eq!(found, (&ending.into(), &reason, &code.into()), "{args:?}");
        assert!(last["message"].is_string());
    };
    check(&["query", "--json", "go", "--model", &model], 3, "waiting", Value::Null);
    check(&["query", "--json", "more"], 6, "refused", "incomplete_turn".into());
    check(&["query", "--json", "more", "--id", "nil"], 2, "error", "unknown_conversation".into());
    check(&["query", "--json", ""], 2, "error", "empty_text".into());
    check(&["query", "--json", "--discard-turn"], 0, "closed", Value::Null);
    check(&["query", "--json", "--continue"], 0, "nothing", Value::Null);
    check(&["query", "--json", "go", "--model", "opus"], 2, "error", "model".into());
    check(&["query", "--json", "go", "--new", "--continue"], 2, "error", "usage".into());
}
