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
    /// A name that no other process gives either. Letters and digits only, and short, because a
    /// store keeps it beside every commit.
    pub fn fresh() -> Self {
        /// Eight random letters tell the names of processes apart.
        static PROCESS: LazyLock<String> = LazyLock::new(|| {
            let mut random = RandomState::new().hash_one(0);
            let letters = (0..8).map(|_| letter(&mut random));
            letters.collect()
        });
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = PROCESS.clone();
        while number > 0 {
            name.push(letter(&mut number));
        }
        Self(name)
    }

    /// A name as a store kept it.
    pub(crate) fn from_stored(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// Takes the last five bits of a number off, as a letter or a digit.
fn letter(rest: &mut u64) -> char {
    let last = u32::try_from(*rest % 32).ok().and_then(|digit| char::from_digit(digit, 32));
    *rest /= 32;
    last.unwrap_or('0')
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
