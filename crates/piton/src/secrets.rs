//! Secrets that this process has used. A log covers them, whoever writes into it.
//!
//! Of the whole process, because a log is: what a library says of a request does not know whose key
//! it quotes. What goes to the journal has veils of its own, and does not ask here.

use std::sync::{Mutex, PoisonError};

use zeroize::Zeroizing;

use crate::veil::Veil;

/// What stands in the place of a secret.
const COVER: &str = "[hidden]";
/// Shortest text that is taken for a secret, in bytes: a shorter one would hide half of a log.
const SECRET_BYTES_MIN: usize = 3;
/// Most secrets that are kept. A process with more has keys that change all the time: old ones go.
const SECRETS_MAX: usize = 256;

/// The oldest one first. One that goes is wiped.
static USED: Mutex<Vec<Zeroizing<String>>> = Mutex::new(Vec::new());

/// Remembers a secret from now on.
pub fn remember(secret: &str) {
    let secret = secret.trim();
    if secret.len() < SECRET_BYTES_MIN {
        return;
    }
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    if !used.iter().any(|known| **known == secret) {
        if SECRETS_MAX <= used.len() {
            used.remove(0);
        }
        used.push(Zeroizing::new(secret.to_owned()));
    }
}

/// A text that quotes none of them.
pub fn covered(text: &str) -> String {
    let used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut covered = text.to_owned();
    Veil::covering(used.iter().map(|secret| secret.as_str()), COVER).text(&mut covered);
    covered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_covered_and_nothing_else() {
        remember("k3y-of-this-test\n");
        remember("ab");
        assert_eq!(covered("ab sent \"k3y-of-this-test\""), "ab sent \"[hidden]\"");
        assert_eq!(covered("nothing"), "nothing");
    }
}
