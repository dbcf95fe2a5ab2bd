//! Commands that only look: run without a question behind their wall, asked about without one.

use std::fs;
use std::sync::Arc;

use piton_tools::sandbox::{Kernel, When};
use piton_tools::supervise::Supervisor;
use piton_tools::{Consent, Job, Shell, Tool as _};
use serde_json::{Value, json};

use super::{CALL, Cell};
use crate::command::end_of_command;
use crate::world::{Ran, World};

/// One turn with a command, while nobody is there to answer.
fn turn(world: &World, command: &str, flags: &[&str], failing: &str) -> Ran {
    let call = json!({ "tool": "shell", "arguments": { "command": command } });
    let script = json!({ "steps": [{ "say": "Go.", "calls": [call] }, { "say": "Done." }] });
    let model = world.script(&script.to_string());
    let flags = [&["query", "go", "--model", &model][..], flags].concat();
    let output = world.command(&flags).env("PITON_FAIL_POINT", failing).output().unwrap();
    world.ran(output)
}

fn world() -> World {
    let world = World::new();
    fs::write(world.work("a.txt"), "some text\n").unwrap();
    world
}

fn can_hold() -> bool {
    let can = Kernel::ask().has_wall();
    if !can {
        eprintln!("skipped: this kernel has no wall for commands that only look");
    }
    can
}

fn questions(world: &World) -> Vec<Value> {
    world.events().into_iter().filter(|it| it["type"] == "InquiryRaised").collect()
}

#[test]
fn what_only_looks_runs_without_a_question() {
    if !can_hold() {
        return;
    }
    for mode in ["ask", "accept-edits"] {
        let world = world();
        let ran = turn(&world, "ls && cat a.txt | head -1", &["--permissions", mode], "");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let end = end_of_command(&world);
        let text = end["output"]["text"].as_str().unwrap();
        assert!(text.contains("a.txt\n") && text.ends_with("some text\n"), "{text}");
        assert!(questions(&world).is_empty());
    }
}

#[test]
fn a_link_that_leads_out_is_not_read_and_the_way_to_ask_is_told() {
    if !can_hold() {
        return;
    }
    let world = world();
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(outside.path().join("secret"), "SECRET\n").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), world.work("link")).unwrap();
    assert_eq!(turn(&world, "cat link", &[], "").code, 0);
    let end = end_of_command(&world);
    let text = end["output"]["text"].as_str().unwrap();
    assert!(!text.contains("SECRET") && text.contains("put `env` in front"), "{text}");
}

#[tokio::test]
async fn a_look_that_was_started_is_attached_to_where_there_is_no_wall_any_more() {
    if !can_hold() {
        return;
    }
    let cell = Cell::new(When::Unapproved);
    let arguments = json!({ "command": "echo x; echo y > z" }).as_object().unwrap().clone();
    let handle = cell.tool.prepare(&cell.site, CALL, &arguments).await.unwrap().handle;
    let job = || {
        let job = cell.job(arguments.clone(), handle.clone());
        Job { consent: Consent::OnlyLooks, ..job }
    };
    let first = cell.tool.run(job()).await;
    assert!(first.text.contains("Permission denied"), "{}", first.text);
    assert!(!cell.work("z").exists());
    let program = env!("CARGO_BIN_EXE_piton").into();
    let open = Supervisor::new(program, cell.outside.join("calls"), Vec::new());
    let open = Shell::supervised(Arc::new(open));
    assert_eq!(open.run(job()).await.text, first.text);
    let fresh = open.prepare(&cell.site, CALL, &arguments).await.unwrap().handle;
    let refused = open.run(Job { handle: fresh, ..job() }).await;
    assert!(refused.text.starts_with("not run: nobody was asked"), "{}", refused.text);
    assert!(!cell.work("z").exists());
}

#[test]
fn without_a_wall_it_asks() {
    for (flags, failing) in
        [(&["--sandbox", "off"][..], ""), (&[], "no-landlock"), (&[], "no-filters")]
    {
        let world = world();
        let ran = turn(&world, "ls", flags, failing);
        assert_eq!(ran.code, 3, "{flags:?} {failing}: {}", ran.stderr);
        assert_eq!(questions(&world).len(), 1);
    }
}

#[test]
fn what_does_more_than_look_asks_and_so_does_what_a_rule_asks_about() {
    let world = world();
    assert_eq!(turn(&world, "ls > b.txt", &[], "").code, 3);
    let world = self::world();
    fs::create_dir_all(world.path("home")).unwrap();
    let rule = "[[permissions]]\ntool = \"shell\"\neffect = \"ask\"\n";
    fs::write(world.path("home/piton.toml"), rule).unwrap();
    assert_eq!(turn(&world, "ls", &[], "").code, 3);
}
