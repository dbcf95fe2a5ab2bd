//! One line per start and end of a call, and the words for answers to its questions.

use piton::{Reply, Standing};
use piton_core::id::ConversationId;
use piton_core::summary::{input_summary, output_summary};
use piton_core::view::{
    CallState, CallView, InquiryAnswer, Outcome, RuleEffect, RuleScope, UNKNOWN_TEXT,
};
use piton_tools::STILL_RUNNING;

use super::visible::visible_name;

/// Most lines that are shown of what a call printed that failed.
const LAST_LINES_MAX: usize = 8;

/// What remarks of tools about the sandbox have in them.
const SANDBOX: &str = "sandbox";

/// A call begins.
pub(crate) fn started(call: &CallView) -> String {
    format!("• {}", input(call))
}

/// A call waits for a person.
pub(crate) fn suspended(call: &CallView) -> String {
    format!("… {} — waits for an answer", input(call))
}

/// How far a call is.
pub(crate) fn progress(call: &CallView, text: &str) -> String {
    format!("  {}: {}", call.tool, visible_name(text))
}

/// A call ended.
pub(crate) fn finished(call: &CallView) -> String {
    let input = input(call);
    let CallState::Done { outcome, exit_code } = call.state else { return input };
    if is_left_running(call) {
        return format!("… {input} — still running");
    }
    let (text, split) = match &call.result {
        Some(result) => (&*result.text, result.split()),
        None => ("", ("", "")),
    };
    end_line(&input, (outcome, exit_code), text, split)
}

/// The last lines that a call printed which did not go well, for a person who watches. None where the line
/// about its end says it all.
pub(crate) fn last_words(call: &CallView) -> Vec<String> {
    let CallState::Done { outcome, exit_code } = call.state else { return Vec::new() };
    let is_bad = outcome == Outcome::Failed || exit_code.is_some_and(|code| code != 0);
    let printed = call.result.as_ref().map(|result| result.split().0).unwrap_or_default();
    let mut lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
    if !is_bad || lines.len() < 2 {
        lines.clear();
    }
    let before = lines.len().saturating_sub(LAST_LINES_MAX);
    let told =
        (0 < before).then(|| format!("… {before} lines before; piton print --full shows them"));
    let printed = told.into_iter().chain(lines.into_iter().skip(before).map(str::to_owned));
    printed.chain(stopped_by_sandbox(call)).collect()
}

/// What the sandbox stopped, for a person who watches: the first sentence of the remark. What follows tells the
/// model what it can do.
fn stopped_by_sandbox(call: &CallView) -> Option<String> {
    let notes = call.result.as_ref().map(|result| result.split().1)?;
    let mut remarks = notes.lines().map(|note| note.trim_matches(['[', ']']));
    let remark = remarks.rfind(|note| note.contains(SANDBOX))?;
    Some(remark.split(". ").next().unwrap_or(remark).to_owned())
}

/// Whether a call ended while its command goes on.
pub(crate) fn is_left_running(call: &CallView) -> bool {
    let CallState::Done { outcome: Outcome::Ok, exit_code: None } = call.state else {
        return false;
    };
    let notes = call.result.as_ref().map(|result| result.split().1).unwrap_or_default();
    notes.lines().any(|note| note.starts_with(STILL_RUNNING))
}

fn end_line(
    input: &str,
    (outcome, exit_code): (Outcome, Option<i32>),
    text: &str,
    (printed, notes): (&str, &str),
) -> String {
    let output = output_summary(text);
    let mark = mark(outcome, exit_code);
    let end = match (outcome, exit_code) {
        (Outcome::Ok, None | Some(0)) if output.is_empty() => "completed".into(),
        (Outcome::Ok, None | Some(0)) => output,
        // Where a command printed nothing, its result says only that.
        (Outcome::Ok, Some(code)) if printed.trim().is_empty() => format!("exit code {code}"),
        (Outcome::Ok, Some(code)) => format!("exit code {code}: {output}"),
        (Outcome::Failed, _) => format!("failed: {}", note(notes).unwrap_or(output)),
        (Outcome::Unknown, _) => match reason(text) {
            Some(reason) => format!("{}: {reason}", word(outcome)),
            None => word(outcome).to_owned(),
        },
        (Outcome::Denied | Outcome::Cancelled, _) => word(outcome).to_owned(),
    };
    format!("{mark} {input} — {end}")
}

/// A call in one line: what runs, and what the model had asked for if a person changed it.
pub(crate) fn input(call: &CallView) -> String {
    let runs = input_summary(&call.tool, &call.arguments);
    let Some(asked) = &call.asked else { return runs };
    let asked = input_summary(&call.tool, asked);
    let asked = asked.strip_prefix(&format!("{}: ", call.tool)).unwrap_or(&asked);
    format!("{runs} (changed from: {asked})")
}

/// An answer, for people.
pub(crate) fn said(answer: &InquiryAnswer) -> String {
    match answer {
        InquiryAnswer::Allow => "allowed".into(),
        InquiryAnswer::Deny { reason: None } => "refused".into(),
        InquiryAnswer::Deny { reason: Some(reason) } => format!("refused: {reason}"),
        InquiryAnswer::Changed { arguments } => format!("changed to {arguments}"),
        InquiryAnswer::Applied => "done by hand".into(),
        InquiryAnswer::RunAgain => "run it again".into(),
        InquiryAnswer::TreatAsDone => "taken for done".into(),
        InquiryAnswer::LookAgain => "looked again".into(),
        InquiryAnswer::Text { text } => text.to_string(),
        InquiryAnswer::Redacted => "told in secret".into(),
        InquiryAnswer::Cancelled { reason } => format!("withdrawn, {reason}"),
    }
}

/// An answer that waits for the process that asked, for people.
pub(crate) fn kept_answer(reply: &Reply) -> String {
    let by_effect = |effect| match effect {
        RuleEffect::Allow => InquiryAnswer::Allow,
        RuleEffect::Ask | RuleEffect::Deny => InquiryAnswer::DENY,
    };
    if let Some(Standing { effect, scope }) = reply.standing() {
        let place = match scope {
            RuleScope::Conversation => "in this conversation",
            RuleScope::Project => "in this project",
            RuleScope::User => "everywhere",
        };
        return format!("{}, and from now on {place}", said(&by_effect(effect)));
    }
    match reply {
        Reply::Allow | Reply::Always(_) | Reply::Keep(_) => said(&InquiryAnswer::Allow),
        Reply::Change(text) => format!("changed to {text}"),
        Reply::Deny => said(&InquiryAnswer::DENY),
        Reply::DenyBecause(reason) => format!("refused: {reason}"),
        Reply::Applied => said(&InquiryAnswer::Applied),
        Reply::RunAgain => said(&InquiryAnswer::RunAgain),
        Reply::TreatAsDone => said(&InquiryAnswer::TreatAsDone),
        Reply::LookAgain => said(&InquiryAnswer::LookAgain),
        Reply::Text(text) => text.clone(),
        Reply::Cancel => "nobody answers".into(),
        Reply::Secret(_) => said(&InquiryAnswer::Redacted),
    }
}

/// A question was answered by another process.
pub(crate) fn answered(answer: &InquiryAnswer) -> String {
    format!("Answered elsewhere: {}", said(answer))
}

/// Why nobody knows how a call ended: its first line, and the last words of the process that died.
fn reason(text: &str) -> Option<String> {
    let text = text.strip_prefix(UNKNOWN_TEXT).unwrap_or(text).trim();
    let first = output_summary(text);
    let last = text.lines().next_back().map(output_summary).filter(|last| *last != first);
    let reason: Vec<String> = [first].into_iter().chain(last).collect();
    (!text.is_empty()).then(|| reason.join(" … "))
}

/// The last of the remarks of the tool itself behind the output of a command.
fn note(notes: &str) -> Option<String> {
    let last = notes.lines().next_back()?;
    Some(output_summary(last.trim_matches(['[', ']'])))
}

/// How lines of a worker begin. The number names nobody: the conversation does.
pub(crate) fn worker_label(worker: &ConversationId) -> String {
    let number = worker.as_worker().map_or(0, |(_, call)| call.index.saturating_add(1));
    format!("[worker {number}]")
}

/// That outputs are sent shortened from here on.
pub(crate) fn shortened(outputs: u32) -> String {
    match outputs {
        1 => "One output was shortened to make room; it is kept whole in the journal.".into(),
        more => {
            format!(
                "{more} outputs were shortened to make room; they are kept whole in the journal."
            )
        }
    }
}

/// How a call ended, in one letter.
pub(crate) fn mark(outcome: Outcome, exit_code: Option<i32>) -> char {
    match (outcome, exit_code) {
        (Outcome::Ok, None | Some(0)) => '✓',
        // The tool did its work; the command it ran did not, and that is what people look for.
        (Outcome::Ok, Some(_)) | (Outcome::Failed, _) => '✗',
        (Outcome::Denied | Outcome::Cancelled, _) => '–',
        (Outcome::Unknown, _) => '?',
    }
}

/// How a call ended, in a word.
pub(crate) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "completed",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied",
        Outcome::Cancelled => "cancelled",
        Outcome::Unknown => "outcome unknown",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(outcome: Outcome, exit_code: Option<i32>, text: &str, expected: &str) {
        check_noted(outcome, exit_code, (text, ""), expected);
    }

    fn check_noted(
        outcome: Outcome,
        exit_code: Option<i32>,
        (printed, notes): (&str, &str),
        expected: &str,
    ) {
        let state = json!({"is": "done", "outcome": outcome, "exit_code": exit_code});
        let result = json!({"text": format!("{printed}{notes}"), "note_bytes": notes.len()});
        let arguments = r#"{"command":"cargo test"}"#;
        let call = json!({
            "id": "1.1.0", "tool": "shell", "arguments": arguments, "state": state,
            "result": result,
        });
        assert_eq!(finished(&serde_json::from_value(call).unwrap()), expected);
    }

    #[test]
    fn an_end_is_readable_without_colour() {
        check(Outcome::Ok, Some(0), "\nok. 3 passed\nmore", "✓ shell: cargo test — ok. 3 passed");
        check(Outcome::Ok, None, "", "✓ shell: cargo test — completed");
        check(Outcome::Ok, Some(1), "", "✗ shell: cargo test — exit code 1");
        check(Outcome::Ok, Some(1), "boom", "✗ shell: cargo test — exit code 1: boom");
        let silent = ("", "[exit code 7]");
        check_noted(Outcome::Ok, Some(7), silent, "✗ shell: cargo test — exit code 7");
        // A command may print whatever it likes.
        let echoed = "✗ shell: cargo test — exit code 7: [exit code 0]";
        check_noted(Outcome::Ok, Some(7), ("[exit code 0]", "\n[exit code 7]"), echoed);
        let goes_on = ("ready", "\n[still running, 5 bytes of output so far]");
        check_noted(Outcome::Ok, None, goes_on, "… shell: cargo test — still running");
        let said = "✓ shell: cargo test — [still running, 5";
        check(Outcome::Ok, None, "[still running, 5", said);
        check(Outcome::Failed, None, "no shell", "✗ shell: cargo test — failed: no shell");
        let late = ("hi", "\n[stopped after 2 s]");
        check_noted(Outcome::Failed, None, late, "✗ shell: cargo test — failed: stopped after 2 s");
        check(Outcome::Denied, None, "denied by user", "– shell: cargo test — denied");
        check(Outcome::Cancelled, None, "stopped", "– shell: cargo test — cancelled");
        check(Outcome::Unknown, None, UNKNOWN_TEXT, "? shell: cargo test — outcome unknown");
        check(
            Outcome::Unknown,
            None,
            "no answer came\nIt said:\nboom",
            "? shell: cargo test — outcome unknown: no answer came … boom",
        );
    }
}
