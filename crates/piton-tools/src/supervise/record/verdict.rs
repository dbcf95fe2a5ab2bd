//! What became of a command, judged by a later process. Pure: a table of six rows.
//!
//! | lock | log | verdict |
//! |---|---|---|
//! | any | an end | collect it |
//! | any | "never ran" | it never ran |
//! | held | else | alive: attach |
//! | free | no start | it never ran |
//! | free | start, another boot | in doubt: the machine was restarted |
//! | free | start, the process is there | an orphan: adopt it |
//! | free | start, the process is gone | in doubt: it ran, its status is lost |
//!
//! An end and a "never ran" are proofs, whichever process holds the lock, so they need no wait for it; the
//! first two rows are one answer each of the six.

use super::identity::{Identity, Sight};
use super::log::Story;
use super::status::Status;

/// Whether somebody who could write the end of the command is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Somebody is.
    Held,
    /// Nobody is, and nobody will be but us.
    Free,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Supervised: wait for its end.
    Attach,
    /// It ended like this.
    Collect(Status),
    /// It provably never ran; the text says why, if that is known.
    NeverRan(Option<String>),
    /// It runs, and nobody watches it but us.
    Adopt(Identity),
    /// It was started before the machine was restarted.
    Rebooted,
    /// It ran, and nobody saw its end.
    StatusLost,
}

/// Judges.
pub(crate) fn verdict(
    lock: Lock,
    story: &Story,
    boot: &str,
    look: impl FnOnce(&Identity) -> Sight,
) -> Verdict {
    if let Some(why) = &story.never_ran {
        return Verdict::NeverRan(Some(why.clone()));
    }
    if let Some(status) = story.ended {
        return Verdict::Collect(status);
    }
    if lock == Lock::Held {
        return Verdict::Attach;
    }
    match &story.started {
        None => Verdict::NeverRan(None),
        Some(identity) if identity.boot != boot => Verdict::Rebooted,
        Some(identity) => match look(identity) {
            Sight::There => Verdict::Adopt(identity.clone()),
            Sight::Gone => Verdict::StatusLost,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Lock::{Free, Held};
    use super::Sight::{Gone, There};
    use super::*;

    fn check(lock: Lock, story: &str, sight: Sight, expected: Verdict) {
        let mut told = Story::default();
        for word in story.split_whitespace() {
            match word {
                "S" => told.started = Some(identity("now")),
                "S-old" => told.started = Some(identity("before")),
                "N" => told.never_ran = Some("gate".into()),
                "E" => told.ended = Some(Status::Exit(3)),
                other => panic!("{other}"),
            }
        }
        assert_eq!(verdict(lock, &told, "now", |_| sight), expected, "{lock:?} {story} {sight:?}");
    }

    fn identity(boot: &str) -> Identity {
        Identity { boot: boot.into(), pid: 42, start: 7 }
    }

    #[test]
    fn the_table() {
        let never = || Verdict::NeverRan(None);
        let shut = || Verdict::NeverRan(Some("gate".into()));
        check(Held, "", Gone, Verdict::Attach);
        check(Held, "S", There, Verdict::Attach);
        check(Held, "S", Gone, Verdict::Attach);
        check(Held, "S E", There, Verdict::Collect(Status::Exit(3)));
        check(Free, "S E", Gone, Verdict::Collect(Status::Exit(3)));
        check(Free, "S-old E", Gone, Verdict::Collect(Status::Exit(3)));
        check(Free, "", Gone, never());
        check(Free, "N", Gone, shut());
        check(Free, "S N", There, shut());
        check(Held, "S N", There, shut());
        // The gate's own end is not the command's.
        check(Free, "S N E", Gone, shut());
        check(Free, "S-old", There, Verdict::Rebooted);
        check(Free, "S-old", Gone, Verdict::Rebooted);
        check(Free, "S", There, Verdict::Adopt(identity("now")));
        check(Free, "S", Gone, Verdict::StatusLost);
    }
}
