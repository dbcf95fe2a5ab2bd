//! What is asked of a person, and what a typed line means. Nothing is read or shown here.

use std::time::Duration;

use piton::Reply;
use piton_core::event::{self as inquiry, Inquiry, InquiryKind};

/// A question that is being asked.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) inquiry: Inquiry,
    /// Whether the next line is the result of the call.
    typing: bool,
}

/// What a typed line leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The answer.
    Reply(Reply),
    /// Ask again, or go on asking.
    Ask,
}

impl Prompt {
    /// A question, not asked yet.
    pub(crate) fn new(inquiry: Inquiry) -> Self {
        Self { inquiry, typing: false }
    }

    /// What to show in front of the cursor.
    pub(crate) fn text(&self) -> String {
        let question = &self.inquiry.question;
        match self.inquiry.kind {
            InquiryKind::InDoubt if self.typing => "the result of the call: ".into(),
            InquiryKind::Permission if self.may_be_always() => {
                format!("{question} (y) yes, (a) always, (n) no: ")
            }
            InquiryKind::Permission => format!("{question} (y) yes, (n) no: "),
            InquiryKind::Question => format!("{question} "),
            InquiryKind::InDoubt => {
                format!(
                    "{question} (r) run it again, (d) treat it as done, (t) type its result, \
                     (u) unknown, tell the model: "
                )
            }
        }
    }

    /// Whether there is a rule for calls like this one.
    fn may_be_always(&self) -> bool {
        self.inquiry.choices.contains(&inquiry::Choice::AllowAlways)
    }

    /// Takes in a typed line.
    pub(crate) fn hear(&mut self, line: &str) -> Heard {
        let word = line.trim().to_lowercase();
        let reply = match self.inquiry.kind {
            InquiryKind::InDoubt if self.typing => Some(Reply::Text(line.to_owned())),
            InquiryKind::Question => Some(Reply::Text(line.to_owned())),
            InquiryKind::Permission => match word.as_str() {
                "y" | "yes" => Some(Reply::Allow),
                "a" | "always" if self.may_be_always() => Some(Reply::AllowAlways),
                "n" | "no" => Some(Reply::Deny),
                _ => None,
            },
            InquiryKind::InDoubt => match word.as_str() {
                "r" | "run" => Some(Reply::RunAgain),
                "d" | "done" => Some(Reply::TreatAsDone),
                // Not to be run again, and nothing is known: that is what the model is told.
                "u" | "unknown" => Some(Reply::Deny),
                "t" | "type" => {
                    self.typing = true;
                    None
                }
                _ => None,
            },
        };
        reply.map_or(Heard::Ask, Heard::Reply)
    }
}

/// What to do with an incomplete turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Finish it, then send the new message.
    Resume,
    /// Discard it, then send the new message.
    Discard,
    /// Discard it, and type its message anew.
    Edit,
    /// Leave everything as it is.
    Quit,
}

/// What can be done with the message of an incomplete turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Editing {
    /// Nothing was done yet, so it can be replaced.
    Possible,
    /// Work hangs on it.
    Impossible,
}

/// The menu for an incomplete turn.
pub(crate) fn menu(editing: Editing) -> &'static str {
    match editing {
        Editing::Possible => "(r) resume it, (d) discard it, (e) edit its message, (q) quit: ",
        Editing::Impossible => "(r) resume it, (d) discard it, (q) quit: ",
    }
}

/// What a line typed at the menu means.
pub(crate) fn choose(line: &str, editing: Editing) -> Option<Choice> {
    match (line.trim().to_lowercase().as_str(), editing) {
        ("r" | "resume", _) => Some(Choice::Resume),
        ("d" | "discard", _) => Some(Choice::Discard),
        ("e" | "edit", Editing::Possible) => Some(Choice::Edit),
        ("q" | "quit", _) => Some(Choice::Quit),
        _ => None,
    }
}

/// How long to wait for a conversation that another process works on, when nobody says.
const HELD_WAIT: Duration = Duration::from_secs(30);
/// How long a person waits before being asked: most that is in the way goes away by itself.
const HELD_SILENT_WAIT: Duration = Duration::from_millis(200);

/// What to do about a conversation that another process works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldChoice {
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

/// The menu for a conversation that another process works on.
pub(crate) fn held_menu(elsewhere: Elsewhere) -> &'static str {
    match elsewhere {
        Elsewhere::Possible => "(w) wait for it, (n) new conversation, (q) quit: ",
        Elsewhere::Impossible => "(w) wait for it, (q) quit: ",
    }
}

/// What a line typed at that menu means.
pub(crate) fn choose_held(line: &str, elsewhere: Elsewhere) -> Option<HeldChoice> {
    match (line.trim().to_lowercase().as_str(), elsewhere) {
        ("w" | "wait", _) => Some(HeldChoice::Wait),
        ("n" | "new", Elsewhere::Possible) => Some(HeldChoice::New),
        ("q" | "quit", _) => Some(HeldChoice::Quit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use piton_core::id::{CallId, InquiryId, TurnId};

    use super::*;

    /// Types lines until one is an answer.
    fn check(kind: InquiryKind, lines: &[&str], expected: Option<Reply>) {
        let call = CallId { turn: TurnId(1), step: 1, index: 0 };
        let question = "Run it?".into();
        let id = InquiryId::new("1");
        let choices = vec![inquiry::Choice::AllowAlways];
        let mut prompt = Prompt::new(Inquiry { id, kind, call, question, choices });
        let heard = lines.iter().find_map(|line| match prompt.hear(line) {
            Heard::Reply(reply) => Some(reply),
            Heard::Ask => None,
        });
        assert_eq!(heard, expected, "{lines:?}");
    }

    // D39
    #[test]
    fn permission_is_given_once_always_or_not() {
        check(InquiryKind::Permission, &["y"], Some(Reply::Allow));
        check(InquiryKind::Permission, &[" A "], Some(Reply::AllowAlways));
        check(InquiryKind::Permission, &["no"], Some(Reply::Deny));
    }

    #[test]
    fn permission_is_never_guessed() {
        check(InquiryKind::Permission, &["", "yy", "perhaps", "r"], None);
        check(InquiryKind::Permission, &["", "n"], Some(Reply::Deny));
    }

    #[test]
    fn a_call_in_doubt_is_run_again_taken_for_done_given_a_result_or_left_unknown() {
        check(InquiryKind::InDoubt, &["U"], Some(Reply::Deny));
        check(InquiryKind::InDoubt, &["r"], Some(Reply::RunAgain));
        check(InquiryKind::InDoubt, &["x", "d"], Some(Reply::TreatAsDone));
        check(InquiryKind::InDoubt, &["t", " 3 rows "], Some(Reply::Text(" 3 rows ".into())));
        check(InquiryKind::InDoubt, &["y", ""], None);
    }

    #[test]
    fn a_question_takes_the_line_as_it_is() {
        check(InquiryKind::Question, &["y"], Some(Reply::Text("y".into())));
    }

    // J24
    #[test]
    fn the_menu_offers_to_edit_only_when_nothing_was_done() {
        assert_eq!(choose("e", Editing::Possible), Some(Choice::Edit));
        assert_eq!(choose("e", Editing::Impossible), None);
        assert_eq!(choose("R", Editing::Impossible), Some(Choice::Resume));
        assert_eq!(choose("discard", Editing::Impossible), Some(Choice::Discard));
        assert_eq!(choose("q", Editing::Possible), Some(Choice::Quit));
        assert_eq!(choose("", Editing::Possible), None);
        assert!(!menu(Editing::Impossible).contains("edit"));
    }

    // J81
    #[test]
    fn a_held_conversation_is_waited_for_left_or_replaced() {
        assert_eq!(choose_held("W", Elsewhere::Possible), Some(HeldChoice::Wait));
        assert_eq!(choose_held(" new ", Elsewhere::Possible), Some(HeldChoice::New));
        assert_eq!(choose_held("n", Elsewhere::Impossible), None);
        assert_eq!(choose_held("q", Elsewhere::Impossible), Some(HeldChoice::Quit));
        assert_eq!(choose_held("", Elsewhere::Possible), None);
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
}
