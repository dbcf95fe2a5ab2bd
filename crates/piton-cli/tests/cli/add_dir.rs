//! Directories beside the workspace that tools may work in.

use std::fs;

use serde_json::json;

use crate::world::World;

/// A world with a directory `lib` beside the workspace.
fn world() -> World {
    let world = World::new();
    fs::create_dir_all(world.path("lib/inner")).unwrap();
    fs::write(world.path("lib/inner/a.txt"), "needle\n").unwrap();
    fs::write(world.path("lib/.gitignore"), "ignored\n").unwrap();
    fs::write(world.path("lib/ignored"), "needle\n").unwrap();
    fs::write(world.path("beside"), "needle\n").unwrap();
    world
}

/// A script that calls tools one after the other; `LIB` stands for the directory.
fn script(world: &World, calls: &[(&str, serde_json::Value)]) -> String {
    let calls = calls.iter().map(|(tool, arguments)| json!({"tool": tool, "arguments": arguments}));
    let mut steps: Vec<_> = calls.map(|call| json!({"calls": [call]})).collect();
    steps.push(json!({"say": "Done."}));
    let text = json!({"steps": steps}).to_string();
    let lib = world.path("lib").display().to_string();
    world.script(&text.replace("LIB", &lib))
}

fn output(world: &World, call: &str) -> String {
    let finished = world.finished(call).to_string();
    finished.replace(world.path("lib").to_str().unwrap(), "LIB")
}

#[test]
fn tools_read_and_write_in_a_directory_that_was_added() {
    let world = world();
    let model = script(
        &world,
        &[
            ("read_file", json!({"path": "LIB/inner/a.txt"})),
            ("list_dir", json!({"path": "../lib"})),
            ("glob", json!({"pattern": "**/*", "path": "LIB"})),
            ("grep", json!({"pattern": "needle", "path": "LIB"})),
            ("edit_file", json!({"path": "LIB/inner/a.txt", "old": "needle", "new": "pin"})),
            ("write_file", json!({"path": "LIB/new/b.txt", "content": "b"})),
            ("read_file", json!({"path": "../beside"})),
        ],
    );
    let args =
        ["query", "go", "--add-dir", "../lib", "--permissions", "accept-edits", "-m", &model];
    let ran = world.run(&args);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    assert!(output(&world, "1.1.0").contains("needle"));
    assert!(output(&world, "1.2.0").contains("inner/"));
    let globbed = output(&world, "1.3.0");
    assert!(
        globbed.contains("LIB/inner/a.txt\\n") && !globbed.contains("LIB/ignored"),
        "{globbed}"
    );
    let found = output(&world, "1.4.0");
    assert!(found.contains("LIB/inner/a.txt") && !found.contains("LIB/ignored"), "{found}");
    assert_eq!(fs::read_to_string(world.path("lib/inner/a.txt")).unwrap(), "pin\n");
    assert_eq!(fs::read_to_string(world.path("lib/new/b.txt")).unwrap(), "b");
    let outside = output(&world, "1.7.0");
    assert!(outside.contains("is outside the workspace"), "{outside}");
    assert!(outside.contains("and the added LIB"), "{outside}");
    // The newest change first: the file that was made goes, then the edit is taken back.
    for _ in 0..2 {
        let undone = world.run(&["undo"]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
    }
    assert!(!world.path("lib/new/b.txt").exists());
    assert_eq!(fs::read_to_string(world.path("lib/inner/a.txt")).unwrap(), "needle\n");
}

#[test]
fn without_the_flag_the_directory_is_closed() {
    let world = world();
    let model = script(&world, &[("read_file", json!({"path": "LIB/inner/a.txt"}))]);
    assert_eq!(world.run(&["query", "go", "-m", &model]).code, 0);
    assert!(output(&world, "1.1.0").contains("is outside the workspace"));
}

// The journal has it, so whoever goes on with the conversation has it too.
#[test]
fn a_conversation_keeps_the_directories_that_were_added() {
    let world = world();
    let path = |name: &str| world.path("lib").join(name).to_str().unwrap().to_owned();
    let call = |tool: &str, arguments| json!({"calls": [{"tool": tool, "arguments": arguments}]});
    let steps = [
        call("write_file", json!({"path": path("b.txt"), "content": "b"})),
        json!({"say": "Done."}),
        call("read_file", json!({"path": path("inner/a.txt")})),
        json!({"say": "Read."}),
    ];
    let model = world.script(&json!({"steps": steps}).to_string());
    let ran = world.run(&["query", "go", "--add-dir", "../lib", "-m", &model]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let ran = world.run(&["answer", "yes", "--continue"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(world.path("lib/b.txt")).unwrap(), "b");
    let changes = world.events();
    let added = changes.iter().filter(|event| {
        event["change"]["permissions"]["directories"]
            == json!([world.path("lib").to_str().unwrap()])
    });
    assert_eq!(added.count(), 1, "{changes:?}");
    assert_eq!(world.run(&["query", "and now?"]).code, 0);
    assert!(output(&world, "2.1.0").contains("needle"));
}

#[test]
fn accepted_edits_in_an_added_directory_tell_no_program_what_to_run() {
    let world = world();
    let model =
        script(&world, &[("write_file", json!({"path": "LIB/.git/config", "content": "x"}))]);
    let args =
        ["query", "go", "--add-dir", "../lib", "--permissions", "accept-edits", "-m", &model];
    assert_eq!(world.run(&args).code, 3);
}

#[test]
fn a_command_in_the_sandbox_writes_in_an_added_directory_and_nowhere_else() {
    let world = World::new();
    // Outside the temporary directory, where every command may write.
    let away = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = away.path().canonicalize().unwrap();
    for name in ["lib", "other"] {
        fs::create_dir(place.join(name)).unwrap();
    }
    let (lib, other) = (place.join("lib"), place.join("other"));
    let command = format!("touch {}/a; touch {}/b; pwd", lib.display(), other.display());
    let arguments = json!({"command": command, "dir": lib.to_str().unwrap()});
    let model = script(&world, &[("shell", arguments)]);
    let lib_text = lib.to_str().unwrap();
    let args = ["query", "go", "--add-dir", lib_text, "--permissions", "auto", "-m", &model];
    let ran = world.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(lib.join("a").exists(), "{}", world.finished("1.1.0"));
    let confined = !ran.stderr.contains("without all of their sandbox");
    assert_eq!(other.join("b").exists(), !confined, "{}", world.finished("1.1.0"));
    assert!(world.finished("1.1.0").to_string().contains(lib_text), "it ran there");
}

#[test]
fn a_directory_that_cannot_be_added_is_told() {
    let world = world();
    let model = script(&world, &[]);
    assert_eq!(world.run(&["query", "go", "-m", &model]).code, 0);
    for (directory, told) in [
        ("../none", "error: cannot add the directory ../none: No such file or directory"),
        ("../beside", "error: cannot add ../beside: it is no directory"),
        ("../home", "error: cannot add ../home: piton keeps its own settings and conversations"),
        ("../home/scratch", "error: cannot add ../home/scratch: piton keeps its own settings"),
    ] {
        let ran = world.run(&["query", "more", "--add-dir", directory]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: check the path after --add-dir"), "{}", ran.stderr);
    }
    assert_eq!(world.rows()[0]["turns"], 1, "nothing was begun");
}

#[test]
fn a_directory_that_was_added_is_taken_out_again() {
    let world = world();
    let read = ("read_file", json!({"path": "LIB/inner/a.txt"}));
    let model = script(&world, std::slice::from_ref(&read));
    let ran = world.run(&["query", "go", "--add-dir", "../lib", "-m", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(output(&world, "1.1.0").contains("needle"));
    let model = script(&world, &[("list_dir", json!({})), ("list_dir", json!({})), read]);
    let ran =
        world.run(&["query", "go", "--remove-dir", "../lib", "--remove-dir", "x", "-m", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stderr.matches("was not added to this conversation").count(),
        1,
        "{}",
        ran.stderr
    );
    let told = world.events().iter().map(ToString::to_string).collect::<String>();
    assert_eq!(told.matches("in no further directories any more").count(), 1, "{told}");
    let told = output(&world, "2.1.0");
    assert!(!told.contains("needle") && told.contains("outside"), "{told}");
}
