//! Files of piton itself that lie in the workspace: a home in the project, or a project that is
//! the user's own directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::{Ran, World, lines};

const SETTINGS: &str = "[providers.own]\ndialect = \"openai-chat\"\n\
    base_url = \"http://127.0.0.1:9/v1\"\nheaders = { x = \"TOPSECRET\" }\n";

/// A workspace with settings and conversations in it.
struct Inside {
    world: World,
    home: PathBuf,
}

impl Inside {
    /// The home is `.own` in the workspace.
    fn new() -> Self {
        let world = World::new();
        fs::create_dir(world.work(".own")).unwrap();
        fs::write(world.work(".own/piton.toml"), SETTINGS).unwrap();
        fs::write(world.work("notes"), "TOPSECRET is elsewhere\n").unwrap();
        let home = world.work(".own");
        Self { world, home }
    }

    /// The home is elsewhere, and its files are links to `.own` in the workspace.
    fn linked() -> Self {
        let Self { world, .. } = Self::new();
        let home = world.path("home");
        let inside = Self { world, home };
        assert_eq!(inside.run(&["query", "list .", "--model", "demo"]).code, 0);
        let (world, home) = (&inside.world, &inside.home);
        fs::rename(home.join("piton.db"), world.work(".own/piton.db")).unwrap();
        for name in ["piton.db", "piton.toml"] {
            symlink(world.work(".own").join(name), home.join(name)).unwrap();
        }
        inside
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.world.command(args);
        self.world.ran(command.env("PITON_HOME", &self.home).output().unwrap())
    }

    /// What a call ends with, when nobody is asked.
    fn call(&self, tool: &str, arguments: &Value) -> String {
        let call = json!({ "tool": tool, "arguments": arguments });
        let steps = json!({ "steps": [{ "calls": [call] }, { "say": "x" }] });
        let model = self.world.script(&steps.to_string());
        let ran = self.run(&["query", "go", "--new", "--permissions", "auto", "--model", &model]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let printed = lines(&self.run(&["print", "--json", "--raw"]).stdout);
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
    assert_eq!(fs::read_to_string(inside.world.work(".own/piton.toml")).unwrap(), SETTINGS);
    assert_eq!(lines(&inside.run(&["ls", "--json", "--all"]).stdout).len(), 11, "all are there");
}

// Must show 3: settings are often kept in a repository of their own.
#[test]
fn must_show_3_links_to_settings_and_conversations_are_closed_where_they_lead() {
    let inside = Inside::linked();
    for (tool, arguments) in [
        ("read_file", json!({ "path": ".own/piton.toml" })),
        ("write_file", json!({ "path": ".own/piton.toml", "content": "" })),
        ("write_file", json!({ "path": ".own/piton.db", "content": "x" })),
        ("grep", json!({ "pattern": "TOPSECRET", "path": ".own/piton.toml" })),
    ] {
        let told = inside.call(tool, &arguments);
        assert!(told.contains("piton's own files"), "{tool} {arguments}: {told}");
    }
    let told = inside.call("grep", &json!({ "pattern": "TOPSECRET" }));
    assert!(told.contains("notes") && !told.contains("headers"), "{told}");
    let line = "echo x >> .own/piton.toml; mv .own/piton.toml away; cat .own/piton.toml";
    let told = inside.call("shell", &json!({ "command": line }));
    let settings = fs::read_to_string(inside.world.work(".own/piton.toml")).unwrap();
    if told.contains("Permission denied") {
        assert_eq!(settings, SETTINGS, "{told}");
    } else {
        println!("the sandbox was not tried: {told}");
    }
    assert_eq!(lines(&inside.run(&["ls", "--json", "--all"]).stdout).len(), 7, "all are there");
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
