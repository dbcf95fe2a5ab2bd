//! Who may speak to this server: tokens of programs, browsers that redeemed a code, and nobody else.

mod code;
mod token;

use std::path::Path;

use piton_core::id::Timestamp;

pub use self::code::Codes;
pub use self::token::{Bearer, TokenError, TokenRow, Tokens};

/// Who may speak to this server.
#[derive(Debug)]
pub struct Access {
    /// Those who may, by their secrets.
    pub tokens: Tokens,
    /// Codes that make a browser one of them, once.
    pub codes: Codes,
}

/// Who sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    /// The name of the token.
    pub(crate) name: String,
    /// The digest of the secret, to ask again later.
    pub(crate) digest: String,
}

impl Access {
    /// Those who may speak to the server of a home.
    pub fn of(home: &Path) -> Self {
        Self { tokens: Tokens::of(home), codes: Codes::default() }
    }

    /// The owner of a secret.
    pub(crate) fn who(&self, secret: &str, now: Timestamp) -> Option<Who> {
        let digest = crate::chance::digest(secret);
        let name = self.tokens.owner(&digest, now)?;
        Some(Who { name, digest })
    }
}
