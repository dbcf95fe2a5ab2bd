//! Why nothing can be read.

use std::io;
use std::path::PathBuf;

use crate::lines::FILE_BYTES_MAX;

/// Why nothing can be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is larger than what is held in memory.
    #[error(
        "{} has {bytes} bytes, and at most {FILE_BYTES_MAX} are read. Nothing was imported",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The file is empty.
    #[error("{} is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Nobody here knows what it is.
    #[error(
        "{} is no session file that piton knows: those of Claude Code, Codex, opencode, Gemini CLI, Qwen \
         Code and pi, and lists of messages",
        path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Nobody said anything.
    #[error("there is no conversation in {}", path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
    },
    /// The database cannot be read.
    #[error("cannot read the database {}: {message}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The file has no session of this name.
    #[error("there is no session {session} in {}", path.display())]
    NoSession {
        /// The file.
        path: PathBuf,
        /// The name.
        session: String,
    },
}
