//! A whole conversation as text: the complete turns, then the incomplete one.

use std::fmt::Write as _;

use piton_core::command::QueuePlace;
use piton_core::summary::input_summary;
use piton_core::view::{
    CallState, CallView, ItemView, MessagePart, QueuedView, Status, TurnEnd, TurnView, View,
};

use super::tool::{mark, word};
use super::turn;

/// Whether somebody is at work on the conversation while it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Nobody is.
    Still,
    /// A process is.
    Running {
        /// Which one.
        pid: u32,
    },
}

/// The conversation as text.
pub(crate) fn conversation(view: &View, life: Life) -> String {
    let mut text = String::new();
    for turn in view.shown() {
        if !text.is_empty() {
            text.push('\n');
        }
        if turn.head.end.is_none() {
            let state = state(&view.head.status, life);
            line(&mut text, &format!("⏳ Incomplete turn ({state})"));
        }
        items(&mut text, turn, life);
        if let Some(halt) = &turn.head.halt {
            line(&mut text, &format!("[{}]", halt.message));
        }
        if turn.head.end == Some(TurnEnd::Stopped) {
            line(&mut text, "[stopped]");
        }
    }
    waiting(&mut text, &view.queue);
    text
}

/// Messages that wait for a turn of their own.
fn waiting(text: &mut String, queue: &[QueuedView]) {
    for queued in queue {
        if !text.is_empty() {
            text.push('\n');
        }
        line(
            text,
            match queued.place {
                QueuePlace::Steer => "⏳ Waiting message (goes into the open turn)",
                QueuePlace::Next => "⏳ Waiting message",
            },
        );
        message(text, &queued.parts);
    }
}

/// Messages that were left for the process at work, or for the next one, and that none has taken yet.
pub(crate) fn untaken(messages: &[String], life: Life) -> String {
    let mut text = String::new();
    let head = match life {
        Life::Running { pid } => format!("⏳ Message left for process {pid}, not taken yet"),
        Life::Still => "⏳ Message left for the next process, not taken yet".into(),
    };
    for said in messages {
        line(&mut text, &format!("\n{head}"));
        quote(&mut text, said);
    }
    text
}

fn message(text: &mut String, parts: &[MessagePart]) {
    quote(text, &turn::said(parts));
}

fn quote(text: &mut String, said: &str) {
    for said in said.lines() {
        line(text, format!("> {said}").trim_end());
    }
}

fn items(text: &mut String, turn: &TurnView, life: Life) {
    for item in &turn.items {
        match item {
            ItemView::Message(said) => message(text, &said.parts),
            ItemView::Step(step) => {
                let said = turn::text(step);
                if !said.is_empty() {
                    line(text, said.trim_end());
                    if step.partial {
                        line(text, "[the answer broke off here]");
                    }
                }
                for call in &step.calls {
                    line(text, &tool(call, life));
                }
            }
            _ => {}
        }
    }
}

fn state(status: &Status, life: Life) -> String {
    match (life, status) {
        (Life::Running { pid }, _) => format!("running, pid {pid}"),
        (Life::Still, Status::WaitingForInput { .. }) => "waiting for input".into(),
        (Life::Still, Status::PendingTools) => "pending tool execution".into(),
        (Life::Still, Status::PendingFollowUp) => "pending follow-up".into(),
        (Life::Still, Status::PendingAnswer) => "pending LLM response".into(),
        (Life::Still, Status::Idle) => "idle".into(),
    }
}

fn tool(call: &CallView, life: Life) -> String {
    let line = tool_line(call, life);
    match &call.worker {
        Some(worker) => format!("{line} [worker: {worker}]"),
        None => line,
    }
}

fn tool_line(call: &CallView, life: Life) -> String {
    let input = input_summary(&call.tool, &call.arguments);
    if let Some(question) = turn::waiting_question(call) {
        return format!("⏸ {input} — waiting for input: \"{question}\"");
    }
    match (&call.state, life) {
        (CallState::Running, Life::Running { .. }) => format!("… {input} — running"),
        // Whoever ran it is gone, and nobody has looked since.
        (CallState::Running, Life::Still) | (CallState::InDoubt, _) => {
            format!("? {input} — interrupted, outcome unknown")
        }
        (CallState::Done { outcome, exit_code }, _) => {
            let mark = mark(*outcome, *exit_code);
            match exit_code {
                None | Some(0) => format!("{mark} {input} — {}", word(*outcome)),
                Some(code) => format!("{mark} {input} — exit code {code}"),
            }
        }
        _ => format!("… {input} — not started"),
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{line}").unwrap_or_default();
}
