//! A home and a workspace of a test's own, and a server in them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("piton-").tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self(dir)
    }

    /// A path inside the workspace.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("work").join(name)
    }

    /// Writes a script; how it is named as a model.
    pub(crate) fn script(&self, script: &Value) -> String {
        let path = self.0.path().canonicalize().unwrap().join("script.json");
        fs::write(&path, script.to_string()).unwrap();
        format!("script:{}", path.display())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
        command
            .args(args)
            .current_dir(self.work(""))
            .env("PITON_HOME", self.0.path().join("home"))
            .env("PITON_NO_INPUT", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs piton to its end; what it gave.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// All events of the newest conversation.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let lines = self.run(&["print", "--json", "--raw"]);
        lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].take())
            .collect()
    }

    /// Those of a type.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        self.journal().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// Writes the settings.
    pub(crate) fn set(&self, settings: &str) {
        let home = self.0.path().join("home");
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("piton.toml"), settings).unwrap();
    }

    /// A server at a free port.
    pub(crate) fn serve(&self, model: &str) -> Serving {
        self.serve_at(model, "127.0.0.1:0")
    }

    pub(crate) fn serve_at(&self, model: &str, address: &str) -> Serving {
        self.serve_with(model, address, &[])
    }

    /// A server with variables in its environment.
    pub(crate) fn serve_with(&self, model: &str, address: &str, set: &[(&str, &str)]) -> Serving {
        let mut command = self.command(&["serve", "--listen", address]);
        command.envs(set.iter().copied());
        let mut child = command.env("PITON_MODEL", model).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("/sign-in?code=") {
            line.clear();
            assert!(0 < stderr.read_line(&mut line).unwrap(), "the server ended");
        }
        let sign_in = line[line.find("http://").unwrap()..].trim().to_owned();
        Serving { child, _stderr: stderr, url: url.trim().to_owned(), sign_in }
    }
}

/// A server that runs.
pub(crate) struct Serving {
    child: Child,
    /// Held, so that it can go on talking.
    _stderr: BufReader<ChildStderr>,
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    /// The address that signs a browser in, once.
    pub(crate) sign_in: String,
}

impl Serving {
    /// `kill -9`; where it listened.
    pub(crate) fn kill_9(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.url.strip_prefix("http://").unwrap().to_owned()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}
