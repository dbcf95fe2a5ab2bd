//! What a model is sent, as text: the messages of the next request.

use piton::model::{AnswerPart, Message, Transcript, UserPart};
use piton_core::attachment;

/// The messages, each below a line that says whose it is.
pub(crate) fn sent(transcript: &Transcript) -> String {
    transcript.messages().iter().map(message).collect::<Vec<_>>().join("\n")
}

fn message(message: &Message) -> String {
    match message {
        Message::User(parts) => {
            let parts: Vec<String> = parts.iter().filter_map(said).collect();
            format!("[user]\n{}\n", parts.join("\n").trim_end())
        }
        Message::Assistant(assistant) => {
            let parts: Vec<String> = assistant.parts.iter().filter_map(part).collect();
            format!("[model]\n{}\n", parts.join("\n"))
        }
        Message::Results(results) => {
            let results = results.iter().map(|result| {
                format!("[result of {} {}]\n{}\n", result.call, result.name, result.text.trim_end())
            });
            results.collect::<Vec<_>>().join("\n")
        }
    }
}

fn said(part: &UserPart) -> Option<String> {
    match part {
        UserPart::Text { text } | UserPart::InlinedFile { text, .. } => Some(text.to_string()),
        UserPart::File { .. } => attachment::label(part),
    }
}

fn part(part: &AnswerPart) -> Option<String> {
    match part {
        AnswerPart::Text { text } => Some(text.trim_end().to_owned()),
        AnswerPart::Reasoning { .. } => None,
        AnswerPart::Call { call, name, arguments, .. } => {
            Some(format!("[call {call} {name}] {arguments}"))
        }
    }
}
