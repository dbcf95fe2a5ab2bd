//! What a person can do with a turn that is in the way: the menu behind the first Ctrl-C, and how
//! further ones escalate. Nothing is read or shown here.

use std::time::{Duration, Instant};

use crate::signals::Push;
use crate::terminal::named_key;

/// A push that comes later than this after the last one begins anew.
const COOL_DOWN: Duration = Duration::from_secs(5);

/// The key that closes a menu and changes nothing.
const ESCAPE: u8 = 0x1b;

/// What the restarted calls' message says. The calls were cancelled for good; only the model can
/// ask for them again, so that no call ever runs twice.
pub(super) const RESTART_TEXT: &str =
    "I interrupted the tool calls above. Check what they had done, then start them again.";

/// What a push leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A menu; the turn goes on behind it.
    Menu,
    /// The turn is stopped and kept.
    Stop,
    /// We leave at once; the journal has everything that was done.
    Leave,
    /// Nothing: the terminal being gone is no impatience.
    Nothing,
}

/// Whom we can ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A person, who is not being asked anything.
    Nothing,
    /// A person, who is being asked something: refusing to answer escalates.
    Something,
    /// Nobody is there.
    Nobody,
}

/// How often and when somebody pushed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Escalation {
    last: Option<Instant>,
    stopping: bool,
    /// Whether there is no menu. In a chat there is none: what comes next is said at its prompt.
    at_once: bool,
}

impl Escalation {
    /// The first push stops.
    pub(super) fn at_once() -> Self {
        Self { at_once: true, ..Self::default() }
    }

    /// Takes in a push. The first Ctrl-C opens a menu, the second stops, the third leaves.
    pub(super) fn push(&mut self, push: Push, asked: Asked, now: Instant) -> Next {
        let soon = self.last.is_some_and(|last| now.duration_since(last) < COOL_DOWN);
        self.last = Some(now);
        let next = match (push, self.stopping) {
            (Push::Quit, _) | (Push::Interrupt | Push::Terminate, true) => Next::Leave,
            (Push::HangUp, true) => Next::Nothing,
            (Push::Terminate | Push::HangUp, false) => Next::Stop,
            (Push::Interrupt, false) => match asked {
                Asked::Nothing if !soon && !self.at_once => Next::Menu,
                Asked::Nothing | Asked::Something | Asked::Nobody => Next::Stop,
            },
        };
        self.stopping |= next == Next::Stop;
        next
    }

    /// Somebody chose to go on: the next push is a first one again.
    pub(super) fn reset(&mut self) {
        self.last = None;
    }

    /// Somebody chose to stop, which is not impatience yet.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
    }

    pub(super) fn is_stopping(self) -> bool {
        self.stopping
    }
}

/// What the turn is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The model answers.
    Streaming,
    /// Tools run.
    Tools,
}

impl Scope {
    /// `runs` is whether a call is at work.
    pub(super) fn of(runs: bool) -> Self {
        if runs { Self::Tools } else { Self::Streaming }
    }

    /// The menu.
    pub(super) fn menu(self) -> &'static str {
        match self {
            Self::Streaming => {
                "(c) continue, (t) type a reply, (s) stop and keep the answer so far, \
                 (d) discard the turn: "
            }
            Self::Tools => {
                "(c) continue, (t) stop the tools and type a reply, (s) stop the tools and exit, \
                 (r) stop the tools and ask the model to run them again: "
            }
        }
    }

    /// What typed keys mean: the first that is on the menu counts.
    pub(super) fn choose(self, mut keys: &[u8]) -> Option<Chosen> {
        while let Some((key, rest)) = next_key(keys) {
            if let Some(chosen) = key.and_then(|key| self.on_menu(key)) {
                return Some(chosen);
            }
            keys = rest;
        }
        None
    }

    fn on_menu(self, key: u8) -> Option<Chosen> {
        match (self, key.to_ascii_lowercase()) {
            (_, b'c' | ESCAPE) => Some(Chosen::Continue),
            (_, b't') => Some(Chosen::Reply),
            (Self::Streaming, b's') => Some(Chosen::Stop),
            (Self::Streaming, b'd') => Some(Chosen::Abort),
            (Self::Tools, b's') => Some(Chosen::Exit),
            (Self::Tools, b'r') => Some(Chosen::Restart),
            _ => None,
        }
    }
}

/// The first key and what comes behind it. One that sends several bytes, an arrow for instance,
/// begins with an escape too, and is no key of a menu.
fn next_key(keys: &[u8]) -> Option<(Option<u8>, &[u8])> {
    let (first, rest) = keys.split_first()?;
    match named_key(rest) {
        Some((_, behind)) if *first == ESCAPE => Some((None, behind)),
        Some(_) | None => Some((Some(*first), rest)),
    }
}

/// What was chosen from a menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// Go on as if nothing had been pressed.
    Continue,
    /// Say something in the same turn, behind what is there.
    Reply,
    /// Close the turn with what is there.
    Stop,
    /// Close the turn and hide it.
    Abort,
    /// Leave the turn to be resumed.
    Exit,
    /// Let the model start the tools again.
    Restart,
}

impl Chosen {
    /// What the terminal shows of it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Reply => "reply",
            Self::Stop => "stop",
            Self::Abort => "discard",
            Self::Exit => "exit",
            Self::Restart => "ask the model to run them again",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes after so many milliseconds, and what each leads to.
    fn check(pushes: &[(u64, Push, Asked, Next)]) {
        let begun = Instant::now();
        let mut escalation = Escalation::default();
        for &(at_ms, push, asked, expected) in pushes {
            let now = begun + Duration::from_millis(at_ms);
            assert_eq!(escalation.push(push, asked, now), expected, "{pushes:?} at {at_ms} ms");
        }
    }

    // J87, J92
    #[test]
    fn the_first_opens_a_menu_the_second_stops_and_the_third_leaves() {
        check(&[
            (0, Push::Interrupt, Asked::Nothing, Next::Menu),
            (60_000, Push::Interrupt, Asked::Something, Next::Stop),
            (120_000, Push::Interrupt, Asked::Nothing, Next::Leave),
        ]);
    }

    // J87: the menu went away by itself, because what it was about had ended.
    #[test]
    fn a_push_soon_after_the_last_escalates_and_a_later_one_begins_anew() {
        check(&[
            (0, Push::Interrupt, Asked::Nothing, Next::Menu),
            (5_000, Push::Interrupt, Asked::Nothing, Next::Menu),
            (9_999, Push::Interrupt, Asked::Nothing, Next::Stop),
        ]);
    }

    // J87
    #[test]
    fn whoever_goes_on_begins_anew() {
        let mut escalation = Escalation::default();
        let now = Instant::now();
        assert_eq!(escalation.push(Push::Interrupt, Asked::Nothing, now), Next::Menu);
        escalation.reset();
        assert_eq!(escalation.push(Push::Interrupt, Asked::Nothing, now), Next::Menu);
        escalation.stop();
        assert_eq!(escalation.push(Push::Interrupt, Asked::Nothing, now), Next::Leave);
    }

    #[test]
    fn without_a_menu_the_first_stops() {
        let mut escalation = Escalation::at_once();
        let now = Instant::now();
        assert_eq!(escalation.push(Push::Interrupt, Asked::Nothing, now), Next::Stop);
        assert_eq!(escalation.push(Push::Interrupt, Asked::Nothing, now), Next::Leave);
    }

    // J91
    #[test]
    fn nobody_gets_a_menu_and_only_somebody_is_impatient() {
        check(&[(0, Push::Interrupt, Asked::Nobody, Next::Stop)]);
        check(&[
            (0, Push::Terminate, Asked::Nothing, Next::Stop),
            (1, Push::HangUp, Asked::Nothing, Next::Nothing),
            (2, Push::Terminate, Asked::Nothing, Next::Leave),
        ]);
        check(&[(0, Push::Quit, Asked::Nothing, Next::Leave)]);
    }

    // J88, J92
    #[test]
    fn each_menu_offers_what_can_be_done_and_escape_goes_on() {
        let choose = |scope: Scope| {
            ["c", "T", "s", "d", "r", "\x1b", "\x1b[A", "\x1b[1;5CxT", ""]
                .map(|keys| scope.choose(keys.as_bytes()))
        };
        let (go_on, reply) = (Some(Chosen::Continue), Some(Chosen::Reply));
        let (stop, abort) = (Some(Chosen::Stop), Some(Chosen::Abort));
        let streaming = [go_on, reply, stop, abort, None, go_on, None, reply, None];
        assert_eq!(choose(Scope::Streaming), streaming);
        let (exit, restart) = (Some(Chosen::Exit), Some(Chosen::Restart));
        let tools = [go_on, reply, exit, None, restart, go_on, None, reply, None];
        assert_eq!(choose(Scope::Tools), tools);
    }
}
