//! What is on disk about a command, and what that means.
//!
//! A directory for each start of a call, with three files: `log` (what is to run and what became of
//! it), `out` (what the command printed) and `in` (what it is to read). The verdict is drawn from the
//! log and its lock alone.

mod files;
pub(crate) mod identity;
pub(crate) mod input;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod status;
pub(crate) mod verdict;

pub(crate) use self::files::{PRIVATE_DIRECTORY, lock, open_log, open_out, opening, peek};
