//! When the pieces of an answer leave.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ScriptStep;

/// How often a file is looked for that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// When the pieces of an answer leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    pause: Duration,
    wait_for: Option<PathBuf>,
}

impl Pace {
    /// The pace of a step.
    pub(crate) fn of(step: &ScriptStep) -> Self {
        Self { pause: Duration::from_millis(step.chunk_ms), wait_for: step.wait_for.clone() }
    }

    /// Returns when the next piece may leave; `left` of all `pieces` have not left yet.
    pub(crate) async fn next(&self, pieces: usize, left: usize) {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        if let Some(path) = &self.wait_for
            && left <= pieces / 2
        {
            appears(path).await;
        }
    }
}

/// Returns when a file is there.
pub(super) async fn appears(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
