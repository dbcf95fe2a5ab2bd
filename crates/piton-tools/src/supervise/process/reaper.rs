//! Looks after commands whose parent this process is: their end, their time, their output.
//!
//! The same for the inner supervisor, which starts commands, and for the outer one, which inherits
//! them when the inner one is killed. One thread, one `poll`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, test_kill_process_group, waitid,
};

use super::feed::{Fed, Feeding, Kind};
use super::file_watch::{FileWatch, WatchDescriptor};
use super::gate::Gate;
use super::handover::{Parcel, Source};
use super::mark::{Mark, Marks};
use super::stopping::{Stopping, TERM_GRACE};
use super::terminal::Copied;
use super::warden::Wardens;
use crate::fail;
use crate::supervise::record::guard;
use crate::supervise::record::identity::Identity;
use crate::supervise::record::log::{self, Intent, Record, Stop, Story, Why, Witness};
use crate::supervise::record::output::Bound;
use crate::supervise::record::status::Status;

/// How often the output of a command that prints is looked at; one that is silent is looked at less
/// and less, but at least every [`LOOK_RARELY`].
const LOOK_OFTEN: Duration = Duration::from_millis(100);
const LOOK_RARELY: Duration = Duration::from_secs(1);
/// How often what a command left running may change what others obey. Nearly all the time between two looks, what
/// it wrote stands there.
const PUT_BACKS_MAX: u32 = 5;
/// How soon an end that could not be written down is tried again. Until then it is not reaped.
const RETRY: Duration = Duration::from_millis(100);

/// Commands and who looks after them.
#[derive(Debug)]
pub(crate) struct Reaper {
    witness: Witness,
    /// How many files a command may have open.
    files: Option<u64>,
    wardens: Wardens,
    minded: Vec<Minded>,
    left: Vec<Left>,
    reap_at: Instant,
    /// Tells when a text was written to a mailbox.
    watch: FileWatch,
    /// Calls whose commands are not fed any more.
    shut: Vec<u64>,
    /// Calls whose commands could not be started.
    unstarted: Vec<u64>,
}

/// A command that runs.
#[derive(Debug)]
struct Minded {
    parcel: Parcel,
    marker: String,
    who: Identity,
    pid: Pid,
    /// Becomes readable when the command has ended.
    handle: OwnedFd,
    look: Look,
    feeding: Option<(Feeding, Option<WatchDescriptor>)>,
    timeout_at: Option<Instant>,
    stopping: Option<Stopping>,
    retry_at: Option<Instant>,
    /// Whether what others obey is compared behind its end.
    is_guarded: bool,
}

/// Something that a command started, that goes on and may print.
#[derive(Debug)]
struct Left {
    who: Identity,
    marker: String,
    group: Pid,
    mark: Mark,
    out: File,
    log: File,
    look: Look,
    /// How often something was put back since the command has ended.
    put_backs: u32,
    stopping: Option<Stopping>,
}

/// When to look at an output again.
#[derive(Debug)]
struct Look {
    bound: Bound,
    length: u64,
    every: Duration,
    at: Instant,
}

impl Reaper {
    pub(crate) fn new(witness: Witness, files: Option<u64>) -> Self {
        let reap_at = Instant::now() + LOOK_RARELY;
        Self {
            witness,
            files,
            wardens: Wardens::default(),
            minded: Vec::new(),
            left: Vec::new(),
            reap_at,
            watch: FileWatch::default(),
            shut: Vec::new(),
            unstarted: Vec::new(),
        }
    }

    /// Whether there is anything to look after.
    pub(crate) fn is_busy(&self) -> bool {
        !self.minded.is_empty() || !self.left.is_empty()
    }

    /// Starts the command of a call. One that cannot be started is recorded as never run, or has no
    /// start in its record, which is the same.
    pub(crate) fn launch(&mut self, parcel: Parcel) {
        let launched = Story::read(&parcel.log).and_then(|story| {
            let mut intent = story.intent.ok_or_else(|| io::Error::other("nothing to run"))?;
            intent.sandbox = guard::whole_policy(&intent)?;
            let gate = Gate::shut(&mut self.wardens, self.files, &intent, &parcel)?;
            fail::here("shut");
            Ok((intent, gate))
        });
        let started = launched.and_then(|(intent, gate)| {
            let pid = gate.pid;
            let who = open_gate(gate, &parcel.log)?;
            Ok((intent, who, pidfd_open(pid, PidfdFlags::empty())?))
        });
        match started {
            Ok((intent, who, handle)) => self.mind(parcel, &intent, who, handle),
            Err(error) => self.give_up(parcel, &error),
        }
    }

    /// Says that a command was not started; who waits for it hears of it. One whose start is recorded has been
    /// killed behind its gate, and ends like any other.
    fn give_up(&mut self, parcel: Parcel, error: &io::Error) {
        let is_begun = Story::read(&parcel.log).is_ok_and(|story| story.started.is_some());
        if is_begun {
            return self.inherit(parcel);
        }
        let why = format!("it could not be started: {error}");
        log::append(&parcel.log, &Record::NeverRan { why }).ok();
        rustix::io::write(&parcel.wire, &[1]).ok();
        self.unstarted.push(parcel.id);
    }

    /// Takes over a command that somebody else has started, if there is anything left to do.
    pub(crate) fn inherit(&mut self, parcel: Parcel) {
        let Ok(story) = Story::read(&parcel.log) else { return };
        if story.ended.is_some() || story.never_ran.is_some() {
            return;
        }
        // Without a start the gate is shut for ever: its process says so itself.
        let (Some(intent), Some(who)) = (story.intent, story.started) else { return };
        if let Some(handle) = who.open() {
            self.mind(parcel, &intent, who, handle);
        }
    }

    fn mind(&mut self, mut parcel: Parcel, intent: &Intent, who: Identity, handle: OwnedFd) {
        let Some(pid) = who.pid() else { return };
        let feeding = match parcel.input.take() {
            Some(Source::Feed(feed)) => {
                let feeding = Feeding::new(feed, Kind::of(intent));
                let descriptor = self.watch.add(feeding.mailbox());
                Some((feeding, descriptor))
            }
            // The command has it.
            Some(Source::File(_)) | None => None,
        };
        let timeout_at = intent.remaining().map(|remaining| Instant::now() + remaining);
        self.minded.push(Minded {
            parcel,
            marker: intent.marker.clone(),
            who,
            pid,
            handle,
            look: Look::new(),
            feeding,
            timeout_at,
            stopping: None,
            retry_at: None,
            is_guarded: intent.guard.is_some(),
        });
    }

    /// Sleeps until something happens; says which of the sockets have what is waited for.
    pub(crate) fn wait<const N: usize>(
        &self,
        sockets: [Option<(&OwnedFd, PollFlags)>; N],
    ) -> [bool; N] {
        let sources = sockets.iter().flatten().map(|(socket, what)| (socket.as_fd(), *what));
        let handles = self.minded.iter().filter(|minded| minded.retry_at.is_none());
        let handles = handles.map(|minded| minded.handle.as_fd());
        let fed = self.minded.iter().filter_map(|minded| minded.feeding.as_ref());
        let print = fed.clone().filter_map(|(feeding, _)| feeding.prints());
        let handles = handles.chain(self.watch.handle()).chain(print);
        let handles = handles.map(|fd| (fd, PollFlags::IN));
        let full = fed.filter_map(|(feeding, _)| feeding.full()).map(|fd| (fd, PollFlags::OUT));
        let sources = sources.chain(handles).chain(full);
        let mut waits: Vec<_> =
            sources.map(|(fd, what)| PollFd::from_borrowed_fd(fd, what)).collect();
        let timeout = self.next_look().map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|wait| Timespec::try_from(wait).ok());
        if !matches!(poll(&mut waits, timeout.as_ref()), Ok(_) | Err(Errno::INTR)) {
            // Out of kernel memory. Everything is looked at again anyway.
            std::thread::sleep(LOOK_OFTEN);
        }
        let mut ready = waits.iter().map(|wait| !wait.revents().is_empty());
        sockets.map(|socket| socket.is_some() && ready.next().unwrap_or(false))
    }

    fn next_look(&self) -> Option<Instant> {
        let minded = self.minded.iter().flat_map(|minded| {
            let due = minded.stopping.as_ref().map_or(minded.timeout_at, Stopping::due);
            // Without a watch, the mailbox has to be looked at.
            let unheard = matches!(minded.feeding, Some((_, None)));
            let mailbox = unheard.then(|| Instant::now() + LOOK_OFTEN);
            [due, minded.retry_at, Some(minded.look.at), mailbox]
        });
        let due = |left: &Left| left.stopping.as_ref().and_then(Stopping::due);
        let left = self.left.iter().flat_map(|left| [Some(left.look.at), due(left)]);
        let reap = (self.is_busy() || self.has_strays()).then_some(self.reap_at);
        minded.chain(left).chain([reap]).flatten().min()
    }

    /// Whether something became our child that may have to be reaped.
    fn has_strays(&self) -> bool {
        children().any(|pid| !self.wardens.have(pid))
    }

    /// Does what is due; gives the numbers of the calls that are over.
    pub(crate) fn tend(&mut self) -> Vec<u64> {
        let now = Instant::now();
        let mut over = std::mem::take(&mut self.unstarted);
        // Before what it rang for is looked at.
        self.watch.drain();
        // One outside the sandbox tells nothing.
        let is_alone = !self.minded.iter().any(|minded| minded.is_guarded);
        let mut known: HashSet<Pid> = self.minded.iter().map(|minded| minded.pid).collect();
        known.extend(self.wardens.pids());
        for mut minded in std::mem::take(&mut self.minded) {
            minded.tend(now);
            self.feed(&mut minded);
            match minded.end(self.witness, &known) {
                Ended::No => self.minded.push(minded),
                Ended::Yes { left } => {
                    if let Some((_, Some(descriptor))) = minded.feeding {
                        self.watch.remove(descriptor);
                    }
                    over.push(minded.parcel.id);
                    self.left.extend(left.map(|left| *left));
                }
            }
        }
        let witness = self.witness;
        self.left.retain_mut(|left| left.tend(now, (witness, is_alone), &known));
        if self.reap_at <= now {
            self.reap_at = now + LOOK_RARELY;
            self.reap_strangers();
        }
        over
    }

    /// The calls whose commands are not fed any more, once each: the other holder of their input has
    /// to let go of it.
    pub(crate) fn shut(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.shut)
    }

    fn feed(&mut self, minded: &mut Minded) {
        let Some((feeding, descriptor)) = &mut minded.feeding else { return };
        // What does not fit on a full disk is lost, as it is when the command writes itself.
        feeding.copy(&minded.parcel.out).ok();
        // What fails now, on a full disk, is tried again with the next look.
        if feeding.tend(self.witness).is_ok_and(|fed| fed == Fed::Over) {
            if let Some(descriptor) = descriptor.take() {
                self.watch.remove(descriptor);
            }
            minded.feeding = None;
            self.shut.push(minded.parcel.id);
        }
    }

    /// What commands left behind becomes our child when its parent ends, and has to be reaped.
    fn reap_strangers(&self) {
        for pid in children() {
            if !self.minded.iter().any(|minded| minded.pid == pid) {
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG).ok();
            }
        }
    }
}

/// Whether a command is over.
enum Ended {
    No,
    Yes { left: Option<Box<Left>> },
}

impl Minded {
    fn tend(&mut self, now: Instant) {
        self.look.tend(&self.parcel.out, now);
        if self.timeout_at.is_some_and(|at| at <= now) && self.stopping.is_none() {
            // Said before it is done. If it cannot be said, it is done all the same.
            let stop = Record::Stopped(Stop { why: Why::Timeout });
            log::append(&self.parcel.log, &stop).ok();
            self.stopping = Some(Stopping::begin(&self.who, &self.marker, TERM_GRACE));
        }
        if let Some(stopping) = &mut self.stopping {
            stopping.advance();
        }
        self.retry_at = self.retry_at.filter(|at| now < *at);
    }

    /// Records the end, if there is one, and only then lets the process go.
    fn end(&mut self, witness: Witness, known: &HashSet<Pid>) -> Ended {
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let status = match waitid(WaitId::Pid(self.pid), peek) {
            Ok(Some(status)) => status,
            // Not ours to wait for: its parent records the end.
            Err(Errno::CHILD) => return Ended::Yes { left: None },
            Ok(None) | Err(_) => return Ended::No,
        };
        let status = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Status::Exit(code),
            (None, Some(signal)) => Status::Signal(signal),
            (None, None) => return Ended::No,
        };
        if let Some((feeding, _)) = &mut self.feeding
            && feeding.copy(&self.parcel.out).is_ok_and(|copied| copied == Copied::Some)
        {
            // There is more of what it printed.
            return Ended::No;
        }
        fail::here(witness.point(["inner-ended", "outer-ended"]));
        if self.record(status, witness).is_err() {
            self.retry_at = Some(Instant::now() + RETRY);
            return Ended::No;
        }
        fail::here(witness.point(["inner-recorded", "outer-recorded"]));
        waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED).ok();
        fail::here(witness.point(["inner-reaped", "outer-reaped"]));
        if let Some(stopping) = &self.stopping {
            stopping.finish();
        }
        let left = self.left_behind(known);
        if left.is_none() {
            guard::forget(&self.parcel.log);
        }
        // The word first, the sync second: who waits makes the end durable in a place of its own.
        rustix::io::write(&self.parcel.wire, &[1]).ok();
        self.parcel.log.sync_data().ok();
        Ended::Yes { left: left.map(Box::new) }
    }

    fn record(&self, status: Status, witness: Witness) -> io::Result<()> {
        // The end of a gate that was never opened is not the end of the command.
        let story = Story::read(&self.parcel.log)?;
        if story.never_ran.is_some() {
            return Ok(());
        }
        // Nobody hears of the end, and does something next, before that is done.
        guard::settle(&self.parcel.log, &story, witness);
        log::append(&self.parcel.log, &Record::Ended { status, by: witness })
    }

    /// What goes on behind the command. Its output goes on being bounded.
    fn left_behind(&self, known: &HashSet<Pid>) -> Option<Left> {
        let (out, log) = (self.parcel.out.try_clone().ok()?, self.parcel.log.try_clone().ok()?);
        let left = Left {
            who: self.who.clone(),
            marker: self.marker.clone(),
            group: self.pid,
            mark: Mark::new(&self.marker),
            out,
            log,
            look: Look::new(),
            put_backs: 0,
            stopping: None,
        };
        if !left.goes_on(known) {
            return None;
        }
        log::append(&self.parcel.log, &Record::LeftRunning).ok();
        Some(left)
    }
}

impl Left {
    /// Looks after its output, and after what it must not change; says whether there is anything left to do.
    fn tend(
        &mut self,
        now: Instant,
        (witness, is_alone): (Witness, bool),
        known: &HashSet<Pid>,
    ) -> bool {
        if let Some(stopping) = &mut self.stopping {
            stopping.advance();
        }
        if !self.look.tend(&self.out, now) {
            return true;
        }
        let goes_on = self.goes_on(known);
        // What a command beside it changes is told with that one, and what it changed itself as well, unless it has
        // ended: the other one may run for days.
        if (is_alone || !goes_on)
            && let Ok(story) = Story::read(&self.log)
            && 0 < guard::settle(&self.log, &story, witness)
        {
            self.put_backs += 1;
            self.look.soon(now);
        }
        if !goes_on {
            guard::forget(&self.log);
        } else if PUT_BACKS_MAX <= self.put_backs {
            self.stop(known);
        }
        goes_on
    }

    /// Stops it, and what it has started since.
    fn stop(&mut self, known: &HashSet<Pid>) {
        if let Some(stopping) = &mut self.stopping {
            return stopping.pursue();
        }
        // Said before it is done. If it cannot be said, it is done all the same.
        log::append(&self.log, &Record::Stopped(Stop { why: Why::Protected })).ok();
        self.log.sync_data().ok();
        self.stopping = Some(Stopping::begin_rest(&self.who, &self.marker, known));
    }

    /// Whether anything is there: in the group of the command, or away from it. A process that went away
    /// has lost its parents and is our child, and none of the known ones. It carries the mark, or none at all: then
    /// it has taken it off, and may be anybody's.
    fn goes_on(&self, known: &HashSet<Pid>) -> bool {
        let mut strays = children().filter(|pid| !known.contains(pid));
        let is_ours = |pid: Pid| {
            let marks = Marks::of(pid);
            marks.have(&self.mark) || !marks.are_any() && !has_ended(pid)
        };
        test_kill_process_group(self.group).is_ok() || strays.any(is_ours)
    }
}

/// Whether a child waits to be reaped.
fn has_ended(pid: Pid) -> bool {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(pid), peek), Ok(None))
}

impl Look {
    fn new() -> Self {
        let at = Instant::now() + LOOK_OFTEN;
        Self { bound: Bound::new(), length: 0, every: LOOK_OFTEN, at }
    }

    /// Looks again as soon as at one that prints.
    fn soon(&mut self, now: Instant) {
        self.every = LOOK_OFTEN;
        self.at = now + self.every;
    }

    /// Looks if it is time to; says whether it was.
    fn tend(&mut self, out: &File, now: Instant) -> bool {
        if now < self.at {
            return false;
        }
        // A file system without holes keeps everything: more than was promised, never less.
        let length = self.bound.keep(out).unwrap_or(self.length);
        let is_silent = length == self.length;
        self.every = if is_silent { (2 * self.every).min(LOOK_RARELY) } else { LOOK_OFTEN };
        self.length = length;
        self.at = now + self.every;
        true
    }
}

/// Writes the start down, makes sure it stays, and only then lets the command begin. On any error
/// the gate falls shut with its handle.
fn open_gate(gate: Gate, log: &File) -> io::Result<Identity> {
    if fail::wanted("gate-before-record") {
        // The mistake that the tests must notice.
        let who = Identity::of(gate.pid).ok_or_else(gone)?;
        gate.open()?;
        std::thread::sleep(LOOK_OFTEN);
        log::append(log, &Record::Started(who.clone()))?;
        return Ok(who);
    }
    let who = Identity::of(gate.pid).ok_or_else(gone)?;
    log::append(log, &Record::Started(who.clone()))?;
    fail::here("started");
    if !fail::wanted("start-not-synced") {
        log.sync_data()?;
    }
    fail::here("synced");
    gate.open()?;
    fail::here("opened");
    Ok(who)
}

fn gone() -> io::Error {
    io::Error::other("the process of the command is gone")
}

fn children() -> impl Iterator<Item = Pid> {
    let list = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let pids: Vec<_> =
        list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect();
    pids.into_iter()
}
