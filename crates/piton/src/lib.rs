//! The engine: performs the steps of a conversation and never loses a turn.
//!
//! ```text
//!         ┌────────────── append (durable) ◄───────────────┐
//!         ▼                                                │
//!    journal ──fold──► State ──decide──► Action ─perform──► events
//! ```
//!
//! An [`Engine`] gives handles on conversations and owns the work behind them. A [`Conversation`]
//! takes [`Command`]s; [`Engine::view`] and [`Engine::follow`] read it, from any process. There is no
//! resume mode: a driver that starts reads the journal, folds, decides and goes on.
//!
//! ```
//! use std::sync::Arc;
//!
//! use piton::model::{ModelFn, OneModel, last_typed, say};
//! use piton::{Command, Config, Ending, Engine, MemoryJournal, NewMessage};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A model that repeats what was said. `piton::transport` has models of real providers.
//! let model = ModelFn(|transcript: &_| say(last_typed(transcript)));
//! let config = Config { model: Some("own/echo".parse()?), ..Config::default() };
//! let engine = Engine::builder(Arc::new(MemoryJournal::new()), Arc::new(OneModel(Arc::new(model))))
//!     .config(config)
//!     .build();
//! let conversation = engine.begin(".".as_ref())?;
//! let ending = conversation.perform(Command::say(NewMessage::text("hello"))).await?;
//! assert_eq!(ending, Ending::Done);
//! let view = engine.view(conversation.id()).await?;
//! assert_eq!(view.turns[0].answer().as_deref(), Some("hello"));
//! # Ok(())
//! # }
//! ```
//!
//! This crate alone is enough as a dependency: what an embedder needs of the crates below is exported
//! again, in [`config`], [`id`], [`model`], [`store`], [`tools`] and [`view`]. [`guide`] explains it
//! all, and `examples/` has four small programs. Without the feature `http` there is no HTTP client and
//! no provider's dialect.
//!
//! Modules are listed in reading order.

mod context;
mod driver;
mod flight;
mod log;
mod perform;

mod conversation;
mod engine;
mod follow;
mod host;
mod opening;
mod orders;
mod session;
mod toolbox;

mod control;
mod delegate;
mod error;
mod look_back;
mod parts;
mod read_output;
mod recall;
mod receipt;
mod unattended;

mod lease;
mod live;
mod mailbox;

pub mod chance;
pub mod clock;
pub mod commands;
pub mod config;
pub mod fork;
pub mod guide;
pub mod hooks;
pub mod import;
pub mod list;
pub mod model;
pub mod profile;
pub mod reader;
pub mod rescue;
pub mod search;
pub mod tail;
pub mod tools;
#[cfg(feature = "http")]
pub mod transport;
pub mod undo;

mod digest;
mod files;
mod noted;
pub mod secrets;
mod timeouts;
mod veil;

pub use piton_core::command::{
    AnswerThen, Command, Envelope, NewMessage, OnIncomplete, QueueChange, QueuePlace, Refusal,
    Reply, Sender, Shelf, UserPart, always_rules,
};
pub use piton_core::id::ConversationId;
pub use piton_core::outcome::{Cause, Ending};
pub use piton_core::permit::Standing;
pub use piton_core::state::Verdict;
pub use piton_core::view::{Live, View, ViewChange};
pub use piton_core::{id, view};
pub use piton_store as store;
pub use piton_store::{Journal, MemoryJournal, SqliteJournal};
pub use piton_tools::Toolbox;

pub use self::config::Config;
pub use self::control::Controller;
pub use self::conversation::{Attending, Conversation, Hold, Work};
pub use self::delegate::{Delegation, WORKERS_MAX};
pub use self::engine::{Builder, Engine};
pub use self::error::{CommandError, OpenError, SessionError};
pub use self::files::{FileLeftOut, FilesFault};
pub use self::follow::{Follow, FollowError, News};
pub use self::fork::{Fork, ForkAt, ForkError};
pub use self::host::{Running, Stage, TURNS_MAX};
pub use self::lease::LeaseWait;
pub use self::mailbox::Kept;
pub use self::read_output::WHOLE_OUTPUT;
pub use self::receipt::{Accepted, Receipt, Rested};
pub use self::session::{Session, check_workspace};
pub use self::toolbox::{ToolPlace, Tools, ToolsError};
pub use self::unattended::{Attendance, Policy, Unattended};
