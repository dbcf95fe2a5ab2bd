//! Turns as faces show them: messages, steps, and what was kept of a turn that broke.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{CallView, Place, is_false};
use crate::event::{
    AnswerPart, BlobRef, BreakReason, ContextItem, FailureClass, FinishReason, ModelRef, TurnEnd,
    Usage, UserPart,
};
use crate::id::{Attempt, CallId, MessageId, Timestamp, TurnId};
use crate::retry::{EMPTIES_MAX, next_try, outage_waited_for};
use crate::state::{Broke, Exchange, Item, OldAttempt, Outage, Progress, Said, Step, Turn};

/// A turn: from a user message, through steps, to a final answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TurnView {
    /// What is known of the turn as a whole.
    pub head: TurnHead,
    /// What the model was told with the first message, beside what the user said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextView>,
    /// What happened, in order.
    pub items: Vec<ItemView>,
    /// Earlier attempts of its messages: hidden, kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptView>,
}

/// One thing that the model was told beside what the user said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ContextView {
    /// What it is about.
    pub name: String,
    /// What the model reads.
    pub text: Arc<str>,
}

/// What is known of a turn as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TurnHead {
    /// Its name.
    pub id: TurnId,
    /// Who answers, if it is not the usual agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it began.
    pub began: Timestamp,
    /// When it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Timestamp>,
    /// How it was closed; an open turn has none. A discarded turn is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TurnEnd>,
    /// Why a driver gave up on it, until somebody resumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt: Option<Halt>,
    /// Tokens of all its answers, earlier attempts included.
    pub usage: Usage,
    /// How often reasoning that a provider refused was left out of its requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repairs: u32,
    /// Outputs that were shortened to make room for its requests. The journal has them whole.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outputs_shortened: u32,
}

/// A turn that broke: why, and what was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Halt {
    /// Why the driver gave up.
    pub reason: BreakReason,
    /// More about it, for people.
    pub message: String,
    /// When.
    pub at: Timestamp,
    /// What is there all the same.
    pub kept: Kept,
}

/// What a broken turn holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Kept {
    /// Whole answers of the model.
    pub answers: u32,
    /// Calls that ended.
    pub calls_done: u32,
    /// Calls that were not started.
    pub calls_waiting: u32,
    /// Calls whose outcome is unknown.
    pub calls_in_doubt: u32,
}

/// One thing in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "item", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "nearly all items are steps")]
pub enum ItemView {
    /// The user said something.
    Message(MessageView),
    /// The model was asked.
    Step(StepView),
}

/// A user message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MessageView {
    /// Its name; a retry keeps it.
    pub id: MessageId,
    /// Which try of it, from 1.
    pub attempt: Attempt,
    /// Text and files, in order.
    pub parts: Vec<MessagePart>,
    /// When this attempt began.
    pub at: Timestamp,
}

/// A piece of a user message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessagePart {
    /// What the user typed.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// A file that is kept beside the journal.
    File {
        /// Its name.
        name: String,
        /// Its media type.
        media_type: String,
        /// Its content, by digest, and its size.
        blob: BlobRef,
    },
    /// A textual file that is part of the message.
    InlinedFile {
        /// Its name.
        name: String,
        /// Its media type.
        media_type: String,
        /// Its content.
        text: Arc<str>,
    },
}

/// An earlier attempt of a message, with what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AttemptView {
    /// The message as it was then.
    pub message: MessageView,
    /// What followed on it, in order.
    pub items: Vec<ItemView>,
    /// How its turn had been closed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TurnEnd>,
    /// Why a driver had given up on it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt: Option<Halt>,
}

/// A request to the model, its answer, and the calls that the answer asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct StepView {
    /// Its place in the turn, from 1.
    pub number: u32,
    /// Who was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Which try of the request, from 1.
    pub attempt: Attempt,
    /// Where the request stands.
    pub state: StepState,
    /// When the newest try was sent.
    pub asked: Timestamp,
    /// When the answer was whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Timestamp>,
    /// Text and reasoning, and where calls stand between them. Of an answer that is not whole: what
    /// the journal has of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartView>,
    /// Whether the parts belong to an answer that is not whole.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// Why the answer ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// Tools whose calls were cut off by the output limit. They do not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_off: Vec<String>,
    /// Tokens of the answer and its request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The last failure of the request, until it is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// Its calls, in call order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallView>,
    /// Whether the calls were read off the answer as a plan.
    #[serde(default, skip_serializing_if = "is_false")]
    pub planned: bool,
}

/// Where a model request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepState {
    /// Nothing is under way: the request is to be sent, or sent again.
    Pending,
    /// The answer is awaited.
    Asked,
    /// The last try failed.
    Failed,
    /// The answer is whole.
    Answered,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PartView {
    /// Text for the user.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// Readable reasoning.
    Reasoning {
        /// The text.
        text: Arc<str>,
    },
    /// Here the model asked for a call; it is among the calls of the step.
    Call {
        /// Its name.
        call: CallId,
    },
}

/// A failed try of a model request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FailureView {
    /// What kind.
    pub class: FailureClass,
    /// What was said.
    pub message: String,
    /// When.
    pub at: Timestamp,
    /// How many failures in a row this is.
    pub failures: u32,
    /// How many in a row break the turn, as long as it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_max: Option<u32>,
    /// When the request is sent again by itself; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<Timestamp>,
    /// Whether it is sent again at once, with a note that asks for an answer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub noted: bool,
    /// Which try of the request comes next, from 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub next_attempt: u32,
    /// The last try that is allowed, as long as the turn is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<u32>,
    /// Since when nobody can be reached, and until when that is waited for without using up tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<OutageView>,
}

/// A time in which nobody can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OutageView {
    /// When it was noticed.
    pub since: Timestamp,
    /// Until when it is waited for.
    pub until: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl TurnView {
    /// Its requests to the model, in order.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &StepView> {
        self.items.iter().filter_map(|item| match item {
            ItemView::Step(step) => Some(step),
            ItemView::Message(_) => None,
        })
    }

    /// Its calls, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &CallView> {
        self.steps().flat_map(|step| &step.calls)
    }

    pub(super) fn of(place: Place<'_>) -> Self {
        let turn = place.turn();
        let items = turn.items.iter().map(|item| ItemView::of(place, item)).collect();
        let context = turn.context.iter().filter_map(ContextView::of).collect();
        Self { head: TurnHead::of(place), context, items, attempts: attempts(turn) }
    }

    /// The turn as it is shown once a retry has superseded it: nothing in it waits for anybody.
    pub(super) fn supersede(&mut self) {
        self.head.halt = None;
        for item in &mut self.items {
            let ItemView::Step(step) = item else { continue };
            step.failure = step.failure.take().map(FailureView::over);
            step.calls.iter_mut().for_each(CallView::supersede);
        }
    }
}

/// Earlier attempts with what came of each. Superseded items that no attempt is known for have none.
fn attempts(turn: &Turn) -> Vec<AttemptView> {
    let ends = turn.attempts.iter().skip(1).map(|next| next.begin);
    let ends = ends.chain([turn.superseded.len()]);
    let of = |(old, last): (&OldAttempt, usize)| {
        let items = turn.superseded.get(old.begin..last).unwrap_or_default();
        let halt = old.broke.as_ref().map(|broke| Halt::of(broke, items));
        let items = items.iter().map(|item| ItemView::of(Place::Past(turn), item)).collect();
        AttemptView { message: MessageView::from(&old.said), items, end: old.end, halt }
    };
    turn.attempts.iter().zip(ends).map(of).collect()
}

impl ContextView {
    fn of(item: &ContextItem) -> Option<Self> {
        Some(Self { name: item.name.clone(), text: item.text.clone()? })
    }
}

impl TurnHead {
    pub(super) fn of(place: Place<'_>) -> Self {
        let turn = place.turn();
        let broke = turn.broke.as_ref().filter(|_| place.open().is_some());
        Self {
            id: turn.id,
            agent: turn.agent.clone(),
            began: turn.began,
            closed: turn.closed,
            end: turn.end,
            halt: broke.map(|broke| Halt::of(broke, &turn.items)),
            usage: turn.usage,
            repairs: turn.repairs,
            outputs_shortened: turn.outputs_shortened,
        }
    }
}

impl Halt {
    fn of(Broke { reason, message, at }: &Broke, items: &[Item]) -> Self {
        let (message, kept) = (message.clone(), Kept::of(items));
        Self { reason: *reason, message, at: *at, kept }
    }
}

impl Kept {
    fn of(items: &[Item]) -> Self {
        let mut kept = Self::default();
        for item in items {
            let Item::Step(step) = item else { continue };
            kept.answers += u32::from(step.answer.is_some());
            for call in &step.calls {
                match call.progress {
                    Progress::Done(_) => kept.calls_done += 1,
                    Progress::InDoubt(_) => kept.calls_in_doubt += 1,
                    Progress::Waiting | Progress::Running(_) | Progress::Parked(_) => {
                        kept.calls_waiting += 1;
                    }
                }
            }
        }
        kept
    }
}

impl ItemView {
    pub(super) fn of(place: Place<'_>, item: &Item) -> Self {
        match item {
            Item::User(said) => Self::Message(MessageView::from(said)),
            Item::Step(step) => Self::Step(StepView::of(place, step)),
        }
    }
}

impl From<&Said> for MessageView {
    fn from(said: &Said) -> Self {
        let parts = said.parts.iter().map(MessagePart::from).collect();
        Self { id: said.message.clone(), attempt: said.attempt, parts, at: said.at }
    }
}

impl From<&UserPart> for MessagePart {
    fn from(part: &UserPart) -> Self {
        match part.clone() {
            UserPart::Text { text } => Self::Text { text },
            UserPart::File { name, media_type, blob } => Self::File { name, media_type, blob },
            UserPart::InlinedFile { name, media_type, text } => {
                Self::InlinedFile { name, media_type, text }
            }
        }
    }
}

impl StepView {
    fn of(place: Place<'_>, step: &Step) -> Self {
        let answer = step.answer.as_ref();
        let parts = answer.map_or_else(|| streamed(step), |answer| said(step, &answer.parts));
        Self {
            number: step.number,
            model: answer.and_then(|answer| answer.model.clone()).or_else(|| step.model.clone()),
            attempt: step.attempt,
            state: match step.exchange {
                Exchange::Quiet => StepState::Pending,
                Exchange::Asked => StepState::Asked,
                Exchange::Failed => StepState::Failed,
                Exchange::Answered => StepState::Answered,
            },
            asked: step.asked,
            answered: answer.map(|answer| answer.at),
            partial: answer.is_none() && !parts.is_empty(),
            parts,
            finish: answer.map(|answer| answer.finish),
            cut_off: answer.map(|answer| answer.dropped.clone()).unwrap_or_default(),
            usage: answer.map(|answer| answer.usage),
            failure: FailureView::of(place, step),
            calls: step.calls.iter().map(|call| CallView::of(place, call)).collect(),
            planned: step.planned,
        }
    }
}

fn said(step: &Step, parts: &[AnswerPart]) -> Vec<PartView> {
    let shown = parts.iter().filter_map(|part| match part {
        AnswerPart::Text { text } => Some(PartView::Text { text: text.clone() }),
        AnswerPart::Reasoning { text } => Some(PartView::Reasoning { text: text.clone() }),
        AnswerPart::Call { call, .. } => {
            let known = step.calls.iter().any(|known| known.id == *call);
            known.then_some(PartView::Call { call: *call })
        }
    });
    shown.collect()
}

/// What the journal has of an answer that is not whole: reasoning first, as models do it.
fn streamed(step: &Step) -> Vec<PartView> {
    let (text, reasoning) = (&step.streamed.text, &step.streamed.reasoning);
    let mut parts = Vec::new();
    if !reasoning.is_empty() {
        parts.push(PartView::Reasoning { text: reasoning.as_str().into() });
    }
    if !text.is_empty() {
        parts.push(PartView::Text { text: text.as_str().into() });
    }
    parts
}

impl FailureView {
    fn of(place: Place<'_>, step: &Step) -> Option<Self> {
        let failure = step.failure.as_ref().filter(|_| step.answer.is_none())?;
        let state = place.open();
        // A driver that gave up tries nothing by itself.
        let tried = state.filter(|_| place.turn().broke.is_none());
        let is_empty = failure.class == FailureClass::Empty;
        let attempts_max = state.map(|state| {
            let limits = &state.config.limits;
            // Failures in a row are limited, and text that came ends the row: so the last try moves on.
            let left = limits.failures_max.saturating_sub(step.failures);
            step.attempts_used.saturating_add(left).min(limits.attempts_max)
        });
        Some(Self {
            class: failure.class,
            message: failure.message.clone(),
            at: failure.at,
            failures: step.failures,
            failures_max: state.map(|state| state.config.limits.failures_max),
            next_try: tried
                .filter(|_| !is_empty)
                .and_then(|state| next_try(step, &state.config.limits)),
            noted: tried.is_some() && is_empty && step.empties <= EMPTIES_MAX,
            next_attempt: step.attempts_used + 1,
            attempts_max,
            outage: tried
                .and_then(|_| outage_waited_for(step))
                .map(|Outage { since, until, .. }| OutageView { since: *since, until: *until }),
        })
    }

    /// The failure of a turn that nobody goes on with.
    fn over(self) -> Self {
        Self {
            failures_max: None,
            next_try: None,
            noted: false,
            attempts_max: None,
            outage: None,
            ..self
        }
    }
}
