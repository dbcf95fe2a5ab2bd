//! One list of what others obey, for commands and for tools that change files: whatever name is used, and where the
//! workspace is a user's own directory, a worktree, or a place that the settings protect.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::can_hold;
use crate::world::{Ran, World};

/// The ways in which a command is held.
pub(super) const WALLS: [&str; 2] = ["", "no-namespaces"];
const TOLD: &str = "[it changed what programs outside the sandbox obey (";

/// One turn in `auto` that makes these calls, one after the other; the user's own directory is `user`.
pub(super) fn play(
    world: &World,
    user: &str,
    calls: &[Value],
    flags: &[&str],
    failing: &str,
) -> Ran {
    let steps = calls.iter().map(|call| json!({ "calls": [call] }));
    let steps: Vec<_> = steps.chain([json!({ "say": "Done." })]).collect();
    let model = world.script(&json!({ "steps": steps }).to_string());
    let flags = [&["query", "go", "--permissions", "auto", "--model", &model][..], flags].concat();
    let mut command = world.command(&flags);
    command.env("PITON_FAIL_POINT", failing).env("HOME", world.path(user));
    world.ran(command.output().unwrap())
}

pub(super) fn shell(command: &str) -> Value {
    json!({ "tool": "shell", "arguments": { "command": command } })
}

fn write(path: &str) -> Value {
    json!({ "tool": "write_file", "arguments": { "path": path, "content": "evil\n" } })
}

/// What the call with this number gave the model.
fn output(world: &World, number: usize) -> String {
    let ends: Vec<_> =
        world.events().into_iter().filter(|event| event["type"] == "ToolFinished").collect();
    ends[number]["output"]["text"].as_str().unwrap().to_owned()
}

fn git(world: &World, arguments: &str) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e"]).args(arguments.split(' '));
    assert!(command.current_dir(world.work("")).status().unwrap().success(), "{arguments}");
}

#[test]
fn a_second_name_made_by_a_command_opens_nothing_to_a_file_tool() {
    if !can_hold() {
        return;
    }
    for link in ["ln", "ln -s"] {
        let calls = [shell(&format!("{link} AGENTS.md name; true")), write("name")];
        let kind = || {
            let world = World::new();
            fs::write(world.work("AGENTS.md"), "Be kind.\n").unwrap();
            world
        };
        let free = kind();
        let ran = play(&free, "user", &calls, &["--sandbox", "off"], "");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        if link == "ln" {
            let text = fs::read_to_string(free.work("AGENTS.md")).unwrap();
            assert_eq!(text, "evil\n", "it must work without a sandbox");
        }
        for failing in WALLS {
            let world = kind();
            play(&world, "user", &calls, &[], failing);
            let text = fs::read_to_string(world.work("AGENTS.md")).unwrap();
            assert_eq!(text, "Be kind.\n", "{link} {failing}");
        }
    }
}

// Where work is done in the user's own directory, what shells read there is obeyed.
#[test]
fn in_a_users_own_directory_what_shells_read_is_protected() {
    if !can_hold() {
        return;
    }
    let own = || {
        let world = World::new();
        fs::write(world.work(".bashrc"), "mine\n").unwrap();
        world
    };
    let command = [shell("echo evil >> .bashrc; mkdir -p .local/bin; echo evil > .local/bin/ls")];
    let is_as_before = |world: &World| {
        let text = fs::read_to_string(world.work(".bashrc")).unwrap();
        text == "mine\n" && !world.work(".local/bin/ls").exists()
    };
    for failing in WALLS {
        let world = own();
        let ran = play(&world, "work", &command, &[], failing);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(is_as_before(&world), "{failing}: {}", output(&world, 0));
        // The same file of a workspace that is nobody's own directory is a file.
        let other = own();
        play(&other, "user", &command, &[], failing);
        assert!(!is_as_before(&other), "{failing}: {}", output(&other, 0));
    }
    for path in [".bashrc", ".config/fish/config.fish"] {
        let world = own();
        let ran = play(&world, "work", &[write(path)], &[], "");
        assert_eq!(ran.code, 3, "it must ask about {path}: {}", ran.stderr);
        assert!(is_as_before(&world));
        let other = own();
        let ran = play(&other, "user", &[write(path)], &[], "");
        assert_eq!(ran.code, 0, "{path}: {}", ran.stderr);
    }
}

#[test]
fn what_the_settings_protect_is_protected_from_commands_and_file_tools() {
    if !can_hold() {
        return;
    }
    let settings = "[sandbox]\nprotect = [\"packages/**/run\"]\n";
    let place = "packages/a/b/run";
    let with = |settings: &str| {
        let world = World::new();
        fs::create_dir_all(world.path("home")).unwrap();
        fs::write(world.path("home/piton.toml"), settings).unwrap();
        fs::create_dir_all(world.work("packages/a/b")).unwrap();
        world
    };
    let command = [shell(&format!("echo evil > {place}"))];
    for failing in WALLS {
        let (world, other) = (with(settings), with(""));
        play(&world, "user", &command, &[], failing);
        assert!(!world.work(place).exists(), "{failing}");
        assert!(output(&world, 0).contains(TOLD), "{}", output(&world, 0));
        play(&other, "user", &command, &[], failing);
        assert!(other.work(place).exists(), "{failing}");
    }
    for (settings, code) in [(settings, 3), ("", 0)] {
        let world = with(settings);
        let ran = play(&world, "user", &[write(place)], &[], "");
        assert_eq!(ran.code, code, "{settings}: {}", ran.stderr);
        assert_eq!(world.work(place).exists(), code == 0, "{settings}");
    }
}

// A repository that gets a submodule with a long name, between two commands or in one.
#[test]
fn hooks_of_a_submodule_are_protected_however_long_its_name_is() {
    if !can_hold() {
        return;
    }
    let module = ".git/modules/a/b/c/d/e/f";
    let evil = format!("echo evil > {module}/hooks/post-commit");
    for failing in WALLS {
        let world = World::new();
        git(&world, "init -q .");
        fs::create_dir_all(world.work(module).join("hooks")).unwrap();
        play(&world, "user", &[shell(&evil)], &[], failing);
        assert!(!world.work(module).join("hooks/post-commit").exists(), "{failing}");
        let world = World::new();
        git(&world, "init -q .");
        play(&world, "user", &[shell(&format!("mkdir -p {module}/hooks; {evil}"))], &[], failing);
        assert!(!world.work(module).join("hooks/post-commit").exists(), "{failing}");
        assert!(output(&world, 0).contains(TOLD), "{failing}: {}", output(&world, 0));
    }
}

#[test]
fn a_worktree_can_be_added_and_worked_in() {
    if !can_hold() {
        return;
    }
    let commands = [
        "git worktree add -q tree -b tree",
        "cd tree && echo x > f && git add f && git -c user.name=n -c user.email=e commit -q -m x",
    ];
    for failing in WALLS {
        let world = World::new();
        git(&world, "init -q .");
        git(&world, "commit -q --allow-empty -m first");
        let ran = play(&world, "user", &commands.map(shell), &[], failing);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for number in 0..commands.len() {
            let text = output(&world, number);
            assert!(text.contains("[exit code 0, no output]"), "{failing}: {text}");
            assert!(!text.contains("put back"), "{failing}: {text}");
        }
        git(&world, "cat-file -e tree:f");
    }
}
