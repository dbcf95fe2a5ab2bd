//! The engine: performs the steps of a conversation and never loses a turn.
//!
//! ```text
//!         ┌────────────── append (durable) ◄───────────────┐
//!         ▼                                                │
//!    journal ──fold──► State ──decide──► Action ─perform──► events
//! ```
//!
//! An [`Engine`] opens a [`Session`] on a conversation. A session holds the one writer's place,
//! runs turns, and fans entries out to any number of faces. There is no resume mode: a driver that
//! starts reads the journal, folds, decides and goes on.
//!
//! Modules are listed in reading order.

mod driver;
mod log;
mod perform;

mod engine;
mod session;

mod hub;
mod lease;

pub mod chance;
pub mod clock;
pub mod model;

mod digest;

pub use self::engine::{Builder, Engine};
pub use self::hub::{Subscription, Update};
pub use self::lease::LeaseWait;
pub use self::session::{
    Attendance, Controller, NewMessage, OnIncomplete, OpenError, Reply, Session, SessionError,
};
