//! What to do next for the calls of a step.
//!
//! Order matters: record what needs no running, ask what needs asking, start what may start, and
//! only then wait. So a question never holds up a sibling, and a sibling never hides a question.

use serde_json::{Map, Value};

use crate::action::{Action, Verdict};
use crate::event::{
    BY_POLICY, Choice, EffectClass, Handle, InDoubtPolicy, Inquiry, InquiryAnswer, InquiryKind,
    Outcome, PermissionRule, RuleEffect, RuleScope, ToolSpec,
};
use crate::id::InquiryId;
use crate::permit::{Standing, always, forbidding, permit};
use crate::state::{Call, Progress, Raised, Started, State, Step, Turn};
use crate::summary::{input_summary, permission_question};

/// What the model is told of a call whose outcome nobody knows.
pub const UNKNOWN_TEXT: &str = "The tool was started, then the agent was interrupted; \
     its outcome is unknown, and it may still be running. \
     Before you repeat it, check what it did and that it has ended.";
/// What the model is told of a call in doubt that a person takes for done.
pub const CONFIRMED_TEXT: &str = "The user confirmed that this call took effect.";
/// What the model is told of a call that a person refused.
pub const DENIED_TEXT: &str = "Tool execution denied by user.";
/// What the model is told of a call that nobody was there to allow.
pub const DENIED_BY_POLICY_TEXT: &str = "Not run: this call needs permission, nobody is there to \
     give it, and the settings refuse what nobody allows.";
/// What the model is told of a call that a person did by hand.
pub const APPLIED_TEXT: &str = "The user applied this change by hand; the tool was not run. \
     Look at what is there before you rely on it.";
/// What the model is told of a call that gave way to a new message.
pub const NOT_RUN_TEXT: &str = "Not run: the user sent a new message instead.";

/// What the model is told of a call that only read, was lost, and gave way to a new message.
pub const LOST_READ_TEXT: &str =
    "Interrupted; its output is lost and it changed nothing. The user sent a new message instead.";

/// What one call needs.
enum Need {
    Finish(Outcome, String),
    Raise(Inquiry),
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
    let (mut run, mut settle) = (Vec::new(), Vec::new());
    let (mut running, mut person) = (false, false);
    let mut editing = step.calls.iter().any(is_editing);
    for call in step.calls.iter().filter(|call| !call.is_done()) {
        match need(state, turn, call, injected) {
            Need::Finish(outcome, text) => verdicts.push(Verdict { call: call.id, outcome, text }),
            Need::Raise(inquiry) => inquiries.push(inquiry),
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
        Progress::InDoubt(Started { effect: EffectClass::ReadOnly, .. }) if injected => {
            Need::Finish(Outcome::Cancelled, LOST_READ_TEXT.into())
        }
        Progress::InDoubt(started) => need_in_doubt(state, turn, call, started),
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
    let asked = turn.inquiry(call.id, InquiryKind::Permission);
    match asked.and_then(|raised| raised.answer.as_ref()) {
        Some(InquiryAnswer::Allow | InquiryAnswer::RunAgain) => {
            return run_unless_asking(turn, call);
        }
        Some(InquiryAnswer::Deny) => {
            let by_policy = asked.is_some_and(|raised| raised.by.as_deref() == Some(BY_POLICY));
            let text = if by_policy { DENIED_BY_POLICY_TEXT } else { DENIED_TEXT };
            return Need::Finish(Outcome::Denied, text.into());
        }
        Some(InquiryAnswer::Applied) => return Need::Finish(Outcome::Ok, APPLIED_TEXT.into()),
        Some(
            InquiryAnswer::TreatAsDone
            | InquiryAnswer::Text { .. }
            | InquiryAnswer::Redacted
            | InquiryAnswer::Cancelled { .. },
        )
        | None => {}
    }
    match permit(&state.config.permissions, state.workspace(), tool, &call.arguments) {
        RuleEffect::Allow => run_unless_asking(turn, call),
        RuleEffect::Deny => Need::Finish(Outcome::Denied, denied_by_rule(state, call, tool)),
        RuleEffect::Ask if asked.is_some() => Need::Person,
        RuleEffect::Ask => Need::Raise(permission(state, call, tool)),
    }
}

/// A call that asked before it acted runs again when all its questions are answered.
fn run_unless_asking(turn: &Turn, call: &Call) -> Need {
    let asks = turn.questions(call.id).any(|raised| raised.answer.is_none());
    if asks { Need::Person } else { Need::Run }
}

/// Who refused: a rule, or the mode of a conversation that only reads. Not a person.
fn denied_by_rule(state: &State, call: &Call, tool: &ToolSpec) -> String {
    let name = &tool.name;
    match forbidding(&state.config.permissions, state.workspace(), tool, &call.arguments) {
        Some(PermissionRule { command: Some(command), .. }) => {
            format!("A permission rule forbids {name} `{command}`; nobody was asked.")
        }
        Some(PermissionRule { path: Some(path), .. }) => {
            format!("A permission rule forbids {name} on {path}; nobody was asked.")
        }
        Some(_) => format!("A permission rule forbids this call of {name}; nobody was asked."),
        None => format!("This conversation may only read, so {name} is not run; nobody was asked."),
    }
}

fn permission(state: &State, call: &Call, tool: &ToolSpec) -> Inquiry {
    let permissions = &state.config.permissions;
    let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Conversation };
    let mut choices = vec![Choice::Allow, Choice::Deny];
    if always(permissions, state.workspace(), tool, &call.arguments, standing).is_some() {
        choices.insert(1, Choice::AllowAlways);
    }
    Inquiry {
        id: InquiryId::new(format!("{}.permission.1", call.id)),
        kind: InquiryKind::Permission,
        call: call.id,
        question: permission_question(&call.name, &call.arguments),
        choices,
        wants: None,
    }
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

/// Whether the rules in force forbid the call, whatever they said when it was started.
pub fn is_denied(state: &State, call: &Call) -> bool {
    let tool = state.config.tool(&call.name);
    let permissions = &state.config.permissions;
    tool.is_some_and(|tool| {
        permit(permissions, state.workspace(), tool, &call.arguments) == RuleEffect::Deny
    })
}

fn decided(answer: &InquiryAnswer) -> Need {
    match answer {
        InquiryAnswer::RunAgain | InquiryAnswer::Allow => Need::Run,
        InquiryAnswer::TreatAsDone => Need::Finish(Outcome::Ok, CONFIRMED_TEXT.into()),
        InquiryAnswer::Text { text } => Need::Finish(Outcome::Ok, text.to_string()),
        InquiryAnswer::Deny
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
    }
}

fn doubt_id(call: &Call) -> InquiryId {
    InquiryId::new(format!("{}.in-doubt.{}", call.id, call.starts))
}
