//! What every tool refuses before it starts.

use std::os::unix::fs::symlink;

use piton_core::event::Outcome;
use piton_tools::Toolbox;
use serde_json::{Value, json};

use crate::bench::Bench;

/// Arguments that fit, with a place for a path.
fn with_path(tool: &str, path: &str) -> Value {
    match tool {
        "read_file" | "list_dir" => json!({"path": path}),
        "glob" | "grep" => json!({"pattern": "x", "path": path}),
        "write_file" => json!({"path": path, "content": "x"}),
        "edit_file" => json!({"path": path, "old": "a", "new": "b"}),
        "apply_patch" => {
            json!({"patch": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch")})
        }
        "shell" => json!({"command": "true", "dir": path}),
        other => panic!("no arguments for {other}"),
    }
}

fn names() -> Vec<String> {
    Toolbox::standard().specs().into_iter().map(|spec| spec.name).collect()
}

#[tokio::test]
async fn no_tool_leaves_the_workspace() {
    for tool in names() {
        let bench = Bench::new(&tool);
        let outside = bench.site.workspace.with_file_name("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "a").unwrap();
        symlink(&outside, bench.path("link")).unwrap();
        symlink(outside.join("file"), bench.path("link-to-file")).unwrap();
        symlink("nowhere", bench.path("dangling")).unwrap();
        let absolute = outside.display().to_string();
        for path in ["..", "../outside", "../outside/file", "/etc", "/", &absolute, "link/file"] {
            let text = bench.refusal(with_path(&tool, path)).await;
            assert!(text.contains("outside the workspace"), "{tool} {path}: {text}");
        }
        for path in ["link", "link-to-file", "link/new", "dangling", "dangling/x", ""] {
            bench.refusal(with_path(&tool, path)).await;
        }
        assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "a");
        assert!(!outside.join("new").exists() && !bench.path("nowhere").exists());
    }
}

// K52: what does not fit is refused before the start is recorded.
// K51, O30: an empty object is not an excuse to guess.
#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_by_field() {
    for tool in names() {
        let bench = Bench::new(&tool);
        let text = bench.refusal(json!({"surprise": 1})).await;
        assert!(text.contains("`surprise` is not a field"), "{tool}: {text}");
        assert!(text.contains("Expected: {"), "{tool}: {text}");
        let Value::Object(mut wrong) = with_path(&tool, ".") else { unreachable!() };
        for value in wrong.values_mut() {
            *value = json!(["not", "text"]);
        }
        let text = bench.refusal(Value::Object(wrong.clone())).await;
        for name in wrong.keys() {
            assert!(text.contains(&format!("`{name}` must be of type string")), "{tool}: {text}");
        }
        if tool != "list_dir" {
            let text = bench.refusal(json!({})).await;
            assert!(text.contains("is missing"), "{tool}: {text}");
        }
    }
}

// D60, O34: a run with bad arguments is a failure like another, and nothing happens.
#[tokio::test]
async fn running_what_was_never_prepared_fails() {
    for tool in names().iter().filter(|tool| *tool != "list_dir") {
        let bench = Bench::new(tool);
        let finished = bench.run(&json!({}), &piton_core::event::Handle::None).await;
        assert_eq!(finished.outcome, Outcome::Failed, "{tool}");
        let finished = bench.run(&with_path(tool, "../x"), &piton_core::event::Handle::None).await;
        assert_eq!(finished.outcome, Outcome::Failed, "{tool}");
        assert!(bench.names("").is_empty());
    }
}
