//! The parts of a turn: user messages, steps, calls, inquiries.

use std::sync::Arc;

use super::failure::Failure;
use super::outage::Outage;
use super::request::LastRequest;
use crate::event::{
    AnswerPart, BreakReason, ContextItem, EffectClass, FailureClass, FinishReason, Found, Handle,
    Inquiry, InquiryAnswer, InquiryKind, ModelRef, Native, Outcome, OutputFile, ToolOutput,
    TurnEnd, Usage, UserPart,
};
use crate::id::{Attempt, CallId, ConversationId, Digest, MessageId, Timestamp, TurnId};

/// From a user message, through steps, to a final answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its name.
    pub id: TurnId,
    /// Who answers.
    pub agent: Option<String>,
    /// When it began.
    pub began: Timestamp,
    /// When it was closed.
    pub closed: Option<Timestamp>,
    /// What the model is told with its first message, beside what the user said.
    pub context: Vec<ContextItem>,
    /// What happened, in order.
    pub items: Vec<Item>,
    /// Questions to a person, in order.
    pub inquiries: Vec<Raised>,
    /// How it was closed; an open turn has none.
    pub end: Option<TurnEnd>,
    /// Why a driver gave up on it, until somebody resumes.
    pub broke: Option<Broke>,
    /// Items of earlier attempts of its message: hidden, kept.
    pub superseded: Vec<Item>,
    /// Earlier attempts of its messages, in the order in which they were given up.
    pub attempts: Vec<OldAttempt>,
    /// Tokens of all its answers, superseded ones included.
    pub usage: Usage,
    /// Answers since the last grant of allowances.
    pub steps_used: u32,
    /// Tokens since the last grant of allowances.
    pub spent: Usage,
    /// How many steps it ever had, superseded ones included.
    pub steps_counted: u32,
    /// How often reasoning that a provider refused was left out of its requests.
    pub repairs: u32,
    /// Outputs that were shortened to make room for its requests.
    pub outputs_shortened: u32,
    /// How many steps there were when summaries were laid during it since the last grant of allowances;
    /// the newest ones.
    pub summed_up: Vec<u32>,
}

/// One thing in a turn.
#[expect(clippy::large_enum_variant, reason = "nearly all items are steps")]
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// The user said something.
    User(Said),
    /// The model was asked.
    Step(Step),
}

/// An earlier attempt of a message. What followed on it is among the superseded items of its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct OldAttempt {
    /// The message as it was then.
    pub said: Said,
    /// Where its items begin among the superseded ones. They end where the next attempt's begin.
    pub begin: usize,
    /// How its turn had been closed, if it was.
    pub end: Option<TurnEnd>,
    /// Why a driver had given up on it, if one did.
    pub broke: Option<Broke>,
}

/// A user message.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Its name.
    pub message: MessageId,
    /// What it consists of.
    pub parts: Vec<UserPart>,
    /// Which try of it.
    pub attempt: Attempt,
    /// When this attempt began.
    pub at: Timestamp,
    /// Places of files in `parts` that requests no longer carry, because newer ones took the room.
    pub left_out: Vec<usize>,
}

/// One model answer and the calls it asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its place in the turn, from 1.
    pub number: u32,
    /// The last try of its request.
    pub attempt: Attempt,
    /// Who was asked last.
    pub model: Option<ModelRef>,
    /// When it was asked last.
    pub asked: Timestamp,
    /// Where the request stands.
    pub exchange: Exchange,
    /// Tries since the last grant of allowances.
    pub attempts_used: u32,
    /// Failures in a row; content that arrives ends the row.
    pub failures: u32,
    /// The requests in a row that reached nobody.
    pub outage: Option<Outage>,
    /// Empty answers since the last grant of allowances.
    pub empties: u32,
    /// What is known of its last request.
    pub request: LastRequest,
    /// Repairs of the history in a row.
    pub repairs: u32,
    /// How often its request was too large, since the last grant of allowances.
    pub overflows: u32,
    /// The last failure.
    pub failure: Option<Failure>,
    /// What has streamed so far.
    pub streamed: Streamed,
    /// The whole answer.
    pub answer: Option<Answered>,
    /// Its calls, in call order.
    pub calls: Vec<Call>,
    /// Whether they were read off the answer as a plan.
    pub planned: bool,
    /// What its request told the model beside what was said.
    pub told: Vec<Arc<str>>,
}

/// Where a model request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// Nothing is under way: never asked, or the driver that asked is gone.
    Quiet,
    /// A driver waits for the answer.
    Asked,
    /// The last try failed.
    Failed,
    /// The answer is here.
    Answered,
}

/// What has streamed of an answer that is not whole. Shown always, sent to a model only labelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streamed {
    /// Text so far.
    pub text: String,
    /// Reasoning so far.
    pub reasoning: String,
    /// Whether it belongs to an earlier try: the first new piece replaces it.
    pub stale: bool,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// Text, reasoning and calls, in order.
    pub parts: Arc<[AnswerPart]>,
    /// Why the stream ended.
    pub finish: FinishReason,
    /// Calls that were cut off.
    pub dropped: Vec<String>,
    /// What it cost.
    pub usage: Usage,
    /// Provider-native blocks.
    pub native: Option<Native>,
    /// Who answered.
    pub model: Option<ModelRef>,
    /// When.
    pub at: Timestamp,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Our name for it.
    pub id: CallId,
    /// The provider's name for it.
    pub provider_id: Option<Arc<str>>,
    /// The tool.
    pub name: Arc<str>,
    /// Its arguments: as they came, or as a person changed them.
    pub arguments: Arc<str>,
    /// Its arguments as they came, if a person changed them.
    pub asked: Option<Arc<str>>,
    /// How far it is.
    pub progress: Progress,
    /// What is sent of its output instead of the whole.
    pub shortened: Option<Arc<str>>,
    /// How often it was started.
    pub starts: u32,
    /// The conversation that it was handed to.
    pub worker: Option<ConversationId>,
    /// When it was started last.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How its outcome can be settled, as recorded when it was started last.
    pub effect: Option<EffectClass>,
    /// The files that it changes, as recorded when it was started.
    pub edits: Vec<Edit>,
    /// Which files of its output are no longer sent, by their places in it.
    pub left_out: Vec<usize>,
    /// What was found when it was looked at last, before it started.
    pub found: Option<Box<Found>>,
    /// How often it was looked at.
    pub looks: u32,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The file, relative to the workspace.
    pub path: Arc<str>,
    /// Digest of its content before; absent if there was no file.
    pub before: Option<Digest>,
    /// Digest of its content after; absent if the file is removed.
    pub after: Option<Digest>,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Not started.
    Waiting,
    /// Started by the present driver.
    Running(Started),
    /// Started by a driver that is gone; its outcome is unknown.
    InDoubt(Started),
    /// Its conversation waits for a person, and nobody works on it.
    Parked(Parked),
    /// Ended.
    Done(Ended),
}

/// What was recorded when a call was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// How its outcome can be settled.
    pub effect: EffectClass,
    /// What is needed for that.
    pub handle: Handle,
}

/// A call whose conversation waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// What was recorded when it was started.
    pub started: Started,
    /// What is asked there.
    pub question: String,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// In which way.
    pub outcome: Outcome,
    /// What it gave.
    pub output: ToolOutput,
}

/// A question to a person, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The question.
    pub inquiry: Inquiry,
    /// The first answer.
    pub answer: Option<InquiryAnswer>,
    /// Who gave it.
    pub by: Option<String>,
    /// When it was raised.
    pub at: Timestamp,
    /// When it was answered.
    pub answered: Option<Timestamp>,
    /// Whether the answer came from another process.
    pub elsewhere: bool,
    /// Whether rules that came with the answer decide on the call.
    pub by_rule: bool,
}

/// Why a driver gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broke {
    /// The reason.
    pub reason: BreakReason,
    /// More about it, for people.
    pub message: String,
    /// When.
    pub at: Timestamp,
}

impl Turn {
    pub(super) fn new(id: TurnId, agent: Option<String>, began: Timestamp) -> Self {
        Self {
            id,
            agent,
            began,
            closed: None,
            context: Vec::new(),
            items: Vec::new(),
            inquiries: Vec::new(),
            end: None,
            broke: None,
            superseded: Vec::new(),
            attempts: Vec::new(),
            usage: Usage::default(),
            steps_used: 0,
            spent: Usage::default(),
            steps_counted: 0,
            repairs: 0,
            outputs_shortened: 0,
            summed_up: Vec::new(),
        }
    }

    /// Its steps, in order.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.items.iter().filter_map(|item| match item {
            Item::Step(step) => Some(step),
            Item::User(_) => None,
        })
    }

    pub(super) fn steps_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Step> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Step(step) => Some(step),
            Item::User(_) => None,
        })
    }

    /// Its user messages, in order.
    pub fn said(&self) -> impl Iterator<Item = &Said> {
        self.items.iter().filter_map(|item| match item {
            Item::User(said) => Some(said),
            Item::Step(_) => None,
        })
    }

    /// A call of one of its steps.
    pub fn call(&self, id: CallId) -> Option<&Call> {
        // The newest step is nearly always the one that is meant.
        self.steps().rev().flat_map(|step| &step.calls).find(|call| call.id == id)
    }

    pub(super) fn call_mut(&mut self, id: CallId) -> Option<&mut Call> {
        self.steps_mut().rev().flat_map(|step| &mut step.calls).find(|call| call.id == id)
    }

    /// The number of the step that the next model request belongs to.
    pub fn next_step(&self) -> u32 {
        match self.items.last() {
            Some(Item::Step(step)) if step.answer.is_none() => step.number,
            Some(Item::Step(_) | Item::User(_)) | None => self.steps_counted.saturating_add(1),
        }
    }

    /// The first call whose conversation waits for a person.
    pub fn parked(&self) -> Option<&Call> {
        let mut calls = self.steps().flat_map(|step| &step.calls);
        calls.find(|call| matches!(call.progress, Progress::Parked(_)))
    }

    /// Whether the turn holds work beyond the user's message.
    pub fn has_work(&self) -> bool {
        self.steps().any(|step| step.answer.is_some())
    }

    /// Gives fresh allowances: somebody wants the turn to go on.
    pub(super) fn grant(&mut self) -> bool {
        self.broke = None;
        self.steps_used = 0;
        self.spent = Usage::default();
        self.summed_up.clear();
        for step in self.steps_mut() {
            step.failures = 0;
            step.outage = None;
            step.empties = 0;
            step.repairs = 0;
            step.overflows = 0;
            step.attempts_used = 0;
            if step.exchange == Exchange::Failed {
                step.exchange = Exchange::Quiet;
            }
        }
        true
    }

    /// The answer that is awaited will not be taken.
    pub(super) fn lose_the_request(&mut self) {
        for step in self.steps_mut().filter(|step| step.exchange == Exchange::Asked) {
            step.exchange = Exchange::Quiet;
        }
    }

    /// A request that was too large is another one now. Whether it is small enough is decided by its size.
    pub(super) fn forgive_overflow(&mut self) {
        if let Some(Item::Step(step)) = self.items.last_mut()
            && step.exchange == Exchange::Failed
            && step.failure.as_ref().map(|failure| failure.class)
                == Some(FailureClass::ContextOverflow)
        {
            step.exchange = Exchange::Quiet;
        }
    }

    /// A request with refused blocks may be tried again: they are left out now.
    pub(super) fn forgive_rejection(&mut self) {
        if let Some(Item::Step(step)) = self.items.last_mut()
            && step.exchange == Exchange::Failed
            && step.failure.as_ref().is_some_and(|failure| failure.rejected.is_some())
        {
            step.exchange = Exchange::Quiet;
            step.failures = 0;
            step.repairs = step.repairs.saturating_add(1);
        }
    }

    /// Whoever was at work is gone: a request is lost, a call is in doubt. A call that stood at a
    /// question, and has done nothing before it, is not: it heard no answer, because an answer is
    /// durable before it is told.
    pub(super) fn lose_what_is_in_flight(&mut self) -> bool {
        self.lose_the_request();
        let open = self.inquiries.iter().filter(|raised| raised.answer.is_none());
        let open = open.filter(|raised| raised.inquiry.kind == InquiryKind::Question);
        let asking: Vec<(CallId, bool)> = open
            .map(|Raised { inquiry, .. }| {
                let before = inquiry.wants.as_ref().is_some_and(|wants| wants.before_acting);
                (inquiry.call, before)
            })
            .collect();
        for call in self.steps_mut().flat_map(|step| &mut step.calls) {
            let (Progress::Running(started) | Progress::Parked(Parked { started, .. })) =
                &call.progress
            else {
                continue;
            };
            let repeatable =
                matches!(started.effect, EffectClass::ReadOnly | EffectClass::Idempotent);
            // What somebody else has in hands is asked for there, and not begun again.
            let here = !started.handle.is_elsewhere();
            let unharmed = |(asks, before): &(CallId, bool)| {
                *asks == call.id && here && (*before || repeatable)
            };
            call.progress = if asking.iter().any(unharmed) {
                Progress::Waiting
            } else {
                Progress::InDoubt(started.clone())
            };
        }
        true
    }
}

impl Step {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            attempt: Attempt(0),
            model: None,
            asked: Timestamp::default(),
            exchange: Exchange::Quiet,
            attempts_used: 0,
            failures: 0,
            outage: None,
            empties: 0,
            request: LastRequest::default(),
            repairs: 0,
            overflows: 0,
            failure: None,
            streamed: Streamed::default(),
            answer: None,
            calls: Vec::new(),
            planned: false,
            told: Vec::new(),
        }
    }

    /// Whether its answer is the last word of the turn: whole, and nothing is to be run.
    pub fn is_final(&self) -> bool {
        self.calls.is_empty()
            && self.answer.as_ref().is_some_and(|answer| {
                let whole = matches!(answer.finish, FinishReason::Stop | FinishReason::ToolCalls);
                whole && answer.dropped.is_empty()
            })
    }

    /// Whether every call has ended.
    pub fn is_settled(&self) -> bool {
        self.calls.iter().all(Call::is_done)
    }
}

impl Call {
    /// A call that nobody has started.
    pub fn new(id: CallId, name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self {
            id,
            provider_id: None,
            name: name.into(),
            arguments: arguments.into(),
            asked: None,
            progress: Progress::Waiting,
            shortened: None,
            starts: 0,
            worker: None,
            started: None,
            ended: None,
            effect: None,
            edits: Vec::new(),
            left_out: Vec::new(),
            found: None,
            looks: 0,
        }
    }

    /// Whether an answer could still move it on: a call that a rule has let run since waits for
    /// nobody.
    pub(crate) fn waits_for(&self, inquiry: &Inquiry) -> bool {
        match (&self.progress, inquiry.kind) {
            (Progress::Waiting, InquiryKind::Permission | InquiryKind::Question)
            | (Progress::Running(_), InquiryKind::Question)
            | (Progress::InDoubt(_), InquiryKind::InDoubt) => true,
            // Whoever has the work waits, and nothing is lost until somebody answers.
            (
                Progress::InDoubt(started) | Progress::Parked(Parked { started, .. }),
                InquiryKind::Question,
            ) => started.handle.is_elsewhere(),
            (
                Progress::Waiting
                | Progress::InDoubt(_)
                | Progress::Parked(_)
                | Progress::Running(_)
                | Progress::Done(_),
                _,
            ) => false,
        }
    }

    /// The files that it gave, once it has ended.
    pub fn files(&self) -> &[OutputFile] {
        match &self.progress {
            Progress::Done(ended) => &ended.output.files,
            Progress::Waiting
            | Progress::Running(_)
            | Progress::InDoubt(_)
            | Progress::Parked(_) => &[],
        }
    }

    /// What a model is sent of its output, once it has ended.
    pub fn output_sent(&self) -> Option<&Arc<str>> {
        match &self.progress {
            Progress::Done(ended) => self.shortened.as_ref().or(Some(&ended.output.text)),
            Progress::Waiting
            | Progress::Running(_)
            | Progress::InDoubt(_)
            | Progress::Parked(_) => None,
        }
    }

    /// Whether it has ended.
    pub fn is_done(&self) -> bool {
        matches!(self.progress, Progress::Done(_))
    }
}
