//! A command in its own process group, watched until nothing of it is left that we answer for.
//!
//! One thread waits in one `poll` for output, for the end of the command and for a word from the
//! caller, so there is no order of events to get wrong between threads. Real time, not the
//! runtime's: a command lives in the real world.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::capture::Capture;
use crate::sandbox::{self, Policy};
use crate::supervise::InputFile;

/// Time between asking a group to end and killing it.
const TERM_GRACE: Duration = Duration::from_secs(1);
/// How long output is read on after the command itself has ended, while something it started keeps
/// the pipe open.
const DRAIN_GRACE: Duration = Duration::from_millis(250);
/// How long a killed command is waited for. Only one that hangs in the kernel takes so long.
const KILL_WAIT: Duration = Duration::from_secs(5);
/// How often to look for the end of a command on systems that cannot announce it.
const EXIT_POLL: Duration = Duration::from_millis(10);
/// Reads after that grace while there still is output: enough to empty the largest pipe an ordinary
/// user can have (1 MiB), not enough for a background process to hold the call.
const LATE_READS_MAX: usize = 32;
/// Read buffer, in bytes: the size of a pipe.
const BUFFER_BYTES: usize = 64 * 1024;

/// What to run.
#[derive(Clone, Debug)]
pub(super) struct Command {
    /// The command line.
    pub(super) line: String,
    /// Where.
    pub(super) directory: PathBuf,
    /// How long at most.
    pub(super) timeout: Duration,
    /// Where long output waits.
    pub(super) scratch: PathBuf,
    /// Variables that it does not see.
    pub(super) hidden: Arc<[OsString]>,
    /// What it may touch; `None` if it is not confined.
    pub(super) sandbox: Option<Policy>,
    /// What it reads; nothing if absent.
    pub(super) input: Option<InputFile>,
}

/// Why a command is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It ended by itself.
    Exited,
    /// It took too long.
    TimedOut,
    /// The caller had enough.
    Cancelled,
}

/// A command that is over.
#[derive(Debug)]
pub(super) struct Ended {
    /// Why.
    pub(super) end: End,
    /// How; unknown only if the kernel would not let go of it.
    pub(super) status: Option<ExitStatus>,
    /// What it printed.
    pub(super) output: Capture,
    /// Something that it started still holds its output.
    pub(super) left_open: bool,
}

/// Runs `command` to its end, or until the other end of `wire` says or means "stop".
pub(super) fn run(command: &Command, wire: &PipeReader) -> io::Result<Ended> {
    if is_readable(wire) {
        // Stopped or left while it waited for this thread.
        let output = Capture::new(command.scratch.clone());
        return Ok(Ended { end: End::Cancelled, status: None, output, left_open: false });
    }
    let (output, input) = io::pipe()?;
    let mut builder = process::Command::new("/bin/sh");
    builder.arg("-c");
    let limits = command.sandbox.as_ref().map(|policy| policy.limits.words()).unwrap_or_default();
    if limits.is_empty() {
        builder.arg(&command.line);
    } else {
        // The same process becomes the command, within its limits.
        builder.args([&format!("{limits}exec /bin/sh -c \"$0\""), &command.line]);
    }
    if let Some(policy) = &command.sandbox {
        policy.set_variables(&mut builder);
    }
    builder
        .current_dir(&command.directory)
        // A pager would wait for a key that nobody can press.
        .env("PAGER", "cat")
        .env("GIT_PAGER", "cat")
        .env("TERM", "dumb")
        .stdin(match &command.input {
            Some(input) => Stdio::from(input.file()?),
            None => Stdio::null(),
        })
        // One pipe for both keeps the order in which things were printed.
        .stdout(input.try_clone()?)
        .stderr(input)
        // A group of its own: what it starts can be stopped with it. This and everything above
        // can be done by posix_spawn, which costs the same however large this process is.
        .process_group(0);
    for name in &*command.hidden {
        builder.env_remove(name);
    }
    // Our copies of the write end go with the builder: while they are open, the output has no end.
    let child = match &command.sandbox {
        None => {
            let mut builder = builder;
            builder.spawn()?
        }
        Some(policy) => sandbox::spawn(policy, builder, None)?,
    };
    Ok(Watch::new(command, child, output).run(wire))
}

/// What the watch waits for.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The end of the command, until it times out.
    Running { until: Instant },
    /// The rest of the output.
    Draining { until: Instant },
    /// The end of the group that was asked to end.
    Stopping { why: End, until: Instant },
    /// The end of the group that was killed.
    Killed { why: End, until: Instant },
}

struct Watch {
    child: Child,
    group: Option<Pid>,
    /// Becomes readable when the command has ended.
    exit: Option<OwnedFd>,
    exited: bool,
    pipe: Option<PipeReader>,
    /// The last look found nothing to read.
    quiet: bool,
    late_reads: usize,
    output: Capture,
    phase: Phase,
}

/// A word from the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Stop,
    /// Nobody waits for the result any more.
    Abandon,
}

impl Watch {
    fn new(command: &Command, child: Child, pipe: PipeReader) -> Self {
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Self {
            exit: group.and_then(exit_announcement),
            group,
            child,
            exited: false,
            pipe: Some(pipe),
            quiet: false,
            late_reads: 0,
            output: Capture::new(command.scratch.clone()),
            phase: Phase::Running { until: Instant::now() + command.timeout },
        }
    }

    fn run(mut self, wire: &PipeReader) -> Ended {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut wire = Some(wire);
        loop {
            let word = self.wait(wire, &mut buffer);
            if word.is_some() {
                wire = None;
            }
            self.exited = self.exited || self.has_exited();
            if let Some(end) = self.advance(word) {
                return self.close(end);
            }
        }
    }

    /// Sleeps until something happens; takes what output there is.
    fn wait(&mut self, wire: Option<&PipeReader>, buffer: &mut [u8]) -> Option<Word> {
        let until = match self.phase {
            Phase::Running { until }
            | Phase::Draining { until }
            | Phase::Stopping { until, .. }
            | Phase::Killed { until, .. } => until,
        };
        let mut most = until.saturating_duration_since(Instant::now());
        if self.exit.is_none() && !self.exited {
            most = most.min(EXIT_POLL);
        }
        // A command that has ended stays readable: asking again would turn waiting into spinning.
        let exit = self.exit.as_ref().filter(|_| !self.exited);
        let (word, output) = {
            let sources =
                [wire.map(AsFd::as_fd), self.pipe.as_ref().map(AsFd::as_fd), exit.map(AsFd::as_fd)];
            let mut waits: Vec<PollFd<'_>> = sources
                .iter()
                .flatten()
                .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
                .collect();
            let timeout = Timespec::try_from(most).ok();
            match poll(&mut waits, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                // Out of kernel memory: the phases still have their deadlines.
                Err(_) => std::thread::sleep(most.min(EXIT_POLL)),
            }
            let mut ready = waits.iter().map(|wait| !wait.revents().is_empty());
            let mut take = |present: bool| present && ready.next().unwrap_or(false);
            (take(wire.is_some()), take(self.pipe.is_some()))
        };
        self.quiet = !output;
        if output {
            self.read(buffer);
        }
        if word { wire.map(listen) } else { None }
    }

    fn read(&mut self, buffer: &mut [u8]) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(buffer) {
            Ok(count) if 0 < count => {
                self.output.push(buffer.get(..count).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => self.pipe = None,
        }
    }

    /// Whether the command has ended. Leaves it to be reaped: as long as it is not, its number
    /// belongs to it, and the group of that number cannot be anybody else's.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match self.group.map(|pid| waitid(WaitId::Pid(pid), options)) {
            Some(Ok(status)) => status.is_some(),
            // Not our child any more: there is nothing left to wait for.
            Some(Err(Errno::CHILD)) | None => true,
            Some(Err(_)) => false,
        }
    }

    /// Goes to the next phase if it is time to; tells the end.
    fn advance(&mut self, word: Option<Word>) -> Option<End> {
        let now = Instant::now();
        if word == Some(Word::Abandon) && !matches!(self.phase, Phase::Draining { .. }) {
            self.signal(Signal::KILL);
            self.phase = Phase::Killed { why: End::Cancelled, until: now + KILL_WAIT };
        }
        match self.phase {
            Phase::Running { .. } if self.exited => {
                self.phase = Phase::Draining { until: now + DRAIN_GRACE };
                self.pipe.is_none().then_some(End::Exited)
            }
            Phase::Running { until } => {
                let why = match word {
                    Some(_) => End::Cancelled,
                    None if until <= now => End::TimedOut,
                    None => return None,
                };
                self.signal(Signal::TERM);
                self.phase = Phase::Stopping { why, until: now + TERM_GRACE };
                None
            }
            Phase::Draining { until } => {
                let over = self.is_drained(until, now) || word.is_some();
                over.then_some(End::Exited)
            }
            Phase::Stopping { why, .. } if self.exited && self.pipe.is_none() => {
                // Nothing prints any more; something may still run that prints nothing.
                self.signal(Signal::KILL);
                Some(why)
            }
            Phase::Stopping { why, until } => {
                if until <= now {
                    self.signal(Signal::KILL);
                    self.phase = Phase::Killed { why, until: now + KILL_WAIT };
                }
                None
            }
            Phase::Killed { why, until } => {
                if self.exited && self.pipe.is_some() {
                    // A process that left the group may hold the pipe for ever.
                    self.phase = Phase::Killed { why, until: until.min(now + DRAIN_GRACE) };
                }
                let over = if self.exited { self.is_drained(until, now) } else { until <= now };
                over.then_some(why)
            }
        }
    }

    /// Whether there is no point in reading on.
    fn is_drained(&mut self, until: Instant, now: Instant) -> bool {
        if self.pipe.is_none() || now < until {
            return self.pipe.is_none();
        }
        // On a busy machine this thread may have slept through the grace: what was printed in time
        // is then still in the pipe.
        self.late_reads += 1;
        self.quiet || LATE_READS_MAX < self.late_reads
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // An error means that nobody is left in it.
            kill_process_group(group, signal).ok();
        }
    }

    fn close(mut self, end: End) -> Ended {
        let left_open = self.pipe.is_some();
        let status = if self.exited {
            self.child.wait().ok()
        } else {
            // It hangs in the kernel. Somebody has to reap it when it comes back.
            std::thread::spawn(move || drop(self.child.wait()));
            None
        };
        Ended { end, status, output: self.output, left_open }
    }
}

fn is_readable(wire: &PipeReader) -> bool {
    let mut waits = [PollFd::new(wire, PollFlags::IN)];
    poll(&mut waits, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| 0 < ready)
}

/// Hears what the caller says.
fn listen(mut wire: &PipeReader) -> Word {
    match wire.read(&mut [0]) {
        Ok(1) => Word::Stop,
        Ok(_) | Err(_) => Word::Abandon,
    }
}

#[cfg(target_os = "linux")]
fn exit_announcement(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn exit_announcement(_: Pid) -> Option<OwnedFd> {
    None
}
