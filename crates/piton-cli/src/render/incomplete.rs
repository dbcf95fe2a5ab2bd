//! What an incomplete turn waits for, and the commands that deal with it.

use piton_core::event::{BreakReason, InquiryKind};
use piton_core::id::ConversationId;
use piton_core::view::Status;
use piton_core::view::brief::{Incomplete, ItemView, ToolState, ToolView, TurnView};

/// Says what a turn waits for, and why it stopped if somebody said so.
pub(crate) fn waits_for(turn: &TurnView) -> String {
    let Some(Incomplete { status, reason, message }) = &turn.incomplete else {
        return "Complete.".into();
    };
    let waits = match status {
        Status::Idle => "Nothing is open.".into(),
        Status::WaitingForInput { tool } => match asked(turn) {
            Some((tool, question)) => format!("Waiting for input: {tool} — \"{question}\""),
            None => format!("Waiting for input: {tool}"),
        },
        Status::PendingTools => {
            let (done, all) = last_step(turn);
            format!("Interrupted (pending tool execution): {done} of {all} tools finished")
        }
        Status::PendingFollowUp => "Interrupted (pending follow-up)".into(),
        Status::PendingAnswer => "Interrupted (pending LLM response)".into(),
    };
    match reason {
        None | Some(BreakReason::Interrupted) => waits,
        Some(_) => format!("{waits}: {message}"),
    }
}

/// The first open question: the tool that waits and what is asked.
pub(crate) fn asked(turn: &TurnView) -> Option<(&str, &str)> {
    tools(turn).find_map(|tool| match &tool.state {
        ToolState::Asking { question, .. } | ToolState::Parked { question, .. } => {
            Some((tool.name.as_str(), question.as_str()))
        }
        ToolState::Pending | ToolState::Running | ToolState::InDoubt | ToolState::Done { .. } => {
            None
        }
    })
}

/// What the first open question is about.
pub(crate) fn asked_kind(turn: &TurnView) -> Option<InquiryKind> {
    tools(turn).find_map(|tool| match &tool.state {
        ToolState::Asking { kind, .. } => Some(*kind),
        ToolState::Pending
        | ToolState::Running
        | ToolState::InDoubt
        | ToolState::Parked { .. }
        | ToolState::Done { .. } => None,
    })
}

/// Whether nothing but the user's message is there, so that it can still be replaced.
pub(crate) fn is_only_a_message(turn: &TurnView) -> bool {
    turn.items.iter().all(|item| match item {
        ItemView::User { .. } => true,
        ItemView::Assistant { partial, .. } => *partial,
        ItemView::Tool(_) => false,
    })
}

/// The three ways on, with the conversation filled in.
pub(crate) fn commands(conversation: &ConversationId) -> String {
    let ways = [
        (format!("piton query --continue --id {conversation}"), "Resume the incomplete turn."),
        (
            format!("piton query --continue \"TEXT\" --id {conversation}"),
            "Keep the work, add a message.",
        ),
        (
            format!("piton query --discard-turn --id {conversation}"),
            "Discard the turn, keep the conversation.",
        ),
    ];
    let width = ways.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let lines = ways.map(|(command, what)| format!("  {command:width$}   {what}"));
    lines.join("\n")
}

/// Of the last step with calls, how many have ended, and how many there are.
fn last_step(turn: &TurnView) -> (usize, usize) {
    let last = tools(turn).last().map(|tool| tool.call.step);
    let of_step = || tools(turn).filter(|tool| Some(tool.call.step) == last);
    let done = of_step().filter(|tool| matches!(tool.state, ToolState::Done { .. }));
    (done.count(), of_step().count())
}

fn tools(turn: &TurnView) -> impl Iterator<Item = &ToolView> {
    turn.items.iter().filter_map(|item| match item {
        ItemView::Tool(tool) => Some(tool),
        ItemView::User { .. } | ItemView::Assistant { .. } => None,
    })
}
