//! How a commit is named, and what became of it.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use piton_core::id::Seq;
use serde::{Deserialize, Serialize};

/// The name of a commit, chosen by its writer. No two commits to one conversation have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitName(String);

impl CommitName {
    /// A name that no other process gives either.
    pub fn fresh() -> Self {
        /// Tells the names of processes apart.
        static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(format!("{:016x}-{number}", *PROCESS))
    }
}

impl fmt::Display for CommitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It took place, and the journal ended here then.
    Committed(Seq),
    /// It did not take place.
    NotCommitted,
}
