//! What becomes of a step when its model is asked, answers or fails.

use super::failure::Failure;
use super::outage::Outage;
use super::request::LastRequest;
use super::turn::{Answered, Call, Exchange, Item, Step, Streamed, Turn};
use crate::event::{AnswerPart, FailureClass, FinishReason, ModelRef, PartialKind};
use crate::id::{Attempt, Timestamp};

pub(super) fn asked_step(turn: &mut Turn) -> Option<&mut Step> {
    match turn.items.last_mut() {
        Some(Item::Step(step)) if step.exchange == Exchange::Asked => Some(step),
        Some(Item::Step(_) | Item::User(_)) | None => None,
    }
}

pub(super) fn ask(
    turn: &mut Turn,
    (number, attempt): (u32, Attempt),
    model: &ModelRef,
    request: LastRequest,
    at: Timestamp,
) -> bool {
    // Step numbers make call names unique, so a number is never given twice.
    match turn.items.last() {
        // Without a message, and behind a final answer, there is nothing to ask.
        None => return false,
        Some(Item::Step(step)) if step.is_final() => return false,
        Some(Item::Step(step)) if step.answer.is_none() => {
            if step.number != number {
                return false;
            }
        }
        Some(Item::Step(_) | Item::User(_)) => {
            if number <= turn.steps_counted {
                return false;
            }
            turn.items.push(Item::Step(Step::new(number)));
            turn.steps_counted = number;
        }
    }
    if let Some(Item::Step(step)) = turn.items.last_mut() {
        step.attempt = attempt;
        step.model = Some(model.clone());
        step.asked = at;
        step.attempts_used = step.attempts_used.saturating_add(1);
        step.exchange = Exchange::Asked;
        step.request = LastRequest { noted: 0 < step.empties, ..request };
        step.streamed.stale = true;
    }
    true
}

pub(super) fn stream(step: &mut Step, kind: PartialKind, text: &str) -> bool {
    if step.streamed.stale {
        step.streamed = Streamed::default();
    }
    // Content arrived, so the provider lives: the row of failures ends here.
    (step.failures, step.outage) = (0, None);
    match kind {
        PartialKind::Text => step.streamed.text.push_str(text),
        PartialKind::Reasoning => step.streamed.reasoning.push_str(text),
    }
    true
}

pub(super) fn fail(step: &mut Step, failure: Failure) -> bool {
    step.outage = Outage::behind(step.outage, failure.at, failure.outage_ms_max);
    if failure.class == FailureClass::Empty {
        step.empties = step.empties.saturating_add(1);
    } else if step.outage.is_some_and(|outage| outage.lasts_at(failure.at)) {
        // Nobody was asked, so no try was used.
        step.attempts_used = step.attempts_used.saturating_sub(1);
    } else {
        step.failures = step.failures.saturating_add(1);
    }
    let too_large = failure.class == FailureClass::ContextOverflow;
    step.request.too_large = too_large;
    step.overflows = step.overflows.saturating_add(u32::from(too_large));
    step.failure = Some(failure);
    step.exchange = Exchange::Failed;
    true
}

pub(super) fn answer(turn: &mut Turn, answered: Answered) -> bool {
    let (id, usage) = (turn.id, answered.usage);
    let Some(step) = asked_step(turn) else { return false };
    for part in answered.parts.iter() {
        // What a refusal asks for is not done, and a call without a name cannot be.
        if let AnswerPart::Call { call, provider_id, name, arguments } = part
            && answered.finish != FinishReason::Refused
            && !name.is_empty()
            && (call.turn, call.step) == (id, step.number)
            && !step.calls.iter().any(|known| known.id == *call)
        {
            let provider_id = provider_id.as_deref().map(Into::into);
            let new = Call::new(*call, name.as_str(), arguments.clone());
            step.calls.push(Call { provider_id, ..new });
        }
    }
    step.answer = Some(Answered { model: step.model.clone(), ..answered });
    step.exchange = Exchange::Answered;
    (step.failures, step.outage) = (0, None);
    step.failure = None;
    step.streamed = Streamed::default();
    turn.steps_used = turn.steps_used.saturating_add(1);
    turn.spent = turn.spent.plus(usage);
    turn.usage = turn.usage.plus(usage);
    true
}
