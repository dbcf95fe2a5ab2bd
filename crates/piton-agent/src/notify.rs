//! How a person is called who looks elsewhere.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

/// How long a turn goes on before a person is called, if nothing else is said, in seconds. Whoever sent a
/// message looks on for a while.
pub(crate) const NOTIFY_SECONDS_DEFAULT: u64 = 20;

/// How a person is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// Not at all.
    Off,
    /// The terminal rings its bell.
    Bell,
    /// It rings, and shows a notification where it can.
    #[default]
    All,
}

/// A text that names no way to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("notify is one of off, bell, all")]
pub struct NotAWayToNotify;

impl FromStr for Notify {
    type Err = NotAWayToNotify;

    fn from_str(text: &str) -> Result<Self, NotAWayToNotify> {
        match text {
            "off" => Ok(Self::Off),
            "bell" => Ok(Self::Bell),
            "all" => Ok(Self::All),
            _ => Err(NotAWayToNotify),
        }
    }
}
