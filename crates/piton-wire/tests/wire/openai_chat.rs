//! Streams, bodies and failures of this dialect.

mod bodies;
mod broken_rules;
mod failures;
mod native;
mod recorded_streams;
mod streams;

use piton_core::answer::{Answer, NoEndMark};
use piton_core::event::{AnswerPart, FinishReason};
use piton_wire::openai_chat::{Flavour, OpenAiChat};

use crate::recorded::{self, Read};
use crate::transcripts::ask;

const FLAVOURS: [Flavour; 5] =
    [Flavour::OpenAi, Flavour::DeepSeek, Flavour::Mistral, Flavour::OpenRouter, Flavour::Local];

/// Reads a body as one flavour, in pieces of every size.
fn read(flavour: Flavour, body: &str) -> Read {
    recorded::read_all_ways(&OpenAiChat { flavour }, &ask("script", "one"), body.as_bytes())
}

/// One event per line.
fn events(lines: &str) -> String {
    let events: Vec<_> = lines.lines().map(|line| format!("data: {}\n\n", line.trim())).collect();
    events.concat()
}

/// Choices of chunks, one per line, as a stream.
fn deltas(lines: &str) -> String {
    let chunk = |line: &str| {
        if line.starts_with("[DONE]") || line.starts_with("{\"") && line.contains("choices") {
            return line.to_owned();
        }
        format!(r#"{{"id":"x","object":"chat.completion.chunk","choices":[{line}]}}"#)
    };
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let events: Vec<_> = lines.map(|line| format!("data: {}\n\n", chunk(line))).collect();
    events.concat()
}

/// An answer in few words: `(think:..) text {tool#id args} !dropped`, then why it ended.
fn told(answer: &Result<Answer, NoEndMark>) -> String {
    let Ok(answer) = answer else { return "cut".into() };
    let mut words = Vec::new();
    for part in &answer.parts {
        words.push(match part {
            AnswerPart::Text { text } => text.to_string(),
            AnswerPart::Reasoning { text } => format!("({text})"),
            AnswerPart::Call { provider_id, name, arguments, .. } => {
                let id = provider_id.as_deref().unwrap_or("-");
                format!("<{name}#{id} {arguments}>")
            }
        });
    }
    words.extend(answer.dropped.iter().map(|name| format!("!{name}")));
    words.push(match answer.finish {
        FinishReason::Stop => "stop".into(),
        FinishReason::ToolCalls => "calls".into(),
        FinishReason::Length => "length".into(),
        FinishReason::Refused => "refused".into(),
    });
    words.join(" | ")
}

/// Reads a stream of choices as `OpenAI` sends it.
fn check(lines: &str, expected: &str) {
    let read = read(Flavour::OpenAi, &deltas(lines));
    assert_eq!(read.failure, None, "{lines}");
    assert_eq!(told(&read.answer), expected, "{lines}");
}
