//! A call as a person is shown it for a rule: its parts, and how much a rule can say beside it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How wide a rule is that is made of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Width {
    /// These commands, or this path.
    #[default]
    Exactly,
    /// The first words of each command, and whatever follows them.
    FirstWords,
    /// The program of each command, and whatever follows it.
    Program,
    /// Every path in the directory.
    Directory,
    /// Every call of the tool.
    Tool,
    /// The first words of each command, and whatever follows them, outside the wall.
    Unconfined,
}

impl Width {
    /// Its name in forms and flags.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exactly => "exactly",
            Self::FirstWords => "first_words",
            Self::Program => "program",
            Self::Directory => "directory",
            Self::Tool => "tool",
            Self::Unconfined => "unconfined",
        }
    }
}

/// One of several commands of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The command.
    pub command: String,
    /// Whether a rule allows it already.
    pub is_allowed: bool,
}
