//! Session files of other agents, read into one neutral form.
//!
//! Knows the formats, where such files lie, and what of them no provider would take. Reads and nothing
//! else: no file of others is changed, a database is copied to a private place before it is opened. What
//! cannot be read is skipped, counted and told by its line; an unknown record never stops a reading. What
//! becomes of a history is none of its business.
//!
//! Modules are listed in reading order.

mod record;
mod weave;

mod recognise;
mod session;

mod claude;
mod codex;
mod gemini;
mod opencode;
mod pi;
mod plain;
mod qwen;

mod arguments;
mod beside;
mod blocks;
mod chain;
mod digest;
mod error;
mod fields;
mod lines;
mod markers;
mod parts;

mod place;

pub use self::error::ImportError;
pub use self::lines::{FILE_BYTES_MAX, LINE_BYTES_MAX};
pub use self::place::{Candidate, Homes, candidates, candidates_below, digests};
pub use self::recognise::Format;
pub use self::session::{Found, read, read_bytes};
