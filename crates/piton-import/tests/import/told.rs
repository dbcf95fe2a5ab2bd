//! What a history says, in few words.

use std::path::{Path, PathBuf};

use piton_core::history::{
    History, PastAnswerPart, PastCall, PastEnd, PastItem, PastPart, Speaker,
};
use piton_import::{Found, read};

/// A file that was written for these tests.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/files").join(name)
}

/// The one session of a file.
pub(crate) fn only(path: &Path) -> Found {
    let mut found = read(path, None).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(found.len(), 1, "{}", path.display());
    found.pop().unwrap()
}

fn items(history: &History) -> impl Iterator<Item = &PastItem> {
    history.turns.iter().flat_map(|turn| &turn.items)
}

/// What persons said.
pub(crate) fn user_texts(history: &History) -> Vec<String> {
    let said = items(history).filter_map(|item| match item {
        PastItem::Said { parts, by: Speaker::Person, .. } => Some(parts),
        PastItem::Said { .. } | PastItem::Answer(_) | PastItem::Failed { .. } => None,
    });
    let text = |parts: &Vec<PastPart>| {
        let texts = parts.iter().filter_map(|part| match part {
            PastPart::Text(text) => Some(text.to_string()),
            PastPart::File(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    said.map(text).collect()
}

fn parts(history: &History) -> impl Iterator<Item = &PastAnswerPart> {
    items(history).flat_map(|item| match item {
        PastItem::Answer(answer) => answer.parts.as_slice(),
        PastItem::Said { .. } | PastItem::Failed { .. } => &[],
    })
}

/// What the model said.
pub(crate) fn assistant_texts(history: &History) -> Vec<String> {
    let texts = parts(history).filter_map(|part| match part {
        PastAnswerPart::Text(text) => Some(text.to_string()),
        PastAnswerPart::Reasoning(_) | PastAnswerPart::Call(_) => None,
    });
    texts.collect()
}

pub(crate) fn reasoning(history: &History) -> usize {
    parts(history).filter(|part| matches!(part, PastAnswerPart::Reasoning(_))).count()
}

pub(crate) fn calls(history: &History) -> Vec<&PastCall> {
    let calls = parts(history).filter_map(|part| match part {
        PastAnswerPart::Call(call) => Some(call),
        PastAnswerPart::Text(_) | PastAnswerPart::Reasoning(_) => None,
    });
    calls.collect()
}

pub(crate) fn images(history: &History) -> usize {
    let in_messages = items(history).filter_map(|item| match item {
        PastItem::Said { parts, .. } => {
            Some(parts.iter().filter(|part| matches!(part, PastPart::File(_))).count())
        }
        PastItem::Answer(_) | PastItem::Failed { .. } => None,
    });
    let in_results = calls(history).into_iter().filter_map(|call| call.result.as_ref());
    in_messages.sum::<usize>() + in_results.map(|result| result.files.len()).sum::<usize>()
}

/// The kinds of all remarks, in the order of the file.
pub(crate) fn kinds(history: &History) -> Vec<&str> {
    history.remarks.iter().map(|remark| remark.kind.as_str()).collect()
}

pub(crate) fn is_complete(history: &History) -> bool {
    history.turns.last().is_some_and(|turn| turn.end == PastEnd::Completed)
}

/// A history, a line for each thing.
pub(crate) fn told(history: &History) -> String {
    let mut lines = Vec::new();
    for turn in &history.turns {
        for item in &turn.items {
            match item {
                PastItem::Said { parts, by, .. } => {
                    let texts = parts.iter().map(|part| match part {
                        PastPart::Text(text) => text.to_string(),
                        PastPart::File(file) => format!("<{} {}>", file.name, file.media_type),
                    });
                    let who = if *by == Speaker::Person { "person" } else { "reader" };
                    lines.push(format!("{who}: {}", texts.collect::<Vec<_>>().join(" | ")));
                }
                PastItem::Answer(answer) => {
                    lines.extend(answer.parts.iter().map(|part| match part {
                        PastAnswerPart::Text(text) => format!("model: {text}"),
                        PastAnswerPart::Reasoning(text) => format!("thinks: {text}"),
                        PastAnswerPart::Call(call) => {
                            let result = match &call.result {
                                Some(result) if result.failed => format!("failed: {}", result.text),
                                Some(result) => result.text.trim().to_owned(),
                                None => "UNKNOWN".to_owned(),
                            };
                            format!("call: {} {} -> {result}", call.tool, call.arguments)
                        }
                    }));
                }
                PastItem::Failed { message, .. } => lines.push(format!("failed: {message}")),
            }
        }
        lines.push(match &turn.end {
            PastEnd::Completed => "-- completed".to_owned(),
            PastEnd::Left => "-- left".to_owned(),
            PastEnd::Open { why: None } => "-- open".to_owned(),
            PastEnd::Open { why: Some(why) } => format!("-- open: {why}"),
        });
    }
    for remark in &history.remarks {
        let first = remark.text.lines().next().unwrap_or_default();
        lines.push(format!("{}@{}: {first}", remark.kind, remark.line));
    }
    lines.join("\n") + "\n"
}
