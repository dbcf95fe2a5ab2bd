//! Which facts a log tells of: failed requests and what becomes of them, retries, turns that broke.
//!
//! The journal has all of it and more. A log is for whoever asks later what went wrong in a day, and
//! for programs that look on. Nothing here decides anything, and nothing waits for a log.

use piton_core::event::{Event, TurnEnd, UserPart};
use piton_core::id::{ConversationId, TurnId};
use piton_core::retry::{next_try, wait_in_words};
use piton_core::state::{Said, State, Step, Turn};

/// Notes a fact that the state has taken in.
pub(crate) fn note(conversation: &ConversationId, event: &Event, state: &State) {
    if let Event::ModelFailed { .. } = event {
        failed(conversation, state);
    } else if let Event::MessageRetried { .. } = event {
        retried(conversation, state);
    } else if let Event::TurnBroke { turn, reason, message } = event {
        tracing::warn!(%conversation, turn = turn.0, ?reason, why = message, "the turn broke off");
    } else if let Event::TurnStarted { turn, .. } = event {
        tracing::info!(%conversation, turn = turn.0, "a turn began");
    } else if let Event::TurnEnded { turn, end } = event {
        ended(conversation, *turn, *end, state);
    } else if let Event::ModelAsked { step, attempt, model, .. } = event {
        tracing::debug!(%conversation, step, attempt = attempt.0, %model, "a request leaves");
    } else if let Event::ToolStarted { call, effect, .. } = event {
        tracing::debug!(%conversation, %call, ?effect, "a call starts");
    } else if let Event::ToolFinished { call, outcome, .. } = event {
        tracing::debug!(%conversation, %call, ?outcome, "a call has ended");
    }
}

// C26: who was asked, why it failed, and when it is asked again.
fn failed(conversation: &ConversationId, state: &State) {
    let Some((turn, step)) = newest_step(state) else { return };
    let Some(failure) = &step.failure else { return };
    let (turn, step_number, tries) = (turn.id, step.number, step.attempts_used);
    let model = step.model.as_ref().map(ToString::to_string).unwrap_or_default();
    let (class, reason) = (failure.class, failure.message.as_str());
    let Some(next) = next_try(step, &state.config.limits) else {
        tracing::warn!(
            %conversation, turn = turn.0, step = step_number, model, tries, ?class, reason,
            "the request failed, and is not sent again"
        );
        return;
    };
    let wait = wait_in_words(next.ms_since(failure.at));
    tracing::warn!(
        %conversation, turn = turn.0, step = step_number, model, tries, wait, ?class, reason,
        "the request failed, and is sent again"
    );
}

// C26: which message a person tries again, and what goes along.
fn retried(conversation: &ConversationId, state: &State) {
    let Some(turn) = state.open_turn() else { return };
    let Some(Said { message, parts, attempt, .. }) = turn.said().last() else { return };
    let files = parts.iter().filter(|part| !matches!(part, UserPart::Text { .. })).count();
    let hidden = turn.superseded.len();
    let model = state.config.model.as_ref().map(ToString::to_string).unwrap_or_default();
    tracing::warn!(
        %conversation, turn = turn.id.0, message_id = %message, attempt = attempt.0, model, files, hidden,
        "a message is tried again"
    );
}

// C26: how the new attempt of a message came out; one that broke off is noted as that.
fn ended(conversation: &ConversationId, turn: TurnId, end: TurnEnd, state: &State) {
    let tried = state.turns.last().filter(|it| it.id == turn && !it.attempts.is_empty());
    match tried.and_then(|turn| turn.said().last()) {
        None => tracing::info!(%conversation, turn = turn.0, ?end, "the turn is over"),
        Some(Said { message, attempt, .. }) => tracing::warn!(
            %conversation, turn = turn.0, message_id = %message, attempt = attempt.0, ?end,
            "the turn of a message that was tried again is over"
        ),
    }
}

fn newest_step(state: &State) -> Option<(&Turn, &Step)> {
    let turn = state.open_turn()?;
    Some((turn, turn.steps().next_back()?))
}
