//! One line per start and end of a call.

use piton::Worker;
use piton_core::decide::calls::UNKNOWN_TEXT;
use piton_core::event::{Event, InquiryAnswer, Outcome};
use piton_core::state::{Call, Ended, Progress};
use piton_core::summary::{input_summary, output_summary};
use piton_core::view::{CallState, CallView};

/// A call begins.
pub(crate) fn started(call: &Call) -> String {
    format!("• {}", input_summary(&call.name, &call.arguments))
}

/// A call waits for a person.
pub(crate) fn suspended(call: &Call) -> String {
    format!("… {} — waits for an answer", input_summary(&call.name, &call.arguments))
}

/// How far a call is.
pub(crate) fn progress(call: &Call, text: &str) -> String {
    format!("  {}: {text}", call.name)
}

/// A call begins, as its view has it.
pub(crate) fn started_view(call: &CallView) -> String {
    format!("• {}", input_summary(&call.tool, &call.arguments))
}

/// A call ended, as its view has it.
pub(crate) fn finished_view(call: &CallView) -> String {
    let input = input_summary(&call.tool, &call.arguments);
    let CallState::Done { outcome, exit_code } = call.state else { return input };
    let text = call.result.as_ref().map_or("", |result| &result.text);
    end_line(&input, (outcome, exit_code), text, (text, text))
}

/// A call ended.
pub(crate) fn finished(call: &Call, ended: &Ended) -> String {
    let input = input_summary(&call.name, &call.arguments);
    let end = (ended.outcome, ended.output.exit_code);
    end_line(&input, end, &ended.output.text, ended.output.split())
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

/// An answer, for people.
pub(crate) fn said(answer: &InquiryAnswer) -> String {
    match answer {
        InquiryAnswer::Allow => "allowed".into(),
        InquiryAnswer::Deny => "refused".into(),
        InquiryAnswer::Applied => "done by hand".into(),
        InquiryAnswer::RunAgain => "run it again".into(),
        InquiryAnswer::TreatAsDone => "taken for done".into(),
        InquiryAnswer::Text { text } => text.to_string(),
        InquiryAnswer::Redacted => "told in secret".into(),
        InquiryAnswer::Cancelled { reason } => format!("withdrawn, {reason}"),
    }
}

/// A question was answered by another process.
pub(crate) fn answered(answer: &InquiryAnswer) -> String {
    format!("Answered from another terminal: {}", said(answer))
}

/// Why nobody knows how a call ended: its first line, and the last words of whoever died.
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

/// What a worker does, in the lines of its calls.
pub(crate) fn of_worker(worker: &Worker, event: &Event, call: Option<&Call>) -> Option<String> {
    let line = match (event, call) {
        (Event::ToolStarted { .. }, Some(call)) => started(call),
        (Event::ToolFinished { .. }, Some(call)) => match &call.progress {
            Progress::Done(ended) => finished(call, ended),
            Progress::Waiting
            | Progress::Running(_)
            | Progress::InDoubt(_)
            | Progress::Parked(_) => return None,
        },
        (Event::InquiryAnswered { answer, letter: Some(_), .. }, _) => answered(answer),
        (Event::Compacted { .. }, _) => "Older turns were summed up to make room.".into(),
        (Event::OutputsShortened { outputs }, _) => shortened(outputs.len()),
        _ => return None,
    };
    Some(format!("[worker {}] {line}", worker.number()))
}

/// That outputs are sent shortened from here on.
pub(crate) fn shortened(outputs: usize) -> String {
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
    use piton_core::event::ToolOutput;
    use piton_core::id::{CallId, TurnId};

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
        let id = CallId { turn: TurnId(1), step: 1, index: 0 };
        let call = Call::new(id, "shell", r#"{"command":"cargo test"}"#);
        let text = format!("{printed}{notes}");
        let note_bytes = notes.len() as u64;
        let output = ToolOutput { exit_code, note_bytes, ..ToolOutput::text(text) };
        assert_eq!(finished(&call, &Ended { outcome, output }), expected);
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
