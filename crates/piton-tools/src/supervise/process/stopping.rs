//! Stops a command with everything it has started, wherever that went.
//!
//! First politely, then not. A process is signalled only if it provably belongs to the command: it
//! is in its group while the command itself is not reaped, it descends from it, it carries its mark
//! (`mark`), or it fell to our supervisor while no other command was there.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open, pidfd_send_signal,
};

use super::awake::is_supervisor;
use super::mark::{Mark, Marks};
use crate::supervise::record::identity::{Identity, Stat};

/// Time between asking a command to end and killing it.
pub(crate) const TERM_GRACE: Duration = Duration::from_secs(1);
/// How long a killed command is waited for. Only one that hangs in the kernel takes so long.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(5);
/// How often something that is being stopped is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A command that is being stopped.
#[derive(Debug)]
pub(crate) struct Stopping {
    family: Family,
    kill_at: Instant,
    killed: bool,
}

/// By what processes of a command are known.
#[derive(Debug)]
struct Family {
    who: Identity,
    mark: Mark,
    /// Who inherits what a process of the command leaves behind.
    supervisor: Option<i32>,
    /// Children of that one which belong to no command.
    spared: HashSet<Pid>,
}

impl Stopping {
    /// Asks the command to end.
    pub(crate) fn begin(who: &Identity, marker: &str, grace: Duration) -> Self {
        Self::of(Family::new(who, marker), grace)
    }

    /// Asks what a command has left to this process, its supervisor, to end. `spared` are children of this process
    /// that belong to no command.
    pub(crate) fn begin_rest(who: &Identity, marker: &str, spared: &HashSet<Pid>) -> Self {
        let me = getpid().as_raw_nonzero().get();
        let family = Family::new(who, marker);
        Self::of(Family { supervisor: Some(me), spared: spared.clone(), ..family }, TERM_GRACE)
    }

    fn of(family: Family, grace: Duration) -> Self {
        let kill_at = Instant::now() + grace;
        let stopping = Self { family, kill_at, killed: false };
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

    /// The same, and kills what was started since.
    pub(crate) fn pursue(&mut self) {
        if self.killed {
            self.signal(Signal::KILL);
        }
        self.advance();
    }

    /// The command itself has ended: nothing else of it lives on.
    pub(crate) fn finish(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let escaped = self.family.members();
        let who = &self.family.who;
        // The group's number is the command's. While that is there, it is nobody else's.
        if let (Some(_), Some(pid)) = (who.open(), who.pid()) {
            kill_process_group(pid, signal).ok();
        }
        for process in escaped {
            // An error means that it is gone.
            pidfd_send_signal(process, signal).ok();
        }
    }
}

/// Stops what a command that has ended left behind; says whether all of it is gone. Blocks.
pub(crate) fn stop_rest(who: &Identity, marker: &str) -> bool {
    let mut stopping = Stopping::begin(who, marker, TERM_GRACE);
    let give_up_at = Instant::now() + TERM_GRACE + KILL_WAIT;
    while is_anything_left(who, marker) {
        if give_up_at <= Instant::now() {
            return false;
        }
        // Its end is announced to its parent only.
        std::thread::sleep(LOOK_EVERY);
        stopping.advance();
    }
    true
}

/// Whether anything of a command is there.
pub(crate) fn is_anything_left(who: &Identity, marker: &str) -> bool {
    !Family::new(who, marker).members().is_empty()
}

/// A process, seen once.
struct Seen {
    pid: i32,
    parent: i32,
    start: u64,
    /// The marks that it carries.
    marks: Marks,
    handle: OwnedFd,
}

impl Family {
    fn new(who: &Identity, marker: &str) -> Self {
        let parent = who.open().and_then(|_| Some(Stat::read(who.pid()?)?.parent));
        let supervisor = parent.filter(|parent| is_supervisor(*parent));
        Self { who: who.clone(), mark: Mark::new(marker), supervisor, spared: HashSet::new() }
    }

    /// Handles on everything that belongs to the command.
    fn members(&self) -> Vec<OwnedFd> {
        let is_there = self.who.open().is_some();
        let is_spared = |seen: &Seen| {
            Pid::from_raw(seen.pid).is_some_and(|pid| self.spared.contains(&pid))
                || seen.marks.are_of_warden()
        };
        let seen = look_around().into_iter().filter(|seen| !is_spared(seen));
        let (mut found, mut others): (Vec<_>, Vec<_>) = seen.partition(|seen| {
            seen.marks.have(&self.mark) || (is_there && seen.pid == self.who.pid)
        });
        // A process that has no mark at all and lost its parents is a child of the supervisor now. With
        // another command there it could belong to the other command.
        let fell = |seen: &Seen| self.supervisor == Some(seen.parent);
        if !others.iter().any(|seen| fell(seen) && seen.marks.are_any()) {
            let (strays, rest) =
                others.into_iter().partition(|seen| fell(seen) && self.who.start <= seen.start);
            others = rest;
            found.extend::<Vec<_>>(strays);
        }
        // What descends from one that belongs to it belongs to it, with or without the mark. Each
        // round finds the children of those found before; a family has finitely many generations.
        loop {
            let (children, rest): (Vec<_>, Vec<_>) = others
                .into_iter()
                .partition(|seen| found.iter().any(|member| member.pid == seen.parent));
            others = rest;
            if children.is_empty() {
                break;
            }
            found.extend(children);
        }
        found.into_iter().map(|seen| seen.handle).collect()
    }
}

/// All processes that we may look into, but ourselves.
fn look_around() -> Vec<Seen> {
    let me = getpid();
    let seen = processes().filter(|pid| *pid != me).filter_map(|pid| {
        // First the handle, then the look: the number cannot change hands in between.
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let stat = Stat::read(pid).filter(|stat| !stat.is_zombie)?;
        let (parent, start, marks) = (stat.parent, stat.start, Marks::of(pid));
        Some(Seen { pid: pid.as_raw_nonzero().get(), parent, start, marks, handle })
    });
    seen.collect()
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}
