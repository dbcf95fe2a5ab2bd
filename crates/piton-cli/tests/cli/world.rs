//! A home, a workspace and scripts of a test's own, and the binary run in them.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use expect_test::Expect;
use serde_json::Value;
use tempfile::TempDir;

/// Longest wait for something that must happen.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);
/// How often to look.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Where the binary is, for a user who cannot reach the directory that it was built in.
pub(crate) const PROGRAM: &str = "PITON_PROGRAM";
/// Letters of an id.
const ID_LETTERS: usize = 10;

/// The binary.
pub(crate) fn program() -> PathBuf {
    std::env::var_os(PROGRAM).map_or_else(|| env!("CARGO_BIN_EXE_piton").into(), PathBuf::from)
}

pub(crate) struct World {
    dir: TempDir,
    /// Ids in the order they were seen; expectations call them A, B, C.
    ids: RefCell<Vec<String>>,
}

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir, ids: RefCell::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// A path inside the workspace.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    /// Writes a script; returns how to name it as a model.
    pub(crate) fn script(&self, script: &str) -> String {
        let path = self.path("script.json");
        fs::write(&path, script).unwrap();
        format!("script:{}", path.display())
    }

    /// The binary with arguments, ready to run.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(args)
            .current_dir(self.path("work"))
            .env("PITON_HOME", self.path("home"))
            .env("PITON_NO_INPUT", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A line for the shell, which finds the binary as `$PITON`.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(self.path("work"))
            .env("PITON", program())
            .env("PITON_HOME", self.path("home"))
            .env("PITON_NO_INPUT", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a line of the shell.
    pub(crate) fn run_line(&self, line: &str) -> Ran {
        self.ran(self.shell(line).output().unwrap())
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.ran(self.command(args).output().unwrap())
    }

    /// Runs with something on standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        self.ran(child.wait_with_output().unwrap())
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    pub(crate) fn finish(&self, child: Child) -> Ran {
        self.ran(child.wait_with_output().unwrap())
    }

    /// Runs a life and kills it after a while, or lets it go. Says whether it was killed.
    pub(crate) fn live(&self, args: &[&str], after: Option<Duration>) -> bool {
        let mut child = self.spawn(args);
        if let Some(after) = after {
            // wait: the instant of death is the experiment, nothing is synchronised by it
            std::thread::sleep(after);
            child.kill().unwrap();
        }
        let ran = self.finish(child);
        assert!(after.is_some() || ran.code == 0, "{}", ran.stderr);
        ran.code != 0
    }

    /// Runs commands one after the other and compares everything they say.
    pub(crate) fn check(&self, commands: &[&[&str]], expected: Expect) {
        let mut text = String::new();
        for args in commands {
            let shown: Vec<_> = args.iter().map(|arg| quoted(&self.normal(arg))).collect();
            writeln!(text, "$ piton {}", shown.join(" ")).unwrap();
            text.push_str(&self.shown(&self.run(args)));
        }
        expected.assert_eq(&text);
    }

    /// What a run said, with names that do not change from run to run.
    pub(crate) fn shown(&self, ran: &Ran) -> String {
        let mut text = String::new();
        for line in ran.stdout.lines() {
            writeln!(text, "{line}").unwrap();
        }
        for line in ran.stderr.lines() {
            writeln!(text, "{}", format!("2> {line}").trim_end()).unwrap();
        }
        writeln!(text, "exit {}", ran.code).unwrap();
        self.normal(&text)
    }

    /// The only conversation there is.
    pub(crate) fn only_id(&self) -> String {
        let rows = self.rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows[0]["conversation"].as_str().unwrap().to_owned()
    }

    /// What `ls --json` says.
    pub(crate) fn rows(&self) -> Vec<Value> {
        lines(&self.run(&["ls", "--json", "--all"]).stdout)
    }

    /// The type tags of all events of the only conversation, as `print --json` shows them.
    pub(crate) fn events(&self) -> Vec<Value> {
        let entries = lines(&self.run(&["print", "--json", "--raw"]).stdout);
        entries.into_iter().map(|entry| entry["event"].clone()).collect()
    }

    /// All parts of all messages of the newest conversation.
    pub(crate) fn user_parts(&self) -> Vec<Value> {
        let events = self.events();
        let said = events.iter().filter(|event| event["type"] == "UserMessage");
        said.flat_map(|event| event["parts"].as_array().unwrap().clone()).collect()
    }

    /// How a call ended.
    pub(crate) fn finished(&self, call: &str) -> Value {
        let events = self.events();
        let mut ends =
            events.iter().filter(|event| event["type"] == "ToolFinished" && event["call"] == call);
        ends.next().unwrap_or_else(|| panic!("{call} has not ended: {events:?}")).clone()
    }

    /// Waits until the only conversation has so many events of a type.
    pub(crate) fn wait_for_events(&self, kind: &str, count: usize) {
        wait_until(|| {
            let events = self.events();
            count <= events.iter().filter(|event| event["type"] == kind).count()
        });
    }

    pub(crate) fn ran(&self, output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ran = Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        for (at, word) in ran.stderr.match_indices("onversation ") {
            let id: String = ran.stderr[at + word.len()..].chars().take(ID_LETTERS).collect();
            let is_id = id.len() == ID_LETTERS && id.chars().all(|c| c.is_ascii_alphanumeric());
            let mut ids = self.ids.borrow_mut();
            if is_id && !ids.contains(&id) {
                ids.push(id);
            }
        }
        ran
    }

    fn normal(&self, text: &str) -> String {
        let mut text = text.replace(self.path("").to_str().unwrap().trim_end_matches('/'), "DIR");
        for (id, letter) in self.ids.borrow().iter().zip('A'..='Z') {
            text = text.replace(id, &letter.to_string().repeat(ID_LETTERS));
        }
        without_ratios(&without_draft_names(&text))
    }
}

/// One JSON object per line; anything else fails the test.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Waits for another process to get somewhere.
pub(crate) fn wait_until(mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < DEADLINE, "it did not happen in time");
        // wait: the other process gives no sign but what it writes
        std::thread::sleep(LOOK_EVERY);
    }
}

pub(crate) fn lines_of(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// Drafts are named after digests and chance.
fn without_draft_names(text: &str) -> String {
    let mut pieces = text.split("draft drop ");
    let mut normal = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find('\n').unwrap_or(piece.len());
        write!(normal, "draft drop DRAFT{}", &piece[end..]).unwrap();
    }
    normal
}

/// Estimates count the path of the workspace, which is as long as the machine likes.
fn without_ratios(text: &str) -> String {
    let mut pieces = text.split(" counted for each estimated");
    let mut normal = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let number = normal.rfind('(').map_or(0, |at| at + 1);
        normal.truncate(number);
        write!(normal, "R counted for each estimated{piece}").unwrap();
    }
    normal
}

fn quoted(arg: &str) -> String {
    if arg.is_empty() || arg.contains(' ') { format!("{arg:?}") } else { arg.to_owned() }
}
