//! Ways around rules, tried with the real binary.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::world::{Ran, World, lines};

fn world(settings: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    world
}

/// A turn with one call.
fn calls(world: &World, mode: &str, tool: &str, arguments: &Value) -> Ran {
    let call = json!({ "tool": tool, "arguments": arguments });
    let model =
        world.script(&json!({ "steps": [{ "calls": [call] }, { "say": "x" }] }).to_string());
    world.run(&["query", "go", "--new", "--model", &model, "--permissions", mode, "--json"])
}

const TOUCH: &str =
    "[[permissions]]\ntool = \"shell\"\ncommand = \"touch ran\"\neffect = \"allow\"\n";

// Must show 3: a directory is no way round, and neither is a link to one.
#[test]
fn must_show_3_the_same_words_in_another_directory_ask() {
    let world = world(TOUCH);
    fs::create_dir_all(world.work("evil/deep")).unwrap();
    symlink("evil/deep", world.work("link")).unwrap();
    let run = |directory: &str| {
        calls(&world, "ask", "shell", &json!({ "command": "touch ran", "dir": directory }))
    };
    assert_eq!(run(".").code, 0);
    assert_eq!(run("evil").code, 3);
    // As it is written this is the workspace, and where it leads is not.
    assert_eq!(run("link/..").code, 0);
    assert!(!world.work("evil/ran").exists());
    assert!(world.work("ran").exists());
}

const SECRETS: &str = "[[permissions]]\ntool = \"*\"\npath = \"**/.env\"\neffect = \"deny\"\n\
    [[permissions]]\ntool = \"*\"\npath = \"secret/**\"\neffect = \"deny\"\n";

fn with_secrets() -> World {
    let world = world(SECRETS);
    fs::create_dir_all(world.work("secret")).unwrap();
    fs::create_dir_all(world.work("src")).unwrap();
    fs::write(world.work(".env"), "TOPSECRET=1\n").unwrap();
    fs::write(world.work("secret/k"), "TOPSECRET=2\n").unwrap();
    fs::write(world.work("src/a.txt"), "no TOPSECRET here\n").unwrap();
    symlink(".env", world.work("lnk")).unwrap();
    symlink("secret", world.work("sl")).unwrap();
    world
}

// Must show 3: with every mode, and without a sandbox that could hide what the rules miss.
#[test]
fn must_show_3_what_is_denied_by_its_path_is_not_told() {
    let world = with_secrets();
    let cases = [
        ("read_file", json!({ "path": ".env" })),
        ("read_file", json!({ "path": "lnk" })),
        ("read_file", json!({ "path": "sl/k" })),
        ("grep", json!({ "pattern": "TOPSECRET" })),
        ("grep", json!({ "pattern": "TOPSECRET", "glob": ".env" })),
        ("grep", json!({ "pattern": "TOPSECRET", "path": ".env" })),
        ("grep", json!({ "pattern": "TOPSECRET", "path": "secret" })),
        ("grep", json!({ "pattern": "TOPSECRET", "path": "sl" })),
        ("grep", json!({ "pattern": "a", "path": ".", "context": 5 })),
        ("shell", json!({ "command": "cat .env" })),
        ("shell", json!({ "command": "cat k", "dir": "secret" })),
        ("shell", json!({ "command": "cat k", "dir": "sl" })),
        ("shell", json!({ "command": "cat lnk" })),
        ("shell", json!({ "command": "grep -r TOPSECRET ." })),
    ];
    for (tool, arguments) in cases {
        calls(&world, "auto", tool, &arguments);
        let printed = world.run(&["print", "--json", "--raw"]).stdout;
        assert!(!printed.contains("TOPSECRET="), "{tool} {arguments}: {printed}");
    }
}

// Must show 3: also where everything else may be read.
#[test]
fn must_show_3_a_look_around_leaves_out_what_is_denied_and_says_so() {
    let world = with_secrets();
    let told = |tool: &str, arguments: &Value| {
        assert_eq!(calls(&world, "read-only", tool, arguments).code, 0);
        let events = lines(&world.run(&["print", "--json", "--raw"]).stdout);
        let ended = events.iter().map(|line| &line["event"]);
        let ended = ended.filter(|event| event["type"] == "ToolFinished");
        ended.map(|event| event["output"]["text"].as_str().unwrap()).collect::<String>()
    };
    let printed = told("grep", &json!({ "pattern": "TOPSECRET" }));
    assert!(printed.contains("src/a.txt:1:no TOPSECRET here"), "{printed}");
    assert!(printed.contains("[2 paths left out by permission rules]"), "{printed}");
    let printed = told("glob", &json!({ "pattern": "**/*" }));
    assert!(printed.contains("src/a.txt") && !printed.contains("secret/k"), "{printed}");
    assert!(printed.contains("[2 paths left out by permission rules]"), "{printed}");
    let printed = told("list_dir", &json!({}));
    assert_eq!(
        printed,
        "lnk -> .env\nsl -> secret\nsrc/\n[2 paths left out by permission rules]\n"
    );
    let printed = told("list_dir", &json!({ "path": "src" }));
    assert!(!printed.contains("left out"), "{printed}");
}

// Must show 3: rules cannot tell where such names lead, so they ask, and here everything is allowed.
#[test]
fn must_show_3_a_yes_does_not_open_what_is_denied_under_another_name() {
    let world = with_secrets();
    fs::create_dir_all(world.work("src/deep")).unwrap();
    let root = world.work("").canonicalize().unwrap();
    let above = format!("../{}", root.file_name().unwrap().to_str().unwrap());
    let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
    let read = |path: String| ("read_file", json!({ "path": path }));
    let run = |command: String, dir: &str| ("shell", json!({ "command": command, "dir": dir }));
    let edit = json!({ "path": format!("{root}/.env"), "old": "TOPSECRET", "new": "gone" });
    let cases = [
        read(format!("{root}/.env")),
        read(format!("{above}/.env")),
        read(format!("{root}/secret/k")),
        read(format!("{root}/src/../sl/k")),
        ("grep", json!({ "pattern": "TOPSECRET", "path": format!("{root}/.env") })),
        ("grep", json!({ "pattern": "TOPSECRET", "path": format!("{above}/secret") })),
        run(format!("cat {root}/.env"), "."),
        run(format!("cat {root}/secret/k"), "src/deep"),
        ("edit_file", edit),
    ];
    for (tool, arguments) in cases {
        for mode in ["auto", "ask"] {
            let call = json!({ "tool": tool, "arguments": arguments });
            let steps = json!({ "steps": [{ "calls": [call] }, { "say": "x" }] });
            let model = world.script(&steps.to_string());
            let ran = world.run(&[
                "query",
                "go",
                "--new",
                "--model",
                &model,
                "--permissions",
                mode,
                "--unattended",
                "auto",
                "--sandbox",
                "off",
                "--json",
            ]);
            assert_eq!(ran.code, 0, "{arguments}: {}", ran.stderr);
            assert!(!ran.stdout.contains("TOPSECRET="), "{tool} {arguments}: {}", ran.stdout);
            let denied = ran.stdout.contains("A permission rule forbids");
            assert!(denied, "{tool} {arguments}: {}", ran.stdout);
        }
    }
    assert_eq!(fs::read_to_string(world.work(".env")).unwrap(), "TOPSECRET=1\n");
    let harmless = json!({ "path": format!("{root}/src/a.txt") });
    let call = json!({ "tool": "read_file", "arguments": harmless });
    let model =
        world.script(&json!({ "steps": [{ "calls": [call] }, { "say": "x" }] }).to_string());
    let ran =
        world.run(&["query", "go", "--new", "--model", &model, "--unattended", "auto", "--json"]);
    assert!(ran.stdout.contains("no TOPSECRET here"), "{}", ran.stdout);
}

// Must show 3: a policy says yes to what rules ask about, never to what they may forbid.
#[test]
fn must_show_3_a_policy_does_not_open_what_a_deny_may_forbid() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let rules = "[[permissions]]\ntool = \"shell\"\ncommand = \"rm *\"\neffect = \"deny\"\n\
                 [[permissions]]\ntool = \"shell\"\ncommand = \"touch *\"\neffect = \"ask\"\n";
    fs::write(world.path("home/piton.toml"), rules).unwrap();
    fs::write(world.work("victim"), "").unwrap();
    let run = |command: &str, flags: &[&str]| {
        let call = json!({ "tool": "shell", "arguments": { "command": command } });
        let steps = json!({ "steps": [{ "calls": [call] }, { "say": "x" }] });
        let model = world.script(&steps.to_string());
        world.run(&[&["query", "go", "--new", "--model", &model][..], flags].concat()).code
    };
    for mode in ["ask", "accept-edits", "auto"] {
        let flags = ["--permissions", mode, "--unattended", "auto"];
        assert_eq!(run("x=rm; $x victim", &flags), 3, "{mode}");
        assert_eq!(run("rm victim", &flags), 0, "{mode}");
        assert!(world.work("victim").exists(), "{mode}");
        assert_eq!(run(&format!("touch {mode}"), &flags), 0, "{mode}");
        assert!(world.work(mode).exists(), "{mode}: only asked about");
    }
    assert_eq!(run("x=rm; $x victim", &["--unattended", "deny"]), 0);
    assert_eq!(run("x=rm; $x victim", &["--unattended", "auto"]), 3);
    assert_eq!(world.run(&["answer", "yes", "--continue"]).code, 0);
    assert!(!world.work("victim").exists(), "a person may");
}

// Must show 3: the workspace is known, so a name from the root needs no question.
#[test]
fn must_show_3_a_name_from_the_root_is_judged_like_its_short_form() {
    let world = with_secrets();
    let root = world.work("").canonicalize().unwrap();
    let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
    let read = |path: String| ("read_file", json!({ "path": path }));
    let run = |command: String| ("shell", json!({ "command": command }));
    for (tool, arguments) in [
        read(format!("{root}/.env")),
        read(format!("/{root}/src/./../.env")),
        read("../work/secret/k".into()),
        run(format!("cat '{root}/secret/k'")),
        run(format!("cat <{root}//.env")),
    ] {
        let ran = calls(&world, "auto", tool, &arguments);
        assert_eq!(ran.code, 0, "{arguments}: {}", ran.stderr);
        assert!(ran.stdout.contains("nobody was asked"), "{arguments}: {}", ran.stdout);
    }
    for (tool, arguments) in [
        read(format!("{root}/src/a.txt")),
        read("../work/src/a.txt".into()),
        (
            "edit_file",
            json!({ "path": format!("{root}/src/a.txt"), "old": "here", "new": "there" }),
        ),
    ] {
        let ran = calls(&world, "accept-edits", tool, &arguments);
        assert_eq!(ran.code, 0, "{arguments}: {}", ran.stderr);
        assert!(!ran.stdout.contains("was not run"), "{arguments}: {}", ran.stdout);
    }
    assert_eq!(fs::read_to_string(world.work("src/a.txt")).unwrap(), "no TOPSECRET there\n");
    // Where a link beside the workspace leads is found out when it is looked up.
    symlink(&root, world.path("beside")).unwrap();
    let beside = json!({ "path": world.path("beside/.env") });
    assert_eq!(calls(&world, "auto", "read_file", &beside).code, 3);
}

// Must show 3: git takes a directory with the right files for a repository, whatever it is called, and
// a command that is allowed would run what is configured there.
#[test]
fn must_show_3_accepted_edits_make_no_repository_and_touch_none() {
    let world = world(&TOUCH.replace("touch ran", "git status *"));
    fs::create_dir_all(world.work("old.git/objects")).unwrap();
    fs::create_dir_all(world.work("old.git/refs")).unwrap();
    fs::write(world.work("old.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(world.work("old.git/config"), "[core]\n").unwrap();
    let write = |path: &str| {
        let content = "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = ./evil\n";
        let arguments = json!({ "path": path, "content": content });
        calls(&world, "accept-edits", "write_file", &arguments).code
    };
    for path in ["evil", "objects/x", "refs/x", "new/objects/x"] {
        assert_eq!(write(path), 0, "{path}");
    }
    for path in ["config", "HEAD", "new/HEAD", "new/Config", "sub/.git", "old.git/hooks/update"] {
        assert_eq!(write(path), 3, "{path}");
        assert!(!world.work(path).exists(), "{path}");
    }
    let edit =
        json!({ "path": "old.git/config", "old": "[core]", "new": "[core]\nfsmonitor = ./x" });
    assert_eq!(calls(&world, "accept-edits", "edit_file", &edit).code, 3);
    assert_eq!(fs::read_to_string(world.work("old.git/config")).unwrap(), "[core]\n");
}
