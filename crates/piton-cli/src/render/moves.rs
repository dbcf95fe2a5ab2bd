//! What happens in a conversation, one thing after the other, from the changes of its view.

use piton_core::coordinate::COORDINATOR;
use piton_core::id::{CallId, TurnId};
use piton_core::view::{
    CallState, CallView, Covered, FailureView, ItemView, MessageView, Patch, QuestionView,
    StepState, StepView, TurnHead, TurnView, View, ViewChange,
};

use super::turn::text;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// A turn began.
    TurnBegan(TurnId),
    /// Somebody said something.
    Said(Box<MessageView>),
    /// A request left.
    Asked,
    /// An answer is whole; this is its text.
    Answered(String),
    /// An answer was read as a plan of so many subtasks.
    Planned(usize),
    /// A request failed.
    Failed(Box<FailureView>),
    /// The driver gave up on the turn.
    Broke,
    /// A call was started.
    Started(Box<CallView>),
    /// A call that was started waits for a person.
    Suspended(Box<CallView>),
    /// A call ended.
    Ended(Box<CallView>),
    /// A person is asked.
    Raised(Box<CallView>, Box<QuestionView>),
    /// A question was answered.
    Settled(Box<CallView>, Box<QuestionView>),
    /// A model is summing up, to make room for a request of so many tokens.
    SummingUp(u64),
    /// The older part was summed up.
    SummedUp(Box<Covered>),
    /// So many outputs are sent shortened from here on.
    Shortened(u32),
    /// Reasoning that the provider refused is left out.
    Repaired,
}

/// Moves a view, and says what happened. `None` if the change does not fit the view.
pub(crate) fn apply(view: &mut View, change: &ViewChange) -> Option<Vec<Move>> {
    let mut moves = Vec::new();
    for patch in &change.patches {
        note(view, patch, &mut moves);
    }
    view.apply(change).ok()?;
    Some(moves)
}

/// All that happened in a turn, as far as its view still tells.
pub(crate) fn of_turn(turn: &TurnView) -> Vec<Move> {
    let mut moves = Vec::new();
    for item in &turn.items {
        match item {
            ItemView::Step(new) => step(None, None, new, &mut moves),
            ItemView::Message(new) => moves.push(Move::Said(Box::new(new.clone()))),
            _ => {}
        }
    }
    // A plan is no answer.
    let planned = |item: &ItemView| matches!(item, ItemView::Step(step) if step.planned);
    if turn.items.iter().any(planned) {
        let first = moves.iter().position(|it| matches!(it, Move::Answered(_)));
        first.map(|place| moves.remove(place));
    }
    moves
}

/// What an element that is about to be put into a view says of what happened.
fn note(view: &View, patch: &Patch, moves: &mut Vec<Move>) {
    match patch {
        Patch::Turn { turn } if find(view, turn.head.id).is_none() => {
            moves.push(Move::TurnBegan(turn.head.id));
        }
        Patch::TurnHead { head } => {
            if let Some(known) = find(view, head.id) {
                turn(&known.head, head, moves);
            }
        }
        Patch::Item { turn, place, item } => {
            let known = find(view, *turn);
            match &**item {
                ItemView::Step(new) => {
                    step(known, known.and_then(|turn| step_at(turn, *place)), new, moves);
                }
                ItemView::Message(new) if known.is_none_or(|it| it.items.len() <= *place) => {
                    moves.push(Move::Said(Box::new(new.clone())));
                }
                ItemView::Message(_) | _ => {}
            }
        }
        Patch::Call { place, call: new } => {
            let known = find(view, new.id.turn).and_then(|turn| step_at(turn, *place));
            call(known.and_then(|step| call_of(step, new.id)), new, moves);
        }
        Patch::Covered { covered: Some(covered) } if view.covered.as_ref() != Some(covered) => {
            moves.push(Move::SummedUp(Box::new(covered.clone())));
        }
        Patch::Head { head } if view.head.summing_up != head.summing_up => {
            moves.extend(head.summing_up.map(|it| Move::SummingUp(it.tokens)));
        }
        Patch::Head { .. }
        | Patch::Queue { .. }
        | Patch::Undos { .. }
        | Patch::Covered { .. }
        | Patch::Supersede { .. }
        | Patch::Turn { .. }
        | Patch::Append { .. }
        | _ => {}
    }
}

fn turn(known: &TurnHead, new: &TurnHead, moves: &mut Vec<Move>) {
    if known.halt.is_none() && new.halt.is_some() {
        moves.push(Move::Broke);
    }
    if known.repairs < new.repairs {
        moves.push(Move::Repaired);
    }
    if known.outputs_shortened < new.outputs_shortened {
        moves.push(Move::Shortened(new.outputs_shortened - known.outputs_shortened));
    }
}

fn step(turn: Option<&TurnView>, known: Option<&StepView>, new: &StepView, moves: &mut Vec<Move>) {
    let is_other = |known: &StepView| (known.state, known.attempt) != (new.state, new.attempt);
    if known.is_none_or(is_other) {
        match new.state {
            StepState::Asked => moves.push(Move::Asked),
            StepState::Answered if !turn.is_some_and(is_planning) => {
                moves.push(Move::Answered(text(new)));
            }
            StepState::Failed => {
                moves.extend(new.failure.clone().map(|failure| Move::Failed(Box::new(failure))));
            }
            StepState::Answered | StepState::Pending | _ => {}
        }
    }
    if new.planned && known.is_none_or(|known| !known.planned) {
        moves.push(Move::Planned(new.calls.len()));
    }
    for new in &new.calls {
        call(known.and_then(|step| call_of(step, new.id)), new, moves);
    }
}

fn call(known: Option<&CallView>, new: &CallView, moves: &mut Vec<Move>) {
    let was = known.map_or(&CallState::Waiting, |known| &known.state);
    let boxed = || Box::new(new.clone());
    match (was, &new.state) {
        (CallState::Running, CallState::Running) | (CallState::Done { .. }, _) => {}
        (_, CallState::Running) => moves.push(Move::Started(boxed())),
        (CallState::Running, CallState::Waiting) => moves.push(Move::Suspended(boxed())),
        (_, CallState::Done { .. }) => moves.push(Move::Ended(boxed())),
        _ => {}
    }
    for question in &new.questions {
        let known = known.and_then(|call| call.questions.iter().find(|it| it.id == question.id));
        let asked = || Box::new(question.clone());
        match (known, &question.answer) {
            (None, None) => moves.push(Move::Raised(boxed(), asked())),
            (Some(known), Some(_)) if known.answer.is_none() => {
                moves.push(Move::Settled(boxed(), asked()));
            }
            (Some(_) | None, _) => {}
        }
    }
}

/// Whether what the model says is still to be read as a plan.
pub(crate) fn is_planning(turn: &TurnView) -> bool {
    let is_coordinated = turn.head.agent.as_deref() == Some(COORDINATOR);
    let planned = |item: &ItemView| matches!(item, ItemView::Step(step) if step.planned);
    is_coordinated && !turn.items.iter().any(planned)
}

fn find(view: &View, id: TurnId) -> Option<&TurnView> {
    view.turns.iter().rev().find(|turn| turn.head.id == id)
}

fn step_at(turn: &TurnView, place: usize) -> Option<&StepView> {
    match turn.items.get(place)? {
        ItemView::Step(step) => Some(step),
        ItemView::Message(_) | _ => None,
    }
}

fn call_of(step: &StepView, id: CallId) -> Option<&CallView> {
    step.calls.iter().find(|call| call.id == id)
}
