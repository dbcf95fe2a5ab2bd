//! Waits for the end of a command: for the agent that started it, and for a later one.

use std::fs::File;
use std::io::{self, PipeReader, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;

use super::claim::Claim;
use super::exit_info;
use crate::supervise::process::awake::{self, Rounds};
use crate::supervise::process::stopping::{KILL_WAIT, Stopping, TERM_GRACE};
use crate::supervise::record;
use crate::supervise::record::guard;
use crate::supervise::record::identity::{self, Identity};
use crate::supervise::record::log::{self, Record, Stop, Story, Why, Witness};
use crate::supervise::record::output::{Bound, Printed};
use crate::supervise::record::status::Status;
use crate::supervise::record::verdict::{Lock, Verdict, verdict};

/// How often a command that somebody else supervises is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often the output of an adopted command is bounded.
const BOUND_EVERY: Duration = Duration::from_millis(100);

/// What is said of a command whose end nobody can know.
const REBOOTED: &str =
    "the machine was restarted while the command ran: it may have been cut off anywhere";
const STATUS_LOST: &str =
    "the command ran and has ended, but its supervisors were killed: nobody saw how it ended";

/// What is said of a command that was not started, if nobody else said why.
const KILLED: &str = "its supervisors were killed";

/// A command that somebody waits for.
#[derive(Debug)]
pub(crate) struct Attached {
    log: File,
    pub(crate) out: File,
    /// From the supervisors of this process, as long as they live.
    wire: Option<PipeReader>,
    /// The outer one of them.
    outer: Option<Pid>,
    /// Whether the lock is ours, or shared with our supervisors.
    holds: bool,
    /// When to look after the supervisors.
    rounds: Rounds,
}

/// How waiting ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The command ended.
    Ended(Status),
    /// It provably never ran.
    NeverRan(String),
    /// Nobody knows; the text says why.
    InDoubt(&'static str),
    /// It goes on.
    Running,
}

/// What the one who waits may hear meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Stop the command, for this reason.
    Stop(Why),
    /// Do not wait any longer.
    Leave,
}

/// How long to wait, and what to do when told to stop.
#[derive(Debug)]
pub(crate) struct Patience<'a> {
    /// Not longer than this.
    pub(crate) until: Option<Instant>,
    /// A byte on it means "stop"; its end means that nobody waits any more.
    pub(crate) word: &'a PipeReader,
    /// What "stop" means.
    pub(crate) order: Order,
}

impl Attached {
    /// To a command that was just handed to our supervisors.
    pub(crate) fn started(claim: Claim, wire: PipeReader, outer: Option<Pid>) -> Self {
        Self {
            log: claim.log,
            out: claim.out,
            wire: Some(wire),
            outer,
            holds: true,
            rounds: Rounds::default(),
        }
    }

    /// To a command that was claimed by somebody, at some time.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let log = record::open_log(directory)?;
        // Between the claim and the output there is a moment.
        let out = match record::open_out(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => tempfile::tempfile()?,
            opened => opened?,
        };
        let rounds = Rounds::default();
        Ok(Self { log, out, wire: None, outer: None, holds: false, rounds })
    }

    /// What is known, and what that means.
    pub(crate) fn look(&mut self) -> io::Result<(Story, Verdict)> {
        let lock = match (&self.wire, self.holds) {
            (Some(_), _) => Lock::Held,
            (None, true) => Lock::Free,
            (None, false) => record::lock(&self.log)?,
        };
        self.holds = self.holds || lock == Lock::Free;
        // The lock first: when it is free, everything that was ever written is there.
        let story = Story::read(&self.log)?;
        let verdict = verdict(lock, &story, identity::boot(), Identity::sight);
        Ok((story, verdict))
    }

    /// The same, and takes the lock from nobody.
    pub(crate) fn peek(&self) -> io::Result<(Story, Verdict)> {
        let lock = record::peek(&self.log)?;
        let story = Story::read(&self.log)?;
        let verdict = verdict(lock, &story, identity::boot(), Identity::sight);
        Ok((story, verdict))
    }

    /// What it has printed so far.
    pub(crate) fn printed(&self) -> io::Result<Printed> {
        let story = Story::read(&self.log)?;
        let intent = story.intent.ok_or_else(|| io::Error::other("the record names no command"))?;
        Printed::look(&self.out, &intent)
    }

    /// Notes that its call returns before it has ended.
    pub(crate) fn detach(&self) {
        // If that cannot be noted, its record goes sooner; the command does not care.
        log::append(&self.log, &Record::Detached).ok();
    }

    /// Waits for the end of the command, as long as patience has it.
    pub(crate) fn wait(&mut self, patience: &Patience<'_>) -> io::Result<(End, Story)> {
        let mut wait = Wait::default();
        loop {
            let (story, verdict) = self.look()?;
            let end = match verdict {
                Verdict::Collect(status) => End::Ended(status),
                Verdict::NeverRan(why) => End::NeverRan(why.unwrap_or_else(|| KILLED.into())),
                Verdict::Rebooted => {
                    self.settle(&story);
                    End::InDoubt(REBOOTED)
                }
                Verdict::StatusLost => {
                    self.settle(&story);
                    End::InDoubt(STATUS_LOST)
                }
                Verdict::Attach => End::Running,
                Verdict::Adopt(who) => {
                    wait.adopt(who, &story);
                    End::Running
                }
            };
            if end != End::Running || wait.is_over(patience, &story) {
                wait.finish();
                // More may have been written since.
                return Ok((end, Story::read(&self.log)?));
            }
            self.wake(&story);
            self.sleep(&mut wait, patience);
            if let Some(adopted) = &mut wait.adopted {
                adopted.tend(self, &story)?;
            }
            wait.obey(self, patience, &story);
        }
    }

    /// Wakes supervisors that were stopped: they record no end, and keep no time.
    fn wake(&mut self, story: &Story) {
        if !self.rounds.are_due() {
            return;
        }
        match (self.outer, &story.started) {
            (Some(outer), _) => awake::wake_below(outer),
            (None, Some(who)) => awake::wake_above(who),
            (None, None) => {}
        }
    }

    /// Sleeps until there is something to look at, or to do.
    fn sleep(&mut self, wait: &mut Wait, patience: &Patience<'_>) {
        let now = Instant::now();
        let look_at = match (&self.wire, &wait.adopted) {
            (Some(_), _) => Some(self.rounds.due()),
            (None, Some(_)) => Some(now + BOUND_EVERY),
            (None, None) => Some(now + LOOK_EVERY),
        };
        let until = [look_at, wait.due(patience)].into_iter().flatten().min();
        let timeout = until.map(|until| until.saturating_duration_since(now));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let word = wait.told.is_none().then_some(patience.word);
        let sources = [
            self.wire.as_ref().map(AsFd::as_fd),
            word.map(AsFd::as_fd),
            wait.adopted.as_ref().map(|adopted| adopted.handle.as_fd()),
        ];
        let (wire, heard) = {
            let mut waits: Vec<PollFd<'_>> = sources
                .iter()
                .flatten()
                .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
                .collect();
            if !matches!(poll(&mut waits, timeout.as_ref()), Ok(_) | Err(Errno::INTR)) {
                std::thread::sleep(LOOK_EVERY);
            }
            let mut ready = waits.iter().map(|wait| !wait.revents().is_empty());
            let mut take = |present: bool| present && ready.next().unwrap_or(false);
            (take(self.wire.is_some()), take(word.is_some()))
        };
        if wire {
            // A word or the end: either way the record says more.
            self.wire = None;
        }
        if heard {
            wait.told = Some(listen(patience.word));
        }
    }

    /// Nobody has seen the end of it: what it changed is put back all the same.
    fn settle(&self, story: &Story) {
        guard::settle(&self.log, story, Witness::Adopter);
        if let Some(intent) = &story.intent {
            guard::release(intent);
        }
    }

    fn note_stop(&self, why: Why) {
        // If it cannot be noted, it is stopped all the same.
        log::append(&self.log, &Record::Stopped(Stop { why })).ok();
    }
}

/// What has been heard and done so far.
#[derive(Debug, Default)]
struct Wait {
    told: Option<Word>,
    stopping: Option<Stopping>,
    give_up_at: Option<Instant>,
    adopted: Option<Adopted>,
}

/// A word from the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// To stop.
    Stop,
    /// Nobody waits for the result any more.
    Abandon,
}

impl Wait {
    fn adopt(&mut self, who: Identity, story: &Story) {
        if self.adopted.is_none() {
            self.adopted = Adopted::new(who, story);
        }
    }

    /// Stops the command once that is wanted and possible: one whose start is not written yet can
    /// be found only a moment later.
    fn obey(&mut self, attached: &Attached, patience: &Patience<'_>, story: &Story) {
        if let (Some(told), Order::Stop(why), None) = (self.told, patience.order, &self.stopping)
            && let (Some(who), Some(intent)) = (&story.started, &story.intent)
        {
            attached.note_stop(why);
            let grace = match told {
                Word::Stop => TERM_GRACE,
                Word::Abandon => Duration::ZERO,
            };
            self.stopping = Some(Stopping::begin(who, &intent.marker, grace));
            self.give_up_at = Some(Instant::now() + grace + KILL_WAIT);
        }
        if let Some(stopping) = &mut self.stopping {
            stopping.advance();
        }
    }

    fn is_over(&self, patience: &Patience<'_>, story: &Story) -> bool {
        let leaves = self.told.is_some() && patience.order == Order::Leave;
        let until = if self.told.is_some() { self.give_up_at } else { patience.until };
        let is_kept = story.intent.as_ref().is_some_and(|intent| intent.keep);
        let leaves = leaves || (self.told.is_some() && is_kept && patience.order.is_general());
        leaves || until.is_some_and(|until| until <= Instant::now())
    }

    fn due(&self, patience: &Patience<'_>) -> Option<Instant> {
        let until = if self.told.is_some() { self.give_up_at } else { patience.until };
        let stopping = self.stopping.as_ref().and_then(Stopping::due);
        // A start that is not written yet announces itself to nobody.
        let begun =
            (self.told.is_some() && self.stopping.is_none()).then(|| Instant::now() + LOOK_EVERY);
        [until, stopping, begun].into_iter().flatten().min()
    }

    fn finish(&self) {
        if let Some(stopping) = &self.stopping {
            stopping.finish();
        }
    }
}

impl Order {
    /// Whether it is meant for everything that runs, and not for this command alone.
    fn is_general(self) -> bool {
        self == Self::Stop(Why::Interrupt)
    }
}

/// An orphan: both of its supervisors are dead, and we look after it instead. We are not its parent,
/// so how it ended has to be asked of the kernel.
#[derive(Debug)]
struct Adopted {
    who: Identity,
    handle: OwnedFd,
    bound: Bound,
    timeout_at: Option<Instant>,
    stopping: Option<Stopping>,
}

impl Adopted {
    fn new(who: Identity, story: &Story) -> Option<Self> {
        let handle = who.open()?;
        let remaining = story.intent.as_ref().and_then(log::Intent::remaining);
        let timeout_at = remaining.map(|remaining| Instant::now() + remaining);
        Some(Self { who, handle, bound: Bound::new(), timeout_at, stopping: None })
    }

    fn tend(&mut self, attached: &Attached, story: &Story) -> io::Result<()> {
        self.bound.keep(&attached.out).ok();
        if self.timeout_at.is_some_and(|at| at <= Instant::now()) && self.stopping.is_none() {
            attached.note_stop(Why::Timeout);
            let marker = story.intent.as_ref().map_or("", |intent| &intent.marker);
            self.stopping = Some(Stopping::begin(&self.who, marker, TERM_GRACE));
        }
        if let Some(stopping) = &mut self.stopping {
            stopping.advance();
        }
        let status = self.who.zombie_status().or_else(|| exit_info::status(&self.handle));
        // The end of a gate that was never opened is not the end of the command.
        if let Some(status) = status
            && Story::read(&attached.log)?.never_ran.is_none()
        {
            attached.settle(story);
            log::append(&attached.log, &Record::Ended { status, by: Witness::Adopter })?;
            attached.log.sync_data()?;
        }
        Ok(())
    }
}

/// Hears what the caller says.
fn listen(mut word: &PipeReader) -> Word {
    match word.read(&mut [0]) {
        Ok(1) => Word::Stop,
        Ok(_) | Err(_) => Word::Abandon,
    }
}
