//! A message that is tried again: which one is meant, and what its old attempt has done for good.

use std::time::Duration;

use piton::ForkAt;
use piton_agent::Settings;
use piton_core::id::{ConversationId, MessageId};
use piton_core::view::{ItemView, Next, TurnEnd, View};

use super::asked::Asked;
use super::opened::{Life, Opened};
use super::stage::Stage;
use crate::cmd::{fork, place};
use crate::output::Output;
use crate::render::attempt::{self, Tried};
use crate::report::{Fault, Report};

/// There is nothing to try again in this conversation: no message is shown. Fails if there is none.
pub(super) fn nothing(opened: &Opened, settings: &Settings) -> Result<Option<Report>, Fault> {
    if opened.life != Life::Known {
        return Err(Fault::NoConversation { aside: settings.set_aside() });
    }
    let id = opened.conversation.id();
    Ok(newest(&opened.view).is_none().then(|| nothing_in(id, &opened.view)))
}

/// No message is shown that could be tried again. Whoever goes on behind a retry must not take that for one.
fn nothing_in(id: &ConversationId, view: &View) -> Report {
    let last = view.turns.last().and_then(|turn| turn.head.end);
    if last == Some(TurnEnd::Discarded) {
        let why = "error: there is no message to try again: the last turn is discarded";
        let hint = format!("{why}\nhint: to see what was said: piton print --attempts {id}");
        return Report::misuse(&hint);
    }
    Report::misuse("error: there is no message to try again: nothing was said in this conversation")
}

/// Forks a conversation behind a message, so that the message is answered anew there. If there is no
/// message, the report says so.
pub(super) async fn fork(
    typed: Option<&str>,
    id: Option<&str>,
    settings: &Settings,
    output: &mut Output,
) -> Result<Result<ConversationId, Report>, Fault> {
    let (engine, id) = fork::find(id, settings, output).await?;
    let view = engine.view(&id).await?;
    let message = typed.map(|typed| place::message(&view, typed)).or_else(|| newest(&view));
    let made = match message {
        Some(message) => Some(fork::make(&engine, &id, &ForkAt::Behind(message), None).await),
        None => None,
    };
    engine.shutdown(Duration::ZERO).await;
    let Some(fork::Made { conversation, told, .. }) = made.transpose()? else {
        return Ok(Err(nothing_in(&id, &view)));
    };
    output.talk(&told);
    Ok(Ok(conversation))
}

/// The message that is meant: the one whose name begins as typed, else the newest one. What is typed and
/// means none, or several, stays as it is: whoever takes the command says so.
pub(super) fn meant(view: &View, asked: &Asked<'_>) -> MessageId {
    let typed = asked.query.retry.as_ref().and_then(Option::as_deref).map(str::trim);
    let Some(typed) = typed else { return newest(view).unwrap_or_else(|| MessageId::new("")) };
    place::message(view, typed)
}

/// Says what becomes of the old attempt, and which of its effects stay. `shown` is what was there before.
pub(super) fn tell(shown: &View, asked: &Asked<'_>, stage: &mut Stage<'_>) {
    let message = meant(shown, asked);
    let tried = tried(shown, &message);
    let Some(old) = tried.last() else { return };
    let number = old.said.attempt.0;
    let next = number + 1;
    let of_old = if old.items.is_empty() {
        format!("Attempt {number} had not begun.")
    } else {
        format!("Attempt {number} is hidden, and kept: piton print --attempts")
    };
    stage.output.talk(&format!("Attempt {next} of message {message}. {of_old}"));
    let mut has_effects = false;
    for attempt in &tried {
        let effects: Vec<String> = attempt.effects().map(attempt::effect).collect();
        if effects.is_empty() {
            continue;
        }
        has_effects = true;
        stage.output.talk(&format!("What attempt {} did is not undone:", attempt.said.attempt.0));
        for effect in effects {
            stage.output.talk(&format!("  {effect}"));
        }
    }
    match (has_effects, old.items.is_empty(), tried.len()) {
        (true, _, _) | (false, true, 1) => {}
        (false, _, 1) => stage.output.talk(&format!("Attempt {number} has changed nothing.")),
        (false, _, _) => stage.output.talk("No attempt has changed anything."),
    }
}

/// The message that can be tried again, as the view says.
pub(super) fn newest(view: &View) -> Option<MessageId> {
    view.head.next.iter().find_map(|next| {
        let Next::Retry { message } = next else { return None };
        Some(message.clone())
    })
}

/// The attempts of a message, the one that counts last.
fn tried<'a>(view: &'a View, message: &MessageId) -> Vec<Tried<'a>> {
    let found = view.turns.iter().rev().find_map(|turn| {
        let place = turn.items.iter().position(|item| is_message(item, message))?;
        Some(attempt::attempts(turn, place))
    });
    found.unwrap_or_default()
}

fn is_message(item: &ItemView, message: &MessageId) -> bool {
    matches!(item, ItemView::Message(said) if said.id == *message)
}
