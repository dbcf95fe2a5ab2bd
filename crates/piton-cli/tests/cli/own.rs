//! Files of piton itself that lie in the workspace: a home in the project, or a project that is
//! the user's own directory.

use std::fs;

use serde_json::{Value, json};

use crate::world::{Ran, World, lines};

const SETTINGS: &str = "[providers.own]\ndialect = \"openai-chat\"\n\
    base_url = \"http://127.0.0.1:9/v1\"\nheaders = { x = \"TOPSECRET\" }\n";

/// The home is `.own` in the workspace.
struct Inside(World);

impl Inside {
    fn new() -> Self {
        let world = World::new();
        fs::create_dir(world.work(".own")).unwrap();
        fs::write(world.work(".own/piton.toml"), SETTINGS).unwrap();
        fs::write(world.work("notes"), "TOPSECRET is elsewhere\n").unwrap();
        Self(world)
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.0.command(args);
        self.0.ran(command.env("PITON_HOME", self.0.work(".own")).output().unwrap())
    }

    /// What a call ends with, when nobody is asked.
    fn call(&self, tool: &str, arguments: &Value) -> String {
        let call = json!({ "tool": tool, "arguments": arguments });
        let steps = json!({ "steps": [{ "calls": [call] }, { "say": "x" }] });
        let model = self.0.script(&steps.to_string());
        let ran = self.run(&["query", "go", "--new", "--permissions", "auto", "--model", &model]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let printed = lines(&self.run(&["print", "--json"]).stdout);
        let ended = printed.iter().find(|entry| entry["event"]["type"] == "ToolFinished");
        ended.unwrap()["event"]["output"]["text"].as_str().unwrap().to_owned()
    }
}

// Must show 3: whoever writes the rules makes the rules.
#[test]
fn must_show_3_no_file_tool_reaches_settings_or_conversations() {
    let inside = Inside::new();
    for (tool, arguments) in [
        ("read_file", json!({ "path": ".own/piton.toml" })),
        ("read_file", json!({ "path": ".own/piton.db" })),
        ("write_file", json!({ "path": ".own/piton.toml", "content": "" })),
        ("write_file", json!({ "path": ".own/piton.db", "content": "x" })),
        ("write_file", json!({ "path": "./.own/scratch/../new", "content": "x" })),
        ("edit_file", json!({ "path": ".own/piton.toml", "old": "own", "new": "mine" })),
        ("list_dir", json!({ "path": ".own" })),
        ("glob", json!({ "pattern": "*", "path": ".own" })),
        ("grep", json!({ "pattern": "TOPSECRET", "path": ".own" })),
        ("grep", json!({ "pattern": "TOPSECRET", "path": ".own/piton.toml" })),
        ("shell", json!({ "command": "cat piton.toml", "dir": ".own" })),
    ] {
        let told = inside.call(tool, &arguments);
        assert!(told.contains("piton's own files"), "{tool} {arguments}: {told}");
        assert!(!told.contains("base_url"), "{tool} {arguments}: {told}");
    }
    assert_eq!(fs::read_to_string(inside.0.work(".own/piton.toml")).unwrap(), SETTINGS);
    assert_eq!(lines(&inside.run(&["ls", "--json", "--all"]).stdout).len(), 11, "all are there");
}

#[test]
fn who_looks_around_is_told_that_something_is_left_out() {
    let inside = Inside::new();
    for (tool, arguments) in [
        ("list_dir", json!({})),
        ("glob", json!({ "pattern": "**/*" })),
        ("grep", json!({ "pattern": "TOPSECRET" })),
    ] {
        let told = inside.call(tool, &arguments);
        assert!(told.contains("notes") && !told.contains(".own"), "{tool}: {told}");
        assert!(told.ends_with("[piton's own files are left out]\n"), "{tool}: {told}");
    }
}
