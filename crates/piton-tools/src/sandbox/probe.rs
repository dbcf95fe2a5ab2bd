//! Whether the walls hold here: a child of ours tries to go through them.
//!
//! Every attempt is made twice, behind walls and without. One that fails without them too proves
//! nothing, and is reported as such.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Pid, test_kill_process};

use super::behind::spawn;
use super::looks;
use super::namespaces::enter;
use super::policy::Policy;
use crate::reexec::WORD;

/// The word that makes our binary try something.
const PROBE: &str = "probe";
/// The word that makes it try namespaces.
const NAMESPACES: &str = "namespaces";

/// Something that a command may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Write a file in the workspace: this one must succeed.
    WriteInside,
    /// Write a file elsewhere.
    WriteOutside,
    /// Read what is closed.
    ReadClosed,
    /// Get a socket for the network.
    Network,
    /// Find out whether a process outside takes signals.
    Signal,
}

/// How an attempt went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What was tried.
    pub attempt: Attempt,
    /// Whether it succeeded behind the walls.
    pub confined: bool,
    /// Whether it succeeded without them.
    pub free: bool,
}

impl Attempt {
    const ALL: [Self; 5] =
        [Self::WriteInside, Self::WriteOutside, Self::ReadClosed, Self::Network, Self::Signal];

    fn word(self) -> &'static str {
        match self {
            Self::WriteInside => "write-inside",
            Self::WriteOutside => "write-outside",
            Self::ReadClosed => "read-closed",
            Self::Network => "network",
            Self::Signal => "signal",
        }
    }

    fn place(self, site: &Path) -> PathBuf {
        site.join(match self {
            Self::WriteInside => "inside/file",
            Self::WriteOutside => "outside/file",
            Self::ReadClosed | Self::Network | Self::Signal => "closed/file",
        })
    }
}

/// Tries everything, with `program`, which must give [`crate::supervise::dispatch`] its arguments.
pub fn try_out(program: &Path) -> io::Result<Vec<Tried>> {
    let directory = tempfile::tempdir()?;
    let site = directory.path().canonicalize()?;
    for name in ["inside", "outside", "closed"] {
        fs::create_dir(site.join(name))?;
    }
    fs::write(site.join("closed/file"), "closed")?;
    let policy = Policy {
        write: vec![site.join("inside"), "/dev/null".into()],
        closed: vec![site.join("closed")],
        unix_sockets: true,
        ..Policy::default()
    };
    let tried = Attempt::ALL.into_iter().map(|attempt| {
        let command = || command(program, attempt, &site);
        let confined = spawn(&policy, command(), None)?.wait()?.success();
        let free = command().status()?.success();
        Ok(Tried { attempt, confined, free })
    });
    tried.collect()
}

/// Whether commands can have namespaces of their own here; if not, why, as the end of a sentence. Tried by
/// `program`, which must give [`crate::supervise::dispatch`] its arguments.
pub fn try_namespaces(program: &Path) -> io::Result<Result<(), String>> {
    let mut command = Command::new(program);
    command.args([WORD, PROBE, NAMESPACES]).stdin(Stdio::null()).stderr(Stdio::null());
    let done = command.output()?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    Ok(if done.status.success() { Ok(()) } else { Err(said) })
}

/// Goes into namespaces, or says why not.
fn go_apart() -> ExitCode {
    let policy = Policy { write: vec!["/tmp".into()], ..Policy::default() };
    match enter(&policy) {
        Ok(_) => ExitCode::SUCCESS,
        Err(hindrance) => {
            io::stdout().write_all(hindrance.to_string().as_bytes()).ok();
            ExitCode::FAILURE
        }
    }
}

/// What a command that only looks got through with, behind its own wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// Whether it read a file of its workspace: this must succeed.
    pub reads_inside: bool,
    /// Whether it read a file elsewhere.
    pub reads_outside: bool,
    /// Whether it wrote a file.
    pub writes: bool,
}

/// Tries the wall of commands that only look, with programs of the system: no others run there.
pub fn try_looking() -> io::Result<Looked> {
    let directory = tempfile::tempdir()?;
    let site = directory.path().canonicalize()?;
    for name in ["inside", "outside"] {
        fs::create_dir(site.join(name))?;
        fs::write(site.join(name).join("file"), name)?;
    }
    let policy = Policy {
        write: vec!["/dev/null".into()],
        looks: Some(looks::reading(&site.join("inside"), &[])),
        ..Policy::default()
    };
    let run = |program: &str, place: &str| -> io::Result<bool> {
        let mut command = Command::new(program);
        command.arg(site.join(place)).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(spawn(&policy, command, None)?.wait()?.success())
    };
    Ok(Looked {
        reads_inside: run("cat", "inside/file")?,
        reads_outside: run("cat", "outside/file")?,
        writes: run("touch", "inside/new")?,
    })
}

fn command(program: &Path, attempt: Attempt, site: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args([WORD, PROBE, attempt.word()])
        .arg(attempt.place(site))
        .arg(std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Makes an attempt if the arguments say so; the exit code says how it went.
pub(crate) fn dispatch(word: &OsString, arguments: &[OsString]) -> Option<ExitCode> {
    if word != PROBE {
        return None;
    }
    if arguments == [NAMESPACES] {
        return Some(go_apart());
    }
    let [attempt, place, process] = arguments else { return Some(ExitCode::FAILURE) };
    let attempt = Attempt::ALL.into_iter().find(|known| attempt == known.word());
    let done = attempt.map(|attempt| make(attempt, Path::new(place), process));
    Some(if done == Some(true) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn make(attempt: Attempt, place: &Path, process: &OsString) -> bool {
    match attempt {
        Attempt::WriteInside | Attempt::WriteOutside => fs::write(place, "written").is_ok(),
        Attempt::ReadClosed => fs::read(place).is_ok(),
        Attempt::Network => UdpSocket::bind("127.0.0.1:0").is_ok(),
        Attempt::Signal => {
            let pid = process.to_str().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
            pid.is_some_and(|pid| test_kill_process(pid).is_ok())
        }
    }
}
