//! What happens to calls: they start, end, wait elsewhere, and are made of an answer.

use super::{Call, Edit, Ended, Item, Parked, Progress, Started, Turn};
use crate::event::{AnswerPart, Event, FileEdit, Found, Handle, PlannedCall};
use crate::id::{CallId, ConversationId, Timestamp};

/// Only what runs can be left waiting elsewhere.
fn park(turn: &mut Turn, call: CallId, question: &str) -> bool {
    turn.call_mut(call).is_some_and(|call| match &call.progress {
        Progress::Running(started) => {
            let (started, question) = (started.clone(), question.to_owned());
            call.progress = Progress::Parked(Parked { started, question });
            true
        }
        Progress::Waiting | Progress::InDoubt(_) | Progress::Parked(_) | Progress::Done(_) => false,
    })
}

/// Only what runs can become known elsewhere.
fn track(turn: &mut Turn, call: CallId, handle: &Handle) -> bool {
    turn.call_mut(call).is_some_and(|call| match &mut call.progress {
        Progress::Running(started) => {
            started.handle = handle.clone();
            true
        }
        Progress::Waiting | Progress::InDoubt(_) | Progress::Parked(_) | Progress::Done(_) => false,
    })
}

/// Only what does not run is looked at.
fn locate(turn: &mut Turn, call: CallId, found: &Found) -> bool {
    turn.call_mut(call).is_some_and(|call| match &call.progress {
        Progress::Waiting | Progress::InDoubt(_) => {
            call.found = Some(Box::new(found.clone()));
            call.looks += 1;
            true
        }
        Progress::Running(_) | Progress::Parked(_) | Progress::Done(_) => false,
    })
}

/// The last answer becomes one that asks for these calls. Once per turn: a plan is not planned again.
fn plan(turn: &mut Turn, number: u32, calls: &[PlannedCall]) -> bool {
    let (id, planned) = (turn.id, turn.steps().any(|step| step.planned));
    let Some(Item::Step(step)) = turn.items.last_mut() else { return false };
    let names = |call: &PlannedCall| {
        (call.call.turn, call.call.step) == (id, number) && !call.name.is_empty()
    };
    let mut known: Vec<_> = calls.iter().map(|call| call.call).collect();
    known.sort_unstable();
    known.dedup();
    if planned
        || step.number != number
        || !step.is_final()
        || calls.is_empty()
        || known.len() != calls.len()
        || !calls.iter().all(names)
    {
        return false;
    }
    let Some(answer) = &mut step.answer else { return false };
    let mut parts = answer.parts.to_vec();
    for PlannedCall { call, name, arguments } in calls {
        let (call, provider_id, arguments) = (*call, None, arguments.clone());
        parts.push(AnswerPart::Call { call, provider_id, name: name.clone(), arguments });
    }
    answer.parts = parts.into();
    // They know nothing of these calls.
    answer.native = None;
    step.planned = true;
    let new = |it: &PlannedCall| Call::new(it.call, it.name.as_str(), it.arguments.clone());
    step.calls.extend(calls.iter().map(new));
    true
}

/// Takes in what happened to a call; says whether it fits.
pub(super) fn take(turn: &mut Turn, event: &Event, at: Timestamp) -> bool {
    if let Event::ToolStarted { call, effect, handle } = event {
        let started = Started { effect: *effect, handle: handle.clone() };
        advance(turn, *call, Progress::Running(started), at)
    } else if let Event::ToolFinished { call, outcome, output } = event {
        let ended = Ended { outcome: *outcome, output: output.clone() };
        advance(turn, *call, Progress::Done(ended), at)
    } else if let Event::ToolSuspended { call } = event {
        suspend(turn, *call)
    } else if let Event::CallParked { call, question } = event {
        park(turn, *call, question)
    } else if let Event::CallTracked { call, handle } = event {
        track(turn, *call, handle)
    } else if let Event::CallLocated { call, found } = event {
        locate(turn, *call, found)
    } else if let Event::CallsPlanned { step, calls } = event {
        plan(turn, *step, calls)
    } else {
        false
    }
}

/// A call moves on. A finished call never does: the first finish counts.
fn advance(turn: &mut Turn, call: CallId, progress: Progress, at: Timestamp) -> bool {
    turn.call_mut(call).filter(|call| !call.is_done()).is_some_and(|call| {
        if let Progress::Running(started) = &progress {
            call.starts += 1;
            call.started = Some(at);
            call.effect = Some(started.effect);
            if let Handle::Conversation { id } = &started.handle {
                call.worker = Some(ConversationId::new(id.as_str()));
            }
            if let Some(edits) = edits(&started.handle) {
                call.edits = edits;
            }
        } else {
            call.ended = Some(at);
        }
        call.progress = progress;
        true
    })
}

/// The files that a call changes, if it changes any.
fn edits(handle: &Handle) -> Option<Vec<Edit>> {
    match handle {
        Handle::Edit { path, before, after } => {
            let (path, before) = (path.as_str().into(), before.clone());
            Some(vec![Edit { path, before, after: Some(after.clone()) }])
        }
        Handle::Edits { files } => {
            let edit = |file: &FileEdit| {
                let FileEdit { path, before, after } = file.clone();
                Edit { path: path.into(), before, after }
            };
            Some(files.iter().map(edit).collect())
        }
        Handle::None
        | Handle::Job { .. }
        | Handle::Conversation { .. }
        | Handle::Task { .. }
        | Handle::Round { .. }
        | Handle::Origin { .. } => None,
    }
}

/// A call that was started waits again: it asked before it acted.
fn suspend(turn: &mut Turn, call: CallId) -> bool {
    turn.call_mut(call).is_some_and(|call| {
        let started = matches!(call.progress, Progress::Running(_) | Progress::InDoubt(_));
        if started {
            call.progress = Progress::Waiting;
        }
        started
    })
}
