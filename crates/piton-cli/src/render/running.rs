//! What is being waited for, and what it prints meanwhile.

use piton_core::id::Timestamp;
use piton_core::summary::input_summary;
use piton_core::view::{CallView, LiveCall, LiveStep};

use super::age::lasting;
use super::visible::visible_name;

/// Most lines that are shown of what a call prints while it runs.
const TAIL_LINES_MAX: usize = 3;

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
    let time = first.started.map(|started| now.ms_since(started)).filter(|ms| 1_000 <= *ms);
    let others = running.len() - 1;
    let more = match others {
        0 => String::new(),
        _ => format!(" [and {others} more]"),
    };
    let time = time.map(|ms| format!("{}: ", lasting(ms))).unwrap_or_default();
    let below = live.map(|live| tail(&live.tail)).unwrap_or_default();
    Some(Waiting { label: format!("{time}{label}{more}"), below })
}

/// A request that was sent.
pub(crate) fn model(live: Option<&LiveStep>, asked: Timestamp, now: Timestamp) -> Waiting {
    let time = Some(now.ms_since(asked)).filter(|ms| 1_000 <= *ms);
    let time = time.map(|ms| format!("{}: ", lasting(ms))).unwrap_or_default();
    let thought = live.map(|live| live.reasoning.as_str()).unwrap_or_default();
    let what = if thought.trim().is_empty() { "waiting for the model" } else { "the model thinks" };
    let below = tail(thought).into_iter().next_back().into_iter().collect();
    Waiting { label: format!("{time}{what}"), below }
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

    #[test]
    fn a_model_is_waited_for_and_its_thoughts_are_short() {
        let waiting = model(None, Timestamp(0), Timestamp(500));
        assert_eq!(waiting.label, "waiting for the model");
        let live =
            json!({"turn": 1, "step": 1, "attempt": 1, "reasoning": "First this.\nThen that."});
        let live: LiveStep = serde_json::from_value(live).unwrap();
        let waiting = model(Some(&live), Timestamp(0), Timestamp(3_000));
        assert_eq!(
            waiting,
            Waiting { label: "3 s: the model thinks".into(), below: vec!["Then that.".into()] }
        );
    }
}
