//! What to do next for the calls of a step.
//!
//! Order matters: record what needs no running, ask what needs asking, start what may start, and
//! only then wait. So a question never holds up a sibling, and a sibling never hides a question.

use serde_json::{Map, Value};

use super::permission::{Judged, is_denied, judge, judge_place};
use crate::action::{Action, Verdict};
use crate::event::{
    Choice, EffectClass, Handle, InDoubtPolicy, Inquiry, InquiryAnswer, InquiryKind, Outcome,
};
use crate::id::{ConversationId, InquiryId};
use crate::state::{Call, Progress, Raised, Started, State, Step, Turn};
use crate::summary::input_summary;

/// What the model is told of a call whose outcome nobody knows.
pub const UNKNOWN_TEXT: &str = "The tool was started, then the agent was interrupted; \
     its outcome is unknown, and it may still be running. \
     Before you repeat it, check what it did and that it has ended.";
/// What the model is told of a call that belongs to the conversation that this one was forked from, and
/// that has no end there.
pub const ELSEWHERE_TEXT: &str = "The tool was started before this conversation was forked from another \
     one; its outcome is not known here, and it may still be running there. \
     Before you repeat it, check what it did and that it has ended.";
/// What the model is told of a call in doubt that a person takes for done.
pub const CONFIRMED_TEXT: &str = "The user confirmed that this call took effect.";
/// What the model is told of a call that gave way to a new message.
pub const NOT_RUN_TEXT: &str = "Not run: the user sent a new message instead.";

/// What the model is told of a call that only read, was lost, and gave way to a new message.
pub const LOST_READ_TEXT: &str =
    "Interrupted; its output is lost and it changed nothing. The user sent a new message instead.";

/// What one call needs.
enum Need {
    Finish(Outcome, String),
    Raise(Inquiry),
    Locate,
    Run,
    Settle,
    Running,
    Person,
}

/// The next action for the calls of `step`, or `None` when all have ended.
pub(super) fn next_for_calls(
    state: &State,
    turn: &Turn,
    step: &Step,
    injected: bool,
) -> Option<Action> {
    let mut verdicts = Vec::new();
    let mut inquiries = Vec::new();
    let (mut locate, mut run, mut settle) = (Vec::new(), Vec::new(), Vec::new());
    let (mut running, mut person) = (false, false);
    let mut editing = step.calls.iter().any(is_editing);
    for call in step.calls.iter().filter(|call| !call.is_done()) {
        match need(state, turn, call, injected) {
            Need::Finish(outcome, text) => verdicts.push(Verdict { call: call.id, outcome, text }),
            Need::Raise(inquiry) => inquiries.push(inquiry),
            Need::Locate => locate.push(call.id),
            // Edits of one answer run one after the other, each prepared after the one before it
            // ended: two edits of one file must not be digested against the same content.
            Need::Run if edits(state, call) && editing => running = true,
            Need::Run => {
                editing |= edits(state, call);
                run.push(call.id);
            }
            Need::Settle => settle.push(call.id),
            Need::Running => running = true,
            Need::Person => person = true,
        }
    }
    if !verdicts.is_empty() {
        Some(Action::Finish(verdicts))
    } else if !locate.is_empty() {
        Some(Action::Locate(locate))
    } else if !inquiries.is_empty() {
        Some(Action::Raise(inquiries))
    } else if !settle.is_empty() {
        Some(Action::Settle(settle))
    } else if !run.is_empty() {
        Some(Action::RunTools(run))
    } else if running {
        Some(Action::Await)
    } else {
        person.then_some(Action::WaitForPerson)
    }
}

fn is_editing(call: &Call) -> bool {
    matches!(&call.progress, Progress::Running(started) if started.effect == EffectClass::Digested)
}

fn edits(state: &State, call: &Call) -> bool {
    state.config.tool(&call.name).is_some_and(|tool| tool.effect == EffectClass::Digested)
}

fn need(state: &State, turn: &Turn, call: &Call, injected: bool) -> Need {
    match &call.progress {
        Progress::Waiting if injected => Need::Finish(Outcome::Cancelled, NOT_RUN_TEXT.into()),
        Progress::Waiting => need_before_start(state, turn, call),
        Progress::InDoubt(Started { handle: Handle::Origin { .. }, .. }) => {
            need_elsewhere(state, turn, call)
        }
        Progress::InDoubt(Started { effect: EffectClass::ReadOnly, .. }) if injected => {
            Need::Finish(Outcome::Cancelled, LOST_READ_TEXT.into())
        }
        Progress::InDoubt(started) => {
            let need = need_in_doubt(state, turn, call, started);
            let judged = judge_place(state, turn, call).filter(|_| matches!(need, Need::Run));
            judged.map_or(need, |judged| need_of(judged, turn, call))
        }
        Progress::Parked(_) => Need::Person,
        Progress::Running(_) | Progress::Done(_) => Need::Running,
    }
}

fn need_before_start(state: &State, turn: &Turn, call: &Call) -> Need {
    if let Err(error) = serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        let text = format!(
            "The arguments are not a JSON object ({error}). The tool was not run. \
             Call it again with valid arguments."
        );
        return Need::Finish(Outcome::Failed, text);
    }
    let Some(tool) = state.config.tool(&call.name) else {
        let names: Vec<_> = state.config.tools.iter().map(|tool| tool.name.as_str()).collect();
        let text = format!("There is no tool {}. Available: {}.", call.name, names.join(", "));
        return Need::Finish(Outcome::Failed, text);
    };
    need_of(judge(state, turn, call, tool), turn, call)
}

fn need_of(judged: Judged, turn: &Turn, call: &Call) -> Need {
    match judged {
        Judged::Run => run_unless_asking(turn, call),
        Judged::Finish(outcome, text) => Need::Finish(outcome, text),
        Judged::Raise(inquiry) => Need::Raise(inquiry),
        Judged::Asked => Need::Person,
        Judged::Locate => Need::Locate,
    }
}

/// A call that asked before it acted runs again when all its questions are answered.
fn run_unless_asking(turn: &Turn, call: &Call) -> Need {
    let asks = turn.questions(call.id).any(|raised| raised.answer.is_none());
    if asks { Need::Person } else { Need::Run }
}

/// No path leads from here to a second run without a class that allows it, a digest (`Settle`), or
/// a recorded decision.
fn need_in_doubt(state: &State, turn: &Turn, call: &Call, started: &Started) -> Need {
    // An answer is good for one start: a call that was run again and lost again is asked about again.
    match turn.raised(&doubt_id(call)) {
        Some(Raised { answer: Some(answer), .. }) => decided(answer),
        Some(Raised { answer: None, .. }) => match state.config.in_doubt {
            InDoubtPolicy::Ask => Need::Person,
            InDoubtPolicy::TellModel => Need::Finish(Outcome::Unknown, UNKNOWN_TEXT.into()),
        },
        // To go on with a round is to send something; to look after a task is not.
        None if matches!(started.handle, Handle::Round { .. }) && is_denied(state, call) => {
            Need::Finish(Outcome::Unknown, UNKNOWN_TEXT.into())
        }
        // Whoever has the work knows more than its class.
        None if started.handle.is_elsewhere() => Need::Settle,
        None => match started.effect {
            // It may still be running: it is looked for before it is run a second time.
            EffectClass::ReadOnly | EffectClass::Idempotent
                if matches!(started.handle, Handle::Job { .. }) =>
            {
                Need::Settle
            }
            // Permission may have been withdrawn since it was started.
            EffectClass::ReadOnly | EffectClass::Idempotent if is_denied(state, call) => {
                Need::Finish(Outcome::Unknown, UNKNOWN_TEXT.into())
            }
            EffectClass::ReadOnly | EffectClass::Idempotent => Need::Run,
            EffectClass::Digested | EffectClass::Supervised | EffectClass::Child => Need::Settle,
            EffectClass::Once => match state.config.in_doubt {
                InDoubtPolicy::Ask => Need::Raise(doubt(call)),
                InDoubtPolicy::TellModel => Need::Finish(Outcome::Unknown, UNKNOWN_TEXT.into()),
            },
        },
    }
}

/// A call of the conversation that this one was forked from. Whatever its class and whatever is answered,
/// no path leads from here to a run.
fn need_elsewhere(state: &State, turn: &Turn, call: &Call) -> Need {
    match turn.inquiry(call.id, InquiryKind::InDoubt) {
        None => Need::Settle,
        Some(Raised { answer: None, .. }) => match state.config.in_doubt {
            InDoubtPolicy::Ask => Need::Person,
            InDoubtPolicy::TellModel => Need::Finish(Outcome::Unknown, ELSEWHERE_TEXT.into()),
        },
        Some(Raised { answer: Some(answer), .. }) => match decided(answer) {
            Need::Finish(Outcome::Unknown, _) => {
                Need::Finish(Outcome::Unknown, ELSEWHERE_TEXT.into())
            }
            finish @ Need::Finish(..) => finish,
            Need::Raise(_)
            | Need::Locate
            | Need::Run
            | Need::Settle
            | Need::Running
            | Need::Person => Need::Settle,
        },
    }
}

fn decided(answer: &InquiryAnswer) -> Need {
    match answer {
        InquiryAnswer::RunAgain | InquiryAnswer::Allow => Need::Run,
        InquiryAnswer::LookAgain => Need::Settle,
        InquiryAnswer::TreatAsDone => Need::Finish(Outcome::Ok, CONFIRMED_TEXT.into()),
        InquiryAnswer::Text { text } => Need::Finish(Outcome::Ok, text.to_string()),
        InquiryAnswer::Deny { .. }
        | InquiryAnswer::Changed { .. }
        | InquiryAnswer::Applied
        | InquiryAnswer::Redacted
        | InquiryAnswer::Cancelled { .. } => Need::Finish(Outcome::Unknown, UNKNOWN_TEXT.into()),
    }
}

/// The question about a call whose outcome cannot be settled by itself.
pub fn doubt(call: &Call) -> Inquiry {
    Inquiry {
        id: doubt_id(call),
        kind: InquiryKind::InDoubt,
        call: call.id,
        question: format!(
            "{} was started, then the agent was interrupted. It may still be running. \
             Did it take effect?",
            input_summary(&call.name, &call.arguments)
        ),
        choices: vec![Choice::RunAgain, Choice::TreatAsDone, Choice::GiveResult],
        wants: None,
        about: None,
    }
}

/// The question about a call that has no end yet in the conversation that it belongs to.
pub fn doubt_elsewhere(turn: &Turn, call: &Call, conversation: &ConversationId) -> Inquiry {
    let about = |raised: &&Raised| {
        raised.inquiry.call == call.id && raised.inquiry.kind == InquiryKind::InDoubt
    };
    // Whoever looks again is asked again, under another name.
    let asked = u32::try_from(turn.inquiries.iter().filter(about).count()).unwrap_or(u32::MAX);
    let number = call.starts.saturating_add(asked);
    Inquiry {
        id: InquiryId::new(format!("{}.in-doubt.{number}", call.id)),
        question: format!(
            "{} was started in conversation {conversation}, before this one was forked from it. \
             It has not ended there, and is not run here. What did it give?",
            input_summary(&call.name, &call.arguments)
        ),
        choices: vec![Choice::LookAgain, Choice::TreatAsDone, Choice::GiveResult],
        ..doubt(call)
    }
}

fn doubt_id(call: &Call) -> InquiryId {
    InquiryId::new(format!("{}.in-doubt.{}", call.id, call.starts))
}
