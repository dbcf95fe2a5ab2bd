//! How a conversation stands, told from its view alone: the same for one of this home and one of a server.

use piton_agent::Agent;
use piton_core::id::ConversationId;
use piton_core::outcome::{Cause, Ending, Failure};
use piton_core::view::{BreakReason, FailureView, StepState, TurnEnd, TurnView, View};

use crate::cmd::query::stage::Stage;
use crate::output::Form;
use crate::render::incomplete::Newest;
use crate::render::lines::Line;
use crate::render::moves::{self, Move};
use crate::report::{Remedies, Report};

/// How the newest turn stands that nobody performs.
pub(super) fn ending(view: &View) -> Ending {
    let Some(turn) = view.turns.last() else { return Ending::Nothing };
    match turn.head.end {
        Some(TurnEnd::Completed) => return Ending::Done,
        Some(end) => return Ending::Closed(end),
        None => {}
    }
    let halt = turn.head.halt.as_ref();
    if halt.is_none() && view.open_questions().next().is_some() {
        return Ending::WaitingForInput;
    }
    let reason = halt.map(|halt| halt.reason);
    let explains = matches!(reason, None | Some(BreakReason::ApiError | BreakReason::Limit));
    let failed = turn.steps().next_back().and_then(|step| step.failure.as_ref());
    let message = halt.map_or_else(|| "the process was lost".into(), |halt| halt.message.clone());
    let cause = Cause { reason, failure: failed.filter(|_| explains).map(failure), message };
    if has_work(turn) { Ending::Incomplete(cause) } else { Ending::Error(cause) }
}

/// Whether a model has answered in a turn.
fn has_work(turn: &TurnView) -> bool {
    turn.steps().any(|step| step.state == StepState::Answered)
}

fn failure(seen: &FailureView) -> Failure {
    Failure {
        class: seen.class,
        message: seen.message.clone(),
        retry_after_ms: None,
        jitter_permille: 0,
        at: seen.at,
        rejected: None,
        outage_ms_max: None,
    }
}

/// Says how the newest turn stands, as a query that performed it would.
pub(super) fn of_turn(view: &View, id: &ConversationId, agent: &Agent) -> Report {
    let turn = Newest::of(view);
    let remedies = view.head.model.as_ref().map(|model| Remedies::of(agent, model));
    let remedies = remedies.map(|it| it.within(view.head.allowance)).unwrap_or_default();
    Report::of_turn(&ending(view), id, turn.as_ref(), &remedies)
        .about(id, view.turns.last())
        .with_all_of(view)
}

/// Shows the newest turn of a conversation that nobody works on, and says how it stands.
pub(super) fn report(
    view: &View,
    id: &ConversationId,
    agent: &Agent,
    stage: &mut Stage<'_>,
) -> Report {
    match (stage.form, view.turns.last()) {
        (Form::Json, turn) => {
            let turn = turn.map(|turn| turn.head.id).unwrap_or_default();
            stage.output.json(&Line::view_of_turn(id.as_str(), turn, view.clone()));
        }
        (Form::Text, Some(turn)) => {
            for happened in moves::of_turn(turn) {
                if let Move::Answered(text) = happened {
                    stage.output.answer(&text);
                    stage.output.end_line();
                }
            }
        }
        (Form::Text, None) => {}
    }
    of_turn(view, id, agent)
}
