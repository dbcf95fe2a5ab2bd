//! A home and workspaces of a test's own, and the server as a process.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use piton_proof::client::Client;
use serde_json::json;
use tempfile::TempDir;

/// The word that begins a turn of the script.
pub(crate) const WORD: &str = "go";
/// The file of a workspace that gets a line with the name of each call that takes effect.
pub(crate) const LEDGER: &str = "ledger";

/// A server goes on with what it finds, and one of the tools asks first.
const SETTINGS: &str = "[serve]
resume = true
[[permissions]]
effect = \"ask\"
tool = \"sign\"
";

pub(crate) struct Place {
    dir: TempDir,
    pub(crate) token: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let mut place = Self { dir, token: String::new() };
        fs::create_dir(place.path("work")).unwrap();
        fs::create_dir(place.home()).unwrap();
        fs::write(place.home().join("piton.toml"), SETTINGS).unwrap();
        fs::write(place.path("script.json"), script()).unwrap();
        let told = place.command(&["serve", "token", "test"]).output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap().trim().clone_into(&mut place.token);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The workspace of one conversation, so that its ledger is its own.
    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        let path = self.path("work").join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
        command
            .args(args)
            .current_dir(self.path("work"))
            .env("PITON_HOME", self.home())
            .env("PITON_MODEL", format!("script:{}", self.path("script.json").display()))
            .env("PITON_PERMISSIONS", "auto")
            .env("PITON_NO_INPUT", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts the server. What it says to people goes to a file.
    pub(crate) fn start(&self) -> Process {
        let said = File::options().create(true).append(true).open(self.path("said")).unwrap();
        let mut child = self.command(&["serve"]).stderr(said).spawn().unwrap();
        let stdout = child.stdout.take();
        Process { child, stdout }
    }

    /// A copy of the journals as they are.
    pub(crate) fn copy(&self) -> TempDir {
        let copy = TempDir::new().unwrap();
        for name in ["piton.db", "piton.db-wal"] {
            let from = self.home().join(name);
            if from.exists() {
                fs::copy(from, copy.path().join(name)).unwrap();
            }
        }
        copy
    }

    /// What all servers said to people, for a test that failed.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.path("said")).unwrap_or_default()
    }
}

/// A server that runs. It does not outlive this.
pub(crate) struct Process {
    child: Child,
    stdout: Option<ChildStdout>,
}

impl Process {
    /// Waits for the address that it prints; none if it died before.
    pub(crate) async fn address(&mut self) -> Option<String> {
        let stdout = self.stdout.take()?;
        let reading = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).unwrap_or_default();
            line
        });
        let line = reading.await.unwrap();
        line.trim().strip_prefix("http://").map(ToOwned::to_owned)
    }

    pub(crate) fn kill_9(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_9();
    }
}

/// Begins a conversation in a workspace; its name.
pub(crate) async fn begin(client: &Client, workspace: &Path) -> String {
    let body = json!({ "directory": workspace }).to_string();
    let (status, told) = client.ask("POST", "/api/v1/conversations", &body).await.unwrap();
    assert_eq!(status, 201, "{told}");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    told["conversation"].as_str().unwrap().to_owned()
}

/// Every message that says the word begins the same turn: text that streams, calls that take effect, and one
/// that a person is asked about.
fn script() -> String {
    let text = "Text that streams for a while, word by word. ";
    let step = |calls: &[&str]| {
        let calls: Vec<_> = calls.iter().map(|tool| json!({ "tool": tool })).collect();
        json!({ "say": text, "chunk": 4, "chunk_ms": 20, "calls": calls })
    };
    let pays = step(&["pay"; 4]);
    let last = json!({ "think": text, "say": text, "chunk": 4, "chunk_ms": 20 });
    let steps = [pays.clone(), step(&["pay", "sign"]), pays, last];
    let tool =
        |name| json!({ "name": name, "effect": "once", "append_to": LEDGER, "output": "done" });
    let tools = [tool("pay"), tool("sign")];
    json!({ "steps": [], "workers": [{ "task": WORD, "steps": steps }], "tools": tools })
        .to_string()
}
