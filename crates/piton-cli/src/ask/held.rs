//! A conversation that another process works on, and messages that wait: what a person can choose.

use std::time::Duration;

use super::heard::type_one_of;

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

/// What the menu for a held conversation understands.
pub(crate) fn held_menu_takes(elsewhere: Elsewhere) -> String {
    type_one_of(match elsewhere {
        Elsewhere::Possible => &['l', 'a', 's', 'w', 'n', 'q'],
        Elsewhere::Impossible => &['l', 'w', 'q'],
    })
}

/// The menu for a conversation that another process works on.
pub(crate) fn held_menu(elsewhere: Elsewhere) -> &'static str {
    match elsewhere {
        Elsewhere::Possible => {
            "(l) look on, (a) queue the message after its turn, (s) steer its turn with the message, \
             (w) wait for it, (n) new conversation, (q) quit: "
        }
        Elsewhere::Impossible => "(l) look on, (w) wait for it, (q) quit: ",
    }
}

/// What a line typed at that menu means.
pub(crate) fn choose_held(line: &str, elsewhere: Elsewhere) -> Option<HeldChoice> {
    match (line.trim().to_lowercase().as_str(), elsewhere) {
        ("l" | "look" | "watch", _) => Some(HeldChoice::Watch),
        ("a" | "after" | "queue", Elsewhere::Possible) => Some(HeldChoice::Queue),
        ("s" | "steer", Elsewhere::Possible) => Some(HeldChoice::Steer),
        ("w" | "wait", _) => Some(HeldChoice::Wait),
        ("n" | "new", Elsewhere::Possible) => Some(HeldChoice::New),
        ("q" | "quit", _) => Some(HeldChoice::Quit),
        _ => None,
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
pub(crate) const WAITING_MENU: &str = "(f) they go first, then yours, (d) drop them and send yours, \
     (k) keep them and send nothing: ";

/// What that menu understands.
pub(crate) fn waiting_menu_takes() -> String {
    type_one_of(&['f', 'd', 'k'])
}

/// What a line typed at that menu means.
pub(crate) fn choose_waiting(line: &str) -> Option<WaitingChoice> {
    match line.trim().to_lowercase().as_str() {
        "f" | "first" => Some(WaitingChoice::First),
        "d" | "drop" => Some(WaitingChoice::Drop),
        "k" | "keep" => Some(WaitingChoice::Keep),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // J81
    #[test]
    fn a_held_conversation_is_watched_spoken_to_waited_for_left_or_replaced() {
        assert_eq!(choose_held("W", Elsewhere::Possible), Some(HeldChoice::Wait));
        assert_eq!(choose_held("watch", Elsewhere::Impossible), Some(HeldChoice::Watch));
        assert_eq!(choose_held("a", Elsewhere::Possible), Some(HeldChoice::Queue));
        assert_eq!(choose_held("S", Elsewhere::Possible), Some(HeldChoice::Steer));
        assert_eq!(choose_held("a", Elsewhere::Impossible), None);
        assert_eq!(choose_held("s", Elsewhere::Impossible), None);
        assert_eq!(choose_held(" new ", Elsewhere::Possible), Some(HeldChoice::New));
        assert_eq!(choose_held("n", Elsewhere::Impossible), None);
        assert_eq!(choose_held("q", Elsewhere::Impossible), Some(HeldChoice::Quit));
        assert_eq!(choose_held("", Elsewhere::Possible), None);
        assert_eq!(held_menu_takes(Elsewhere::Impossible), "type l, w or q");
        assert!(!held_menu(Elsewhere::Impossible).contains("new"));
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
        assert_eq!(choose_waiting("F"), Some(WaitingChoice::First));
        assert_eq!(choose_waiting("drop"), Some(WaitingChoice::Drop));
        assert_eq!(choose_waiting(" k "), Some(WaitingChoice::Keep));
        assert_eq!(choose_waiting(""), None);
        assert_eq!(waiting_menu_takes(), "type f, d or k");
    }
}
