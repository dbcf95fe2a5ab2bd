//! Notices a supervisor that was stopped, and lets it go on.
//!
//! Nothing in a sandbox can stop one. Somebody outside can, by mistake or on purpose, and then no end is recorded
//! and no time is up. So whoever waits for a command looks after its supervisors, and they look after each other.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::supervise::record::identity::{Identity, Stat};

/// How often to look.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// When to look next.
#[derive(Debug)]
pub(crate) struct Rounds {
    next: Instant,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { next: Instant::now() + LOOK_EVERY }
    }
}

impl Rounds {
    /// When the next one is.
    pub(crate) fn due(&self) -> Instant {
        self.next
    }

    /// Whether it is time; if so, the next time is later.
    pub(crate) fn are_due(&mut self) -> bool {
        let now = Instant::now();
        let are_due = self.next <= now;
        if are_due {
            self.next = now + LOOK_EVERY;
        }
        are_due
    }
}

/// Wakes the two supervisors of a command: its parent, and the parent of that.
pub(crate) fn wake_above(who: &Identity) {
    let Some(pid) = who.pid().filter(|_| who.open().is_some()) else { return };
    let inner = parent(pid);
    let outer = inner.and_then(parent);
    [inner, outer].into_iter().flatten().for_each(wake);
}

/// Wakes an outer supervisor and its inner one.
pub(crate) fn wake_below(outer: Pid) {
    wake(outer);
    let number = outer.as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{number}/task/{number}/children"));
    let children = children.unwrap_or_default();
    children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).for_each(wake);
}

/// Lets a supervisor go on that was stopped. Does nothing to any other process.
pub(crate) fn wake(pid: Pid) {
    // First the handle, then the look: the number cannot change hands in between.
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let is_stopped = Stat::read(pid).is_some_and(|stat| stat.is_stopped);
    if is_stopped && is_supervisor(pid.as_raw_nonzero().get()) {
        pidfd_send_signal(&handle, Signal::CONT).ok();
    }
}

fn parent(pid: Pid) -> Option<Pid> {
    Pid::from_raw(Stat::read(pid)?.parent)
}

/// Whether a process is a supervisor of ours.
pub(super) fn is_supervisor(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip(1);
    words.next() == Some(crate::reexec::WORD.as_bytes())
}
