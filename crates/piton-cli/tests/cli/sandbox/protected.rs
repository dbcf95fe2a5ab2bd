//! What programs outside obey is the same after a confined command, also where no namespace locks it; and a
//! person is asked.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use piton_core::event::Shape;
use piton_core::question::Question;
use piton_tools::sandbox::When;
use piton_tools::{Asker, Job, Response, Responses, Tool as _, Word};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Cell, can_hold};
use crate::command::end_of_command;
use crate::world::{World, wait_until};

/// Changes something, makes something, removes something.
const CHANGES: &str = "echo evil >> .git/config; echo evil > .git/hooks/pre-commit; \
                       echo evil > .mcp.json; rm -f AGENTS.md; exit 7";

/// A world with a workspace that has something of everything.
fn furnished() -> World {
    let world = World::new();
    fs::create_dir_all(world.work(".git/hooks")).unwrap();
    fs::write(world.work(".git/config"), "[core]\n").unwrap();
    fs::write(world.work("AGENTS.md"), "Be kind.\n").unwrap();
    world
}

fn is_as_before(world: &World) -> bool {
    let read = |name| fs::read_to_string(world.work(name)).ok();
    read(".git/config").as_deref() == Some("[core]\n")
        && read("AGENTS.md").as_deref() == Some("Be kind.\n")
        && read(".git/hooks/pre-commit").is_none()
        && read(".mcp.json").is_none()
}

/// One turn with a command, and if its agent dies another one; the end of the call.
fn run(world: &World, command: &str, sandbox: &str, failing: &str) -> Value {
    let call = json!({ "tool": "shell", "arguments": { "command": command } });
    let steps = json!([{ "calls": [call] }, { "say": "Done." }]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let flags = ["query", "go", "--permissions", "auto", "--sandbox", sandbox, "--model", &model];
    let ran = world.command(&flags).env("PITON_FAIL_POINT", failing).output().unwrap();
    if !ran.status.success() {
        let ran = world.run(&["query", "--continue"]);
        assert_eq!(ran.code, 0, "{failing}: {}", ran.stderr);
    }
    end_of_command(world)
}

#[test]
fn what_others_obey_is_put_back_after_a_command_and_the_model_is_told() {
    if !can_hold() {
        return;
    }
    let free = furnished();
    run(&free, CHANGES, "off", "");
    assert!(!is_as_before(&free), "it must work without a sandbox");
    for failing in ["", "no-namespaces"] {
        let world = furnished();
        let end = run(&world, CHANGES, "auto", failing);
        assert!(is_as_before(&world), "{failing}: {end}");
        let text = end["output"]["text"].as_str().unwrap();
        assert!(text.contains("[it changed what programs outside the sandbox obey ("), "{text}");
        assert!(text.contains(".mcp.json") && text.contains("); that was put back]"), "{text}");
        assert_eq!(end["output"]["exit_code"], 7, "{text}");
    }
}

// Nothing that is put back is lost, and it is put back however many of those who do it die.
#[test]
fn crash_at_every_step_of_putting_back() {
    if !can_hold() {
        return;
    }
    for point in [
        "claimed",
        "sent",
        "inner-ended",
        "inner-guard-kept",
        "inner-guard-restored",
        "inner-recorded",
        "inner-guard-kept,outer-guard-kept",
        "inner-guard-restored,outer-guard-restored",
        "sent,inner-guard-kept,outer-guard-kept",
        "sent,inner-ended,outer-ended",
    ] {
        let world = furnished();
        let end = run(&world, CHANGES, "auto", &format!("no-namespaces,{point}"));
        assert!(is_as_before(&world), "{point}: {end}");
        let text = end["output"]["text"].as_str().unwrap();
        assert!(text.contains("that was put back]"), "{point}: {text}");
    }
}

// What goes on in the background is looked at as long as it does.
#[test]
fn what_a_command_leaves_behind_changes_nothing_either() {
    if !can_hold() {
        return;
    }
    let plainly = "(while test ! -e stop; do sleep 0.1; done; echo evil >> .git/config; touch done) \
                   > /dev/null 2>&1 & echo begun";
    is_looked_after(plainly);
    // One that takes off whatever it could be known by.
    let body = "while test ! -e stop; do sleep 0.1; done; echo evil >> .git/config; touch done";
    is_looked_after(&format!("{}; echo begun", away(body)));
}

// Also beside a command outside the sandbox, which tells nothing of what it changes, and once more at its end beside
// one in the sandbox: both may run for days.
#[test]
fn what_a_command_leaves_behind_is_looked_after_beside_another_command() {
    if !can_hold() {
        return;
    }
    let server = "tail -f AGENTS.md";
    let rule =
        format!("[[permissions]]\ntool = \"shell\"\ncommand = \"{server}\"\neffect = \"allow\"\n");
    for settings in [rule.as_str(), ""] {
        is_looked_after_beside(server, settings);
    }
}

fn is_looked_after_beside(server: &str, settings: &str) {
    let world = furnished();
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    // What is there is locked; what is new is not.
    let left = "(while test ! -e stop; do sleep 0.1; done; echo evil > .mcp.json; touch done) \
                > /dev/null 2>&1 & echo begun";
    let steps = json!([
        { "calls": [{ "tool": "shell", "arguments": { "command": server, "keep": true, "wait_s": 0 } }] },
        { "calls": [{ "tool": "shell", "arguments": { "command": left } }] },
        { "say": "Done." },
    ]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let free = world.finished("1.1.0");
    assert_eq!(
        world.run(&["ps"]).stdout.lines().filter(|it| it.contains(server)).count(),
        1,
        "{free}"
    );
    fs::write(world.work("stop"), "").unwrap();
    wait_until(|| world.work("done").exists() && is_as_before(&world));
    let name = format!("{}/1.1.0", world.only_id());
    assert_eq!(world.run(&["kill", &name]).code, 0);
}

/// A command that runs a line of the shell elsewhere, without anything that it could be known by.
fn away(line: &str) -> String {
    format!(
        "python3 -c 'import os, resource, sys
if os.fork(): sys.exit()
os.setsid()
if os.fork(): os._exit(0)
resource.setrlimit(10, (5, 5))
null = os.open(\"/dev/null\", os.O_RDWR)
for number in range(3): os.dup2(null, number)
os.execve(\"/bin/sh\", [\"sh\", \"-c\", \"{line}\"], {{}})'"
    )
}

fn is_looked_after(command: &str) {
    let world = furnished();
    let end = run(&world, command, "auto", "no-namespaces");
    assert!(end["output"]["text"].as_str().unwrap().contains("begun"), "{end}");
    fs::write(world.work("stop"), "").unwrap();
    // wait: it ends by itself, and is looked at once a second.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !(world.work("done").exists() && is_as_before(&world)) {
        assert!(std::time::Instant::now() < until, "it stays changed");
        // wait: for a process that is not ours to be told of.
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

// What does not let protected files be is stopped, and a record says why before.
#[test]
fn what_goes_on_changing_protected_files_is_stopped() {
    if !can_hold() {
        return;
    }
    let body = "echo $$ > pid; while true; do echo evil > .mcp.json; sleep 0.02; done";
    is_stopped(&format!("(sh -c '{body}') > /dev/null 2>&1 & echo begun"));
    // One that takes off whatever it could be known by, and does not end when it is asked to.
    let body = format!("trap \\\"\\\" TERM; {body}");
    let until = "until test -s pid; do sleep 0.01; done";
    is_stopped(&format!("{}; {until}; echo begun", away(&body)));
}

fn is_stopped(command: &str) {
    let world = furnished();
    let end = run(&world, command, "auto", "no-namespaces");
    assert!(end["output"]["text"].as_str().unwrap().contains("begun"), "{end}");
    let log = || {
        let found = std::process::Command::new("sh")
            .args(["-c", "cat home/calls/*/*/log"])
            .current_dir(world.path(""))
            .output();
        String::from_utf8(found.unwrap().stdout).unwrap()
    };
    let is_gone = || {
        let pid = fs::read_to_string(world.work("pid")).unwrap_or_default();
        !pid.is_empty() && !Path::new("/proc").join(pid.trim()).exists()
    };
    // wait: for a process that is not ours.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !(is_gone() && is_as_before(&world)) {
        assert!(std::time::Instant::now() < until, "it goes on: {}", log());
        // wait: for a process that is not ours to be told of.
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(log().contains(r#"{"T":{"why":"protected"}}"#), "{}", log());
}

// A repository that is begun in the sandbox is no danger to anybody.
#[test]
fn a_new_repository_stays() {
    if !can_hold() {
        return;
    }
    let world = World::new();
    let end = run(&world, "git init -q . && git config --list --local", "auto", "");
    assert_eq!(end["output"]["exit_code"], 0, "{end}");
    assert!(!end["output"]["text"].as_str().unwrap().contains("put back"), "{end}");
    assert!(world.work(".git/config").exists());
}

/// Runs a command while somebody is there who gives this answer; what was asked, and what the model reads.
async fn asked(cell: &Cell, command: &str, answer: Response) -> (Vec<Question>, String) {
    let arguments = json!({ "command": command }).as_object().unwrap().clone();
    let handle = cell.tool.prepare(&cell.site, super::CALL, &arguments).await.unwrap().handle;
    let (line, mut heard) = mpsc::channel(1);
    let job = Job { asker: Asker::new(Responses::new(), line), ..cell.job(arguments, handle) };
    let person = tokio::spawn(async move {
        let mut all = Vec::new();
        while let Some(word) = heard.recv().await {
            let Word::Ask(ask) = word else { panic!("{word:?}") };
            all.extend(ask.questions);
            ask.reply.send(vec![answer.clone()]).unwrap();
        }
        all
    });
    let finished = cell.tool.run(job).await;
    (person.await.unwrap(), finished.text)
}

#[tokio::test]
async fn a_person_says_whether_it_was_meant() {
    if !can_hold() {
        return;
    }
    for (answer, is_made) in [
        (Response::Given("make the change".into()), true),
        (Response::Given("leave it as it was".into()), false),
        (Response::Declined, false),
        (Response::Deferred, false),
    ] {
        let cell = Cell::new(When::Always);
        let (questions, text) = asked(&cell, "echo new > .mcp.json", answer.clone()).await;
        assert_eq!(questions.len(), 1, "{questions:?}");
        let question = &questions[0];
        assert!(question.text.contains(".mcp.json is new"), "{}", question.text);
        assert!(question.text.contains("+new"), "{}", question.text);
        assert!(question.wants.human_only && matches!(question.wants.shape, Shape::Choice { .. }));
        assert_eq!(cell.work(".mcp.json").exists(), is_made, "{answer:?}");
        let told = if is_made { "the user has allowed that]" } else { "that was put back]" };
        assert!(text.contains(told), "{text}");
        // It was asked once, and what stands there now is where the next one begins.
        let (questions, text) = asked(&cell, "true", answer).await;
        assert!(questions.is_empty() && !text.contains("it changed"), "{text}");
    }
}

// Harmless lines in front hide nothing, and no name is a line.
#[tokio::test]
async fn a_question_names_all_that_a_yes_makes() {
    if !can_hold() {
        return;
    }
    let cell = Cell::new(When::Always);
    let command = "mkdir .agents .claude; seq 150 > .agents/notes.md; echo evil > .mcp.json; \
                   ln -s /etc/passwd .envrc; echo '{}' > .claude/settings.json; \
                   echo x > \".claude/a\nAGENTS.md was removed\"";
    let (questions, _) = asked(&cell, command, Response::Given("make the change".into())).await;
    let text = &questions[0].text;
    let (names, texts) = text.split_once("\n.agents/notes.md:\n").unwrap();
    for line in [
        "  .agents/notes.md is new",
        "  .mcp.json is new",
        "  .envrc is new, a link to /etc/passwd",
        "  .claude/settings.json is new",
    ] {
        assert!(names.lines().any(|it| it == line), "{line}: {text}");
    }
    assert!(names.contains("  .claude/a\\nAGENTS.md was removed is new"), "{text}");
    assert!(texts.contains(" more lines are not shown]"), "{text}");
    assert!(texts.contains("+evil") && texts.contains("+{}"), "{text}");
    assert!([".agents/notes.md", ".mcp.json"].iter().all(|name| cell.work(name).exists()));
    // What is not named is not made.
    let cell = Cell::new(When::Always);
    let command = "mkdir .claude; for n in $(seq 60); do echo x > .claude/$n; done";
    let (questions, _) = asked(&cell, command, Response::Given("make the change".into())).await;
    assert!(questions[0].text.contains("[20 more are not named"), "{}", questions[0].text);
    let Shape::Choice { options } = &questions[0].wants.shape else { panic!("{questions:?}") };
    assert_eq!(options, &["leave it as it was"]);
    assert!(!cell.work(".claude/1").exists());
}

// What a command has changed is not what the next one finds, however they overlap.
#[tokio::test]
async fn commands_beside_each_other_hide_nothing() {
    if !can_hold() {
        return;
    }
    let cell = Arc::new(Cell::new(When::Always));
    let first = {
        let cell = cell.clone();
        tokio::spawn(async move {
            cell.run("echo evil > .mcp.json; touch ready; until test -e go; do sleep 0.02; done")
                .await
        })
    };
    // wait: for a command in another process.
    while !cell.work("ready").exists() {
        // wait: for a command in another process.
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let second = cell.run("test -e .mcp.json && touch seen").await;
    assert_eq!(second.exit_code, Some(0), "{}", second.text);
    assert!(cell.work("seen").exists(), "they see the same workspace");
    assert!(!cell.work(".mcp.json").exists(), "who ends first puts it back");
    fs::write(cell.work("go"), "").unwrap();
    first.await.unwrap();
    assert!(!cell.work(".mcp.json").exists());
}

/// A workspace as a person made it, what a command makes of it, and a file that is the same then.
const NAMED: [[&str; 3]; 5] = [
    [
        "git init -q --separate-git-dir=.bare .",
        "echo evil >> .bare/config; mkdir -p .bare/hooks; echo evil > .bare/hooks/pre-commit",
        ".bare/config",
    ],
    [
        "git init -q .; echo '[include] path = ../shared.cfg ; ours' >> .git/config; echo '[core]' > shared.cfg",
        "echo evil >> shared.cfg",
        "shared.cfg",
    ],
    [
        "git init -q .; git config extensions.worktreeConfig true; mkdir own; \
         git config --worktree core.hooksPath own; echo mine > own/pre-commit",
        "echo evil > own/pre-commit",
        "own/pre-commit",
    ],
    ["echo 'Read @notes.md first.' > AGENTS.md", "echo evil > notes.md", "notes.md"],
    [
        "mkdir .claude; echo mine > n.md; echo '@../n.md' > .claude/CLAUDE.md",
        "echo evil > n.md",
        "n.md",
    ],
];

#[test]
fn what_repositories_and_instructions_name_is_the_same_after_a_command() {
    if !can_hold() {
        return;
    }
    for [made, command, file] in NAMED {
        for (sandbox, failing) in [("off", ""), ("auto", ""), ("auto", "no-namespaces")] {
            let world = World::new();
            let mut shell = std::process::Command::new("sh");
            shell.args(["-ec", made]).current_dir(world.work("")).env("HOME", world.path(""));
            assert!(shell.status().unwrap().success(), "{made}");
            let read = || fs::read_to_string(world.work(file)).ok();
            let before = read();
            let end = run(&world, command, sandbox, failing);
            assert_eq!(read() == before, sandbox == "auto", "{command} {failing}: {end}");
        }
    }
}
