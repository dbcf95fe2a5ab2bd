//! Gives a command something to read, from whatever process, and waits until its input has that.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::attach::Attached;
use super::shelf::Shelf;
use crate::supervise::record::input::{self, Line, Stream, Text};
use crate::supervise::record::log::{self, Witness};
use crate::supervise::record::verdict::Verdict;

/// Most that a command can be given in all, in bytes.
pub const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// What a terminal takes for the end of its input, at the beginning of a line: Ctrl-D.
const END_OF_INPUT: char = '\u{4}';
/// How often to look whether it was taken.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long to wait until it is taken. A supervisor needs a millisecond; a command that does not
/// read needs for ever.
const TAKEN_WITHIN: Duration = Duration::from_secs(2);

/// What somebody gives to a command.
#[derive(Clone, Debug)]
pub struct Gift {
    /// A name that nobody else uses: whoever repeats it gives nothing more.
    pub key: String,
    /// The text.
    pub text: String,
    /// Whether nothing comes behind it: the command reads to the end.
    pub end: bool,
}

impl Gift {
    /// From a person: nobody repeats that, so any key does that nobody else has.
    pub fn of_person(text: String, end: bool) -> io::Result<Self> {
        let chance = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { key: format!("person-{chance:016x}"), text, end })
    }
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// How far it came.
    pub state: GivenState,
    /// How many of its bytes the command's input has.
    pub taken: u64,
    /// How much the command had printed before, in bytes.
    pub printed: u64,
}

/// How far a gift came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenState {
    /// The input of the command has all of it.
    Taken,
    /// The rest follows as the command reads.
    Waiting,
    /// The input was closed, or the command ended, before it had all of it. No more will come.
    Closed,
    /// Both supervisors are dead, so nobody saw how much it got. No more will come.
    InDoubt,
}

/// Why nothing was given.
#[derive(Debug, thiserror::Error)]
pub enum GiveFault {
    /// It was started without an input.
    #[error("its input was closed from the beginning")]
    NoInput,
    /// It has ended.
    #[error("it is not running any more")]
    NotRunning,
    /// Somebody has closed its input.
    #[error("its input is closed")]
    Closed,
    /// Both supervisors are dead.
    #[error("it runs, but its supervisors were killed, and its input was closed with them")]
    Orphan,
    /// Too much.
    #[error("it was given {given} bytes already, and {INPUT_BYTES_MAX} are the most")]
    Full {
        /// How much.
        given: u64,
    },
    /// Its record cannot be used.
    #[error("its record cannot be used: {0}")]
    Io(#[from] io::Error),
}

impl Shelf {
    /// Whether a command can be given something now.
    pub fn takes_input(&self, name: &str) -> Result<(), GiveFault> {
        Giver::open(self, name)?.refuse()
    }

    /// Whether something of this key was given.
    pub(crate) fn was_given(&self, name: &str, key: &str) -> io::Result<bool> {
        let given = match input::open(&self.directory(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        Ok(Stream::read(&given)?.find(key).is_some())
    }

    /// Gives it, unless that was done before, and waits for a moment until it is taken, or until
    /// `word` says something. Blocks.
    pub fn give(&self, name: &str, gift: &Gift, word: &PipeReader) -> Result<Given, GiveFault> {
        let mut giver = Giver::open(self, name)?;
        if Stream::read(&giver.given)?.find(&gift.key).is_none() {
            giver.refuse()?;
            let story = giver.attached.peek()?.0;
            giver.append(gift, story.intent.is_some_and(|intent| intent.terminal))?;
        }
        giver.wait(&gift.key, word)
    }
}

/// Somebody who gives.
struct Giver {
    attached: Attached,
    given: File,
}

impl Giver {
    fn open(shelf: &Shelf, name: &str) -> Result<Self, GiveFault> {
        let directory = shelf.directory(name);
        let attached = Attached::open(&directory)?;
        let given = match input::open(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(GiveFault::NoInput);
            }
            opened => opened?,
        };
        Ok(Self { attached, given })
    }

    fn refuse(&mut self) -> Result<(), GiveFault> {
        let stream = Stream::read(&self.given)?;
        match self.attached.peek()?.1 {
            Verdict::Attach if stream.ended || stream.taken.closed => Err(GiveFault::Closed),
            Verdict::Attach => Ok(()),
            Verdict::Adopt(_) => Err(GiveFault::Orphan),
            Verdict::Collect(_)
            | Verdict::NeverRan(_)
            | Verdict::Rebooted
            | Verdict::StatusLost => Err(GiveFault::NotRunning),
        }
    }

    fn append(&self, gift: &Gift, is_terminal: bool) -> Result<(), GiveFault> {
        let Gift { key, mut text, mut end } = gift.clone();
        if end && is_terminal {
            // A terminal is not closed: its reader is told that there is no more.
            text.push(END_OF_INPUT);
            end = false;
        }
        let given = Stream::read(&self.given)?.length;
        if INPUT_BYTES_MAX < given.saturating_add(text.len() as u64) {
            return Err(GiveFault::Full { given });
        }
        let printed = self.attached.printed()?.length;
        crate::fail::here("giving");
        log::append(&self.given, &Line::Text(Text { key, body: text, end, printed }))?;
        crate::fail::here("given");
        Ok(())
    }

    fn wait(&mut self, key: &str, word: &PipeReader) -> Result<Given, GiveFault> {
        let until = Instant::now() + TAKEN_WITHIN;
        let mut is_told = false;
        loop {
            // The verdict first: what a supervisor has done before it was gone is written then.
            let (story, verdict) = self.attached.peek()?;
            let stream = Stream::read(&self.given)?;
            // Somebody may have given the end a moment before.
            let placed = stream.find(key).ok_or(GiveFault::Closed)?;
            let most = placed.until() - placed.from;
            let taken = stream.taken.bytes.saturating_sub(placed.from).min(most);
            let has_all = taken == most && (stream.taken.closed || !placed.text.end);
            let state = match verdict {
                _ if has_all => Some(GivenState::Taken),
                _ if stream.taken.closed => Some(GivenState::Closed),
                Verdict::Attach => None,
                // Who saw the end without having fed it does not know.
                Verdict::Collect(_) if story.witness == Some(Witness::Adopter) => {
                    Some(GivenState::InDoubt)
                }
                Verdict::Collect(_) | Verdict::NeverRan(_) => Some(GivenState::Closed),
                Verdict::Adopt(_) | Verdict::Rebooted | Verdict::StatusLost => {
                    Some(GivenState::InDoubt)
                }
            };
            let is_over = is_told || until <= Instant::now();
            if let Some(state) = state.or(is_over.then_some(GivenState::Waiting)) {
                return Ok(Given { state, taken, printed: placed.text.printed });
            }
            is_told = rest(word);
        }
    }
}

/// Rests a little; says whether somebody said something meanwhile.
fn rest(word: &PipeReader) -> bool {
    let timeout = Timespec::try_from(LOOK_EVERY).ok();
    let mut waits = [PollFd::from_borrowed_fd(word.as_fd(), PollFlags::IN)];
    poll(&mut waits, timeout.as_ref()).is_ok_and(|count| 0 < count)
}
