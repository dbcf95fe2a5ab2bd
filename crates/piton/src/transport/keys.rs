//! What must not be seen: keys that a provider repeats in its complaints.
//!
//! A failure's message goes to the journal, to the screen and into reports. Some providers quote the
//! key that they refuse, and gateways quote whole headers.

use zeroize::Zeroizing;

use super::key_ends;
use crate::model::ModelFailure;
use crate::secrets::remember;
use crate::veil::Veil;

/// What stands in the place of a secret.
const COVER: &str = "[hidden]";
/// Shortest text that is taken for a secret, in bytes. A shorter one would hide half of a message
/// and protects nothing.
const SECRET_BYTES_MIN: usize = 3;

/// The keys of one request. Wiped when they are dropped.
#[derive(Default)]
pub(super) struct Keys(Vec<Zeroizing<String>>);

impl Keys {
    /// Those in the headers that the settings add: they may well hold a key, and are never news.
    pub(super) fn of(headers: &[(String, String)]) -> Self {
        let mut keys = Self::default();
        for (_, value) in headers.iter().filter(|(name, _)| is_telling(name)) {
            keys.add(value);
        }
        keys
    }

    /// Adds the value of a header, with and without the word in front.
    pub(super) fn add(&mut self, value: &str) {
        let key = value.rsplit(' ').next().unwrap_or(value);
        for secret in [value, key] {
            if SECRET_BYTES_MIN <= secret.len() && !self.0.iter().any(|known| **known == secret) {
                remember(secret);
                self.0.push(Zeroizing::new(secret.to_owned()));
            }
        }
    }

    /// A failure that quotes no secret.
    pub(super) fn cover(&self, mut failure: ModelFailure) -> ModelFailure {
        let veil = Veil::covering(self.0.iter().map(|key| key.as_str()), COVER);
        for said in [Some(&mut failure.message), failure.detail.as_mut()].into_iter().flatten() {
            veil.text(said);
            *said = key_ends::covered(said, &self.0, COVER);
        }
        failure
    }
}

/// Whether a header's name says that its value is nobody's business.
pub(super) fn is_telling(name: &str) -> bool {
    const WORDS: [&str; 6] = ["auth", "key", "token", "secret", "cookie", "password"];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use piton_core::event::FailureClass;

    use super::*;

    #[test]
    fn a_key_that_is_quoted_is_covered() {
        let headers =
            [("X-Team-Token".into(), "t0ken".into()), ("x-team".into(), "climbers".into())];
        let mut keys = Keys::of(&headers);
        keys.add("Bearer k3y");
        let said = "no k3y, no t0ken for climbers: Bearer k3y";
        let covered = keys.cover(ModelFailure::new(FailureClass::Auth, said));
        assert_eq!(covered.message, "no [hidden], no [hidden] for climbers: [hidden]");
    }

    // A gateway quotes headers as JSON, in a message that is JSON itself.
    #[test]
    fn a_key_is_covered_as_json_writes_it() {
        let mut keys = Keys::default();
        keys.add("k/3\"y");
        let said = r#"{"sent":"k\/3\"y"}"#;
        let covered = keys.cover(ModelFailure::new(FailureClass::Auth, said));
        assert_eq!(covered.message, r#"{"sent":"[hidden]"}"#);
    }
}
