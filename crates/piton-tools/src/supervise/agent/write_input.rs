//! Writes to the mailbox of a command, from any process, and waits until the command has it.

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

/// Most that is written to one command in all, in bytes.
pub const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// What a terminal takes for the end of its input, at the beginning of a line: Ctrl-D.
const END_OF_INPUT: char = '\u{4}';
/// How often to look whether it was taken.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long to wait until it is taken. A supervisor needs a millisecond; a command that does not
/// read needs for ever.
const TAKEN_WITHIN: Duration = Duration::from_secs(2);

/// A text for a command to read.
#[derive(Clone, Debug)]
pub struct InputText {
    /// A unique name. A text whose key was written before is not written again.
    pub key: String,
    /// The text.
    pub text: String,
    /// Whether nothing comes behind it: the command reads to the end.
    pub end: bool,
}

impl InputText {
    /// From a person. It is never repeated, so a random key is enough.
    pub fn of_person(text: String, end: bool) -> io::Result<Self> {
        let chance = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { key: format!("person-{chance:016x}"), text, end })
    }
}

/// What became of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// How far it came.
    pub state: DeliveryState,
    /// How many of its bytes the command's input has.
    pub taken: u64,
    /// How much the command had printed before, in bytes.
    pub printed: u64,
}

/// How far a text came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// The input of the command has all of it.
    Taken,
    /// The rest follows as the command reads.
    Waiting,
    /// The input was closed, or the command ended, before it had all of it. No more will come.
    Closed,
    /// Both supervisors are dead, so nobody saw how much it got. No more will come.
    InDoubt,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InputFault {
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
    #[error("it was given {written} bytes already, and {INPUT_BYTES_MAX} are the most")]
    Full {
        /// How much.
        written: u64,
    },
    /// Its record cannot be used.
    #[error("its record cannot be used: {0}")]
    Io(#[from] io::Error),
}

impl Shelf {
    /// Whether a text can be written to a command now.
    pub fn takes_input(&self, name: &str) -> Result<(), InputFault> {
        InputWriter::open(self, name)?.refuse()
    }

    /// Whether a text with this key was written.
    pub(crate) fn was_written(&self, name: &str, key: &str) -> io::Result<bool> {
        let mailbox = match input::open(&self.directory(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        Ok(Stream::read(&mailbox)?.find(key).is_some())
    }

    /// Writes a text, unless that was done before, and waits for a moment until it is taken, or until
    /// `word` says something. Blocks.
    pub fn write_input(
        &self,
        name: &str,
        input: &InputText,
        word: &PipeReader,
    ) -> Result<Delivery, InputFault> {
        let mut writer = InputWriter::open(self, name)?;
        if Stream::read(&writer.mailbox)?.find(&input.key).is_none() {
            writer.refuse()?;
            let story = writer.attached.peek()?.0;
            writer.append(input, story.intent.is_some_and(|intent| intent.terminal))?;
        }
        writer.wait(&input.key, word)
    }
}

/// A writer to the mailbox of one command.
struct InputWriter {
    attached: Attached,
    mailbox: File,
}

impl InputWriter {
    fn open(shelf: &Shelf, name: &str) -> Result<Self, InputFault> {
        let directory = shelf.directory(name);
        let attached = Attached::open(&directory)?;
        let mailbox = match input::open(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(InputFault::NoInput);
            }
            opened => opened?,
        };
        Ok(Self { attached, mailbox })
    }

    fn refuse(&mut self) -> Result<(), InputFault> {
        let stream = Stream::read(&self.mailbox)?;
        match self.attached.peek()?.1 {
            Verdict::Attach if stream.ended || stream.taken.closed => Err(InputFault::Closed),
            Verdict::Attach => Ok(()),
            Verdict::Adopt(_) => Err(InputFault::Orphan),
            Verdict::Collect(_)
            | Verdict::NeverRan(_)
            | Verdict::Rebooted
            | Verdict::StatusLost => Err(InputFault::NotRunning),
        }
    }

    fn append(&self, input: &InputText, is_terminal: bool) -> Result<(), InputFault> {
        let InputText { key, mut text, mut end } = input.clone();
        if end && is_terminal {
            // A terminal is not closed: its reader is told that there is no more.
            text.push(END_OF_INPUT);
            end = false;
        }
        let written = Stream::read(&self.mailbox)?.length;
        if INPUT_BYTES_MAX < written.saturating_add(text.len() as u64) {
            return Err(InputFault::Full { written });
        }
        let printed = self.attached.printed()?.length;
        crate::fail::here("giving");
        log::append(&self.mailbox, &Line::Text(Text { key, body: text, end, printed }))?;
        crate::fail::here("given");
        Ok(())
    }

    fn wait(&mut self, key: &str, word: &PipeReader) -> Result<Delivery, InputFault> {
        let until = Instant::now() + TAKEN_WITHIN;
        let mut is_told = false;
        loop {
            // The verdict first: what a supervisor has done before it was gone is written then.
            let (story, verdict) = self.attached.peek()?;
            let stream = Stream::read(&self.mailbox)?;
            // Another process may have closed the input a moment before.
            let placed = stream.find(key).ok_or(InputFault::Closed)?;
            let most = placed.until() - placed.from;
            let taken = stream.taken.bytes.saturating_sub(placed.from).min(most);
            let has_all = taken == most && (stream.taken.closed || !placed.text.end);
            let state = match verdict {
                _ if has_all => Some(DeliveryState::Taken),
                _ if stream.taken.closed => Some(DeliveryState::Closed),
                Verdict::Attach => None,
                // An adopter records the end without having fed the command.
                Verdict::Collect(_) if story.witness == Some(Witness::Adopter) => {
                    Some(DeliveryState::InDoubt)
                }
                Verdict::Collect(_) | Verdict::NeverRan(_) => Some(DeliveryState::Closed),
                Verdict::Adopt(_) | Verdict::Rebooted | Verdict::StatusLost => {
                    Some(DeliveryState::InDoubt)
                }
            };
            let is_over = is_told || until <= Instant::now();
            if let Some(state) = state.or(is_over.then_some(DeliveryState::Waiting)) {
                return Ok(Delivery { state, taken, printed: placed.text.printed });
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
