//! The pure heart of piton: what can happen, what it means, what to do next.
//!
//! Facts go in, decisions come out. There is no clock here, no I/O, no async, no chance: the
//! caller hands those in. Modules are listed in reading order.

pub mod id;

pub mod event;
pub mod subject;

pub mod state;

pub mod action;
pub mod command;
pub mod decide;

pub mod answer;
pub mod attachment;
pub mod history;
pub mod integrity;
pub mod transcript;

pub mod budget;
pub mod changing;
pub mod coordinate;
pub mod cut;
pub mod overflow;
pub mod recall;
pub mod recap;
pub mod repair;
pub mod retry;
mod shorten;
pub mod summarise;
mod tool_names;

pub mod difference;
pub mod language;
pub mod money;
pub mod outcome;
pub mod public_address;
pub mod question;
pub mod summary;
pub mod tasks;
pub mod tokens;
pub mod view;

pub use piton_permit::patch;

/// Permission rules, held against tools as journals have them.
pub mod permit {
    pub use piton_permit::*;

    pub use crate::tool_names::{SHELL, review};
}
