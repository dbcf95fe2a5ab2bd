//! One event on its way.

use std::sync::Arc;

/// One event.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: &'static str,
    pub(super) data: Arc<str>,
    /// Whether the cursor of the stream goes with it.
    pub(super) durable: bool,
}

impl Event {
    pub(super) fn passing(name: &'static str, data: &str) -> Self {
        Self { name, data: data.into(), durable: false }
    }
}

/// Nothing comes any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended;
