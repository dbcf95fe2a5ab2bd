//! What the supervisor processes do: take commands over, start them behind a gate, pass input on,
//! record how they end, and stop them with all that they started.

pub(crate) mod awake;
pub(crate) mod dispatch;
pub(crate) mod feed;
mod file_watch;
mod founder;
mod gate;
pub(crate) mod handover;
mod inner;
mod mark;
mod open_files;
mod outer;
mod reaper;
pub(crate) mod role;
pub(crate) mod server;
mod start;
pub(crate) mod stopping;
mod terminal;
mod warden;
mod way_out;
