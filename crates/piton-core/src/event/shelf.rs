//! Where a conversation is kept, for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a conversation is kept. Nothing of it is lost by that: it is listed elsewhere, or not at all.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Shelf {
    /// Among those that are listed.
    #[default]
    Listed,
    /// Among those that are done with, and listed when somebody asks for them.
    Archived,
    /// Among those that somebody removed. It can be brought back until it is purged.
    Removed,
}
