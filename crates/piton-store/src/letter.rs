//! Letters to whoever writes a conversation: left by other processes, taken by the one writer.

use crate::{LETTER_BYTES_MAX, StoreError};

/// Longest name of a letter, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// A letter. What it says is none of a store's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Its name, unique in its conversation: small letters, digits and `-`. Letters are read in the
    /// order of their names.
    pub id: String,
    /// What it says.
    pub body: String,
}

impl Letter {
    /// Whether a store takes it.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let plain = |letter: u8| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let bytes = self.body.len();
        let named = (1..=NAME_BYTES_MAX).contains(&self.id.len()) && self.id.bytes().all(plain);
        if named && bytes <= LETTER_BYTES_MAX { Ok(()) } else { Err(StoreError::Letter { bytes }) }
    }
}
