//! What a command is started with: the shell that holds it back, and then becomes it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::mark::VARIABLE;
use super::terminal;
use crate::reexec::WORD;
use crate::supervise::record::log::{Intent, Record, encode};

/// The shell, for the gate and for the command. Not a login shell: those cost hundreds of
/// milliseconds and differ from person to person.
const SHELL: &str = "/bin/sh";
/// Limits, line, then command. No line, then a word in the record.
const SCRIPT: &str = r#"ulimit -Sn "$3" 2>/dev/null; eval "$5"; read -r go && exec /bin/sh -c "$1" <"$4" 2>&1; printf '%s' "$2" >&2"#;
/// The same for a command with a terminal, which is the standard output.
const TERMINAL_SCRIPT: &str = r#"ulimit -Sn "$3" 2>/dev/null; eval "$5"; read -r go && exec /bin/sh -c "$1" <&1 2>&1; printf '%s' "$2" >&2"#;
/// What a command without input reads.
const NOTHING: &str = "/dev/null";

/// What a command is started with, by a supervisor or in place of one.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) intent: &'a Intent,
    /// How many files it may have open.
    pub(crate) files: Option<u64>,
    /// The record.
    pub(crate) log: &'a File,
    /// Where it prints.
    pub(crate) out: &'a File,
    /// Where the gate waits for its line.
    pub(crate) waits: OwnedFd,
    /// What it reads.
    pub(crate) input: Option<OwnedFd>,
}

impl Start<'_> {
    /// The gate, and what has to stay open until it runs.
    pub(crate) fn command(&self) -> io::Result<(Command, Option<OwnedFd>)> {
        let Self { intent, files, .. } = self;
        let files = files.map_or_else(|| "unlimited".to_owned(), |files| files.to_string());
        let never = Record::NeverRan { why: "its supervisor died before it was started".into() };
        // A copy that the shell inherits, and opens anew by its number. Nothing else is started
        // meanwhile.
        let input = self.input.as_ref().map(rustix::io::dup).transpose()?;
        let reads = input.as_ref().map(|input| format!("/proc/self/fd/{}", input.as_raw_fd()));
        let reads = reads.as_deref().unwrap_or(NOTHING);
        let mut command = gate(intent.terminal);
        let limits = intent.sandbox.as_ref().map(|policy| policy.limits.words());
        if let Some(policy) = &intent.sandbox {
            policy.set_variables(&mut command);
        }
        command
            .args(["sh", &intent.command, &encode(&never)?, &files, reads])
            .arg(limits.unwrap_or_default())
            .current_dir(&intent.directory)
            .env(VARIABLE, &intent.marker)
            // A pager would wait for a key that nobody can press.
            .env("PAGER", "cat")
            .env("GIT_PAGER", "cat")
            .env("TERM", if intent.terminal { terminal::KIND } else { "dumb" })
            .stdin(self.waits.try_clone()?)
            .stdout(self.out.try_clone()?)
            .stderr(Stdio::from(self.log.try_clone()?));
        Ok((command, input))
    }
}

/// The shell with its script, in a group of its own: what it starts can be stopped with it.
fn gate(with_terminal: bool) -> Command {
    if with_terminal {
        // A session of its own, which is a group too. Only a process itself can begin one.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("piton").args([WORD, terminal::SESSION, SHELL, "-c", TERMINAL_SCRIPT]);
        return command;
    }
    let mut command = Command::new(SHELL);
    command.args(["-c", SCRIPT]).process_group(0);
    command
}
