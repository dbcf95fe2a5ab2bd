//! A time in which nobody can be reached. It is waited for, and uses up no tries, as long as it is
//! allowed to last.

use crate::id::Timestamp;

/// A row of requests that reached nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When the first of them failed.
    pub since: Timestamp,
    /// Until when it is waited for.
    pub until: Timestamp,
    /// How many failed.
    pub failures: u32,
}

impl Outage {
    /// The row behind one more failure. One that reached somebody has nothing to wait for, and ends it.
    pub(super) fn behind(
        before: Option<Self>,
        at: Timestamp,
        waited_ms_max: Option<u64>,
    ) -> Option<Self> {
        let ms = waited_ms_max?;
        let since = before.map_or(at, |outage| outage.since);
        let failures = before.map_or(0, |outage| outage.failures).saturating_add(1);
        Some(Self { since, until: since.plus_ms(ms), failures })
    }

    /// Whether it is still waited for.
    pub fn lasts_at(&self, at: Timestamp) -> bool {
        at < self.until
    }
}
