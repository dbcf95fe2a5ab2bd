//! What an incomplete turn waits for, and the commands that deal with it.

use piton_core::id::ConversationId;
use piton_core::summary::shorten;
use piton_core::view::{
    BreakReason, CallState, InquiryKind, ItemView, PermissionMode, Status, TurnView, View,
};

use super::turn::{self, waiting_question};

/// Longest text that is shown of a message that was added, in letters.
const ADDED_LETTERS_MAX: usize = 40;

/// The newest turn of a conversation, and what it waits for.
#[derive(Clone, Debug)]
pub(crate) struct Newest {
    status: Status,
    turn: TurnView,
    mode: PermissionMode,
}

impl Newest {
    /// None if there is no turn.
    pub(crate) fn of(view: &View) -> Option<Self> {
        let turn = view.turns.last()?.clone();
        Some(Self { status: view.head.status.clone(), turn, mode: view.head.mode })
    }

    /// What may run without asking.
    pub(crate) fn mode(&self) -> PermissionMode {
        self.mode
    }

    /// The turn itself.
    pub(crate) fn turn(&self) -> &TurnView {
        &self.turn
    }
}

/// Says what a turn waits for, and why it stopped if somebody said so.
pub(crate) fn waits_for(newest: &Newest) -> String {
    if newest.turn.head.end.is_some() {
        return "Complete.".into();
    }
    let waits = match &newest.status {
        Status::Idle => "Nothing is open.".into(),
        Status::WaitingForInput { tool } => match asked(newest) {
            Some((tool, question)) => format!("Waiting for input: {tool} — \"{question}\""),
            None => format!("Waiting for input: {tool}"),
        },
        Status::PendingTools => {
            let (done, all) = last_step(newest);
            format!("Interrupted (pending tool execution): {done} of {all} tools finished")
        }
        Status::PendingFollowUp => "Interrupted (pending follow-up)".into(),
        Status::PendingAnswer => "Interrupted (pending LLM response)".into(),
    };
    match &newest.turn.head.halt {
        Some(halt) if halt.reason != BreakReason::Interrupted => {
            format!("{waits}: {}", halt.message)
        }
        Some(_) | None => waits,
    }
}

/// What becomes of the open question of a turn that gets a message instead of an answer.
pub(crate) fn left_open(newest: &Newest) -> Option<String> {
    let is_asked = matches!(newest.status, Status::WaitingForInput { .. });
    let (tool, question) = asked(newest).filter(|_| is_asked)?;
    Some(format!("{tool} gets no answer to \"{question}\"."))
}

/// The first open question: the tool that waits and what is asked.
pub(crate) fn asked(newest: &Newest) -> Option<(&str, &str)> {
    newest.turn.calls().find_map(|call| Some((&*call.tool, waiting_question(call)?)))
}

/// What the first open question is about.
pub(crate) fn asked_kind(newest: &Newest) -> Option<InquiryKind> {
    let mut questions = newest.turn.calls().flat_map(|call| &call.questions);
    questions.find(|question| question.open).map(|question| question.kind)
}

/// Whether nothing but the user's message is there, so that it can still be replaced.
pub(crate) fn is_only_a_message(newest: &Newest) -> bool {
    newest
        .turn
        .steps()
        .all(|step| step.calls.is_empty() && (step.partial || turn::text(step).is_empty()))
}

/// Whether the last thing in a turn is an answer that ended, and yet not the turn: going on finishes it.
pub(crate) fn is_cut_off(newest: &Newest) -> bool {
    match newest.turn.items.last() {
        Some(ItemView::Step(step)) => step.usage.is_some() && step.calls.is_empty(),
        Some(ItemView::Message(_) | _) | None => false,
    }
}

/// What the last message of a turn says, if it was added to the turn.
pub(crate) fn added(newest: &Newest) -> Option<String> {
    let mut said = newest.turn.items.iter().filter_map(|item| match item {
        ItemView::Message(message) => Some(turn::said(&message.parts)),
        ItemView::Step(_) | _ => None,
    });
    said.next()?;
    let last = said.next_back()?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!("\"{}\"", shorten(&last, ADDED_LETTERS_MAX)))
}

/// The ways on, with the conversation filled in.
pub(crate) fn commands(conversation: &ConversationId) -> String {
    let ways = [
        (format!("piton query --continue --id {conversation}"), "Resume the incomplete turn."),
        (
            format!("piton query --continue \"TEXT\" --id {conversation}"),
            "Keep the work, add a message.",
        ),
        (format!("piton retry --id {conversation}"), "Try the message again, from scratch."),
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
fn last_step(newest: &Newest) -> (usize, usize) {
    let step = newest.turn.steps().rev().find(|step| !step.calls.is_empty());
    let calls = step.map_or(&[][..], |step| &step.calls);
    let done = calls.iter().filter(|call| matches!(call.state, CallState::Done { .. }));
    (done.count(), calls.len())
}
