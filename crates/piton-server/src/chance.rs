//! Secrets, names, and the digests under which secrets are kept.

use piton::chance::{Chance as _, SystemChance};
use piton::id::CommandId;
use sha2::{Digest as _, Sha256};

/// Bytes of a secret.
const SECRET_BYTES: usize = 32;

/// There is no source of chance, so there is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoChance;

/// A secret that nobody guesses, in hexadecimal.
pub(crate) fn secret() -> Result<String, NoChance> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|_| NoChance)?;
    Ok(hexadecimal(&bytes))
}

/// A short name for a person to read and to compare.
pub(crate) fn name() -> String {
    CommandId::from_chance(SystemChance.next()).as_str().to_owned()
}

/// The digest under which a secret is kept.
pub(crate) fn digest(secret: &str) -> String {
    hexadecimal(&Sha256::digest(secret.as_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(digit).collect()
}

fn digit(half: u8) -> Option<char> {
    char::from_digit(half.into(), 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_and_its_digest_is_another_text() {
        let (one, other) = (secret().unwrap(), secret().unwrap());
        assert_eq!(one.len(), 2 * SECRET_BYTES);
        assert_ne!(one, other);
        assert_ne!(digest(&one), one);
        assert_eq!(digest("abc").get(..8), Some("ba7816bf"));
    }
}
