//! Commands that outlive the agent: killed agents, killed supervisors, restarted machines.
//!
//! Commands wait at a pipe with a name, so that a test decides when they go on.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::world::{World, lines_of, wait_until};

/// A turn with one command, in which the command waits at its gate.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) agent: Child,
}

/// Says that it is there, waits for a word, writes that into the ledger, and ends with 5.
pub(crate) const COMMAND: &str =
    "echo begun; echo $$ > pid; mv pid here; read x < gate; echo $x >> ledger; echo got $x; exit 5";

impl Scene {
    pub(crate) fn new(arguments: &Value) -> Self {
        Self::with(&json!([
            { "say": "Go.", "calls": [{ "tool": "shell", "arguments": arguments }] },
            { "say": "Done." }
        ]))
    }

    /// A turn with these steps, one of which must run [`COMMAND`].
    pub(crate) fn with(steps: &Value) -> Self {
        let world = World::new();
        let status = Command::new("mkfifo").arg(world.work("gate")).status().unwrap();
        assert!(status.success());
        // For scripts that must not go on before the command is there.
        let until = json!({ "name": "until", "effect": "read_only", "wait_for": "here" });
        let model = world.script(&json!({ "steps": steps, "tools": [until] }).to_string());
        let agent = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
        wait_until(|| world.work("here").exists());
        Self { world, agent }
    }

    fn waiting() -> Self {
        Self::new(&json!({ "command": COMMAND }))
    }

    pub(crate) fn kill_agent(&mut self) {
        self.agent.kill().unwrap();
        self.agent.wait().unwrap();
    }

    /// Lets the command go on.
    pub(crate) fn open_gate(&self, word: &str) {
        let mut gate = OpenOptions::new().write(true).open(self.world.work("gate")).unwrap();
        writeln!(gate, "{word}").unwrap();
    }

    pub(crate) fn command(&self) -> Pid {
        number(&fs::read_to_string(self.world.work("here")).unwrap())
    }

    /// The inner and the outer supervisor.
    pub(crate) fn supervisors(&self) -> (Pid, Pid) {
        let inner = parent(self.command());
        (inner, parent(inner))
    }

    /// Goes on with the turn; the command must have ended as it should, once.
    fn collects(self) {
        let ran = self.world.run(&["query", "--continue"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
        self.check_done();
    }

    /// The command has ended as it should, once, and the turn is over.
    fn check_done(&self) {
        let end = end_of_command(&self.world);
        assert_eq!(end["outcome"], "ok", "{end}");
        assert_eq!(end["output"]["text"], "begun\ngot on\n[exit code 5]", "{end}");
        assert_eq!(end["output"]["exit_code"], 5);
        assert_eq!(fs::read_to_string(self.world.work("ledger")).unwrap(), "on\n");
        assert_eq!(crate::crowd::records(&self.world), 0, "the record is not needed any more");
    }

    fn log(&self) -> PathBuf {
        let calls = self.world.path("home/calls").join(self.world.only_id());
        let call = fs::read_dir(calls).unwrap().next().unwrap().unwrap().path();
        call.join("log")
    }
}

pub(crate) fn end_of_command(world: &World) -> Value {
    let ends: Vec<_> =
        world.events().into_iter().filter(|it| it["type"] == "ToolFinished").collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    ends[0].clone()
}

fn number(text: &str) -> Pid {
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

/// The process that wrote its number into a file, as soon as that is there.
pub(crate) fn pid(world: &World, name: &str) -> Pid {
    wait_until(|| world.work(name).exists());
    number(&fs::read_to_string(world.work(name)).unwrap())
}

/// What a call gave.
pub(crate) fn text(world: &World, call: &str) -> String {
    world.finished(call)["output"]["text"].as_str().unwrap().to_owned()
}

pub(crate) fn parent(of: Pid) -> Pid {
    let status = fs::read_to_string(format!("/proc/{}/status", of.as_raw_nonzero())).unwrap();
    number(status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap())
}

pub(crate) fn is_gone(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let is_zombie = stat.is_ok_and(|stat| stat.rsplit(')').next().unwrap().starts_with(" Z"));
    is_zombie || test_kill_process(pid).is_err()
}

fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).unwrap();
    wait_until(|| is_gone(pid));
}

// M10
#[test]
fn a_command_that_ends_while_nobody_is_there_is_collected() {
    let mut scene = Scene::waiting();
    scene.kill_agent();
    assert!(!is_gone(scene.command()), "the command goes on");
    scene.open_gate("on");
    wait_until(|| lines_of(&scene.world.work("ledger")) == 1);
    scene.collects();
}

// M10
#[test]
fn a_command_that_still_runs_is_attached_to() {
    let mut scene = Scene::waiting();
    scene.kill_agent();
    let next = scene.world.spawn(&["query", "--continue"]);
    scene.world.wait_for_events("ToolStarted", 2);
    scene.open_gate("on");
    let ran = scene.world.finish(next);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    scene.check_done();
}

#[test]
fn a_second_killed_agent_changes_nothing() {
    let mut scene = Scene::waiting();
    scene.kill_agent();
    let mut next = scene.world.spawn(&["query", "--continue"]);
    scene.world.wait_for_events("ToolStarted", 2);
    next.kill().unwrap();
    next.wait().unwrap();
    scene.open_gate("on");
    scene.collects();
}

#[test]
fn a_killed_supervisor_is_not_missed() {
    for which in ["inner", "outer"] {
        let mut scene = Scene::waiting();
        let (inner, outer) = scene.supervisors();
        kill(if which == "inner" { inner } else { outer });
        scene.kill_agent();
        scene.open_gate("on");
        wait_until(|| lines_of(&scene.world.work("ledger")) == 1);
        scene.collects();
    }
}

#[test]
fn a_living_agent_does_not_miss_its_supervisors() {
    for both in [false, true] {
        let mut scene = Scene::waiting();
        let (inner, outer) = scene.supervisors();
        if both {
            kill(outer);
        }
        kill(inner);
        scene.open_gate("on");
        assert_eq!(scene.agent.wait().unwrap().code(), Some(0));
        scene.check_done();
    }
}

#[test]
fn an_orphan_is_adopted_and_its_status_is_known() {
    let mut scene = Scene::waiting();
    let (inner, outer) = scene.supervisors();
    scene.kill_agent();
    kill(outer);
    kill(inner);
    let next = scene.world.spawn(&["query", "--continue"]);
    scene.world.wait_for_events("ToolStarted", 2);
    scene.open_gate("on");
    assert_eq!(scene.world.finish(next).code, 0);
    scene.check_done();
}

#[test]
fn after_a_restart_of_the_machine_nothing_is_claimed_and_nothing_repeated() {
    let mut scene = Scene::waiting();
    let (inner, outer) = scene.supervisors();
    scene.kill_agent();
    for pid in [outer, inner, scene.command()] {
        kill(pid);
    }
    // The log as the boot before this one would have left it.
    let log = scene.log();
    let text = fs::read_to_string(&log).unwrap();
    let lines = text.lines().map(|line| match line.split_once(' ') {
        Some((_, body)) if body.contains("\"S\"") => {
            let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
            assert!(body.contains(boot.trim()));
            checked(&body.replace(boot.trim(), "another-boot"))
        }
        _ => line.to_owned(),
    });
    fs::write(&log, lines.map(|line| line + "\n").collect::<String>()).unwrap();
    let ran = scene.world.run(&["query", "--continue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let end = end_of_command(&scene.world);
    assert_eq!(end["outcome"], "unknown");
    let text = end["output"]["text"].as_str().unwrap();
    assert_eq!(text.matches("the machine was restarted").count(), 1, "{text}");
    assert!(text.ends_with("begun"), "the output so far is there: {text}");
    assert_eq!(lines_of(&scene.world.work("ledger")), 0);
}

fn checked(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    let check = u64::from_be_bytes(digest[..8].try_into().unwrap());
    format!("{check:016x} {body}")
}

#[test]
fn a_command_that_was_killed_with_everybody_who_knew_it_does_not_run_again() {
    let mut scene = Scene::waiting();
    let (inner, outer) = scene.supervisors();
    let command = scene.command();
    scene.kill_agent();
    for pid in [outer, inner, command] {
        kill(pid);
    }
    let ran = scene.world.run(&["query", "--continue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let end = end_of_command(&scene.world);
    // As long as its new parent has not reaped it, the kernel knows how it ended.
    let known = end["outcome"] == "ok" && end["output"]["exit_code"] == 137;
    assert!(known || end["outcome"] == "unknown", "{end}");
    assert_eq!(lines_of(&scene.world.work("ledger")), 0);
}

// O8
#[test]
fn an_interrupt_stops_the_command_and_what_it_sent_away() {
    let escapes = "setsid sh -c 'echo $$ > p; mv p away; exec sleep 600' & \
                   (sh -c 'echo $$ > q; mv q child; exec sleep 600' &) ; \
                   env -i PATH=\"$PATH\" setsid sh -c \
                   '(echo $$ > r; sh -c \"echo \\$\\$ > s; mv s bare; exec sleep 600\" &)' ; ";
    let scene = Scene::new(&json!({ "command": format!("{escapes}{COMMAND}") }));
    wait_until(|| ["away", "child", "bare"].iter().all(|name| scene.world.work(name).exists()));
    let pids = ["here", "away", "child", "bare"]
        .map(|name| number(&fs::read_to_string(scene.world.work(name)).unwrap()));
    kill_process(Pid::from_child(&scene.agent), Signal::INT).unwrap();
    let ran = scene.world.finish(scene.agent);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(pids.into_iter().all(is_gone), "something lives on");
    let end = end_of_command(&scene.world);
    assert_eq!(end["outcome"], "cancelled");
    assert!(end["output"]["text"].as_str().unwrap().contains("[stopped on request"), "{end}");
}

#[test]
fn a_discarded_turn_takes_its_command_along() {
    let mut scene = Scene::waiting();
    scene.kill_agent();
    let command = scene.command();
    let ran = scene.world.run(&["query", "--discard-turn"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("\nStopped with the turn: echo begun;"), "{}", ran.stderr);
    assert!(is_gone(command));
    assert_eq!(lines_of(&scene.world.work("ledger")), 0);
}

#[test]
fn commands_do_not_see_keys_of_providers() {
    for args in [&["--new"][..], &["--no-persist", "--json"]] {
        let world = World::new();
        let script = json!({ "steps": [
            { "calls": [{ "tool": "shell", "arguments": { "command": "env" } }] },
            { "say": "Done." }
        ] });
        let model = world.script(&script.to_string());
        let mut command =
            world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
        command.args(args).env("ANTHROPIC_API_KEY", "sk-hush").env("MY_SETTING", "mine");
        let output = command.output().unwrap();
        let shown = if args.len() == 1 {
            world.run(&["print", "--json", "--raw"]).stdout
        } else {
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(shown.contains("MY_SETTING=mine"), "{shown}");
        assert!(!shown.contains("sk-hush"), "{shown}");
    }
}

// One supervisor holds some files for each of all commands; a command has the limit that the agent had.
#[test]
fn supervisors_may_open_all_the_files_there_are_and_commands_as_many_as_their_agent() {
    let world = World::new();
    let command = "ulimit -Sn > own; grep 'open files' /proc/$PPID/limits > inner";
    let steps = json!([
        { "calls": [{ "tool": "shell", "arguments": { "command": command } }] },
        { "say": "Done." }
    ]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let agent = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "ulimit -Sn 200; exec \"$0\" \"$@\""]).arg(agent.get_program());
    limited.args(agent.get_args()).current_dir(world.path("work"));
    limited.envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(limited.output().unwrap().status.success());
    assert_eq!(fs::read_to_string(world.work("own")).unwrap(), "200\n");
    let inner = fs::read_to_string(world.work("inner")).unwrap();
    let [.., soft, hard, _] = inner.split_whitespace().collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!(soft, hard, "{inner}");
}
