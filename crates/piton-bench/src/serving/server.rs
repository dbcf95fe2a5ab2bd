//! The real server, as a process of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use piton_proof::client::Client;

use super::script;
use crate::measure::{Bench, Outcome};

/// A server that runs, and how to reach it.
pub(super) struct Server {
    child: Child,
    pub(super) client: Client,
}

impl Server {
    /// Starts one over a home, whose model follows the script.
    pub(super) fn start(bench: &Bench, home: &Path) -> Outcome<Self> {
        fs::create_dir_all(home.join("work"))?;
        let file = home.join("script.json");
        fs::write(&file, script::text())?;
        let token_file = home.join("token");
        let piton = |args: &[&str]| {
            let mut command = Command::new(bench.bin.join("piton"));
            command.args(args).current_dir(home.join("work")).env("PITON_HOME", home);
            command.env("PITON_MODEL", format!("script:{}", file.display()));
            command.env("PITON_PERMISSIONS", "auto").stdin(Stdio::null()).stderr(Stdio::null());
            command
        };
        if !token_file.exists() {
            let told = piton(&["serve", "token", "bench"]).output()?;
            fs::write(&token_file, String::from_utf8(told.stdout)?.trim())?;
        }
        let token = fs::read_to_string(&token_file)?;
        let mut child = piton(&["serve"]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no pipe")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").ok_or("the server does not start")?;
        Ok(Self { child, client: Client { address: address.to_owned(), token } })
    }

    /// A line of its status, in KB.
    pub(super) fn memory(&self, name: &str) -> Outcome<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
        Ok(line.split_whitespace().next().ok_or("an empty line")?.parse()?)
    }

    /// How many descriptors it may have open.
    pub(super) fn descriptors_max(&self) -> Outcome<usize> {
        let text = fs::read_to_string(format!("/proc/{}/limits", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
        let soft = line.and_then(|line| line.split_whitespace().next()).ok_or("no such limit")?;
        Ok(soft.parse().unwrap_or(usize::MAX))
    }

    /// Ends it.
    pub(super) fn end(mut self) -> Outcome<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A measurement that failed must not leave it behind.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}
