//! What is written down about a command: one checksummed line per record, one `write` each.
//!
//! A line that is torn, damaged or of a kind that this build does not know counts for nothing. The
//! order of the lines is the order in which things happened, except that the first end wins.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use piton_core::id::CallId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::change::{Change, Decision, Raw};
use super::identity::Identity;
use super::status::Status;
use crate::sandbox::Policy;

/// The form of the log.
pub(crate) const LOG_VERSION: u32 = 1;
/// Longest log that is read, in bytes: a command line of 128 KiB, escaped, and a few short lines.
const LOG_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// Letters of a checksum.
const CHECK_LETTERS: usize = 16;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Record {
    /// What is to run. Written by the agent that claimed the call.
    #[serde(rename = "I")]
    Intended(Box<Intent>),
    /// The process that will be the command. Synced before the command may begin.
    #[serde(rename = "S")]
    Started(Identity),
    /// The command provably never ran. Usually written by its own process, whose gate was not opened.
    #[serde(rename = "N")]
    NeverRan {
        /// Why not.
        why: String,
    },
    /// Somebody is about to stop it.
    #[serde(rename = "T")]
    Stopped(Stop),
    /// How it ended. The first one counts.
    #[serde(rename = "E")]
    Ended {
        /// In which way.
        status: Status,
        /// Who saw it.
        by: Witness,
    },
    /// Something that it started went on when it ended.
    #[serde(rename = "L")]
    LeftRunning,
    /// Its call has returned before it ended.
    #[serde(rename = "D")]
    Detached,
    /// It changed what others obey. Written before that is put back.
    #[serde(rename = "C")]
    Changed(Change),
    /// A change that could not be put back.
    #[serde(rename = "U")]
    NotPutBack {
        /// Where.
        place: Raw,
        /// Why not.
        why: String,
    },
    /// What was done about the changes in the end.
    #[serde(rename = "A")]
    Decided(Decision),
    /// The proxy let a command of its policy not reach a host. Written by the proxy.
    #[serde(rename = "R")]
    Refused {
        /// The host with its port, as far as it was understood.
        host: String,
        /// Why not.
        why: String,
    },
}

/// What is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with each other")]
pub struct Intent {
    /// The form of the log.
    pub version: u32,
    /// The call.
    pub call: CallId,
    /// The command line.
    pub command: String,
    /// Where.
    pub directory: PathBuf,
    /// How long it may run at most, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Goes on when its turn is interrupted or discarded.
    #[serde(default)]
    pub keep: bool,
    /// When it was claimed, in milliseconds since the epoch.
    pub at_ms: u64,
    /// What its processes carry in their environment, so that they are known wherever they go.
    pub marker: String,
    /// What it may touch; absent if it is not confined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Policy>,
    /// Whether its input stays open, for texts that are written to it later.
    #[serde(default)]
    pub input: bool,
    /// Whether that is a terminal, which is its output too.
    #[serde(default)]
    pub terminal: bool,
    /// Whether it was told a secret, which its output may quote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Whether a seal stands before its output.
    #[serde(default)]
    pub sealed: bool,
    /// Its record, if that has a note of what it must not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<PathBuf>,
}

impl Intent {
    /// How much of its time is left, by the clock on the wall: the process that asks may not have been there
    /// when it began.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        let limit = Duration::from_millis(self.timeout_ms?);
        let elapsed = now_ms().saturating_sub(self.at_ms);
        Some(limit.saturating_sub(Duration::from_millis(elapsed)))
    }
}

/// The time, in milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// That somebody stopped it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stop {
    /// Why.
    pub(crate) why: Why,
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It took too long.
    Timeout,
    /// The turn was interrupted or left.
    Interrupt,
    /// The model asked for it.
    Model,
    /// A person asked for it, with `piton kill`.
    Person,
    /// What it left running changed again and again what others obey.
    Protected,
}

/// Who saw the end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Witness {
    /// Its parent.
    Inner,
    /// The parent's parent, when the parent was gone.
    Outer,
    /// A later agent, when both were gone.
    Adopter,
}

impl Witness {
    /// Which of two points it is, for tests.
    pub(crate) fn point(self, [inner, outer]: [&'static str; 2]) -> &'static str {
        match self {
            Self::Inner => inner,
            Self::Outer | Self::Adopter => outer,
        }
    }
}

/// What the log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) intent: Option<Intent>,
    pub(crate) started: Option<Identity>,
    pub(crate) never_ran: Option<String>,
    pub(crate) stopped: Option<Stop>,
    pub(crate) ended: Option<Status>,
    pub(crate) witness: Option<Witness>,
    pub(crate) left_running: bool,
    pub(crate) detached: bool,
    pub(crate) changes: Vec<Change>,
    pub(crate) not_put_back: Vec<(Raw, String)>,
    pub(crate) decided: Option<Decision>,
    pub(crate) refused: Vec<(String, String)>,
}

impl Story {
    /// Reads the log, from wherever its handle stands.
    pub(crate) fn read(log: &File) -> io::Result<Self> {
        let length = log.metadata()?.len().min(LOG_BYTES_MAX);
        Ok(Self::of(&read_from(log, 0, length)?))
    }

    fn of(log: &[u8]) -> Self {
        let mut story = Self::default();
        for record in records(log) {
            match record {
                Record::Intended(intent) => {
                    story.intent.get_or_insert(*intent);
                }
                Record::Started(identity) => {
                    story.started.get_or_insert(identity);
                }
                Record::NeverRan { why } => {
                    story.never_ran.get_or_insert(why);
                }
                Record::Stopped(stop) => {
                    story.stopped.get_or_insert(stop);
                }
                Record::Ended { status, by } => {
                    story.ended.get_or_insert(status);
                    story.witness.get_or_insert(by);
                }
                Record::LeftRunning => story.left_running = true,
                Record::Detached => story.detached = true,
                Record::Changed(change) => story.changes.push(change),
                Record::NotPutBack { place, why } => story.not_put_back.push((place, why)),
                Record::Decided(decision) => {
                    story.decided.get_or_insert(decision);
                }
                Record::Refused { host, why } => story.refused.push((host, why)),
            }
        }
        story
    }
}

/// The bytes of a file from one place to another, or to its end.
pub(crate) fn read_from(file: &File, from: u64, until: u64) -> io::Result<Vec<u8>> {
    let length = until.saturating_sub(from);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, from + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Appends a record in one write. A line before it that was torn does not take it along.
pub(crate) fn append(mut log: &File, record: &impl Serialize) -> io::Result<()> {
    log.write_all(encode(record)?.as_bytes())
}

/// The records that these lines hold.
pub(crate) fn records<T: DeserializeOwned>(lines: &[u8]) -> impl Iterator<Item = T> {
    lines.split(|byte| *byte == b'\n').filter_map(decode)
}

/// The record as it is written.
pub(crate) fn encode(record: &impl Serialize) -> io::Result<String> {
    let body = serde_json::to_string(record)?;
    Ok(format!("\n{} {body}\n", checksum(body.as_bytes())))
}

fn decode<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (check, body) = line.split_at_checked(CHECK_LETTERS)?;
    let body = body.strip_prefix(b" ")?;
    if checksum(body).as_bytes() != check {
        return None;
    }
    serde_json::from_slice(body).ok()
}

fn checksum(body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    let digits = digest.iter().take(CHECK_LETTERS / 2).flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

#[cfg(test)]
mod tests {
    use piton_core::id::TurnId;

    use super::*;

    fn never() -> Record {
        Record::NeverRan { why: "because".into() }
    }

    #[test]
    fn what_is_written_is_read() {
        let ended = Record::Ended { status: Status::Exit(3), by: Witness::Inner };
        let text = [encode(&never()).unwrap(), encode(&ended).unwrap()].concat();
        let story = Story::of(text.as_bytes());
        assert_eq!(story.never_ran.as_deref(), Some("because"));
        assert_eq!(story.ended, Some(Status::Exit(3)));
    }

    #[test]
    fn the_first_end_counts() {
        let end = |code| {
            encode(&Record::Ended { status: Status::Exit(code), by: Witness::Outer }).unwrap()
        };
        assert_eq!(
            Story::of(format!("{}{}", end(1), end(2)).as_bytes()).ended,
            Some(Status::Exit(1))
        );
    }

    #[test]
    fn every_torn_or_damaged_line_counts_for_nothing_and_harms_no_other() {
        let good = encode(&Record::Detached).unwrap();
        let line = encode(&never()).unwrap();
        for cut in 0..line.trim_end().len() {
            let story = Story::of(format!("{}{good}", &line[..cut]).as_bytes());
            assert_eq!((story.never_ran, story.detached), (None, true), "cut at {cut}");
        }
        for at in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[at] ^= 1;
            bytes.extend(good.as_bytes());
            let story = Story::of(&bytes);
            // A damaged line end is no damage: the next record begins a line of its own.
            let edge = at == 0 || at == line.len() - 1;
            assert!(edge || story.never_ran.is_none(), "damaged at {at}");
            assert!(story.detached, "damaged at {at}");
        }
    }

    // J65
    #[test]
    fn an_intent_of_an_earlier_build_was_told_no_secret() {
        let intent = |more: &str| {
            let call =
                serde_json::to_string(&CallId { turn: TurnId(1), step: 1, index: 0 }).unwrap();
            let body = format!(
                r#"{{"I":{{"version":1,"call":{call},"command":"true","directory":"/","at_ms":0,"marker":"m"{more}}}}}"#
            );
            Story::of(format!("\n{} {body}\n", checksum(body.as_bytes())).as_bytes())
                .intent
                .unwrap()
        };
        let (before, told) = (intent(""), intent(r#","secret":true"#));
        assert!(!before.secret && told.secret);
        let written = |intent| encode(&Record::Intended(Box::new(intent))).unwrap();
        assert!(!written(before).contains("secret") && written(told).contains(r#""secret":true"#));
    }

    #[test]
    fn kinds_of_a_later_build_are_passed_over() {
        let body = r#"{"Z":{"new":1}}"#;
        let text = format!("\n{} {body}\n{}", checksum(body.as_bytes()), encode(&never()).unwrap());
        assert!(Story::of(text.as_bytes()).never_ran.is_some());
    }

    #[test]
    fn the_kernels_numbers_are_understood() {
        assert_eq!(Status::from_wait(0), Status::Exit(0));
        assert_eq!(Status::from_wait(7 << 8), Status::Exit(7));
        assert_eq!(Status::from_wait(9), Status::Signal(9));
        // With a core dump.
        assert_eq!(Status::from_wait(0x80 | 6), Status::Signal(6));
    }
}
