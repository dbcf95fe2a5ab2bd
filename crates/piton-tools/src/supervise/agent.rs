//! What the agent does: claims a call, starts its command, waits for it, writes to it, stops it.

pub(crate) mod attach;
pub(crate) mod claim;
mod exit_info;
pub(crate) mod input_file;
mod pair;
pub(crate) mod shelf;
pub(crate) mod supervisor;
pub(crate) mod write_input;
