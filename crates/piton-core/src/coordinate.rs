//! The coordinator: a turn whose first answer is read as a list of subtasks.
//!
//! Each subtask becomes a call of the tool that hands work to a worker; from there on it is a turn like
//! any other. Nothing here is remembered: what was planned, done and failed is in the journal.

use serde_json::{Value, json};

use crate::event::{Outcome, PlannedCall, UserPart};
use crate::id::CallId;
pub use crate::state::COORDINATOR;
use crate::state::{Progress, Said, Step, Turn};
use crate::summary::shorten;
use crate::view::answer_text;

/// The tool that hands a task to a worker.
pub const DELEGATE: &str = "delegate";
/// Most subtasks that are taken from an answer.
pub const SUBTASKS_MAX: usize = 8;
/// Most places in an answer at which a list is looked for.
const LOOKS_MAX: usize = 64;
/// Longest task in the list that goes with the results, in characters.
const TASK_CHARS_MAX: usize = 120;

/// What the model is asked first.
pub const DECOMPOSE_NOTE: &str = "Split this request into 2 to 4 subtasks that can be worked on at the \
     same time, each by a worker who sees the conversation so far but not the other workers. Answer with \
     a JSON array of strings and nothing else: one string per subtask, clear on its own. Call no tools.";

/// How what goes behind the results of the workers begins.
pub const SYNTHESIS_HEAD: &str = "The workers have ended:";

/// Whether the answer of a turn is still to be read as a plan.
pub fn is_to_plan(turn: &Turn) -> bool {
    turn.is_to_plan()
}

/// The calls that an answer asks for.
pub(crate) fn plan(turn: &Turn, step: &Step) -> Vec<PlannedCall> {
    let answer = answer_text(step).unwrap_or_default();
    let task = turn.said().next().map(task_of).unwrap_or_default();
    let calls = (0_u32..).zip(subtasks(&answer, &task)).map(|(index, task)| PlannedCall {
        call: CallId { turn: turn.id, step: step.number, index },
        name: DELEGATE.into(),
        arguments: json!({ "task": task, "context": "snapshot" }).to_string().into(),
    });
    calls.collect()
}

fn task_of(said: &Said) -> String {
    let texts = said.parts.iter().filter_map(|part| match part {
        UserPart::Text { text } => Some(&**text),
        UserPart::File { .. } | UserPart::InlinedFile { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The subtasks in an answer: its first JSON list with texts in it, wherever it stands. If there is none,
/// the whole task is the only one.
pub fn subtasks(answer: &str, task: &str) -> Vec<String> {
    let places = answer.match_indices('[').take(LOOKS_MAX);
    let lists = places.filter_map(|(place, _)| {
        let rest = answer.get(place..)?;
        serde_json::Deserializer::from_str(rest).into_iter::<Vec<Value>>().next()?.ok()
    });
    let texts = |list: Vec<Value>| -> Vec<String> {
        let texts = list.iter().filter_map(Value::as_str).map(str::trim);
        texts.filter(|text| !text.is_empty()).take(SUBTASKS_MAX).map(str::to_owned).collect()
    };
    lists.map(texts).find(|texts| !texts.is_empty()).unwrap_or_else(|| vec![task.to_owned()])
}

/// What goes behind a message of a coordinated turn. A turn that was cut before its first answer has none: the
/// next message is another errand. Behind an answer it stays, because the answered request held it.
pub(crate) fn note_behind(turn: &Turn, said: &Said) -> Option<&'static str> {
    let first = turn.said().next().is_some_and(|first| first.message == said.message);
    let goes_on = turn.end.is_none() || turn.has_work();
    (turn.is_coordinated() && first && goes_on).then_some(DECOMPOSE_NOTE)
}

/// What goes behind the results of the workers.
pub(crate) fn synthesis_note(step: &Step) -> String {
    let mut note = format!("{SYNTHESIS_HEAD}\n");
    for (number, call) in (1..).zip(&step.calls) {
        let task = serde_json::from_str::<Value>(&call.arguments).unwrap_or_default();
        let task = task.get("task").and_then(Value::as_str).unwrap_or_default();
        let task = shorten(task, TASK_CHARS_MAX);
        note = format!("{note}{} worker {number}: {task}\n", mark(&call.progress));
    }
    format!(
        "{note}Now answer my request from their results, in one piece. Say what could not be done (✗) and \
         why, and what is still to do."
    )
}

fn mark(progress: &Progress) -> char {
    match progress {
        Progress::Done(ended) if ended.outcome == Outcome::Ok => '✓',
        Progress::Waiting
        | Progress::Running(_)
        | Progress::InDoubt(_)
        | Progress::Parked(_)
        | Progress::Done(_) => '✗',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expected: &[&str]) {
        assert_eq!(subtasks(answer, "all of it"), expected, "{answer}");
    }

    // D74
    #[test]
    fn subtasks_are_read_plain_prefixed_and_fenced() {
        check(r#"["a","b"]"#, &["a", "b"]);
        check(r#"Sure! Here: ["a", "b"] as asked."#, &["a", "b"]);
        check("```json\n[\"a\",\n \"b\"]\n```", &["a", "b"]);
        check(r#"{"subtasks": ["a", "b"]}"#, &["a", "b"]);
        check(r#"See [1] and [2]: ["a"]"#, &["a"]);
    }

    // D74
    #[test]
    fn what_is_no_text_is_dropped_and_there_are_at_most_eight() {
        check(r#"["a", 1, "", "  ", null, ["x"], " b "]"#, &["a", "b"]);
        let many: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert_eq!(subtasks(&json!(many).to_string(), ""), many.get(..8).unwrap());
    }

    // D74
    #[test]
    fn without_a_list_the_whole_task_is_the_only_one() {
        for answer in ["", "no idea", "[]", "[1, 2]", "[\"a\"", "[", &"[".repeat(10_000)] {
            check(answer, &["all of it"]);
        }
    }
}
