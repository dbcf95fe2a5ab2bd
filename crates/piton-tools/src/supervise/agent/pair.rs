//! The agent's end: two supervisors for all commands of this process, started with the first one.
//!
//! Starting a program as large as piton costs a millisecond, so each command does not get
//! supervisors of its own. Should they be killed, the agents that wait for commands find out by
//! themselves, and the next command gets new ones.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

use crate::supervise::process::awake;
use crate::supervise::process::handover::{self, Parcel};
use crate::supervise::process::role::Role;

/// Starts supervisors and gives them work.
#[derive(Debug)]
pub(crate) struct Pairs {
    program: PathBuf,
    /// Variables that commands do not see.
    hidden: Vec<OsString>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pair: Option<Pair>,
    sent: u64,
}

/// Two supervisors.
#[derive(Debug)]
struct Pair {
    socket: OwnedFd,
    outer: Option<Child>,
}

impl Pairs {
    pub(crate) fn new(program: PathBuf, hidden: Vec<OsString>) -> Self {
        Self { program, hidden, state: Mutex::default() }
    }

    /// Hands a call over, and says to which outer supervisor. Nothing was handed over if that fails.
    pub(crate) fn send(&self, mut parcel: Parcel) -> io::Result<Option<Pid>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sent += 1;
        parcel.id = state.sent;
        if let Some(pair) = &state.pair {
            // One that was stopped takes nothing.
            pair.process().into_iter().for_each(awake::wake_below);
            if handover::send(&pair.socket, &parcel).is_ok() {
                return Ok(pair.process());
            }
        }
        // None yet, or they are gone.
        let pair = state.pair.insert(self.spawn()?);
        handover::send(&pair.socket, &parcel)?;
        Ok(pair.process())
    }

    fn spawn(&self) -> io::Result<Pair> {
        let (socket, theirs) = handover::wires()?;
        let mut command = Command::new(&self.program);
        command
            .arg0("piton")
            .args(Role::Outer.arguments())
            // It must not keep anybody's directory busy.
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        for name in &self.hidden {
            command.env_remove(name);
        }
        Ok(Pair { socket, outer: Some(command.spawn()?) })
    }
}

impl Pair {
    /// The outer one.
    fn process(&self) -> Option<Pid> {
        self.outer.as_ref().map(Pid::from_child)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // It ends when its last command has; somebody has to reap it then, or now if it is dead.
        if let Some(mut outer) = self.outer.take()
            && !matches!(outer.try_wait(), Ok(Some(_)))
        {
            std::thread::spawn(move || outer.wait().ok());
        }
    }
}
