//! A whole conversation as text: the complete turns, then the incomplete one.

use std::fmt::Write as _;

use piton_core::command::QueuePlace;
use piton_core::view::brief::{Incomplete, ItemView, ToolState, ToolView, TurnView, View};
use piton_core::view::{MessagePart, QueuedView, Status};

use super::tool::{mark, word};

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
    for turn in &view.turns {
        if !text.is_empty() {
            text.push('\n');
        }
        if let Some(incomplete) = &turn.incomplete {
            line(&mut text, &format!("⏳ Incomplete turn ({})", state(incomplete, life)));
        }
        items(&mut text, turn, life);
        if let Some(Incomplete { reason: Some(_), message, .. }) = &turn.incomplete {
            line(&mut text, &format!("[{message}]"));
        }
        if turn.stopped {
            line(&mut text, "[stopped]");
        }
    }
    text
}

/// Messages that wait for a turn of their own, as text.
pub(crate) fn waiting(queue: &[QueuedView]) -> String {
    let mut text = String::new();
    for queued in queue {
        line(&mut text, "");
        line(
            &mut text,
            match queued.place {
                QueuePlace::Steer => "⏳ Waiting message (goes into the open turn)",
                QueuePlace::Next => "⏳ Waiting message",
            },
        );
        for part in &queued.parts {
            match part {
                MessagePart::Text { text: said } => {
                    said.lines().for_each(|said| line(&mut text, format!("> {said}").trim_end()))
                }
                MessagePart::File { name, .. } | MessagePart::InlinedFile { name, .. } => {
                    line(&mut text, &format!("> [{name}]"));
                }
                _ => {}
            }
        }
    }
    text
}

fn items(text: &mut String, turn: &TurnView, life: Life) {
    for item in &turn.items {
        match item {
            ItemView::User { text: said, .. } => {
                for said in said.lines() {
                    line(text, format!("> {said}").trim_end());
                }
            }
            ItemView::Assistant { text: said, partial } => {
                line(text, said.trim_end());
                if *partial {
                    line(text, "[the answer broke off here]");
                }
            }
            ItemView::Tool(call) => line(text, &tool(call, life)),
        }
    }
}

fn state(incomplete: &Incomplete, life: Life) -> String {
    match (life, &incomplete.status) {
        (Life::Running { pid }, _) => format!("running, pid {pid}"),
        (Life::Still, Status::WaitingForInput { .. }) => "waiting for input".into(),
        (Life::Still, Status::PendingTools) => "pending tool execution".into(),
        (Life::Still, Status::PendingFollowUp) => "pending follow-up".into(),
        (Life::Still, Status::PendingAnswer) => "pending LLM response".into(),
        (Life::Still, Status::Idle) => "idle".into(),
    }
}

fn tool(call: &ToolView, life: Life) -> String {
    let line = tool_line(call, life);
    match &call.worker {
        Some(worker) => format!("{line} [worker: {worker}]"),
        None => line,
    }
}

fn tool_line(call: &ToolView, life: Life) -> String {
    let input = &call.input;
    match (&call.state, life) {
        (ToolState::Pending, _) => format!("… {input} — not started"),
        (ToolState::Running, Life::Running { .. }) => format!("… {input} — running"),
        // Whoever ran it is gone, and nobody has looked since.
        (ToolState::Running, Life::Still) | (ToolState::InDoubt, _) => {
            format!("? {input} — interrupted, outcome unknown")
        }
        (ToolState::Asking { question, .. } | ToolState::Parked { question, .. }, _) => {
            format!("⏸ {input} — waiting for input: \"{question}\"")
        }
        (ToolState::Done { outcome, exit_code }, _) => {
            let mark = mark(*outcome, *exit_code);
            match exit_code {
                None | Some(0) => format!("{mark} {input} — {}", word(*outcome)),
                Some(code) => format!("{mark} {input} — exit code {code}"),
            }
        }
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{line}").unwrap_or_default();
}
