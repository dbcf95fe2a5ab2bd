//! Words that several faces show: the title of a conversation, the text of a message or an answer.

use super::turn::{PartView, TurnView};
use crate::attachment;
use crate::event::{AnswerPart, UserPart};
use crate::state::{Said, State, Step, Turn};

/// What a list calls the conversation.
pub fn title(state: &State) -> String {
    let given = state.opened.as_ref().and_then(|opened| opened.title.clone());
    let first = || state.turns.iter().flat_map(Turn::said).next().map(said_text);
    let title = given.or_else(first).unwrap_or_default();
    let line = title.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    crate::summary::shorten(line, 60)
}

/// The text of a step: of its answer, or what has streamed of it.
pub fn answer_text(step: &Step) -> Option<String> {
    let text = match &step.answer {
        None => step.streamed.text.clone(),
        Some(answer) => answer
            .parts
            .iter()
            .filter_map(|part| match part {
                AnswerPart::Text { text } => Some(&**text),
                AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
            })
            .collect(),
    };
    Some(text).filter(|text| !text.is_empty())
}

impl TurnView {
    /// The text of the newest answer, whole or as far as the journal has it.
    pub fn answer(&self) -> Option<String> {
        let texts = self.steps().next_back()?.parts.iter().filter_map(|part| match part {
            PartView::Text { text } => Some(&**text),
            PartView::Reasoning { .. } | PartView::Call { .. } => None,
        });
        Some(texts.collect::<String>()).filter(|text| !text.is_empty())
    }
}

/// What was said, with a label in place of each file.
pub(super) fn said_text(said: &Said) -> String {
    let texts: Vec<_> = said
        .parts
        .iter()
        .map(|part| match part {
            UserPart::Text { text } => text.to_string(),
            UserPart::File { .. } | UserPart::InlinedFile { .. } => {
                attachment::label(part).unwrap_or_default()
            }
        })
        .collect();
    texts.join("\n")
}
