//! How a person is called back to a turn that took long: by the bell of the terminal, and by a
//! notification where it shows some.

use std::time::{Duration, Instant};

use piton_agent::Notify;

/// Rings.
const BELL: &str = "\x07";

/// How a person is called, and since when they may look elsewhere.
#[derive(Debug)]
pub(super) struct Summons {
    notify: Notify,
    after: Duration,
    since: Instant,
}

impl Default for Summons {
    fn default() -> Self {
        Self::new(Notify::Off, Duration::ZERO)
    }
}

impl Summons {
    pub(super) fn new(notify: Notify, after: Duration) -> Self {
        Self { notify, after, since: Instant::now() }
    }

    /// Somebody typed, so they are there.
    pub(super) fn heard(&mut self) {
        self.since = Instant::now();
    }

    /// What the terminal is sent. Nothing, if it was not long or nobody wants to be called. `why` is our
    /// own: no letter of it means something to a terminal.
    pub(super) fn call(&self, why: &str, may_notify: bool) -> String {
        if self.since.elapsed() < self.after {
            return String::new();
        }
        match self.notify {
            Notify::Off => String::new(),
            Notify::All if may_notify => format!("{BELL}\x1b]9;piton: {why}\x07"),
            Notify::Bell | Notify::All => BELL.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_called_as_they_want_and_only_after_long() {
        let now = |notify, may_notify| {
            Summons::new(notify, Duration::ZERO).call("the turn is over", may_notify)
        };
        assert_eq!(now(Notify::All, true), "\x07\x1b]9;piton: the turn is over\x07");
        assert_eq!(now(Notify::All, false), "\x07");
        assert_eq!(now(Notify::Bell, true), "\x07");
        assert_eq!(now(Notify::Off, true), "");
        let soon = Summons::new(Notify::All, Duration::from_hours(1));
        assert_eq!(soon.call("the turn is over", true), "");
        assert_eq!(Summons::default().call("the turn is over", true), "");
    }
}
