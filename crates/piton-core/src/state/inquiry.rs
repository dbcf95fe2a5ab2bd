//! What happens to questions: they are raised, and answered once.

use std::sync::Arc;

use super::{Call, Progress, Raised, Turn};
use crate::event::{Inquiry, InquiryAnswer, InquiryKind};
use crate::id::{CallId, InquiryId, Timestamp};

impl Turn {
    /// The newest question of a kind about a call.
    pub fn inquiry(&self, call: CallId, kind: InquiryKind) -> Option<&Raised> {
        self.inquiries
            .iter()
            .rev()
            .find(|raised| raised.inquiry.call == call && raised.inquiry.kind == kind)
    }

    /// A question by its name.
    pub fn raised(&self, id: &InquiryId) -> Option<&Raised> {
        self.inquiries.iter().rev().find(|raised| raised.inquiry.id == *id)
    }

    /// The newest question of a call by the name its tool gave it.
    pub fn question(&self, call: CallId, name: &str) -> Option<&Raised> {
        self.questions(call)
            .rev()
            .find(|raised| raised.inquiry.wants.as_ref().is_some_and(|wants| wants.name == name))
    }

    /// What the tool of a call asked, in order.
    pub fn questions(&self, call: CallId) -> impl DoubleEndedIterator<Item = &Raised> {
        self.inquiries.iter().filter(move |raised| {
            raised.inquiry.call == call && raised.inquiry.kind == InquiryKind::Question
        })
    }

    /// Questions without an answer whose call still waits for one, in the order they were raised.
    pub fn pending_inquiries(&self) -> impl Iterator<Item = &Inquiry> {
        self.inquiries
            .iter()
            .filter(|raised| raised.answer.is_none())
            .map(|raised| &raised.inquiry)
            .filter(|inquiry| self.call(inquiry.call).is_some_and(|call| call.waits_for(inquiry)))
    }
}

/// A person is asked. A question has one name for ever.
pub(super) fn raise(turn: &mut Turn, inquiry: &Inquiry, at: Timestamp) -> bool {
    if turn.inquiries.iter().any(|raised| raised.inquiry.id == inquiry.id) {
        return false;
    }
    if let Some(found) = turn.call_mut(inquiry.call).and_then(|call| call.found.as_mut()) {
        // From here on the question has it.
        found.change = None;
    }
    let inquiry = inquiry.clone();
    let (answer, by, answered, elsewhere, by_rule) = (None, None, None, false, false);
    turn.inquiries.push(Raised { inquiry, answer, by, at, answered, elsewhere, by_rule });
    true
}

/// An answer as it was recorded.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) answer: &'a InquiryAnswer,
    pub(super) by: &'a str,
    pub(super) at: Timestamp,
    /// Whether a letter brought it.
    pub(super) elsewhere: bool,
    /// Whether rules that came with it decide on the call.
    pub(super) by_rule: bool,
}

/// The first answer that decides counts.
pub(super) fn settle(turn: &mut Turn, inquiry: &InquiryId, given: Given<'_>) -> bool {
    let Given { answer, by, at, elsewhere, by_rule } = given;
    let Some(raised) = turn.raised(inquiry).filter(|raised| answer.decides(raised.inquiry.kind))
    else {
        return false;
    };
    let (id, is_open) = (raised.inquiry.call, raised.answer.is_none());
    let was_changed = matches!(raised.answer, Some(InquiryAnswer::Changed { .. }));
    let waiting = turn.call_mut(id).filter(|call| call.progress == Progress::Waiting);
    match (answer, waiting) {
        (InquiryAnswer::Changed { arguments }, Some(call)) if is_open => call.change(arguments),
        // What has begun is not changed any more.
        (InquiryAnswer::Changed { .. }, _) => return false,
        (_, _) if is_open => {}
        // Only a build that knows nothing of the change asks again. What is answered to that is about
        // the call as the model asked for it, and that is what such a build runs.
        (_, Some(call)) if was_changed => call.change_back(),
        (_, _) => return false,
    }
    if let Some(raised) = turn.inquiries.iter_mut().rev().find(|it| it.inquiry.id == *inquiry) {
        raised.answer = Some(answer.clone());
        raised.by = Some(by.to_owned());
        raised.answered = Some(at);
        raised.elsewhere = elsewhere;
        raised.by_rule = by_rule;
    }
    true
}

impl Call {
    /// A person gave it other arguments. Where it leads is not known any more.
    fn change(&mut self, arguments: &Arc<str>) {
        let before = std::mem::replace(&mut self.arguments, arguments.clone());
        self.asked.get_or_insert(before);
        self.found = None;
    }

    /// It is the call again that the model asked for.
    fn change_back(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.arguments = asked;
            self.found = None;
        }
    }
}
