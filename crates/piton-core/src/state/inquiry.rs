//! What happens to questions: they are raised, and answered once.

use super::{Raised, Turn};
use crate::event::{Inquiry, InquiryAnswer};
use crate::id::{InquiryId, Timestamp};

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
    turn.inquiries.push(Raised { inquiry, answer: None, by: None, at, answered: None });
    true
}

/// An answer as it was recorded.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) answer: &'a InquiryAnswer,
    pub(super) by: &'a str,
    pub(super) at: Timestamp,
}

/// The first answer that decides counts.
pub(super) fn settle(turn: &mut Turn, inquiry: &InquiryId, given: Given<'_>) -> bool {
    let Given { answer, by, at } = given;
    let open = |raised: &&mut Raised| raised.inquiry.id == *inquiry && raised.answer.is_none();
    turn.inquiries.iter_mut().find(open).is_some_and(|raised| {
        let fits = answer.decides(raised.inquiry.kind);
        raised.answer = fits.then(|| answer.clone());
        raised.by = fits.then(|| by.to_owned());
        raised.answered = fits.then_some(at);
        fits
    })
}
