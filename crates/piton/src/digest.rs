//! Requests and their digests, made in time proportional to what is new.
//!
//! Each message is chained to the digest of all before it, so what stayed as it was is not read
//! again.

use std::fmt::Write as _;

use piton_core::event::{AnswerPart, Effort, UserPart};
use piton_core::id::Digest;
use piton_core::state::State;
use piton_core::transcript::{Message, Transcript};
use sha2::{Digest as _, Sha256};

type Hash = [u8; 32];

/// The last request and the digests of its messages.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    last: Option<Transcript>,
    links: Vec<Hash>,
}

impl Chain {
    /// The request that a state calls for, and its digest.
    pub(crate) fn next(&mut self, state: &State) -> (Transcript, Digest) {
        let mut kept = 0;
        let transcript = match self.last.take() {
            Some(mut last) => {
                kept = last.update(state);
                last
            }
            None => Transcript::from(state),
        };
        // The first link is that of the head.
        self.links.truncate(if kept == 0 { 0 } else { kept + 1 });
        if self.links.is_empty() {
            self.links.push(head(&transcript));
        }
        let mut hash = self.links.last().copied().unwrap_or_default();
        for message in transcript.messages().iter().skip(kept) {
            hash = link(hash, message);
            self.links.push(hash);
        }
        self.last = Some(transcript.clone());
        (transcript, hex(hash))
    }
}

/// The digest of a request that is no part of a conversation.
pub(crate) fn of(transcript: &Transcript) -> Digest {
    hex(transcript.messages().iter().fold(head(transcript), link))
}

fn head(transcript: &Transcript) -> Hash {
    let mut hasher = Sha256::new();
    let model = transcript.model().map(ToString::to_string).unwrap_or_default();
    feed(&mut hasher, &[&model, transcript.system()]);
    // Fed only when set: requests of journals without them keep their digests.
    if transcript.effort() != Effort::default() {
        feed(&mut hasher, &["effort", &format!("{:?}", transcript.effort())]);
    }
    // What the window leaves for an answer follows from the rest.
    if transcript.answer_tokens_set() != 0 {
        feed(&mut hasher, &["answer tokens", &transcript.answer_tokens_set().to_string()]);
    }
    for tool in transcript.tools() {
        feed(&mut hasher, &[&tool.name, &tool.description, &tool.parameters]);
    }
    hasher.finalize().into()
}

fn link(before: Hash, message: &Message) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(before);
    match message {
        Message::User(parts) => feed_parts(&mut hasher, parts),
        Message::Assistant(assistant) => {
            for part in assistant.parts.iter() {
                match part {
                    AnswerPart::Text { text } => feed(&mut hasher, &["answer", text]),
                    AnswerPart::Reasoning { text } => feed(&mut hasher, &["reasoning", text]),
                    AnswerPart::Call { call, name, arguments, .. } => {
                        feed(&mut hasher, &["call", &call.to_string(), name, arguments]);
                    }
                }
            }
        }
        Message::Results(results) => {
            for result in results {
                let error = if result.is_error { "error" } else { "ok" };
                feed(&mut hasher, &["result", &result.call.to_string(), error, &result.text]);
                feed_parts(&mut hasher, &result.files);
            }
        }
    }
    hasher.finalize().into()
}

fn feed_parts(hasher: &mut Sha256, parts: &[UserPart]) {
    for part in parts {
        match part {
            UserPart::Text { text } => feed(hasher, &["text", text]),
            UserPart::InlinedFile { name, media_type, text } => {
                feed(hasher, &["inlined", name, media_type, text]);
            }
            UserPart::File { name, media_type, blob } => {
                feed(hasher, &["file", name, media_type, blob.digest.as_str()]);
            }
        }
    }
}

/// Lengths go in front, so that no two lists of fields look alike.
fn feed(hasher: &mut Sha256, fields: &[&str]) {
    for field in fields {
        hasher.update((field.len() as u64).to_le_bytes());
        hasher.update(field.as_bytes());
    }
}

fn hex(hash: Hash) -> Digest {
    let mut text = String::with_capacity(64);
    for byte in hash {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    Digest::new(text)
}
