//! Saying no in a provider's words.

use serde_json::Value;

/// An answer with an error status.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) body: Value,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Refusal {
    /// A refusal without headers of its own.
    pub(super) fn new(status: u16, body: Value) -> Self {
        Self { status, body, headers: Vec::new() }
    }

    /// With the headers that say how long to wait.
    pub(super) fn wait(mut self, wait_ms: Option<u64>) -> Self {
        if let Some(wait_ms) = wait_ms {
            // Seconds are what providers send; milliseconds are what the libraries also read.
            self.headers.push(("retry-after", wait_ms.div_ceil(1000).to_string()));
            self.headers.push(("retry-after-ms", wait_ms.to_string()));
        }
        self
    }
}
