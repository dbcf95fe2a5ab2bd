//! Performing one action: the only place that touches the world.

mod ask;
mod hooks;
mod locate;
mod mail;
mod model;
mod origin;
mod progress;
mod tool;
