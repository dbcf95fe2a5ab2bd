//! How a process ended.

use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// By itself, with this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

impl Status {
    /// From the number that `wait` and `/proc` use.
    pub(crate) fn from_wait(raw: i32) -> Self {
        match raw & 0x7f {
            0 => Self::Exit((raw >> 8) & 0xff),
            signal => Self::Signal(signal),
        }
    }
}
