//! What is being waited for, and what it prints meanwhile.

use piton_agent::typed;
use piton_core::id::Timestamp;
use piton_core::summary::input_summary;
use piton_core::view::{CallView, LiveCall, LiveStep, StepView, SummingUp};

use super::age::lasting;
use super::room;
use super::visible::visible_name;

/// Most lines that are shown of what a call prints while it runs.
const TAIL_LINES_MAX: usize = 3;
/// How long nothing comes of an answer that has begun before that is said.
const QUIET_MS: u64 = 3_000;

/// A line on what is waited for, and the last lines that it printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) label: String,
    pub(crate) below: Vec<String>,
}

/// Calls at work: the first one, and how many there are.
pub(crate) fn calls(running: &[&CallView], live: &[LiveCall], now: Timestamp) -> Option<Waiting> {
    let first = running.first()?;
    let live = live.iter().find(|live| live.call == first.id);
    let mut label = input_summary(&first.tool, &first.arguments);
    if let Some(far) = live.and_then(|live| live.progress.as_deref()) {
        label = format!("{label}: {}", visible_name(far));
    }
    let time = in_front(first.started.map_or(0, |started| now.ms_since(started)));
    let others = running.len() - 1;
    let more = match others {
        0 => String::new(),
        _ => format!(" [and {others} more]"),
    };
    let below = live.map(|live| tail(&live.tail)).unwrap_or_default();
    Some(Waiting { label: format!("{time}{label}{more}"), below })
}

/// A request that was sent. `since` is when something of its answer came last, else when it was sent.
pub(crate) fn model(
    step: &StepView,
    live: Option<&LiveStep>,
    (since, now): (Timestamp, Timestamp),
) -> Waiting {
    let name = step.model.as_ref().map_or_else(|| "the model".to_owned(), typed);
    let quiet_ms = now.ms_since(since);
    let thought = live.map(|live| live.reasoning.as_str()).unwrap_or_default();
    // What came brought something just now; else it is waited for, whatever keeps the line open.
    let is_thinking = !thought.trim().is_empty() && quiet_ms < QUIET_MS;
    let time_ms = if is_thinking { now.ms_since(step.asked) } else { quiet_ms };
    let what = if is_thinking { "the model thinks".into() } else { format!("waiting for {name}") };
    let below = tail(thought).into_iter().next_back().into_iter().collect();
    Waiting { label: format!("{}{what}", in_front(time_ms)), below }
}

/// A part that a model sums up.
pub(crate) fn summing_up(SummingUp { tokens, since, .. }: SummingUp, now: Timestamp) -> Waiting {
    let label = format!("{}{}", in_front(now.ms_since(since)), room::summing_up(tokens));
    Waiting { label, below: Vec::new() }
}

/// What is said below the last words of an answer that comes, once nothing has come for a while.
pub(crate) fn quiet(Waiting { label, .. }: Waiting, quiet_ms: u64) -> Option<String> {
    (QUIET_MS <= quiet_ms).then_some(label)
}

/// How long it goes on, in front of what does; nothing in the first second.
fn in_front(ms: u64) -> String {
    if ms < 1_000 { String::new() } else { format!("{}: ", lasting(ms)) }
}

/// The last lines that have something on them.
fn tail(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    let mut last: Vec<String> = lines.rev().take(TAIL_LINES_MAX).map(str::to_owned).collect();
    last.reverse();
    last
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> CallView {
        let arguments = r#"{"command":"make"}"#;
        let call = json!({"id": id, "tool": "shell", "arguments": arguments,
            "state": {"is": "running"}, "started": 1_000});
        serde_json::from_value(call).unwrap()
    }

    fn live(tail: &str) -> LiveCall {
        let live = json!({"call": "1.1.0", "tail": tail, "bytes": tail.len()});
        serde_json::from_value(live).unwrap()
    }

    #[test]
    fn a_running_command_shows_its_time_and_its_last_lines() {
        let (one, two) = (call("1.1.0"), call("1.1.1"));
        let check = |running: &[&CallView], tail: &str, at, label: &str, below: &[&str]| {
            let waiting = calls(running, &[live(tail)], Timestamp(at)).unwrap();
            assert_eq!(
                (waiting.label.as_str(), waiting.below),
                (label, below.iter().map(|it| (*it).to_owned()).collect())
            );
        };
        check(&[&one], "", 1_500, "shell: make", &[]);
        check(&[&one], "a\nb\n\nc\nd\n", 13_999, "12 s: shell: make", &["b", "c", "d"]);
        check(&[&one, &two], "half", 126_000, "2 min 5 s: shell: make [and 1 more]", &["half"]);
        let far = json!({"call": "1.1.0", "progress": "half\n✓ done"});
        let far: LiveCall = serde_json::from_value(far).unwrap();
        let waiting = calls(&[&one], &[far], Timestamp(0)).unwrap();
        assert_eq!(waiting.label, "shell: make: half\\n✓ done", "on one line");
        assert_eq!(calls(&[], &[], Timestamp(0)), None);
    }

    fn step() -> StepView {
        let model = json!({"provider": "a", "model": "b"});
        let step = json!({"number": 1, "attempt": 1, "state": "asked", "asked": 0, "model": model});
        serde_json::from_value(step).unwrap()
    }

    #[test]
    fn a_model_is_waited_for_and_its_thoughts_are_short() {
        let label = |since, now| model(&step(), None, (Timestamp(since), Timestamp(now))).label;
        assert_eq!(label(0, 500), "waiting for a/b");
        assert_eq!(label(0, 40_000), "40 s: waiting for a/b");
        assert_eq!(label(30_000, 40_000), "10 s: waiting for a/b", "something came in between");
        let live =
            json!({"turn": 1, "step": 1, "attempt": 1, "reasoning": "First this.\nThen that."});
        let live: LiveStep = serde_json::from_value(live).unwrap();
        let thinks = |since, now| model(&step(), Some(&live), (Timestamp(since), Timestamp(now)));
        let below = vec!["Then that.".to_owned()];
        let waiting = Waiting { label: "3 s: the model thinks".into(), below: below.clone() };
        assert_eq!(thinks(2_000, 3_000), waiting);
        let waiting = Waiting { label: "5 s: waiting for a/b".into(), below };
        assert_eq!(thinks(2_000, 7_000), waiting, "no thought came any more");
    }

    #[test]
    fn an_answer_that_stands_still_says_so_after_a_while() {
        let waiting = |ms| model(&step(), None, (Timestamp(0), Timestamp(ms)));
        assert_eq!(quiet(waiting(2_999), 2_999), None);
        assert_eq!(quiet(waiting(3_000), 3_000).as_deref(), Some("3 s: waiting for a/b"));
    }
}
