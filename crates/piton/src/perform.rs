//! Performing one action: the only place that touches the world.

mod ask;
mod compact;
mod hooks;
mod locate;
mod mail;
mod model;
mod origin;
mod progress;
mod sum_up;
mod tool;
