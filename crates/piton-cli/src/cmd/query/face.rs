//! Shows a turn as it happens: answers to standard output, everything else to the person.

use piton::{Update, WorkerNews};
use piton_core::coordinate::is_to_plan;
use piton_core::event::{AnswerPart, Entry, Event, FailureClass, Inquiry, PartialKind};
use piton_core::id::{CallId, TurnId};
use piton_core::retry::retry_at;
use piton_core::state::{Call, Exchange, Progress, State, Turn};
use piton_core::summary::input_summary;
use piton_core::view::{View, ViewChange};

use crate::ask::Prompt;
use crate::output::{Form, Output};
use crate::render::answer::{AnswerText, Pace};
use crate::render::lines::Line;
use crate::render::streamed::Streamed;
use crate::render::tool;

/// What a person is told of a repair.
const REPAIRED: &str = "The provider refused reasoning that was kept; asking again without it.";

/// What has been shown so far.
#[derive(Debug)]
pub(super) struct Face {
    /// What the shown entries mean; the session has its own and is at work on it.
    pub(super) state: State,
    form: Form,
    text: AnswerText,
    announced: TurnId,
    /// The newest word on how far a call is.
    newest: Option<(CallId, String)>,
    /// What goes out as data while nothing is recorded.
    streamed: Option<Streamed>,
}

impl Face {
    /// A face that has seen what `state` says, and has announced a turn.
    pub(super) fn new(state: State, form: Form, pace: Pace, announced: TurnId) -> Self {
        let streamed = (form == Form::Json).then(|| Streamed::new(View::from(&state)));
        let text = AnswerText::new(pace);
        Self { state, form, text, announced, newest: None, streamed }
    }

    /// Shows an update; hands back a question that it raises.
    pub(super) fn take(&mut self, update: &Update, output: &mut Output) -> Option<Prompt> {
        match update {
            Update::Entry(entry) => {
                self.state.apply(entry);
                if let Some(streamed) = &mut self.streamed {
                    let change = ViewChange::of(&self.state, entry);
                    output.json(&Line::change(&change));
                    streamed.settle(&change);
                }
                self.entry(entry, output).map(Prompt::new)
            }
            Update::Live { kind, text } => {
                self.live(*kind, text, output);
                None
            }
            Update::Progress { call, text } => {
                self.progress(*call, text, output);
                None
            }
            Update::Worker { worker, news: WorkerNews::Asks(inquiry) } => {
                Some(Prompt::of_worker(worker, Inquiry::clone(inquiry)))
            }
            Update::Worker { worker, news: WorkerNews::Entry { entry, call } } => {
                if self.form == Form::Json
                    && let Some(line) = Line::worker(worker, entry, call.as_deref())
                {
                    output.json(&line);
                }
                if let Some(line) = tool::of_worker(worker, &entry.event, call.as_deref()) {
                    output.talk(&line);
                }
                None
            }
        }
    }

    /// What is being waited for, for the spinner.
    pub(super) fn label(&self) -> Option<String> {
        let step = self.state.open_turn()?.steps().next_back()?;
        let running = |call: &&Call| matches!(call.progress, Progress::Running(_));
        if let Some(call) = step.calls.iter().find(running) {
            let label = input_summary(&call.name, &call.arguments);
            return Some(match &self.newest {
                Some((id, far)) if *id == call.id => format!("{label}: {far}"),
                Some(_) | None => label,
            });
        }
        (step.exchange == Exchange::Asked).then(|| "waiting for the model".into())
    }

    /// Whether a call of the open turn is at work.
    pub(super) fn runs_tools(&self) -> bool {
        let steps = self.state.open_turn().into_iter().flat_map(Turn::steps);
        let mut calls = steps.flat_map(|step| &step.calls);
        calls.any(|call| matches!(call.progress, Progress::Running(_)))
    }

    /// Whether what the model says is still to be read as a plan.
    fn is_planning(&self) -> bool {
        self.state.open_turn().is_some_and(is_to_plan)
    }

    /// A call of the open turn.
    pub(super) fn call(&self, id: CallId) -> Option<&Call> {
        self.state.turns.last().and_then(|turn: &Turn| turn.call(id))
    }

    fn live(&mut self, kind: PartialKind, text: &str, output: &mut Output) {
        match (self.form, kind) {
            // A plan is no answer; its workers are told of when it is read.
            (Form::Text, PartialKind::Text) if self.is_planning() => {}
            (Form::Text, PartialKind::Text) => output.data(self.text.live(text)),
            (Form::Text, PartialKind::Reasoning) => {}
            (Form::Json, kind) => {
                let streamed = self.streamed.as_mut();
                if let Some(live) = streamed.and_then(|streamed| streamed.say(kind, text)) {
                    output.json(&Line::live(live));
                }
            }
        }
    }

    /// How far a call is: beside the spinner if there is one, else on a line of its own.
    fn progress(&mut self, id: CallId, text: &str, output: &mut Output) {
        if self.call(id).is_none() {
            return;
        }
        if let Some(streamed) = &mut self.streamed {
            output.json(&Line::live(streamed.progress(id, text)));
        } else if let Some(call) = self.call(id).filter(|_| !output.can_spin()) {
            output.talk(&tool::progress(call, text));
        }
        self.newest = Some((id, text.to_owned()));
    }

    /// Nothing more will come of the answer: what was held back of it goes to the person.
    pub(super) fn give_up_answer(&mut self, output: &mut Output) {
        let end = self.text.break_off();
        self.show(end, output);
        if let Some(left) = self.text.left_over() {
            output.talk(&format!("[the answer broke off; this much came]\n{}", left.trim_end()));
        }
    }

    fn entry(&mut self, entry: &Entry, output: &mut Output) -> Option<Inquiry> {
        match &entry.event {
            Event::ModelAsked { .. } => {
                let end = self.text.break_off();
                self.show(end, output);
            }
            Event::ModelAnswered { .. } if self.is_planning() => {}
            Event::ModelAnswered { parts, .. } => {
                let text = self.text.answered(&spoken(parts));
                self.show(&text, output);
            }
            Event::ModelFailed { .. } => {
                let end = self.text.break_off();
                self.show(end, output);
                if let Some(line) = self.retry_line() {
                    output.talk(&line);
                }
            }
            Event::TurnBroke { .. } => self.give_up_answer(output),
            Event::ToolStarted { call, .. }
            | Event::ToolFinished { call, .. }
            | Event::ToolSuspended { call } => self.tool(*call, &entry.event, output),
            Event::TurnStarted { turn, .. } if *turn != self.announced => {
                self.announced = *turn;
                output.talk(&format!("turn {}", turn.0));
            }
            Event::Compacted { .. } => output.talk("Older turns were summed up to make room."),
            Event::OutputsShortened { outputs } => output.talk(&tool::shortened(outputs.len())),
            Event::HistoryRepaired { .. } => output.talk(REPAIRED),
            Event::CallsPlanned { calls, .. } => {
                output.talk(&match calls.len() {
                    1 => "Not split: one worker does it.".to_owned(),
                    count => format!("Split into {count} subtasks."),
                });
            }
            Event::InquiryRaised { inquiry } => return Some(inquiry.clone()),
            Event::InquiryAnswered { answer, letter: Some(_), .. } => {
                output.talk(&tool::answered(answer));
            }
            Event::ConversationOpened { .. }
            | Event::ConfigChanged { .. }
            | Event::DriverStarted { .. }
            | Event::TurnStarted { .. }
            | Event::UserMessage { .. }
            | Event::TurnResumed { .. }
            | Event::ModelPartial { .. }
            | Event::InquiryAnswered { .. }
            | Event::TurnEnded { .. }
            | Event::MessageRetried { .. }
            | Event::MessageQueued { .. }
            | Event::MessageUnqueued { .. }
            | Event::CallParked { .. }
            | Event::CallTracked { .. }
            | Event::CallLocated { .. }
            | Event::QueueReleased
            | Event::CommandTaken { .. }
            | Event::CommandRefused { .. }
            | Event::TitleGiven { .. }
            | Event::WorkspaceBound { .. }
            | Event::UndoStarted { .. }
            | Event::UndoFinished { .. }
            | Event::Unknown(_) => {}
        }
        None
    }

    /// Says what a call does.
    fn tool(&self, id: CallId, event: &Event, output: &mut Output) {
        let Some(call) = self.call(id) else { return };
        match &call.progress {
            Progress::Done(ended) => output.talk(&tool::finished(call, ended)),
            Progress::Waiting
            | Progress::Running(_)
            | Progress::InDoubt(_)
            | Progress::Parked(_) => {
                let suspends = matches!(event, Event::ToolSuspended { .. });
                let told = if suspends { tool::suspended(call) } else { tool::started(call) };
                output.talk(&told);
            }
        }
    }

    fn show(&self, text: &str, output: &mut Output) {
        match self.form {
            Form::Text => output.data(text),
            Form::Json => {}
        }
    }

    /// What comes after a failed try, if another one does. A retry is never hidden.
    fn retry_line(&self) -> Option<String> {
        let step = self.state.open_turn()?.steps().next_back()?;
        let failure = step.failure.as_ref()?;
        let limits = &self.state.config.limits;
        let message = &failure.message;
        if failure.class == FailureClass::Empty {
            return (step.empties < 2).then(|| format!("retrying with a note: {message}"));
        }
        let at = retry_at(failure, step.failures, limits)?;
        let seconds = (at.ms_since(failure.at) + 500) / 1_000;
        // Failures in a row are limited, and text that came ends the row: so the last try moves on.
        let left = limits.failures_max.saturating_sub(step.failures);
        let most = step.attempts_used.saturating_add(left).min(limits.attempts_max);
        let next = step.attempts_used + 1;
        (step.attempts_used < limits.attempts_max)
            .then(|| format!("retrying (attempt {next} of {most}) in {seconds} s: {message}"))
    }
}

/// The text of an answer.
fn spoken(parts: &[AnswerPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        AnswerPart::Text { text } => Some(&**text),
        AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
    });
    texts.collect()
}
