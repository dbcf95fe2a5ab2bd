//! Encoded messages, kept from request to request.
//!
//! Messages share their texts with the journal's state, so finding the unchanged prefix compares
//! pointers, not bytes. What is the same is copied, only what is new is encoded.

use piton_core::event::AnswerPart;
use piton_core::transcript::{Files, Message};

use crate::Ask;
use crate::names::{Moved, Names};

/// The encoded messages of the last request.
#[derive(Debug, Default)]
pub struct Cache {
    made_for: Option<(&'static str, Ask, Moved)>,
    parts: Vec<(Message, Vec<u8>)>,
}

/// All that the bytes of a message depend on, beside the message and those before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Names the dialect, and its flavour where that changes messages.
    pub(crate) dialect: &'static str,
    pub(crate) ask: &'a Ask,
    pub(crate) names: &'a Names,
    /// What the files hold. Their names are digests, so a message says which content it has.
    pub(crate) files: &'a Files,
}

/// About how many bytes a message will be, so that its buffer need not grow: its texts, some of
/// their letters escaped, and what stands around each part.
pub(crate) fn bytes_estimated(message: &Message) -> usize {
    const AROUND: usize = 96;
    let of = |text: &str| text.len() + text.len() / 8 + AROUND;
    match message {
        Message::User(_) => AROUND,
        Message::Assistant(assistant) => assistant
            .parts
            .iter()
            .map(|part| match part {
                AnswerPart::Text { text } => of(text),
                AnswerPart::Call { name, arguments, .. } => of(arguments) + of(name),
                AnswerPart::Reasoning { .. } => 0,
            })
            .sum(),
        Message::Results(results) => results.iter().map(|result| of(&result.text)).sum(),
    }
}

impl Cache {
    /// Encodes messages with `encode`, which must depend on nothing but its message, those before
    /// it, and `frame`. Gives each message's bytes; empty ones are left out by the caller.
    pub(crate) fn encode(
        &mut self,
        messages: &[Message],
        frame: Frame<'_>,
        mut encode: impl FnMut(&Message) -> Vec<u8>,
    ) -> impl Iterator<Item = &[u8]> + Clone {
        let same = self.made_for.as_ref().is_some_and(|(dialect, ask, moved)| {
            *dialect == frame.dialect && ask == frame.ask && moved == frame.names.moved()
        });
        if !same {
            self.parts.clear();
            let moved = frame.names.moved().clone();
            self.made_for = Some((frame.dialect, frame.ask.clone(), moved));
        }
        let known = self.parts.iter().zip(messages);
        let same = known.take_while(|((known, _), message)| known == *message).count();
        self.parts.truncate(same);
        for message in messages.iter().skip(same) {
            self.parts.push((message.clone(), encode(message)));
        }
        self.parts.iter().map(|(_, bytes)| bytes.as_slice())
    }
}
