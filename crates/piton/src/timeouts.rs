//! How long an answer is waited for, and what a wait that was too long is called.

use std::time::Duration;

use piton_core::event::Limits;
use piton_core::retry::wait_in_words;

/// Longest time in which signs of life are all that comes. A model may think for long, but a server
/// that does nothing else is not waited for without an end.
const WORDLESS_MAX: Duration = Duration::from_mins(30);

/// How long an outage is waited for, if nobody says otherwise.
const OUTAGE_MAX: Duration = Duration::from_mins(2);

/// The clocks of a request. `Duration::MAX` is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From sending to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// From one piece that brings something to the next, whatever comes in between.
    pub wordless: Duration,
    /// How long it is waited for that anybody can be reached, without using up tries.
    pub outage: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self::of(&Limits::default())
    }
}

impl Timeouts {
    /// What the limits of a conversation say.
    pub(crate) fn of(limits: &Limits) -> Self {
        let wait = |ms| if ms == 0 { Duration::MAX } else { Duration::from_millis(ms) };
        let (first_byte, idle) = (wait(limits.first_byte_ms_max), wait(limits.idle_ms_max));
        Self {
            first_byte,
            idle,
            wordless: WORDLESS_MAX.max(first_byte).max(idle),
            outage: OUTAGE_MAX,
        }
    }
}

/// A wait that was too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Silence {
    #[error("no answer began within {}", words(*.0))]
    FirstByte(Duration),
    #[error("the answer stood still for {}", words(*.0))]
    Idle(Duration),
    #[error("nothing but signs of life came for {}", words(*.0))]
    Wordless(Duration),
}

fn words(wait: Duration) -> String {
    wait_in_words(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}
