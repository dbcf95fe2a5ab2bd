//! One-time codes: the printed address holds one, and a browser that brings it is signed in.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use crate::chance::{NoChance, digest, secret};
use crate::limits::CODE_LIFE;

/// Codes that were given out and not used. They end with the process.
#[derive(Debug, Default)]
pub struct Codes {
    /// By digest, with the end of each.
    open: Mutex<BTreeMap<String, Instant>>,
}

impl Codes {
    /// A new code.
    pub fn give(&self) -> Result<String, NoChance> {
        let code = secret()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(digest(&code), Instant::now() + CODE_LIFE);
        Ok(code)
    }

    /// Uses a code up; whether it was one.
    pub(crate) fn redeem(&self, code: &str) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        open.retain(|_, end| now < *end);
        open.remove(&digest(code)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_code_is_good_once_and_not_for_ever() {
        let codes = Codes::default();
        let code = codes.give().unwrap();
        assert!(!codes.redeem("another"));
        assert!(codes.redeem(&code));
        assert!(!codes.redeem(&code));
        let late = codes.give().unwrap();
        tokio::time::advance(CODE_LIFE).await;
        assert!(!codes.redeem(&late));
    }
}
