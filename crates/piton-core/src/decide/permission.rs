//! Whether a call may run: by its arguments, by where they really lead, and by what a person says.
//!
//! The only place that decides this. What only looking at the world can tell is recorded by the driver
//! and judged here.

use serde_json::{Map, Value};

use crate::event::{
    About, BY_POLICY, Choice, Found, HookVerdict, Inquiry, InquiryAnswer, InquiryKind, Outcome,
    PermissionMode, PermissionRule, RuleEffect, RuleScope, ToolSpec,
};
use crate::id::InquiryId;
use crate::permit::grants::wants_more;
use crate::permit::path::within_any;
use crate::permit::{
    Standing, always, forbidding, is_hooked, needs_real_path, permit, place_argument,
    works_on_paths,
};
use crate::state::{Call, Raised, State, Turn};
use crate::summary::{bounded_arguments, call_heading};

/// What the model is told of a call that a person refused.
pub const DENIED_TEXT: &str = "Tool execution denied by user.";
/// What the model is told of a call that nobody was there to allow.
pub const DENIED_BY_POLICY_TEXT: &str = "Not run: this call needs permission, nobody is there to \
     give it, and the settings refuse what nobody allows.";
/// What the model is told of a call that asks for more than its rules open, where nobody is.
pub const NOT_OPENED_TEXT: &str = "Not run: this call asks for openings in the sandbox that no rule and no setting \
     gives, and nobody is there to allow them. Do without them, or tell the user what is needed and why.";
/// What the model is told of a call that a person did by hand.
pub const APPLIED_TEXT: &str = "The user applied this change by hand; the tool was not run. \
     Look at what is there before you rely on it.";
/// What the model is told of a call that leads elsewhere each time it is looked at.
const RESTLESS_TEXT: &str = "Not run: the path of this call led to another file each time it was \
     looked at. Name a path without links.";

/// How often a call may be looked at. Only links that change all the time come near this.
const LOOKS_MAX: u32 = 16;

/// What is decided about a call that wants to run.
pub(super) enum Judged {
    /// It may run.
    Run,
    /// It ends here, and the model is told this.
    Finish(Outcome, String),
    /// A person is asked.
    Raise(Inquiry),
    /// A person was asked and has not answered.
    Asked,
    /// It is looked at before a person is asked.
    Locate,
}

/// Judges a call that has not started.
pub(super) fn judge(state: &State, turn: &Turn, call: &Call, tool: &ToolSpec) -> Judged {
    let asked = asked(turn, call);
    let by_rules = permit_now(state, call, tool);
    let effect = match asked.and_then(|raised| raised.answer.as_ref()) {
        // Somebody said yes, and then wanted a plan first.
        Some(InquiryAnswer::Allow | InquiryAnswer::RunAgain)
            if state.config.permissions.mode == PermissionMode::Plan
                && by_rules == RuleEffect::Deny =>
        {
            RuleEffect::Deny
        }
        Some(InquiryAnswer::Allow | InquiryAnswer::RunAgain) => RuleEffect::Allow,
        Some(InquiryAnswer::Deny { reason }) => {
            let by_policy = asked.is_some_and(|raised| raised.by.as_deref() == Some(BY_POLICY));
            let text = match reason {
                _ if by_policy && opens_more(state, call, tool) => NOT_OPENED_TEXT.to_owned(),
                _ if by_policy => DENIED_BY_POLICY_TEXT.to_owned(),
                Some(reason) => format!("{DENIED_TEXT} The user says: {reason}"),
                None => DENIED_TEXT.to_owned(),
            };
            return Judged::Finish(Outcome::Denied, text);
        }
        // A person has seen this very call: they wrote it. A deny beats that, as it beats a yes to what
        // only looks like another call.
        Some(InquiryAnswer::Changed { .. }) => match by_rules {
            RuleEffect::Deny => RuleEffect::Deny,
            RuleEffect::Allow | RuleEffect::Ask => RuleEffect::Allow,
        },
        Some(InquiryAnswer::Applied) => return Judged::Finish(Outcome::Ok, APPLIED_TEXT.into()),
        Some(
            InquiryAnswer::TreatAsDone
            | InquiryAnswer::LookAgain
            | InquiryAnswer::Text { .. }
            | InquiryAnswer::Redacted
            | InquiryAnswer::Cancelled { .. },
        )
        | None => by_rules,
    };
    if effect != RuleEffect::Deny
        && let Some(judged) = judge_hooks(state, call)
    {
        return judged;
    }
    match effect {
        RuleEffect::Allow => judge_place(state, turn, call).unwrap_or(Judged::Run),
        RuleEffect::Deny => Judged::Finish(Outcome::Denied, denied_by_rule(state, call, tool)),
        RuleEffect::Ask if asked.is_some() => Judged::Asked,
        RuleEffect::Ask if call.found.is_none() && works_on_paths(tool) => Judged::Locate,
        RuleEffect::Ask => Judged::Raise(permission(state, turn, call, tool)),
    }
}

/// Judges what hooks said, whoever else allowed the call. `None` if nothing stands against it.
fn judge_hooks(state: &State, call: &Call) -> Option<Judged> {
    match call.found.as_deref().and_then(|found| found.hooks.as_ref()) {
        Some(HookVerdict { denied: Some(reason) }) => {
            let text = format!("A hook of the user denied this call: {reason}\nIt was not run.");
            Some(Judged::Finish(Outcome::Denied, text))
        }
        Some(HookVerdict { denied: None }) => None,
        // A call that leads elsewhere each time has no verdict either; it does not run.
        None if LOOKS_MAX <= call.looks => None,
        None => is_hooked(&state.config.permissions, &call.name).then_some(Judged::Locate),
    }
}

fn permit_now(state: &State, call: &Call, tool: &ToolSpec) -> RuleEffect {
    permit(&state.config.permissions, state.workspace(), tool, &call.arguments)
}

fn opens_more(state: &State, call: &Call, tool: &ToolSpec) -> bool {
    wants_more(&state.config.permissions, state.workspace(), tool, &call.arguments)
}

/// Judges where a call really leads, as far as that was found out. `None` if nothing is wrong with it.
pub(super) fn judge_place(state: &State, turn: &Turn, call: &Call) -> Option<Judged> {
    if let Some(text) = forbidden_there(state, call) {
        return Some(Judged::Finish(Outcome::Denied, text));
    }
    let failed = |text| Judged::Finish(Outcome::Failed, text);
    if LOOKS_MAX <= call.looks {
        return Some(failed(RESTLESS_TEXT.into()));
    }
    detour(state, turn, call).map(failed)
}

/// Whether the rules in force forbid the call, whatever they said when it was started.
pub fn is_denied(state: &State, call: &Call) -> bool {
    let Some(tool) = state.config.tool(&call.name) else { return false };
    let by_rule = permit_now(state, call, tool) == RuleEffect::Deny;
    let turn = state.open_turn();
    by_rule || turn.is_some_and(|turn| judge_place(state, turn, call).is_some())
}

/// Whether a call leads to another place than the one it was judged for. Then the place is recorded and
/// judged before the call starts.
pub fn leads_elsewhere(state: &State, call: &Call, found: &Found) -> bool {
    if let Some(known) = &call.found {
        return !known.is_same_place(found);
    }
    let Some(tool) = state.config.tool(&call.name) else { return false };
    let written = written_place(tool, &call.arguments);
    let added = &state.config.permissions.directories;
    let judged = within_any(state.workspace(), added, written.as_deref().unwrap_or("."));
    found.workspace.is_some() || found.path.is_some() && found.path != judged
}

/// The newest question for permission, unless it was about another place than the call leads to now.
fn asked<'a>(turn: &'a Turn, call: &Call) -> Option<&'a Raised> {
    let raised = turn.inquiry(call.id, InquiryKind::Permission)?;
    let shown = raised.inquiry.about.as_deref().map(|about| &about.found);
    let (Some(shown), Some(found)) = (shown, call.found.as_deref()) else { return Some(raised) };
    let moved = shown.path.is_some() && found.path.is_some() && !shown.is_same_place(found);
    (!moved).then_some(raised)
}

/// What a rule forbids by its path is forbidden under its other names too. Rules cannot tell from a
/// name where a link leads, so they let it pass or a person was asked; a deny beats a yes.
fn forbidden_there(state: &State, call: &Call) -> Option<String> {
    let found = call.found.as_deref()?;
    let tool = state.config.tool(&call.name)?;
    let arguments = match &found.path {
        Some(path) => renamed(tool, &call.arguments, path)?,
        None => call.arguments.to_string(),
    };
    // Where it really is: what was recorded may have become a link since.
    let workspace = found.workspace.as_deref().unwrap_or(state.workspace());
    forbidding(&state.config.permissions, workspace, tool, &arguments)?;
    let name = &call.name;
    Some(format!("A permission rule forbids {name} on what this leads to. It was not run."))
}

/// The arguments of a call, with another path.
fn renamed(tool: &ToolSpec, arguments: &str, path: &str) -> Option<String> {
    let mut arguments: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    arguments.insert(place_argument(tool).to_owned(), path.into());
    serde_json::to_string(&arguments).ok()
}

/// The rules were asked about the path as the model wrote it. If a link leads elsewhere, they have said
/// nothing about the file there: the model has to name it, and they are asked again.
fn detour(state: &State, turn: &Turn, call: &Call) -> Option<String> {
    let found = call.found.as_deref()?;
    let real = found.path.as_deref()?;
    let tool = state.config.tool(&call.name)?;
    let by_person = asked(turn, call).is_some_and(|raised| raised.answer.is_some());
    if by_person || !needs_real_path(&state.config.permissions, tool) {
        return None;
    }
    let written = written_place(tool, &call.arguments).unwrap_or_else(|| ".".into());
    let workspace = found.workspace.as_deref().unwrap_or(state.workspace());
    let permissions = &state.config.permissions;
    // By itself this mode allows any path but those that others obey.
    let is_allowed = |arguments: String| {
        permissions.mode == PermissionMode::Auto
            && permit(permissions, workspace, tool, &arguments) == RuleEffect::Allow
    };
    if renamed(tool, &call.arguments, real).is_some_and(is_allowed) {
        return None;
    }
    let added = &permissions.directories;
    (within_any(workspace, added, &written).as_deref() != Some(real)).then(|| {
        format!("`{written}` is another name of `{real}`: use that. The tool was not run.")
    })
}

/// Where a call says that it works.
fn written_place(tool: &ToolSpec, arguments: &str) -> Option<String> {
    let arguments: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    arguments.get(place_argument(tool))?.as_str().map(str::to_owned)
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
        None if state.config.permissions.mode == PermissionMode::Plan => format!(
            "Not run: the person wants a plan before anything is changed, and {name} could change \
             something. Nobody was asked. Read what you need, then answer with the plan."
        ),
        None => format!("This conversation may only read, so {name} is not run; nobody was asked."),
    }
}

/// The question whether a call may run.
fn permission(state: &State, turn: &Turn, call: &Call, tool: &ToolSpec) -> Inquiry {
    let permissions = &state.config.permissions;
    let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Conversation };
    let mut choices = vec![Choice::Allow, Choice::Deny];
    if always(permissions, state.workspace(), tool, &call.arguments, standing).is_some() {
        choices.insert(1, Choice::AllowAlways);
    }
    let is_earlier = |raised: &&Raised| {
        raised.inquiry.call == call.id && raised.inquiry.kind == InquiryKind::Permission
    };
    let number = turn.inquiries.iter().filter(is_earlier).count() + 1;
    Inquiry {
        id: InquiryId::new(format!("{}.permission.{number}", call.id)),
        kind: InquiryKind::Permission,
        call: call.id,
        question: format!("Run {}?", call_heading(&call.name, &call.arguments).text),
        choices,
        wants: None,
        about: Some(Box::new(about(call, tool))),
    }
}

fn about(call: &Call, tool: &ToolSpec) -> About {
    let (arguments, arguments_left_out) = bounded_arguments(&call.arguments);
    About {
        tool: call.name.to_string(),
        arguments: arguments.into(),
        arguments_left_out,
        path: written_place(tool, &call.arguments).filter(|_| works_on_paths(tool)),
        // Whoever is asked need not know that no hook was against it.
        found: Found { hooks: None, ..call.found.as_deref().cloned().unwrap_or_default() },
    }
}
