//! The records of all commands: who runs, what ended, what can go.
//!
//! `<calls>/<conversation>/<call>-<chance>/`, with `log` and `out`. The chance makes every start of a
//! call a record of its own.

use std::fs;
use std::io::{self, PipeReader};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use piton_core::id::{CallId, ConversationId, TurnId};

use super::attach::{Attached, End, Order, Patience};
use crate::supervise::process::stopping::{is_anything_left, stop_rest};
use crate::supervise::record::guard::{self, HeldList};
use crate::supervise::record::identity::{self, Identity};
use crate::supervise::record::log::{Intent, Story, Why};
use crate::supervise::record::status::Status;
use crate::supervise::record::verdict::{Lock, Verdict, verdict};
use crate::supervise::record::{self, open_log};

/// How long the record of a command whose call had returned before it ended is kept.
const KEPT_FOR: Duration = Duration::from_hours(24);
/// How often to look, and how long to pause between, until what a command left behind is said to go on.
const LOOKS: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// Where records are kept.
#[derive(Clone, Debug)]
pub struct Shelf {
    calls: PathBuf,
}

/// The record of a command.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its directory, below that of the shelf.
    pub name: String,
    /// The conversation that it belongs to.
    pub conversation: ConversationId,
    /// What was to run.
    pub intent: Intent,
    /// What became of it.
    pub state: KeptState,
    /// Why it was stopped, if it was.
    pub stopped: Option<Why>,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptState {
    /// It runs.
    Running,
    /// It ended, and something that it started goes on.
    LeftRunning(Status),
    /// It ended.
    Ended(Status),
    /// It was never started.
    NeverRan,
    /// Nobody knows.
    InDoubt,
}

impl KeptState {
    /// Whether there is anything that could be stopped.
    pub fn goes_on(self) -> bool {
        match self {
            Self::Running | Self::LeftRunning(_) => true,
            Self::Ended(_) | Self::NeverRan | Self::InDoubt => false,
        }
    }
}

impl Shelf {
    /// The shelf in a directory, which need not be there.
    pub fn new(calls: PathBuf) -> Self {
        Self { calls }
    }

    /// The directory of a record.
    pub fn directory(&self, name: &str) -> PathBuf {
        self.calls.join(name)
    }

    /// All records, oldest first.
    pub fn all(&self) -> Vec<Kept> {
        let mut all: Vec<_> = names(&self.calls)
            .flat_map(|conversation| self.of(&ConversationId::new(conversation)))
            .collect();
        all.sort_by_key(|kept| kept.intent.at_ms);
        all
    }

    /// The records of a conversation, oldest first.
    pub fn of(&self, conversation: &ConversationId) -> Vec<Kept> {
        let directory = self.calls.join(conversation.as_str());
        let mut all: Vec<_> = names(&directory)
            .filter_map(|name| self.look(conversation, &format!("{conversation}/{name}")))
            .collect();
        all.sort_by_key(|kept| kept.intent.at_ms);
        all
    }

    /// The records of a conversation that keep changes which nobody has decided about.
    pub(crate) fn undecided(&self, conversation: &ConversationId) -> Vec<PathBuf> {
        let directory = self.calls.join(conversation.as_str());
        let records = names(&directory).map(|name| directory.join(name));
        records.filter(|record| guard::is_undecided(record)).collect()
    }

    /// Keeps what confined commands have changed from being put back, if there are any.
    pub(crate) fn hold_list(&self) -> Option<HeldList> {
        HeldList::take(&self.calls)
    }

    /// The newest record of a call.
    pub(crate) fn find(&self, conversation: &ConversationId, call: CallId) -> Option<Kept> {
        self.of(conversation).into_iter().rfind(|kept| kept.intent.call == call)
    }

    fn look(&self, conversation: &ConversationId, name: &str) -> Option<Kept> {
        let log = open_log(&self.directory(name)).ok()?;
        let lock = record::peek(&log).unwrap_or(Lock::Held);
        let story = Story::read(&log).ok()?;
        let state = match verdict(lock, &story, identity::boot(), Identity::sight) {
            Verdict::Attach | Verdict::Adopt(_) => KeptState::Running,
            Verdict::Collect(status) if rest(&story).is_some() => KeptState::LeftRunning(status),
            Verdict::Collect(status) => KeptState::Ended(status),
            Verdict::NeverRan(_) => KeptState::NeverRan,
            Verdict::Rebooted | Verdict::StatusLost => KeptState::InDoubt,
        };
        Some(Kept {
            name: name.to_owned(),
            conversation: conversation.clone(),
            intent: story.intent?,
            state,
            stopped: story.stopped.map(|stop| stop.why),
        })
    }

    /// Stops a command, with everything it started. Blocks until it has ended.
    pub fn stop(&self, name: &str, why: Why) -> io::Result<KeptState> {
        let mut attached = Attached::open(&self.directory(name))?;
        let word = said()?;
        let patience = Patience { until: None, word: &word, order: Order::Stop(why) };
        let (end, story) = attached.wait(&patience)?;
        let is_left = || rest(&story).is_some_and(|(who, marker)| !stop_rest(who, marker));
        Ok(match end {
            End::Ended(status) if is_left() => KeptState::LeftRunning(status),
            End::Ended(status) => KeptState::Ended(status),
            End::NeverRan(_) => KeptState::NeverRan,
            End::InDoubt(_) => KeptState::InDoubt,
            End::Running => KeptState::Running,
        })
    }

    /// Stops what the calls of a turn have running, except what was asked to go on. Blocks.
    pub(crate) fn leave_turn(&self, conversation: &ConversationId, turn: TurnId) -> Vec<String> {
        let of_turn = |kept: &Kept| kept.intent.call.turn == turn && !kept.intent.keep;
        let left = self.of(conversation).into_iter().filter(of_turn);
        let left = left.filter(|kept| kept.state.goes_on());
        left.filter(|kept| self.stop(&kept.name, Why::Interrupt).is_ok())
            .map(|kept| kept.intent.command)
            .collect()
    }

    /// Removes a record whose end is known elsewhere, unless something still needs it.
    pub(crate) fn forget(&self, name: &str) {
        let directory = self.directory(name);
        if may_go(&directory).unwrap_or(false) {
            // What cannot be removed now is removed later, or does no harm.
            fs::remove_dir_all(&directory).ok();
            // Works for the last record of a conversation only.
            directory.parent().map(fs::remove_dir);
        }
    }

    /// Removes what earlier processes did not come to remove.
    pub(crate) fn sweep(&self, conversation: &ConversationId, keep: impl Fn(&str) -> bool) {
        for name in names(&self.calls.join(conversation.as_str())) {
            let name = format!("{conversation}/{name}");
            if !keep(&name) {
                self.forget(&name);
            }
        }
    }
}

/// Whether nobody needs the record any more.
fn may_go(directory: &Path) -> io::Result<bool> {
    let log = open_log(directory)?;
    let lock = record::peek(&log)?;
    let story = Story::read(&log)?;
    // A holder of a record with an end has nothing more to write into it, unless something was left behind.
    let is_over = story.ended.is_some() || story.never_ran.is_some();
    if lock == Lock::Held && (!is_over || story.left_running) {
        return Ok(false);
    }
    if rest(&story).is_some() {
        // Its output still goes to the file.
        return Ok(false);
    }
    let is_over = is_over || story.started.is_none();
    // A person may still want what it changed, and was not asked.
    let is_open = !story.changes.is_empty() && story.decided.is_none();
    let age = log.metadata()?.modified()?;
    let age = SystemTime::now().duration_since(age).unwrap_or_default();
    Ok((is_over && !story.detached && !is_open) || KEPT_FOR < age)
}

/// Of what something goes on that the command started before it ended.
fn rest(story: &Story) -> Option<(&Identity, &str)> {
    let (who, intent) = (story.started.as_ref()?, story.intent.as_ref()?);
    let is_left = story.left_running && is_anything_left(who, &intent.marker);
    is_left.then_some((who, &intent.marker))
}

/// Whether something that the command started goes on for longer than a moment: `git commit` leaves a process behind
/// that tidies up and ends at once. Blocks for that moment.
pub(crate) fn goes_on(story: &Story) -> bool {
    lasts(|| rest(story).is_some(), || thread::sleep(LOOK_PAUSE))
}

fn lasts(is_there: impl Fn() -> bool, mut pause: impl FnMut()) -> bool {
    (0..LOOKS).all(|_| {
        is_there() && {
            pause();
            true
        }
    })
}

/// A wire on which "stop" was said already.
fn said() -> io::Result<PipeReader> {
    use std::io::Write as _;
    let (word, mut speaker) = io::pipe()?;
    speaker.write_all(&[1])?;
    Ok(word)
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_ends_within_a_moment_does_not_go_on() {
        let paused = Cell::new(0);
        let pause = || paused.set(paused.get() + 1);
        assert!(!lasts(|| false, pause));
        assert_eq!(paused.get(), 0);
        assert!(!lasts(|| paused.get() < 3, pause));
        assert_eq!(paused.get(), 3);
        assert!(lasts(|| true, pause));
        assert_eq!(paused.get(), 3 + LOOKS);
    }
}
