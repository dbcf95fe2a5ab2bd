//! Letters to the writer of a conversation: left by other processes, taken by the one writer.

use serde::{Deserialize, Serialize};

use crate::{LETTER_BYTES_MAX, StoreError};

/// Longest name of a letter, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// A letter. What it says is none of a store's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Its name, unique in its conversation: small letters, digits and `-`.
    pub id: String,
    /// What it says.
    pub body: String,
}

/// The place of a letter in the order of arrival. Rises with every letter that is posted; zero is
/// before them all.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Arrival(pub u64);

impl Letter {
    /// Whether a store takes it.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let plain = |letter: u8| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let bytes = self.body.len();
        let named = (1..=NAME_BYTES_MAX).contains(&self.id.len()) && self.id.bytes().all(plain);
        if named && bytes <= LETTER_BYTES_MAX { Ok(()) } else { Err(StoreError::Letter { bytes }) }
    }
}
