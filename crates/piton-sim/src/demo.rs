//! The built-in demo model: drives the real tools from plain requests, without key or network.
//!
//! It understands a handful of verbs and says so. It is no language model, and it never pretends
//! to be one.

mod request;
mod sentence;

use futures_util::stream;
use piton::model::{AnswerStream, Model};
use piton_core::answer::Delta;
use piton_core::coordinate::{DECOMPOSE_NOTE, SYNTHESIS_HEAD};
use piton_core::event::{FinishReason, Usage};
use piton_core::summary::shorten;
use piton_core::transcript::{CallResult, Message, Transcript, typed};

use self::request::Request;
use crate::script::summary;

/// Longest part of a result that is repeated in the answer, in characters.
const RESULT_CHARS_MAX: usize = 2_000;
/// Longest piece of streamed text, in characters.
const CHUNK_CHARS: usize = 24;

const HELP: &str = "I am piton's built-in demo model: no language model, but I really drive the \
tools. Ask me, for example:\n\
  list the files here\n\
  what is in README.md?\n\
  search \"fn main\" in src\n\
  find *.rs\n\
  run cargo --version\n\
  write hello to notes.txt\n\
  replace hello with goodbye in notes.txt\n\
  delegate: list src\n\
Join requests with \"then\": list . then read README.md";

/// The demo model.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoModel;

/// What a tool gave, as far as the demo model repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gave {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl Model for DemoModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let (asked, results) = open_work(transcript.messages());
        let gave = |result: &&CallResult| Gave {
            name: result.name.to_string(),
            text: result.text.to_string(),
            is_error: result.is_error,
        };
        let results: Vec<Gave> = results.iter().map(gave).collect();
        Box::pin(stream::iter(answer(&asked, &results).into_iter().map(Ok)))
    }
}

/// The answer to what was typed last, with the results since then.
pub(crate) fn answer(asked: &str, results: &[Gave]) -> Vec<Delta> {
    if let Some(task) = asked.strip_suffix(DECOMPOSE_NOTE) {
        return say(&request::subtasks(task));
    }
    if let Some(history) = summary::wanted(asked) {
        return say(&summary::good(history));
    }
    if asked.starts_with(SYNTHESIS_HEAD) {
        return say(&synthesis(asked, results));
    }
    let requests = request::parse(asked);
    match requests.get(results.len()) {
        Some(request) => call(request, results.len()),
        None if requests.is_empty() => say(HELP),
        None => say(&report(results)),
    }
}

/// The last thing the user typed, and the results since then, one per step.
fn open_work(messages: &[Message]) -> (String, Vec<&CallResult>) {
    let mut asked = String::new();
    let mut results = Vec::new();
    for message in messages {
        match message {
            Message::User(parts) => {
                let text: Vec<&str> = parts.iter().filter_map(typed).collect();
                asked = text.join("\n");
                // What goes behind the results of workers is about them.
                if !asked.starts_with(SYNTHESIS_HEAD) {
                    results.clear();
                }
            }
            Message::Results(batch) => results.extend(batch),
            Message::Assistant(_) => {}
        }
    }
    (asked, results)
}

fn call(request: &Request, done: usize) -> Vec<Delta> {
    let mut deltas = Vec::new();
    if done == 0 {
        deltas.push(Delta::Text { index: 0, text: "(demo model) On it.\n".into() });
    }
    let provider_id = Some(format!("demo_{done}"));
    deltas.push(Delta::CallOpened { index: 1, provider_id, name: request.tool.into() });
    deltas.push(Delta::CallArguments { index: 1, json: request.arguments.to_string() });
    deltas.push(Delta::Closed { index: 1 });
    deltas.push(end(FinishReason::ToolCalls));
    deltas
}

fn say(text: &str) -> Vec<Delta> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(CHUNK_CHARS).map(|piece| piece.iter().collect());
    let text = pieces.map(|text| Delta::Text { index: 0, text });
    text.chain([end(FinishReason::Stop)]).collect()
}

fn end(finish: FinishReason) -> Delta {
    Delta::End { finish, usage: Usage::default() }
}

/// What the workers did, and what they gave.
fn synthesis(asked: &str, results: &[Gave]) -> String {
    let marks = asked.lines().filter(|line| line.starts_with(['✓', '✗']));
    let mut text = String::from("(demo model) This is what the workers did:");
    for (mark, result) in marks.zip(results) {
        let gave = shorten(result.text.trim_end(), RESULT_CHARS_MAX);
        text = format!("{text}\n\n{mark}\n{gave}");
    }
    text
}

fn report(results: &[Gave]) -> String {
    let mut report = String::from("(demo model) Done. This is what the tools gave:");
    for result in results {
        let failed = if result.is_error { " (failed)" } else { "" };
        // The person has seen the change.
        let text = result.text.split("\n@@ ").next().unwrap_or_default();
        let text = shorten(text.trim_end(), RESULT_CHARS_MAX);
        report = format!("{report}\n\n{}{failed}:\n{}", result.name, fenced(&text));
    }
    report
}

/// A result as a code block of Markdown. The fence is longer than any fence in the text.
fn fenced(text: &str) -> String {
    let mut fence = String::from("```");
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{text}\n{fence}")
}
