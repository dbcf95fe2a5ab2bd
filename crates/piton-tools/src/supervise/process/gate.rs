//! The process that becomes the command, held back until its start is on the disk.
//!
//! A safe program cannot fork, so the gate is a shell: it reads one line from its supervisor and
//! then *becomes* the command. Number and start time stay the same, so what was recorded is the
//! command. If the line does not come, because the supervisor is dead, it records that the command
//! never ran, and is gone. Until then it has the record as its standard error, and with it the lock;
//! the command gets neither.

use std::io::{self, PipeWriter, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::Pid;

use super::handover::{Parcel, Source};
use super::mark::{Mark, VARIABLE};
use super::terminal;
use crate::reexec::WORD;
use crate::sandbox::Wardens;
use crate::supervise::record::log::{Intent, Record, encode};

/// The shell, for the gate and for the command. Not a login shell: those cost hundreds of
/// milliseconds and differ from person to person.
const SHELL: &str = "/bin/sh";
/// Limit, line, then command. No line, then a word in the record.
const SCRIPT: &str = r#"ulimit -Sn "$3" 2>/dev/null; read -r go && exec /bin/sh -c "$1" <"$4" 2>&1; printf '%s' "$2" >&2"#;
/// The same for a command with a terminal, which is the standard output.
const TERMINAL_SCRIPT: &str = r#"ulimit -Sn "$3" 2>/dev/null; read -r go && exec /bin/sh -c "$1" <&1 2>&1; printf '%s' "$2" >&2"#;
/// What a command without input reads.
const NOTHING: &str = "/dev/null";

/// A command behind its gate.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) pid: Pid,
    opener: PipeWriter,
}

impl Gate {
    /// Starts the process; the command waits behind the gate, and will have `files` open
    /// at most. What is confined is so from here on:
    /// the gate is behind the walls already, with the record open and no way to open another.
    pub(crate) fn shut(
        wardens: &mut Wardens,
        files: Option<u64>,
        intent: &Intent,
        parcel: &Parcel,
    ) -> io::Result<Self> {
        let files = files.map_or_else(|| "unlimited".to_owned(), |files| files.to_string());
        let never = Record::NeverRan { why: "its supervisor died before it was started".into() };
        let (waits, opener) = io::pipe()?;
        // A copy that the shell inherits, and opens anew by its number. Nothing else is started
        // meanwhile: the starting thread waits here.
        let input = match &parcel.input {
            None => None,
            Some(Source::File(file)) => Some(rustix::io::dup(file)?),
            Some(Source::Feed(_)) if intent.terminal => None,
            Some(Source::Feed(feed)) => Some(feed.reader()?),
        };
        let out = match &parcel.input {
            Some(Source::Feed(feed)) if intent.terminal => terminal::theirs(&feed.pipe)?,
            Some(_) | None => parcel.out.try_clone()?,
        };
        let reads = input.as_ref().map(|input| format!("/proc/self/fd/{}", input.as_raw_fd()));
        let reads = reads.as_deref().unwrap_or(NOTHING);
        let mut command = gate(intent.terminal);
        if let Some(policy) = &intent.sandbox {
            policy.set_variables(&mut command);
        }
        command
            .args(["sh", &intent.command, &encode(&never)?, &files, reads])
            .current_dir(&intent.directory)
            .env(VARIABLE, &intent.marker)
            // A pager would wait for a key that nobody can press.
            .env("PAGER", "cat")
            .env("GIT_PAGER", "cat")
            .env("TERM", if intent.terminal { terminal::KIND } else { "dumb" })
            .stdin(waits)
            .stdout(out.try_clone()?)
            .stderr(Stdio::from(parcel.log.try_clone()?));
        let child = match &intent.sandbox {
            None => command.spawn()?,
            Some(policy) => wardens.spawn(policy, command, &out)?,
        };
        let pid = Pid::from_child(&child);
        Mark::new(&intent.marker).put_on(pid);
        // Dropping the child neither stops nor reaps it; its keeper does that.
        Ok(Self { pid, opener })
    }

    /// Lets the command begin.
    pub(crate) fn open(mut self) -> io::Result<()> {
        self.opener.write_all(b"\n")
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
