//! What becomes of questions while nobody is there.

use piton_core::event::{Inquiry, InquiryAnswer, InquiryKind, Shape};

/// Whether somebody is there to answer while a turn runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attendance {
    /// Nobody: a turn that needs a person is left waiting, and can be answered later.
    #[default]
    Unattended,
    /// A face answers through a [`Controller`](crate::Controller): the turn stays in flight while it waits.
    Attended,
}

/// What a tool is told when nobody is there to answer.
const NOBODY: &str = "nobody is there to answer";
/// What a tool is told that wants a secret while there is no terminal.
const NO_TERMINAL: &str = "a secret is taken on a terminal only, and there is none";

/// What to do with one kind of question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Go on without a person: allow a call, unless a rule that forbids it could hide in there; take a
    /// question's default or tell the tool that there is no answer.
    Auto,
    /// Take a question's default; what has none waits.
    Defaults,
    /// Refuse a call, tell the tool that there is no answer.
    Deny,
    /// Let the other calls end, and leave the turn waiting for a person.
    #[default]
    Defer,
}

/// What to do with each kind of question. A call in doubt has a policy of its own, in the
/// configuration of the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unattended {
    /// May a call run?
    pub permissions: Policy,
    /// What a tool wants to know.
    pub questions: Policy,
}

impl Unattended {
    /// The answer in place of a person's; none leaves the question open.
    pub(crate) fn answer(self, asked: &Inquiry) -> Option<InquiryAnswer> {
        match asked.kind {
            InquiryKind::Permission => match self.permissions {
                Policy::Auto => Some(InquiryAnswer::Allow),
                Policy::Deny => Some(InquiryAnswer::DENY),
                Policy::Defaults | Policy::Defer => None,
            },
            InquiryKind::Question => self.answer_question(asked),
            InquiryKind::InDoubt => None,
        }
    }

    fn answer_question(self, asked: &Inquiry) -> Option<InquiryAnswer> {
        let cancelled = |reason: &str| Some(InquiryAnswer::Cancelled { reason: reason.into() });
        let wants = asked.wants.as_ref();
        if wants.is_some_and(|wants| wants.shape == Shape::Secret) {
            return cancelled(NO_TERMINAL);
        }
        let human_only = wants.is_some_and(|wants| wants.human_only);
        let default = wants.and_then(|wants| wants.default.as_deref());
        let default = default.map(|text| InquiryAnswer::Text { text: text.into() });
        match self.questions {
            Policy::Deny => cancelled(NOBODY),
            Policy::Auto | Policy::Defaults if human_only => None,
            Policy::Auto => default.or_else(|| cancelled(NOBODY)),
            Policy::Defaults => default,
            Policy::Defer => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use piton_core::id::{CallId, TurnId};
    use piton_core::question::Question;

    use super::*;

    const CALL: CallId = CallId { turn: TurnId(1), step: 1, index: 0 };

    fn check(policy: Policy, question: &Question, expected: Option<&str>) {
        let unattended = Unattended { permissions: Policy::Defer, questions: policy };
        let answer =
            unattended.answer(&question.inquiry(CALL, 1)).map(|answer| match answer.clone() {
                InquiryAnswer::Text { text } => text.to_string(),
                InquiryAnswer::Cancelled { reason } => reason,
                InquiryAnswer::Allow
                | InquiryAnswer::Deny { .. }
                | InquiryAnswer::Changed { .. }
                | InquiryAnswer::RunAgain
                | InquiryAnswer::Applied
                | InquiryAnswer::TreatAsDone
                | InquiryAnswer::LookAgain
                | InquiryAnswer::Redacted => panic!("{answer:?} answers no question"),
            });
        assert_eq!(answer.as_deref(), expected, "{policy:?} {question:?}");
    }

    // J66
    #[test]
    fn a_question_is_answered_denied_or_left_as_the_policy_says() {
        let (open, ready) = (Question::new("q", "?"), Question::new("q", "?").or("blue"));
        check(Policy::Auto, &open, Some(NOBODY));
        check(Policy::Auto, &ready, Some("blue"));
        check(Policy::Defaults, &open, None);
        check(Policy::Defaults, &ready, Some("blue"));
        check(Policy::Deny, &ready, Some(NOBODY));
        check(Policy::Defer, &ready, None);
    }

    // J67
    #[test]
    fn what_only_a_person_may_answer_is_never_answered_by_a_policy() {
        let question = Question::new("q", "?").or("blue").human_only();
        for policy in [Policy::Auto, Policy::Defaults, Policy::Defer] {
            check(policy, &question, None);
        }
        check(Policy::Deny, &question, Some(NOBODY));
    }

    // J65
    #[test]
    fn a_secret_fails_without_a_terminal() {
        let question = Question::new("q", "?").shaped(Shape::Secret).or("blue");
        for policy in [Policy::Auto, Policy::Defaults, Policy::Deny, Policy::Defer] {
            check(policy, &question, Some(NO_TERMINAL));
        }
    }
}
