//! Checks a message list against the rules that all providers share.
//!
//! Independent of how transcripts are made: tests, the simulator and debug builds hold the one
//! against the other. It finds; it mends nothing, because a [`Transcript`] needs no mending.

use std::collections::BTreeSet;

use crate::event::{AnswerPart, UserPart};
use crate::id::CallId;
use crate::transcript::{Message, Transcript};

/// A rule that a message list breaks, and the message that breaks it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {at}: {rule}")]
pub struct Violation {
    /// The message, from 0.
    pub at: usize,
    /// The rule.
    pub rule: Rule,
}

/// What must hold for every provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// Every message has content, and no text in it is blank.
    #[error("a message is empty or blank")]
    Empty,
    /// A message with calls is followed by their results.
    #[error("calls are not followed by their results")]
    CallsWithoutResults,
    /// Results follow a message with calls.
    #[error("results follow no calls")]
    ResultsWithoutCalls,
    /// One result per call, in call order.
    #[error("results do not match their calls in number and order")]
    Mismatch,
    /// A call has a name and appears once.
    #[error("a call is unnamed or appears twice")]
    BadCall,
    /// The list begins with the user.
    #[error("the first message is not the user's")]
    FirstIsNotUser,
    /// The model is never asked to answer itself.
    #[error("the last message is the model's own")]
    LastIsAssistant,
}

/// Finds all violations of a transcript that is about to be sent.
pub fn violations(transcript: &Transcript) -> Vec<Violation> {
    let messages = transcript.messages();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<CallId> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let mut broken = |rule| found.push(Violation { at, rule });
        if !matches!(message, Message::Results(_)) && !open.is_empty() {
            broken(Rule::CallsWithoutResults);
            open.clear();
        }
        match message {
            Message::User(parts) => {
                if parts.is_empty() || !parts.iter().all(UserPart::has_content) {
                    broken(Rule::Empty);
                }
            }
            Message::Assistant(assistant) => {
                if at == 0 {
                    broken(Rule::FirstIsNotUser);
                }
                if assistant.parts.is_empty() || assistant.parts.iter().any(is_blank) {
                    broken(Rule::Empty);
                }
                for part in assistant.parts.iter() {
                    if let AnswerPart::Call { call, name, .. } = part {
                        if name.is_empty() || !seen.insert(*call) {
                            broken(Rule::BadCall);
                        }
                        open.push(*call);
                    }
                }
            }
            Message::Results(results) => {
                let answered: Vec<CallId> = results.iter().map(|result| result.call).collect();
                if open.is_empty() {
                    broken(Rule::ResultsWithoutCalls);
                } else if answered != open {
                    broken(Rule::Mismatch);
                }
                if results.iter().any(|result| result.text.trim().is_empty()) {
                    broken(Rule::Empty);
                }
                open.clear();
            }
        }
    }
    let last = messages.len().saturating_sub(1);
    if !open.is_empty() {
        found.push(Violation { at: last, rule: Rule::CallsWithoutResults });
    }
    if matches!(messages.last(), Some(Message::Assistant(_))) {
        found.push(Violation { at: last, rule: Rule::LastIsAssistant });
    }
    found
}

fn is_blank(part: &AnswerPart) -> bool {
    match part {
        AnswerPart::Text { text } | AnswerPart::Reasoning { text } => text.trim().is_empty(),
        AnswerPart::Call { .. } => false,
    }
}
