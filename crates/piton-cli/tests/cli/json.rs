//! `--json`: one object per line on standard output, nothing else.

use std::fs;
use std::io::{BufRead as _, BufReader};

use piton_core::view::View;
use serde_json::Value;

use crate::world::{World, lines};

fn kinds(lines: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

/// The view that the first line has, moved by the changes behind it.
fn moved(lines: &[Value]) -> View {
    let mut view: View = serde_json::from_value(lines[0]["view"].clone()).unwrap();
    for line in lines.iter().filter(|line| line["type"] == "view_change") {
        view.apply(&serde_json::from_value(line["change"].clone()).unwrap()).unwrap();
    }
    view
}

/// The view that `print --json` shows.
fn printed(world: &World) -> View {
    let lines = lines(&world.run(&["print", "--json"]).stdout);
    assert_eq!((lines.len(), &lines[0]["type"]), (1, &"view".into()));
    serde_json::from_value(lines[0]["view"].clone()).unwrap()
}

// The view of a query holds the turns that it moves, so that its changes fit.
#[test]
fn the_view_of_a_turn_is_moved_by_its_changes() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"One."},{"calls":[{"tool":"shell","arguments":{"command":"ls"}}]},
            {"say":"Two."}]}"#,
    );
    assert_eq!(world.run(&["query", "a", "--model", &model]).code, 0);
    let asked = lines(&world.run(&["query", "--json", "b", "--model", &model]).stdout);
    assert_eq!(moved(&asked), printed(&world));
    let discarded = lines(&world.run(&["query", "--json", "--discard-turn", "c"]).stdout);
    assert_eq!(moved(&discarded).turns, printed(&world).turns[1..]);
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
    assert!(lines.iter().all(|line| line["v"] == 2));
    assert_eq!(kinds(&lines)[..3], ["view", "view_change", "live"]);
    assert_eq!(lines[0]["conversation"], world.only_id());
    assert_eq!(lines[0]["turn"], 1);
    let live = |what: &str| {
        let live = lines.iter().filter(|line| line["type"] == "live");
        let said = live.filter_map(|line| line["live"]["step"][what].as_str());
        said.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(live("reasoning").first().unwrap(), "hm");
    for text in live("text") {
        assert!("Hello there.".starts_with(&text) || "Done.".starts_with(&text), "{text}");
    }
    assert_eq!(moved(&lines), printed(&world), "the view and its changes give what print shows");
    let stored = crate::world::lines(&world.run(&["print", "--json", "--raw"]).stdout);
    let changes = lines.iter().filter(|line| line["type"] == "view_change");
    let cursors: Vec<_> = changes.map(|line| line["change"]["cursor"].as_u64().unwrap()).collect();
    let seqs: Vec<_> = stored.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(cursors, seqs, "every entry, once");
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["type"], &last["ending"], &last["exit_code"]),
        (&"result".into(), &"done".into(), &0.into())
    );
    assert_eq!(
        (&last["conversation"], &last["turn"], &last["text"]),
        (&world.only_id().into(), &1.into(), &"Done.".into())
    );
}

#[test]
fn every_way_to_end_has_a_result_with_its_exit_code() {
    let world = World::new();
    let model = world
        .script(r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"touch x"}}]}]}"#);
    let check = |args: &[&str], code: i32, ending: &str, reason: Value| {
        let ran = world.run(args);
        let last = lines(&ran.stdout).pop().unwrap();
        assert_eq!(ran.code, code, "{args:?} {}", ran.stderr);
        let found = (&last["ending"], &last["reason"], &last["exit_code"]);
        assert_eq!(found, (&ending.into(), &reason, &code.into()), "{args:?}");
        assert!(last["message"].is_string());
        (last["conversation"].clone(), last["turn"].clone(), last["text"].clone())
    };
    let nothing = (Value::Null, Value::Null, Value::Null);
    let found = check(&["query", "--json", "go", "--model", &model], 3, "waiting", Value::Null);
    let (id, one) = (Value::from(world.only_id()), Value::from(1));
    let first = (id.clone(), one, Value::Null);
    assert_eq!(found, first);
    let found = check(&["query", "--json", "more"], 6, "refused", "incomplete_turn".into());
    assert_eq!(found, first);
    let unknown = ["query", "--json", "more", "--id", "nil"];
    assert_eq!(check(&unknown, 2, "error", "unknown_conversation".into()), nothing);
    assert_eq!(check(&["query", "--json", ""], 2, "error", "empty_text".into()), nothing);
    assert_eq!(check(&["query", "--json", "--discard-turn"], 0, "closed", Value::Null), first);
    let found = check(&["query", "--json", "--continue"], 0, "nothing", Value::Null);
    assert_eq!(found, (id, Value::Null, Value::Null));
    check(&["query", "--json", "go", "--model", "opus"], 2, "error", "model".into());
    check(&["query", "--json", "go", "--new", "--continue"], 2, "error", "usage".into());
}

// What a command prints is seen while it runs: it ends only once that was seen.
#[test]
fn the_end_of_an_output_is_live() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell","arguments":
            {"command":"echo early; while [ ! -e go ]; do sleep 0.05; done; echo late"}}]},
            {"say":"Done."}]}"#,
    );
    let mut child =
        world.spawn(&["query", "go", "--json", "--permissions", "auto", "--model", &model]);
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let mut tails = Vec::new();
    for line in stdout.lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let tail = line["live"]["calls"][0]["tail"].as_str().map(str::to_owned);
        if let Some(tail) = tail.filter(|tail| !tail.is_empty()) {
            assert_eq!(line["live"]["calls"][0]["bytes"], tail.len());
            tails.push(tail);
            fs::write(world.work("go"), "").unwrap();
        }
    }
    assert_eq!(tails.first().map(String::as_str), Some("early\n"));
    assert_eq!(world.finish(child).code, 0);
}

// D84
#[test]
fn the_result_is_written_into_a_file_whole() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Yes."}]}"#);
    let file = world.path("result.json");
    let path = file.to_str().unwrap();
    let ran = world.run(&["query", "Well?", "--model", &model, "--result-file", path]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    let result = &lines(&fs::read_to_string(&file).unwrap())[0];
    assert_eq!((&result["type"], &result["text"]), (&"result".into(), &"Yes.".into()));
    assert!(result["usage"]["output"].is_u64() && result["exit_code"] == 0, "{result}");
    let nowhere = world.path("none/result.json");
    let ran = world.run(&[
        "query",
        "Well?",
        "--model",
        &model,
        "--result-file",
        nowhere.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("error: cannot write "), "{}", ran.stderr);
}

// D85
#[test]
fn a_turn_that_takes_too_long_is_stopped_and_kept() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"sleep 600"}}]},{"say":"No."}]}"#,
    );
    let args = ["query", "Well?", "--model", &model, "--permissions", "auto", "--timeout", "1"];
    let ran = world.run(&[&args[..], &["--json"]].concat());
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    let result = lines(&ran.stdout).pop().unwrap();
    assert_eq!((&result["reason"], &result["exit_code"]), (&"timeout".into(), &4.into()));
    assert!(
        ran.stderr.contains(
            "The time of the turn is up (--timeout, or max_turn_seconds in the settings)."
        ),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("--continue"), "{}", ran.stderr);
}
