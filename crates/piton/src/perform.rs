//! Performing one action: the only place that touches the world.

pub(crate) mod ask;
mod locate;
pub(crate) mod mail;
pub(crate) mod model;
pub(crate) mod progress;
pub(crate) mod tool;
