#![cfg(test)]
//! The engine seen from outside: scripted models, tools of a simulated world, virtual time.
//!
//! Letters and numbers in comments are the behaviours of the founding designs that a test holds.

mod stage;
mod watch;

mod attach;
mod commands;
mod conversation;
mod delegate;
mod detach;
mod examples;
mod files;
mod follow;
mod fork;
mod hooks;
mod import;
mod incomplete;
mod interrupt;
mod lease;
mod list;
mod mailbox;
mod noted;
mod odd_moments;
mod outage;
mod overflow;
mod permission;
mod question;
mod recall;
#[cfg(feature = "http")]
mod repair;

mod secret;
mod stream;
#[cfg(feature = "http")]
mod summing_up;
mod tail;
mod tools;
#[cfg(feature = "http")]
mod transport;
mod turn;
mod undo;
#[cfg(feature = "http")]
mod wire_faults;
