//! A conversation that another process works on, and messages that wait: what a person can choose.

use std::time::Duration;

use super::keys::{self, Key, Menu};

/// How long to wait for a conversation that another process works on, when nobody says.
const HELD_WAIT: Duration = Duration::from_secs(30);
/// How long a person waits before being asked: most that is in the way goes away by itself.
const HELD_SILENT_WAIT: Duration = Duration::from_millis(200);

/// What to do about a conversation that another process works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldChoice {
    /// Show its turn, then ask for it again.
    Watch,
    /// Leave the message for that process, behind its turn.
    Queue,
    /// Say the message to the running turn.
    Steer,
    /// Wait for it, then ask again.
    Wait,
    /// Fork it, and go on there.
    Fork,
    /// Begin another conversation.
    New,
    /// Leave everything as it is.
    Quit,
}

/// Whether another conversation would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// Something is to be said.
    Possible,
    /// This one's turn is to be dealt with.
    Impossible,
}

/// Who can decide about a conversation that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Present {
    /// A person on a terminal.
    Person,
    /// Nobody: waiting comes to an end, and then it fails.
    Nobody,
}

/// How long to wait for a held conversation: at first, and after somebody chose to wait.
pub(crate) fn held_waits(present: Present, typed_s: Option<u64>) -> (Duration, Duration) {
    let typed = typed_s.map(Duration::from_secs);
    let later = typed.filter(|typed| !typed.is_zero()).unwrap_or(HELD_WAIT);
    let first = match present {
        Present::Person => HELD_SILENT_WAIT,
        Present::Nobody => HELD_WAIT,
    };
    (typed.unwrap_or(first), later)
}

/// The menu for a conversation that another process works on.
pub(crate) fn held_menu(elsewhere: Elsewhere) -> Menu {
    let mut entries = vec![
        (keys::LOOK, "look on", "you see its turn, and are asked again"),
        (keys::FOLLOW, "first its turn, then the message", "the message is queued there"),
        (
            keys::STEER,
            "steer its turn with the message",
            "the model reads it in the turn that runs",
        ),
        (keys::WAIT, "wait for it", "you are asked again if it takes long"),
        (keys::FORK, "fork it", "another conversation that shares all that was said so far"),
        (keys::OTHER, "other conversation", "a new one, for your message"),
        (keys::QUIT, "quit", "nothing is changed, and your message is kept"),
    ];
    let says_something = [keys::FOLLOW, keys::STEER, keys::OTHER];
    entries.retain(|(key, ..)| elsewhere == Elsewhere::Possible || !says_something.contains(key));
    Menu::of(&entries)
}

/// What a key of that menu means.
pub(crate) fn choose_held(key: Key) -> HeldChoice {
    match key {
        keys::LOOK => HeldChoice::Watch,
        keys::FOLLOW => HeldChoice::Queue,
        keys::STEER => HeldChoice::Steer,
        keys::WAIT => HeldChoice::Wait,
        keys::FORK => HeldChoice::Fork,
        keys::OTHER => HeldChoice::New,
        _ => HeldChoice::Quit,
    }
}

/// What to do about messages that wait, when another one is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitingChoice {
    /// Let them go first, and send the new one behind them.
    First,
    /// Take them back, and send the new one.
    Drop,
    /// Leave them, and send nothing.
    Keep,
}

/// The menu for messages that wait.
pub(crate) fn waiting_menu() -> Menu {
    Menu::of(&[
        (keys::FOLLOW, "they go first, then yours", "each has a turn of its own"),
        (keys::DISCARD, "drop them and send yours", "they are not sent any more"),
        (keys::QUIT, "keep them and send nothing", "your message is kept, too"),
    ])
}

/// What a key of that menu means.
pub(crate) fn choose_waiting(key: Key) -> WaitingChoice {
    match key {
        keys::FOLLOW => WaitingChoice::First,
        keys::DISCARD => WaitingChoice::Drop,
        _ => WaitingChoice::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::keys::Pressed;

    fn pressed(menu: &Menu, line: &str) -> Option<Key> {
        match menu.hear(line) {
            Pressed::Key(key) => Some(key),
            Pressed::Told(_) => None,
        }
    }

    // J81
    #[test]
    fn a_held_conversation_is_watched_spoken_to_waited_for_left_or_replaced() {
        let choose = |line, elsewhere| pressed(&held_menu(elsewhere), line).map(choose_held);
        assert_eq!(choose("W", Elsewhere::Possible), Some(HeldChoice::Wait));
        assert_eq!(choose("look", Elsewhere::Impossible), Some(HeldChoice::Watch));
        assert_eq!(choose("f", Elsewhere::Possible), Some(HeldChoice::Queue));
        assert_eq!(choose("S", Elsewhere::Possible), Some(HeldChoice::Steer));
        assert_eq!(choose("k", Elsewhere::Possible), Some(HeldChoice::Fork));
        assert_eq!(choose("fork", Elsewhere::Impossible), Some(HeldChoice::Fork));
        assert_eq!(choose("f", Elsewhere::Impossible), None);
        assert_eq!(choose("s", Elsewhere::Impossible), None);
        assert_eq!(choose(" other ", Elsewhere::Possible), Some(HeldChoice::New));
        assert_eq!(choose("o", Elsewhere::Impossible), None);
        assert_eq!(choose("q", Elsewhere::Impossible), Some(HeldChoice::Quit));
        assert_eq!(choose("", Elsewhere::Possible), None);
        assert_eq!(held_menu(Elsewhere::Impossible).takes(), "type l, w, k or q");
        assert!(!held_menu(Elsewhere::Impossible).line().contains("other"));
    }

    // J79, J81
    #[test]
    fn a_person_is_asked_soon_and_nobody_waits_half_a_minute() {
        let (zero, minute) = (Duration::ZERO, Duration::from_mins(1));
        assert_eq!(held_waits(Present::Nobody, None), (HELD_WAIT, HELD_WAIT));
        assert_eq!(held_waits(Present::Person, None), (HELD_SILENT_WAIT, HELD_WAIT));
        for present in [Present::Person, Present::Nobody] {
            assert_eq!(held_waits(present, Some(60)), (minute, minute));
            assert_eq!(held_waits(present, Some(0)), (zero, HELD_WAIT));
        }
    }

    #[test]
    fn messages_that_wait_go_first_are_dropped_or_kept() {
        let choose = |line| pressed(&waiting_menu(), line).map(choose_waiting);
        assert_eq!(choose("F"), Some(WaitingChoice::First));
        assert_eq!(choose("discard"), Some(WaitingChoice::Drop));
        assert_eq!(choose(" q "), Some(WaitingChoice::Keep));
        assert_eq!(choose(""), None);
        assert_eq!(waiting_menu().takes(), "type f, d or q");
    }
}
