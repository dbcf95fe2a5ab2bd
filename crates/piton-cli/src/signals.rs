//! Interrupts from outside: Ctrl-C, the polite kill, and a terminal that is closed.

use std::fs;
use std::future::pending;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use crate::report::Fault;

/// Where the kernel says which signals are ignored.
const STATUS_FILE: &str = "/proc/self/status";
/// The place of the hang-up in that mask.
const HANG_UP_BIT: u64 = 1;

/// The signals that ask us to stop. Whichever it was, the exit code is that of an interrupt.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    /// Nothing, if whoever started us wants it ignored, as `nohup` does.
    hang_up: Option<Signal>,
    /// When the time is up that a query was given.
    deadline: Option<Instant>,
    time_is_up: bool,
}

/// How we are asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// With Ctrl-C. Whoever does it twice does not want to wait.
    Interrupt,
    /// By the polite kill. Whoever does it twice does not want to wait.
    Terminate,
    /// At once.
    Quit,
    /// Because the terminal is gone. Shell and kernel both say so, and neither is impatient.
    HangUp,
}

impl Signals {
    /// From now on they no longer end the process by themselves.
    pub(crate) fn listen() -> Result<Self, Fault> {
        let on = |kind| signal(kind).map_err(Fault::Runtime);
        let hang_up = if ignores_hang_up() { None } else { Some(on(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            quit: on(SignalKind::quit())?,
            hang_up,
            deadline: None,
            time_is_up: false,
        })
    }

    /// Asks us to stop, politely, when this time is up.
    pub(crate) fn stop_after(&mut self, wait: Duration) {
        self.deadline = Some(Instant::now() + wait);
    }

    /// Whether the time was up.
    pub(crate) fn time_is_up(&self) -> bool {
        self.time_is_up
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Push {
        tokio::select! {
            _ = self.quit.recv() => Push::Quit,
            _ = self.interrupt.recv() => Push::Interrupt,
            _ = self.terminate.recv() => Push::Terminate,
            () = hung_up(self.hang_up.as_mut()) => Push::HangUp,
            () = passed(self.deadline) => {
                (self.deadline, self.time_is_up) = (None, true);
                Push::Terminate
            }
        }
    }
}

/// Makes a file that may not grow any more (`ulimit -f`) an error that is told, like a full disk; by
/// itself the signal would end us without a word. It is caught, not ignored: commands that we start
/// get the default back when they are executed. Where it cannot be caught, all is as it was.
pub(crate) fn outlive_file_limit() {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).ok();
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => pending().await,
    }
}

async fn hung_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => pending().await,
    }
}

/// Listening would undo it. Where the kernel does not tell, nothing is known to be ignored.
fn ignores_hang_up() -> bool {
    let status = fs::read_to_string(STATUS_FILE).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & HANG_UP_BIT != 0)
}
