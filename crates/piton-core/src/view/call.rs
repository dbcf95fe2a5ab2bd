//! Calls and questions as faces show them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit::EditView;
use crate::changing;
use crate::event::{
    BlobRef, Choice, EffectClass, Found, Inquiry, InquiryAnswer, InquiryKind, Outcome,
    PermissionRule, RuleEffect, RuleScope, Wants, split_notes,
};
use crate::id::{CallId, ConversationId, Digest, InquiryId, Timestamp};
use crate::permit::{Part, Standing, Width, grants, offers, parts, permit, why_no_rule};
use crate::state::{Call, Edit, Progress, Raised, State, Turn};
use crate::tasks::{Task, UPDATE_PLAN, written_by};

/// Longest text that can be changed on its way to a tool, in bytes. Whoever wants more of a change says
/// no, and why.
const CHANGEABLE_BYTES_MAX: usize = 4 * 1024;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CallView {
    /// Its name.
    pub id: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// Its arguments, as they came or as a person changed them: usually a JSON object, as text.
    pub arguments: Arc<str>,
    /// Its arguments as they came, if a person changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Arc<str>>,
    /// How far it is.
    pub state: CallState,
    /// The first of its questions that waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<InquiryId>,
    /// How its outcome can be settled after a crash, known from its start on. `read_only` leaves nothing
    /// behind; of any other class, what it did stays, whatever becomes of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectClass>,
    /// What it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultView>,
    /// The file that it changes, known from its start on. Of several files the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Box<FileChange>>,
    /// The task list that it wrote, once it ended well; empty if it wrote none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// All files that it changes, if these are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// What a person was asked about it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionView>,
    /// The conversation that it was handed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<ConversationId>,
    /// When it was started last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallState {
    /// Not started.
    Waiting,
    /// At work.
    Running,
    /// Started by a driver that is gone; its outcome is unknown.
    InDoubt,
    /// The conversation that it was handed to asks a person.
    Parked {
        /// What is asked there.
        question: String,
    },
    /// Ended.
    Done {
        /// In which way.
        outcome: Outcome,
        /// Exit code of a command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ResultView {
    /// The text that the model sees, bounded.
    pub text: Arc<str>,
    /// The whole output, if the text is an extract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobRef>,
    /// How many bytes at the end of the text are remarks of the tool itself, and not output.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub note_bytes: u64,
}

impl ResultView {
    /// The output, and the remarks of the tool behind it.
    pub fn split(&self) -> (&str, &str) {
        split_notes(&self.text, self.note_bytes)
    }
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FileChange {
    /// The file, relative to the workspace.
    pub path: Arc<str>,
    /// Digest of its content before; absent if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// Digest of its content after; absent if the file is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
}

/// A question to a person about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct QuestionView {
    /// Its name; an answer names it.
    pub id: InquiryId,
    /// What it is about.
    pub kind: InquiryKind,
    /// The call that waits for it.
    pub call: CallId,
    /// The tool of that call.
    pub tool: Arc<str>,
    /// What is asked, in one line where it is the engine that asks.
    pub heading: String,
    /// Whether an answer would still move the call on.
    pub open: bool,
    /// What can be answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// What a tool wants to know: shape, default, options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants: Option<Wants>,
    /// The arguments of the call, as long as the question is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arc<str>>,
    /// What the call would put into a file, as far as its arguments say it, as long as the question
    /// is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<EditView>,
    /// The path that the call names, as long as the question is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where that leads behind all links, and what would be replaced and lost, as long as the question
    /// is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// The commands of a line of several, and which of them rules allow, as long as the question is open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What can be changed before the call runs, as long as the question is open: its command line, or its
    /// arguments as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changeable: Option<String>,
    /// The rules that a standing answer would write, as long as the question is open. Of those with one
    /// effect and one scope, the first is what is meant if nothing is said of its width.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<Always>,
    /// Why nothing of that allows later calls, as long as the question is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_rule: Option<String>,
    /// What the call asks to be opened in the sandbox, in words, as long as the question is open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opens: Vec<String>,
    /// Whether a yes lets the command of the call run outside the sandbox, as long as the question is open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frees: bool,
    /// The answer, and who gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// When it was raised.
    pub at: Timestamp,
}

/// A standing answer: later calls like this one are not asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Always {
    /// Whether such calls run from then on, or never do.
    pub effect: RuleEffect,
    /// How far it reaches.
    pub scope: RuleScope,
    /// How much its rules say beside this call.
    #[serde(default)]
    pub width: Width,
    /// The rules that it writes.
    pub rules: Vec<PermissionRule>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Answer {
    /// The answer; a secret is never in it.
    pub given: InquiryAnswer,
    /// Who gave it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Whether it was given to another process than the one that asked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub elsewhere: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
pub(super) fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Where something is shown.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// In a turn of the conversation as it stands.
    Present(&'a State, &'a Turn),
    /// In what a retry superseded: nothing there waits for anybody.
    Past(&'a Turn),
}

impl<'a> Place<'a> {
    pub(super) fn turn(self) -> &'a Turn {
        match self {
            Self::Present(_, turn) | Self::Past(turn) => turn,
        }
    }

    /// The state, if the turn can still go on.
    pub(super) fn open(self) -> Option<&'a State> {
        match self {
            Self::Present(state, turn) if turn.end.is_none() => Some(state),
            Self::Present(..) | Self::Past(_) => None,
        }
    }
}

impl CallView {
    pub(super) fn of(place: Place<'_>, call: &Call) -> Self {
        let raised = place.turn().inquiries.iter().filter(|raised| raised.inquiry.call == call.id);
        let questions: Vec<_> =
            raised.map(|raised| QuestionView::of(place.open(), call, raised)).collect();
        let asking = questions.iter().find(|question| question.open);
        let (state, result) = progress(call);
        let is_good = matches!(state, CallState::Done { outcome: Outcome::Ok, .. });
        let tasks = is_good.then(|| written_by(&call.name, &call.arguments)).flatten();
        let tasks = tasks.unwrap_or_default();
        Self {
            id: call.id,
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            asked: call.asked.clone(),
            state,
            asking: asking.map(|question| question.id.clone()),
            effect: call.effect,
            result,
            tasks,
            change: call.edits.first().map(|edit| Box::new(edit.into())),
            changes: match call.edits.as_slice() {
                [] | [_] => Vec::new(),
                several => several.iter().map(FileChange::from).collect(),
            },
            questions,
            worker: call.worker.clone(),
            started: call.started,
            ended: call.ended,
        }
    }

    /// Whether it wrote the task list anew, with or without tasks in it.
    pub fn lists_tasks(&self) -> bool {
        let is_good = matches!(self.state, CallState::Done { outcome: Outcome::Ok, .. });
        is_good && *self.tool == *UPDATE_PLAN
    }

    /// What it puts into a file, as far as its arguments say it. Not kept: arguments can be long.
    pub fn edit(&self) -> Option<EditView> {
        EditView::of(&self.arguments)
    }

    /// The call as it is shown once a retry has superseded its turn.
    pub(super) fn supersede(&mut self) {
        for question in self.questions.iter_mut().filter(|question| question.open) {
            question.open = false;
            question.arguments = None;
            question.edit = None;
            question.path = None;
            question.found = None;
            question.parts.clear();
            question.changeable = None;
            question.always.clear();
            question.no_rule = None;
            question.opens.clear();
            question.frees = false;
        }
        self.asking = None;
    }
}

impl From<&Edit> for FileChange {
    fn from(edit: &Edit) -> Self {
        let Edit { path, before, after } = edit.clone();
        Self { path, before, after }
    }
}

fn progress(call: &Call) -> (CallState, Option<ResultView>) {
    match &call.progress {
        Progress::Waiting => (CallState::Waiting, None),
        Progress::Running(_) => (CallState::Running, None),
        Progress::InDoubt(_) => (CallState::InDoubt, None),
        Progress::Parked(parked) => (CallState::Parked { question: parked.question.clone() }, None),
        Progress::Done(ended) => {
            let output = &ended.output;
            let state = CallState::Done { outcome: ended.outcome, exit_code: output.exit_code };
            let (text, blob) = (output.text.clone(), output.blob.clone());
            (state, Some(ResultView { text, blob, note_bytes: output.note_bytes }))
        }
    }
}

impl QuestionView {
    fn of(open: Option<&State>, call: &Call, raised: &Raised) -> Self {
        let Raised { inquiry, answer, by, at, answered, elsewhere, .. } = raised;
        let waits = answer.is_none() && call.waits_for(inquiry);
        let open = open.filter(|state| waits && needs_person(state, call, inquiry));
        let answer = answer.clone().map(|given| Answer {
            given,
            by: by.clone().unwrap_or_default(),
            at: answered.unwrap_or_default(),
            elsewhere: *elsewhere,
        });
        let about = inquiry.about.as_deref().filter(|_| open.is_some());
        let permission = open.filter(|_| inquiry.kind == InquiryKind::Permission);
        let always = permission.map(|it| offers_on(it, call)).unwrap_or_default();
        let is_allowed = always.iter().any(|it| it.effect == RuleEffect::Allow);
        let refused = permission.filter(|_| !is_allowed);
        Self {
            id: inquiry.id.clone(),
            kind: inquiry.kind,
            call: call.id,
            tool: call.name.clone(),
            heading: inquiry.heading().to_owned(),
            open: open.is_some(),
            choices: inquiry.choices.clone(),
            wants: inquiry.wants.clone(),
            arguments: open.map(|_| call.arguments.clone()),
            edit: open.and_then(|_| EditView::of(&call.arguments)),
            path: about.and_then(|about| about.path.clone()),
            found: about.map(|about| about.found.clone()).filter(|it| !it.is_nothing()),
            parts: permission.map(|it| parts_of(it, call)).unwrap_or_default(),
            changeable: permission.and_then(|it| changeable(it, call)),
            always,
            no_rule: refused.and_then(|it| no_rule_on(it, call)),
            opens: permission.map(|it| opened_by(it, call)).unwrap_or_default(),
            frees: permission.is_some_and(|it| frees(it, call)),
            answer,
            at: *at,
        }
    }
}

/// Whether no rule answers a question by now.
pub(super) fn needs_person(state: &State, call: &Call, inquiry: &Inquiry) -> bool {
    match (inquiry.kind, state.config.tool(&call.name)) {
        (InquiryKind::Permission, Some(tool)) => {
            let permissions = &state.config.permissions;
            permit(permissions, state.workspace(), tool, &call.arguments) == RuleEffect::Ask
        }
        (InquiryKind::Permission | InquiryKind::Question | InquiryKind::InDoubt, _) => true,
    }
}

fn parts_of(state: &State, call: &Call) -> Vec<Part> {
    let tool = state.config.tool(&call.name);
    let parts =
        tool.map(|tool| parts(&state.config.permissions, state.workspace(), tool, &call.arguments));
    parts.unwrap_or_default()
}

fn no_rule_on(state: &State, call: &Call) -> Option<String> {
    let tool = state.config.tool(&call.name)?;
    why_no_rule(&state.config.permissions, state.workspace(), tool, &call.arguments)
}

fn opened_by(state: &State, call: &Call) -> Vec<String> {
    let Some(tool) = state.config.tool(&call.name) else { return Vec::new() };
    grants::told(&state.config.permissions, state.workspace(), tool, &call.arguments)
}

fn frees(state: &State, call: &Call) -> bool {
    state.config.tool(&call.name).is_some_and(|tool| tool.frees)
}

fn changeable(state: &State, call: &Call) -> Option<String> {
    let text = changing::text(state.config.tool(&call.name)?, &call.arguments);
    (text.len() <= CHANGEABLE_BYTES_MAX).then_some(text)
}

/// What a standing answer would write, for every reach and width it can have.
fn offers_on(state: &State, call: &Call) -> Vec<Always> {
    let Some(tool) = state.config.tool(&call.name) else { return Vec::new() };
    let permissions = &state.config.permissions;
    let mut all = Vec::new();
    for effect in [RuleEffect::Allow, RuleEffect::Deny] {
        for scope in [RuleScope::Conversation, RuleScope::Project, RuleScope::User] {
            let standing = Standing { effect, scope };
            let offers = offers(permissions, state.workspace(), tool, &call.arguments, standing);
            let always = |(width, rules)| Always { effect, scope, width, rules };
            all.extend(offers.into_iter().map(always));
        }
    }
    all
}
