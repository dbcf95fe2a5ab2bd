//! Who may speak to this server: tokens of programs, browsers that redeemed a code, and nobody else.

mod changes;
mod token;

use piton_core::id::Timestamp;

pub(crate) use self::changes::TokenChanges;
pub use self::token::{Bearer, TokenError, TokenRow, Tokens};

/// Who sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    /// The name of the token.
    pub(crate) name: String,
    /// The digest of the secret, to ask again later.
    pub(crate) digest: String,
}

impl Tokens {
    /// The owner of a secret.
    pub(crate) fn who(&self, secret: &str, now: Timestamp) -> Option<Who> {
        let digest = crate::chance::digest(secret);
        let name = self.owner(&digest, now)?;
        Some(Who { name, digest })
    }
}
