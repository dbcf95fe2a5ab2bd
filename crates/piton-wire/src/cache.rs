//! Encoded messages, kept from request to request.
//!
//! Messages share their texts with the journal's state, so finding the unchanged prefix compares
//! pointers, not bytes. What is the same is copied, only what is new is encoded.

use piton_core::transcript::Message;

use crate::Ask;

/// The encoded messages of the last request.
#[derive(Debug, Default)]
pub struct Cache {
    ask: Option<Ask>,
    parts: Vec<(Message, Vec<u8>)>,
}

impl Cache {
    /// Encodes messages with `encode`, which must depend on nothing but its message and `ask`.
    /// Gives each message's bytes; empty ones are left out by the caller.
    pub fn encode(
        &mut self,
        messages: &[Message],
        ask: &Ask,
        mut encode: impl FnMut(&Message) -> Vec<u8>,
    ) -> impl Iterator<Item = &[u8]> {
        if self.ask.as_ref() != Some(ask) {
            self.parts.clear();
            self.ask = Some(ask.clone());
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
