//! Stops a command with everything it has started, wherever that went.
//!
//! First politely, then not. A process is signalled only if it provably belongs to the command: it
//! is in its group while the command itself is not reaped, it descends from it, or it carries its
//! mark in its environment.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::gate::MARKER;
use super::identity::{Identity, Stat};

/// Time between asking a command to end and killing it.
pub(crate) const TERM_GRACE: Duration = Duration::from_secs(1);

/// A command that is being stopped.
#[derive(Debug)]
pub(crate) struct Stopping {
    who: Identity,
    marker: String,
    kill_at: Instant,
    killed: bool,
}

impl Stopping {
    /// Asks the command to end.
    pub(crate) fn begin(who: &Identity, marker: &str, grace: Duration) -> Self {
        let kill_at = Instant::now() + grace;
        let stopping = Self { who: who.clone(), marker: marker.into(), kill_at, killed: false };
        if !grace.is_zero() {
            stopping.signal(Signal::TERM);
        }
        stopping
    }

    /// When it has to be looked at again.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.killed).then_some(self.kill_at)
    }

    /// Kills it when its time is over.
    pub(crate) fn advance(&mut self) {
        if !self.killed && self.kill_at <= Instant::now() {
            self.killed = true;
            self.signal(Signal::KILL);
        }
    }

    /// The command itself has ended: nothing else of it lives on.
    pub(crate) fn finish(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let escaped = belongings(&self.who, &self.marker);
        // The group's number is the command's. While that is there, it is nobody else's.
        if let (Some(_), Some(pid)) = (self.who.open(), self.who.pid()) {
            kill_process_group(pid, signal).ok();
        }
        for process in escaped {
            // An error means that it is gone.
            pidfd_send_signal(process, signal).ok();
        }
    }
}

/// Whether anything that carries the mark is there.
pub(crate) fn is_anything_left(who: &Identity, marker: &str) -> bool {
    !belongings(who, marker).is_empty()
}

/// Handles on everything that belongs to a command.
fn belongings(who: &Identity, marker: &str) -> Vec<OwnedFd> {
    let me = rustix::process::getpid();
    let mark = format!("{MARKER}={marker}");
    let mut found = Vec::new();
    let mut others = Vec::new();
    let is_there = who.open().is_some();
    for pid in processes().filter(|pid| *pid != me) {
        // First the handle, then the look: the number cannot change hands in between.
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let Some(stat) = Stat::read(pid).filter(|stat| !stat.is_zombie) else { continue };
        let number = pid.as_raw_nonzero().get();
        if carries(pid, mark.as_bytes()) || (is_there && number == who.pid) {
            found.push((number, handle));
        } else {
            others.push((number, stat.parent, handle));
        }
    }
    // What descends from one that belongs to it belongs to it, with or without the mark. Each round
    // finds the children of those found before; a family has finitely many generations.
    loop {
        let (children, rest): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|(_, parent, _)| found.iter().any(|(number, _)| number == parent));
        others = rest;
        if children.is_empty() {
            break;
        }
        found.extend(children.into_iter().map(|(number, _, handle)| (number, handle)));
    }
    found.into_iter().map(|(_, handle)| handle).collect()
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

fn carries(pid: Pid, mark: &[u8]) -> bool {
    let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|variable| variable == mark)
}
