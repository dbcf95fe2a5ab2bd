//! `kill -9` of the real binary in the middle of a turn, in every dialect: the request that it sends
//! when it goes on has the bytes of the one that an undisturbed run sends there (M2, M9, K15).
//!
//! All runs of a dialect begin with a copy of one home, so that even what names the conversation is
//! the same. Nothing else may be equal by luck: ids, times and chance differ in every run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use piton_sim::script::{Fault, FaultKind, Script};
use piton_sim::serve::{Options, Seen, Server};

use crate::faults::can_trace;
use crate::world::{DEADLINE, World, lines, wait_until};

const MODELS: [&str; 5] = [
    "anthropic/claude-sonnet-4-5",
    "openai-chat/gpt-5",
    "openai/gpt-5",
    "codex/gpt-5-codex",
    "gemini/gemini-3-pro",
];

const KEYS: [&str; 4] =
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CODEX_ACCESS_TOKEN", "GEMINI_API_KEY"];

/// A turn before, and the one that is disturbed: a thought, two tools that only read, an answer.
const SCRIPT: &str = r#"{ "steps": [
    { "say": "Hello." },
    { "think": "I look first.", "say": "I look at it now.", "chunk": 2, "calls": [
        { "tool": "read_file", "arguments": { "path": "a.txt" } },
        { "tool": "list_dir", "arguments": { "path": "deep" } } ] },
    { "think": "That is enough.", "say": "It says hi.", "chunk": 2 }
] }"#;
const LOOKS: usize = 1;
const SAYS: usize = 2;
/// Events of a stream behind which it stalls: within the text, in every dialect.
const MIDDLE: usize = 5;

/// How long the provider asks to wait: long enough to be killed in, and waited out by who goes on.
const BACK_OFF_MS: u64 = 5_000;

/// A conversation with one turn, to be copied.
struct Past {
    world: World,
    model: &'static str,
    id: String,
}

/// A copy of the past, and a provider for what comes next.
struct Now<'a> {
    past: &'a Past,
    home: PathBuf,
    server: Server,
}

impl Past {
    fn new(model: &'static str) -> Self {
        let world = World::new();
        fs::write(world.work("a.txt"), "hi\n").unwrap();
        fs::create_dir(world.work("deep")).unwrap();
        fs::write(world.work("deep/b.txt"), "there\n").unwrap();
        let mut past = Self { world, model, id: String::new() };
        let now = Now { past: &past, home: past.world.path("home"), server: server(vec![]) };
        now.finish(&["query", "hello", "--model", model], "Hello.\n");
        past.id = past.world.only_id();
        past
    }

    fn copy(&self, name: &str, faults: Vec<(Option<usize>, Fault)>) -> Now<'_> {
        let home = self.world.path(name);
        copy(&self.world.path("home"), &home);
        Now { past: self, home, server: server(faults) }
    }
}

fn server(faults: Vec<(Option<usize>, Fault)>) -> Server {
    let options = Options { faults, ..Options::default() };
    Server::with(Script::parse(SCRIPT).unwrap(), options).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}

impl Now<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.past.world.command(args);
        command.env("PITON_HOME", &self.home).env("NO_PROXY", "127.0.0.1");
        command.envs(self.server.variables()).envs(KEYS.map(|key| (key, "k3y")));
        command
    }

    fn asks(&self) -> [&str; 6] {
        ["query", "what does a.txt say?", "--id", &self.past.id, "--model", self.past.model]
    }

    fn finish(&self, args: &[&str], last_words: &str) {
        let output = self.command(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let (model, why) = (self.past.model, String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{model}: {why}");
        assert!(said.ends_with(last_words), "{model}: {said} {why}");
    }

    /// Starts a life and ends it without warning when it has come so far.
    fn kill_when(&self, args: &[&str], reached: impl FnOnce(&Server) -> bool) {
        let mut child = self.command(args).spawn().unwrap();
        assert!(reached(&self.server), "{}: it did not come so far", self.past.model);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "it was killed");
    }

    fn go_on(&self) {
        self.finish(&["query", "--continue", "--id", &self.past.id], "It says hi.\n");
    }

    fn events(&self, kind: &str) -> usize {
        let args = ["print", "--json", "--raw", &self.past.id];
        let output = self.command(&args).output().unwrap();
        let entries = lines(&String::from_utf8(output.stdout).unwrap());
        entries.iter().filter(|entry| entry["event"]["type"] == kind).count()
    }

    /// What was asked, by step: the digests of the bodies.
    fn asked(&self) -> BTreeMap<usize, Vec<String>> {
        let mut asked: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for seen in self.server.seen() {
            let Seen { step: Some(step), sha256, .. } = seen else {
                panic!("{}: refused: {}", self.past.model, seen.note);
            };
            asked.entry(step).or_default().push(sha256);
        }
        asked
    }

    /// Every request has the bytes of the undisturbed run.
    fn check(&self, undisturbed: &BTreeMap<usize, Vec<String>>, point: &str) {
        let asked = self.asked();
        let model = self.past.model;
        assert_eq!(
            asked.keys().collect::<Vec<_>>(),
            undisturbed.keys().collect::<Vec<_>>(),
            "{model}, {point}"
        );
        for (step, digests) in asked {
            for digest in digests {
                assert_eq!([digest], undisturbed[&step][..], "{model}, {point}, step {step}");
            }
        }
    }
}

fn stall(step: usize, events: usize) -> (Option<usize>, Fault) {
    (Some(step), Fault::new(FaultKind::Stall).after(events))
}

/// Kills at several points of the turn, each in a run of its own, goes on, and compares.
fn check_model(model: &'static str) {
    let past = Past::new(model);
    let now = past.copy("undisturbed", vec![]);
    now.finish(&now.asks(), "It says hi.\n");
    let undisturbed = now.asked();
    assert!(undisturbed.values().all(|digests| digests.len() == 1), "{undisturbed:?}");

    let now = past.copy("unanswered", vec![stall(LOOKS, 0)]);
    now.kill_when(&now.asks(), |server| server.wait_for_requests(1, DEADLINE));
    now.go_on();
    now.check(&undisturbed, "killed before the first byte of the answer");

    let now = past.copy("streaming", vec![stall(LOOKS, MIDDLE)]);
    now.kill_when(&now.asks(), |server| server.wait_for_stalls(1, DEADLINE));
    now.go_on();
    now.check(&undisturbed, "killed while the model streams");

    let now = past.copy("between", vec![stall(SAYS, 0)]);
    now.kill_when(&now.asks(), |server| server.wait_for_requests(2, DEADLINE));
    now.go_on();
    now.check(&undisturbed, "killed behind the tools");

    let wait = Fault::new(FaultKind::Status(503)).retry_after_ms(BACK_OFF_MS);
    let now = past.copy("waiting", vec![(Some(SAYS), wait)]);
    now.kill_when(&now.asks(), |_| {
        wait_until(|| now.events("ModelFailed") == 1);
        true
    });
    now.go_on();
    now.check(&undisturbed, "killed while waiting to try again");

    let twice = vec![stall(LOOKS, MIDDLE), stall(SAYS, MIDDLE)];
    let now = past.copy("twice", twice);
    now.kill_when(&now.asks(), |server| server.wait_for_stalls(1, DEADLINE));
    now.kill_when(&["query", "--continue", "--id", &past.id], |server| {
        server.wait_for_stalls(2, DEADLINE)
    });
    now.go_on();
    now.check(&undisturbed, "killed while streaming, and again while streaming behind the tools");

    if can_trace() {
        let now = past.copy("tool", vec![]);
        kill_in_tool(&now);
        now.go_on();
        now.check(&undisturbed, "killed while a tool runs");
    }
}

/// Kills where the tool reads its directory.
fn kill_in_tool(now: &Now<'_>) {
    let inner = now.command(&now.asks());
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-P"]).arg(now.past.world.work("deep"));
    command.args(["-e", "inject=getdents64:signal=KILL:when=1"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(inner.get_current_dir().unwrap());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap();
    let (started, finished) = (now.events("ToolStarted"), now.events("ToolFinished"));
    assert!(finished < started, "{}: {started} started, {finished} finished", now.past.model);
}

#[test]
fn resumed_bytes_with_anthropic() {
    check_model(MODELS[0]);
}

#[test]
fn resumed_bytes_with_chat_completions() {
    check_model(MODELS[1]);
}

#[test]
fn resumed_bytes_with_responses() {
    check_model(MODELS[2]);
}

#[test]
fn resumed_bytes_with_codex() {
    check_model(MODELS[3]);
}

#[test]
fn resumed_bytes_with_gemini() {
    check_model(MODELS[4]);
}

#[test]
fn resumed_bytes_control_a_tool_that_gave_something_else_is_noticed() {
    let past = Past::new(MODELS[0]);
    let now = past.copy("undisturbed", vec![]);
    now.finish(&now.asks(), "It says hi.\n");
    fs::write(past.world.work("a.txt"), "ho\n").unwrap();
    let other = past.copy("other", vec![]);
    other.finish(&other.asks(), "It says hi.\n");
    let (now, other) = (now.asked(), other.asked());
    assert_eq!(now[&LOOKS], other[&LOOKS]);
    assert_ne!(now[&SAYS], other[&SAYS]);
}
