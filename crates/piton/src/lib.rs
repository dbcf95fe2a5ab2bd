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
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use piton::model::OneModel;
//! use piton::{Engine, NewMessage, OnIncomplete};
//! use piton_core::outcome::Ending;
//! use piton_core::state::Config;
//! use piton_sim::demo::DemoModel;
//! use piton_store::MemoryJournal;
//! use piton_tools::ListDir;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::builder(Arc::new(MemoryJournal::new()), Arc::new(OneModel(Arc::new(DemoModel))))
//!     .tool(Arc::new(ListDir))
//!     .build();
//! let mut session = engine.create(Path::new(".")).await?;
//! let mut config = Config { model: Some("demo".parse()?), ..Config::default() };
//! engine.offer_tools(&mut config);
//! session.configure(&config);
//! let ending = session.send(NewMessage::text("list ."), OnIncomplete::Ask).await?;
//! assert_eq!(ending, Ending::Done);
//! assert_eq!(session.view().turns.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Modules are listed in reading order.

mod driver;
mod log;
mod perform;

mod conversation;
mod engine;
mod follow;
mod host;
mod opening;
mod orders;
mod session;

mod control;
mod delegate;
mod parts;
mod unattended;

mod hub;
mod lease;
mod live;
mod mailbox;

pub mod chance;
pub mod clock;
pub mod model;
pub mod profile;
pub mod reader;
pub mod transport;

mod digest;
mod files;

pub use piton_core::command::{
    AnswerThen, Command, Envelope, NewMessage, OnIncomplete, Refusal, Reply, Sender, always_rules,
};

pub use self::control::{Attendance, Controller};
pub use self::conversation::{Attending, Conversation};
pub use self::delegate::{Delegation, WORKERS_MAX};
pub use self::engine::{Builder, Engine};
pub use self::follow::{Follow, FollowError, News};
pub use self::host::{Running, Stage, TURNS_MAX};
pub use self::hub::{Subscription, Update, Worker, WorkerNews};
pub use self::lease::LeaseWait;
pub use self::mailbox::{AnswerLetter, Delivery, Given, given};
pub use self::orders::{Accepted, CommandError, Receipt};
pub use self::session::{FileLeftOut, OpenError, Session, SessionError};
pub use self::unattended::{Policy, Unattended};
