//! The contract of a tool, and the tools that come with piton.
//!
//! A tool of your own implements [`Tool`]: `spec` and `run` are enough for one that only reads, or
//! that may run twice.

/// Makes the async methods of [`Tool`] and of the other seams; write it above their `impl`.
pub use async_trait::async_trait;
pub use piton_core::event::{ArgumentRole, EffectClass, Handle, Outcome, Shape, ToolSpec, Wants};
pub use piton_core::id::{CallId, TurnId};
pub use piton_core::question::{Question, Secret};
pub use piton_tools::*;
pub use tokio_util::sync::CancellationToken;
