//! A message that is tried again: which one is meant, and what its old attempt has done for good.

use piton_core::id::MessageId;
use piton_core::view::{ItemView, Next, TurnView, View};

use super::asked::Asked;
use super::opened::Opened;
use super::stage::Stage;
use crate::render::attempt::{self, Tried};
use crate::report::Report;

/// What is said where nobody has said anything yet.
const NOTHING: &str = "There is no message to try again.";

/// There is nothing to try again: no conversation, or one without a message that is shown.
pub(super) fn nothing(opened: &Opened) -> Option<Report> {
    newest(&opened.view).is_none().then(|| Report::nothing(NOTHING))
}

/// The message that is meant: the one whose name begins as typed, else the newest one. What is typed and
/// means none, or several, stays as it is: whoever takes the command says so.
pub(super) fn meant(view: &View, asked: &Asked<'_>) -> MessageId {
    let typed = asked.query.retry.as_ref().and_then(Option::as_deref).map(str::trim);
    let Some(typed) = typed else { return newest(view).unwrap_or_else(|| MessageId::new("")) };
    let names: Vec<&MessageId> = view.turns.iter().flat_map(names).collect();
    let mut begun = names.iter().filter(|name| name.as_str().starts_with(typed));
    match (names.iter().find(|name| name.as_str() == typed), begun.next(), begun.next()) {
        (Some(exact), _, _) => (*exact).clone(),
        (None, Some(only), None) => (*only).clone(),
        (None, _, _) => MessageId::new(typed),
    }
}

/// Says what becomes of the old attempt, and which of its effects stay. `shown` is what was there before.
pub(super) fn tell(shown: &View, asked: &Asked<'_>, stage: &mut Stage<'_>) {
    let message = meant(shown, asked);
    let Some(old) = present(shown, &message) else { return };
    let number = old.said.attempt.0;
    let next = number + 1;
    stage.output.talk(&format!(
        "Attempt {next} of message {message}. Attempt {number} is hidden, and kept: piton print --attempts"
    ));
    let effects: Vec<String> = old.effects().map(attempt::effect).collect();
    if effects.is_empty() {
        stage.output.talk(&format!("Attempt {number} has changed nothing."));
        return;
    }
    stage.output.talk(&format!("What attempt {number} did is not undone:"));
    for effect in effects {
        stage.output.talk(&format!("  {effect}"));
    }
}

/// The message that can be tried again, as the view says.
fn newest(view: &View) -> Option<MessageId> {
    view.head.next.iter().find_map(|next| {
        let Next::Retry { message } = next else { return None };
        Some(message.clone())
    })
}

/// The attempt of a message that counts.
fn present<'a>(view: &'a View, message: &MessageId) -> Option<Tried<'a>> {
    view.turns.iter().rev().find_map(|turn| {
        let place = turn.items.iter().position(|item| is_message(item, message))?;
        attempt::attempts(turn, place).pop()
    })
}

fn is_message(item: &ItemView, message: &MessageId) -> bool {
    matches!(item, ItemView::Message(said) if said.id == *message)
}

/// The names of the messages of a turn.
fn names(turn: &TurnView) -> impl Iterator<Item = &MessageId> {
    turn.items.iter().filter_map(|item| match item {
        ItemView::Message(said) => Some(&said.id),
        ItemView::Step(_) | _ => None,
    })
}
