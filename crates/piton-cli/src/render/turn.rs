//! A turn as it moves, from its view: each thing once.

use std::collections::BTreeMap;

use piton_core::attachment;
use piton_core::command::UserPart;
use piton_core::id::{CallId, InquiryId};
use piton_core::view::{
    CallState, CallView, ItemView, MessagePart, PartView, StepState, StepView, TurnView,
};

use super::tool;

/// Something new in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// An answer of the model, whole.
    Answer(String),
    /// What happens besides, for the person.
    Talk(String),
}

/// What was shown of a turn.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Steps whose answers were shown, by their numbers.
    answered: u32,
    calls: BTreeMap<CallId, Far>,
    asked: Vec<InquiryId>,
}

/// How far a call was when it was last shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Far {
    Started,
    Ended,
}

impl Shown {
    /// What is new in the turn.
    pub(crate) fn news(&mut self, turn: &TurnView) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for item in &turn.items {
            let ItemView::Step(step) = item else { continue };
            if self.answered < step.number && step.state == StepState::Answered {
                self.answered = step.number;
                pieces.extend(spoken(step).map(Piece::Answer));
            }
            for call in &step.calls {
                self.call(call, &mut pieces);
            }
        }
        pieces
    }

    fn call(&mut self, call: &CallView, pieces: &mut Vec<Piece>) {
        let before = self.calls.get(&call.id).copied();
        let far = match &call.state {
            CallState::Running | CallState::Parked { .. } => Some(Far::Started),
            CallState::Done { .. } => Some(Far::Ended),
            CallState::Waiting | CallState::InDoubt | _ => None,
        };
        if let Some(far) = far.filter(|far| before != Some(*far)) {
            self.calls.insert(call.id, far);
            pieces.push(Piece::Talk(match far {
                Far::Started => tool::started_view(call),
                Far::Ended => tool::finished_view(call),
            }));
        }
        let open = call.questions.iter().filter(|question| question.open);
        for question in open {
            if !self.asked.contains(&question.id) {
                self.asked.push(question.id.clone());
                pieces.push(Piece::Talk(format!("asks: {}", question.heading)));
            }
        }
    }
}

/// The text of a step: of its answer, or what the journal has of it.
pub(crate) fn text(step: &StepView) -> String {
    let texts = step.parts.iter().filter_map(|part| match part {
        PartView::Text { text } => Some(&**text),
        PartView::Reasoning { .. } | PartView::Call { .. } | _ => None,
    });
    texts.collect()
}

/// What was said, with a label in place of each file.
pub(crate) fn said(parts: &[MessagePart]) -> String {
    let texts = parts.iter().filter_map(|part| match part.clone() {
        MessagePart::Text { text } => Some(text.to_string()),
        MessagePart::File { name, media_type, blob } => {
            attachment::label(&UserPart::File { name, media_type, blob })
        }
        MessagePart::InlinedFile { name, media_type, text } => {
            attachment::label(&UserPart::InlinedFile { name, media_type, text })
        }
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What a call waits for a person to say, here or in the conversation that it was handed to.
pub(crate) fn waiting_question(call: &CallView) -> Option<&str> {
    if let CallState::Parked { question } = &call.state {
        return Some(question);
    }
    call.questions.iter().find(|question| question.open).map(|question| question.heading.as_str())
}

/// The text of an answer, unless it is a plan or has none.
fn spoken(step: &StepView) -> Option<String> {
    let text = Some(text(step)).filter(|text| !text.is_empty() && !step.planned)?;
    Some(if text.ends_with('\n') { text } else { text + "\n" })
}
