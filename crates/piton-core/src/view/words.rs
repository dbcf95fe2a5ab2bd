//! Words that several faces show: the title of a conversation, the text of a message or an answer.

use super::turn::{FailureView, MessagePart, PartView, TurnView};
use crate::attachment;
use crate::event::{AnswerPart, UserPart};
use crate::retry::wait_in_words;
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

/// What was said, with a label in place of each file.
pub fn said(parts: &[MessagePart]) -> String {
    let texts = parts.iter().filter_map(|part| match part.clone() {
        MessagePart::Text { text } => Some(text.to_string()),
        MessagePart::File { name, media_type, blob } => {
            attachment::label(&UserPart::File { name, media_type, blob })
        }
        MessagePart::InlinedFile { name, media_type, text } => {
            attachment::label(&UserPart::InlinedFile { name, media_type, text })
        }
    });
    texts.collect::<Vec<_>>().join("\n")
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

impl FailureView {
    /// What comes after a failed try, in the words that all faces use, if another one does. A retry is
    /// never hidden.
    pub fn told(&self) -> Option<String> {
        let message = &self.message;
        if self.noted {
            return Some(format!("next try at once, with a note: {message}"));
        }
        let next = soon(self.next_try?.ms_since(self.at));
        if let Some(outage) = self.outage {
            let waited = wait_in_words(self.at.ms_since(outage.since));
            let most = wait_in_words(outage.until.ms_since(outage.since));
            return Some(format!(
                "waiting for the network, {waited} of {most}, next {next}: {message}"
            ));
        }
        let (tried, most) = (self.next_attempt.saturating_sub(1), self.attempts_max?);
        Some(format!("try {tried} of {most}, next {next}: {message}"))
    }
}

/// When something comes, to the second.
fn soon(wait_ms: u64) -> String {
    match (wait_ms + 500) / 1_000 {
        0 => "at once".into(),
        seconds => format!("in {}", wait_in_words(seconds * 1_000)),
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

#[cfg(test)]
mod tests {
    use super::super::turn::OutageView;
    use super::*;
    use crate::event::FailureClass;
    use crate::id::Timestamp;

    fn told(next_ms: u64, change: impl FnOnce(&mut FailureView)) -> Option<String> {
        let mut failure = FailureView {
            class: FailureClass::Network,
            message: "network unreachable".into(),
            at: Timestamp(90_000),
            failures: 3,
            failures_max: Some(5),
            next_try: Some(Timestamp(90_000).plus_ms(next_ms)),
            noted: false,
            next_attempt: 4,
            attempts_max: Some(5),
            outage: None,
        };
        change(&mut failure);
        failure.told()
    }

    // J48
    #[test]
    fn every_face_tells_of_tries_in_the_same_words() {
        let check = |next_ms, change: fn(&mut FailureView), expected: &str| {
            assert_eq!(told(next_ms, change).as_deref(), Some(expected));
        };
        check(4_249, |_| {}, "try 3 of 5, next in 4 s: network unreachable");
        check(0, |_| {}, "try 3 of 5, next at once: network unreachable");
        check(240_000, |_| {}, "try 3 of 5, next in 4 min: network unreachable");
        check(0, |it| it.noted = true, "next try at once, with a note: network unreachable");
        check(
            15_000,
            |it| {
                let (since, until) = (Timestamp(50_000), Timestamp(650_000));
                it.outage = Some(OutageView { since, until });
            },
            "waiting for the network, 40 s of 10 min, next in 15 s: network unreachable",
        );
        assert_eq!(told(0, |it| it.next_try = None), None);
    }
}
