//! What is on disk about a command, and what that means.
//!
//! A directory for each start of a call, with three files: `log` (what is to run and what became of
//! it), `out` (what the command printed) and `in` (what it is to read); for a confined command also `guard` (what
//! it must not have changed) and `changed` (what it changed all the same). The verdict is drawn from the log and its
//! lock alone.

pub(crate) mod change;
mod files;
pub(crate) mod guard;
pub(crate) mod identity;
pub(crate) mod input;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod status;
pub(crate) mod verdict;

pub(crate) use self::files::{PRIVATE_DIRECTORY, lock, open_log, open_out, opening, peek};
