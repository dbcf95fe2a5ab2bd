//! Commands of the shell that are kept beside the journals, for faces: which ones there are, and stopping
//! one from anywhere. Reads their records, never a journal; what a call of a command hears of its end,
//! its conversation records.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use piton_tools::supervise::{Delivery, HEAD_BYTES, InputFault, InputText, Shelf, TAIL_BYTES};
pub use piton_tools::supervise::{Kept, KeptState, Printed, Status, Why};

use crate::engine::Engine;

/// The commands whose records are kept in one directory.
#[derive(Clone, Debug)]
pub struct Commands {
    shelf: Shelf,
}

/// A part of what a command has printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPart {
    /// The bytes, which may end within a character.
    pub bytes: Vec<u8>,
    /// Where to go on: the number of bytes that were passed, printed or left out.
    pub next: u64,
    /// Bytes in front of these that are not kept.
    pub left_out: u64,
    /// A secret may be in it, so nothing is shown.
    pub withheld: bool,
}

/// Why a typed name means no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCommand {
    /// None is called so.
    #[error("there is no command {typed}")]
    Unknown {
        /// What was typed.
        typed: String,
    },
    /// Several are called so.
    #[error("several commands are meant by {typed}")]
    Ambiguous {
        /// What was typed.
        typed: String,
        /// Their names.
        found: Vec<String>,
    },
}

impl Commands {
    /// Those whose records are kept in a directory, which need not be there.
    pub fn new(calls: PathBuf) -> Self {
        Self { shelf: Shelf::new(calls) }
    }

    /// All of them, the oldest first: also those that have ended and are still kept.
    pub fn all(&self) -> Vec<Kept> {
        self.shelf.all()
    }

    /// How a command is named so that it can be typed: `CONVERSATION/CALL`.
    pub fn name(kept: &Kept) -> String {
        format!("{}/{}", kept.conversation, kept.intent.call)
    }

    /// The command that was typed: by its name, its call or the beginning of its conversation, where
    /// that is clear. One that runs is meant before one that has ended.
    pub fn find(&self, typed: &str) -> Result<Kept, NoCommand> {
        let typed = typed.trim().to_lowercase();
        let (conversation, call) = typed.rsplit_once('/').unwrap_or(("", &typed));
        let all = self.all();
        let is_called = |kept: &&Kept| {
            kept.conversation.as_str().starts_with(conversation)
                && kept.intent.call.to_string() == call
        };
        let mut found: Vec<Kept> = all.iter().filter(is_called).cloned().collect();
        if found.is_empty() && !typed.is_empty() {
            found = all;
            found.retain(|kept| kept.conversation.as_str().starts_with(&typed));
        }
        if found.iter().any(|kept| kept.state.goes_on()) {
            found.retain(|kept| kept.state.goes_on());
        }
        // Of one call the newest start counts.
        found.reverse();
        found.dedup_by_key(|kept| Self::name(kept));
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                found.push(last);
                Err(NoCommand::Ambiguous { typed, found: found.iter().map(Self::name).collect() })
            }
            (None, _) => Err(NoCommand::Unknown { typed }),
        }
    }

    /// The file that a command prints into. It stays readable when the record is removed.
    pub fn output(&self, kept: &Kept) -> io::Result<File> {
        File::open(self.shelf.directory(&kept.name).join("out"))
    }

    /// A part of what a command has printed, behind so many bytes: at most `bytes_max` of them. Behind the
    /// end there is nothing, and `next` is the end. Of a long output the middle is gone, and passed over.
    pub fn part(&self, kept: &Kept, from: u64, bytes_max: usize) -> io::Result<OutputPart> {
        if kept.intent.secret {
            return Ok(OutputPart { next: from, withheld: true, ..OutputPart::default() });
        }
        let out = self.output(kept)?;
        let Printed { start, length, .. } = Printed::look(&out, &kept.intent)?;
        let tail = length.saturating_sub(TAIL_BYTES);
        // Behind the end there is nothing. A command that emptied its output goes on from there, too.
        let from = from.min(length);
        let begin = if HEAD_BYTES <= from && from < tail { tail } else { from };
        // Not across the edge behind which the middle may be gone.
        let head = HEAD_BYTES.checked_sub(begin).filter(|most| 0 < *most);
        let most = head.and_then(|most| usize::try_from(most).ok()).unwrap_or(bytes_max);
        let mut bytes = vec![0; most.min(bytes_max)];
        let count = out.read_at(&mut bytes, start + begin)?;
        bytes.truncate(count);
        Ok(OutputPart {
            bytes,
            next: begin + count as u64,
            left_out: begin - from,
            withheld: false,
        })
    }

    /// Stops a command because a person wants it, with everything that it started. Waits for its end.
    pub async fn stop(&self, kept: &Kept) -> io::Result<KeptState> {
        let (shelf, name) = (self.shelf.clone(), kept.name.clone());
        // On a thread: it may take a second for a polite command to clean up.
        let stopping = tokio::task::spawn_blocking(move || shelf.stop(&name, Why::Person));
        stopping.await.map_err(io::Error::from)?
    }

    /// Writes to the input of a command. One that does not read is waited for a moment.
    pub async fn write_input(&self, kept: &Kept, input: InputText) -> Result<Delivery, InputFault> {
        let (shelf, name) = (self.shelf.clone(), kept.name.clone());
        let delivering = tokio::task::spawn_blocking(move || {
            // Nobody says anything on it.
            let (word, _speaker) = io::pipe()?;
            shelf.write_input(&name, &input, &word)
        });
        delivering.await.map_err(io::Error::from)?
    }
}

impl Engine {
    /// The commands that conversations have started; none if the engine was not told where their
    /// records are.
    pub fn commands(&self) -> Option<Commands> {
        self.parts().calls.clone().map(Commands::new)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A command that has printed a text.
    fn printed(text: &str, calls: &std::path::Path) -> Kept {
        let intent = serde_json::json!({
            "version": 1, "call": "1.1.0", "command": "true",
            "directory": "/", "at_ms": 0, "marker": "m",
        });
        let kept = Kept {
            name: "c".into(),
            conversation: piton_core::id::ConversationId::new("abcdefghjk"),
            intent: serde_json::from_value(intent).unwrap(),
            state: KeptState::Running,
            stopped: None,
        };
        let directory = Shelf::new(calls.into()).directory(&kept.name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("out"), text).unwrap();
        kept
    }

    #[test]
    fn behind_the_end_of_an_output_there_is_nothing() {
        let calls = tempfile::tempdir().unwrap();
        let (commands, kept) = (Commands::new(calls.path().into()), printed("abc", calls.path()));
        for (from, text, next) in [(0, "abc", 3), (2, "c", 3), (3, "", 3), (99, "", 3)] {
            let part = commands.part(&kept, from, 64).unwrap();
            assert_eq!((part.bytes.as_slice(), part.next), (text.as_bytes(), next), "{from}");
            assert_eq!(part.left_out, 0, "{from}");
        }
    }
}
