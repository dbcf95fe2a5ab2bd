//! Shows a turn as it happens: answers to standard output, everything else to the person.

use std::collections::{BTreeMap, BTreeSet};

use anstyle::Style as Look;
use piton_core::id::{Attempt, CallId, ConversationId, InquiryId, MessageId, Timestamp, TurnId};
use piton_core::summary::shorten;
use piton_core::tasks::UPDATE_PLAN;
use piton_core::view::{
    CallState, CallView, Live, LiveStep, QuestionView, StepState, StepView, Task, TurnView, View,
    ViewChange,
};

use crate::output::{Form, Output};
use crate::render::answer::{AnswerText, Pace};
use crate::render::changed::{Extent, as_asked, changed};
use crate::render::lines::Line as Data;
use crate::render::moves::{self, Move, is_planning};
use crate::render::paint::{Line, Painted, Span, UNBOUND};
use crate::render::room;
use crate::render::running::{self, Waiting};
use crate::render::streamed::Streamed;
use crate::render::tasks::listed;
use crate::render::thought::thought;
use crate::render::tool;
use crate::render::turn::{reasoning, said, text};

/// What a person is told of a repair.
const REPAIRED: &str = "The provider refused reasoning that was kept; asking again without it.";

/// Longest text that is shown of a message of somebody else, in letters.
const MESSAGE_LETTERS_MAX: usize = 200;

/// A try of a request: its turn, its step, and which try.
type Try = (TurnId, u32, Attempt);

/// What has been shown so far.
#[derive(Debug)]
pub(super) struct Face {
    /// The conversation as it was shown.
    pub(super) view: View,
    form: Form,
    text: AnswerText,
    /// The try of a request whose text streams, and how much of it was taken in.
    streamed: Option<(Try, usize)>,
    /// The try of a request whose thoughts were shown.
    thought: Option<Try>,
    announced: TurnId,
    /// The message of this process, which the person has typed and need not read.
    own: Option<MessageId>,
    /// What calls say of how far they are.
    live: Live,
    /// When something of an answer came last.
    moved: Timestamp,
    pace: Streamed,
    /// The task list that was shown last.
    tasks: Vec<Task>,
    /// Differences that questions have shown whole.
    asked: BTreeMap<CallId, String>,
    /// Questions that were answered here, where another process performs the turn; none where this one does.
    answered: Option<BTreeSet<InquiryId>>,
}

impl Face {
    /// A face that has shown what a view says, and has announced a turn.
    pub(super) fn new(view: View, form: Form, pace: Pace, announced: TurnId) -> Self {
        let (text, live, pace) = (AnswerText::new(pace), Live::default(), Streamed::default());
        let (streamed, thought) = (None, None);
        let tasks = view.tasks().to_vec();
        let (own, moved, asked) = (None, Timestamp::default(), BTreeMap::new());
        Self {
            view,
            form,
            text,
            streamed,
            thought,
            announced,
            own,
            live,
            moved,
            pace,
            tasks,
            asked,
            answered: None,
        }
    }

    /// From now on it shows what another process performs.
    pub(super) fn look_on(&mut self) {
        self.answered = Some(BTreeSet::new());
    }

    /// Whether it shows what another process performs.
    pub(super) fn looks_on(&self) -> bool {
        self.answered.is_some()
    }

    /// A question is being answered here.
    pub(super) fn know_answered(&mut self, asked: &InquiryId) {
        if let Some(answered) = &mut self.answered {
            answered.insert(asked.clone());
        }
    }

    /// The answer has not arrived.
    pub(super) fn forget_answered(&mut self, asked: &InquiryId) {
        if let Some(answered) = &mut self.answered {
            answered.remove(asked);
        }
    }

    /// Whether a question was answered here and need not be asked again, although the answer is not in the view
    /// yet.
    pub(super) fn has_answered(&self, asked: &InquiryId) -> bool {
        self.answered.as_ref().is_some_and(|answered| answered.contains(asked))
    }

    /// Whether the answer that counts was given here.
    pub(super) fn is_ours(&self, asked: &QuestionView) -> bool {
        let elsewhere = asked.answer.as_ref().is_some_and(|answer| answer.elsewhere);
        self.answered.as_ref().map_or(!elsewhere, |answered| answered.contains(&asked.id))
    }

    /// Shows what happened in the newest turn until now, as far as the view tells.
    pub(super) fn recount(&mut self, output: &mut Output) {
        let moves = self.view.turns.last().map(moves::of_turn).unwrap_or_default();
        for happened in &moves {
            self.happened(happened, output);
        }
    }

    /// The person has typed this message.
    pub(super) fn know(&mut self, own: Option<MessageId>) {
        self.own = own;
    }

    /// All that a question says is on the screen.
    pub(super) fn know_asked(&mut self, asked: &QuestionView) {
        let change = asked.found.as_ref().and_then(|found| found.change.as_ref());
        let diff = change.and_then(|change| change.diff.as_ref());
        if let Some(diff) = diff.filter(|diff| diff.lines_left_out == 0) {
            self.asked.insert(asked.call, diff.text.clone());
        }
    }

    /// Shows a change; says what happened.
    pub(super) fn change(&mut self, change: &ViewChange, output: &mut Output) -> Vec<Move> {
        if self.form == Form::Json {
            output.json(&Data::change(change));
        }
        // Changes come without a gap; one that does not fit shows nothing.
        let moves = moves::apply(&mut self.view, change).unwrap_or_default();
        for happened in &moves {
            self.happened(happened, output);
        }
        moves
    }

    /// Shows what a worker did. `view` is the worker's.
    pub(super) fn worker(
        &self,
        worker: &ConversationId,
        happened: &Move,
        view: &View,
        output: &mut Output,
    ) {
        if self.form == Form::Json
            && let Some(line) = Data::worker(worker, happened, view)
        {
            output.json(&line);
        }
        let line = match happened {
            Move::Started(call) => tool::started(call),
            Move::Ended(call) => tool::finished(call),
            Move::SummedUp(covered) => room::summed_up(covered),
            Move::Shortened(outputs) => tool::shortened(*outputs),
            Move::Settled(_, asked) => match &asked.answer {
                Some(answer) if !self.is_ours(asked) => tool::answered(&answer.given),
                Some(_) | None => return,
            },
            Move::TurnBegan(_)
            | Move::Said(_)
            | Move::SummingUp(_)
            | Move::Asked
            | Move::Answered(_)
            | Move::Planned(_)
            | Move::Failed(_)
            | Move::Broke
            | Move::Suspended(_)
            | Move::Raised(..)
            | Move::Repaired => return,
        };
        output.talk(&format!("{} {line}", tool::worker_label(worker)));
        if let Move::Ended(call) = happened {
            show_change(call, output);
        }
    }

    /// What is being waited for now.
    pub(super) fn waiting(&self, now: Timestamp) -> Option<Waiting> {
        if let Some(summing) = self.view.head.summing_up {
            return Some(running::summing_up(summing, now));
        }
        let step = self.newest_step()?;
        let is_running = |call: &&CallView| call.state == CallState::Running;
        let running: Vec<&CallView> = step.calls.iter().filter(is_running).collect();
        running::calls(&running, &self.live.calls, now).or_else(|| self.model(step, now))
    }

    /// How long nothing has come of the answer that has begun to come, once that is long.
    pub(super) fn quiet(&self, now: Timestamp) -> Option<String> {
        let waiting = self.model(self.newest_step()?, now)?;
        running::quiet(waiting, now.ms_since(self.moved))
    }

    /// A model that was asked.
    fn model(&self, step: &StepView, now: Timestamp) -> Option<Waiting> {
        let is_same = |live: &&LiveStep| (live.step, live.attempt) == (step.number, step.attempt);
        let live = self.live.step.as_ref().filter(is_same);
        let since = step.asked.max(self.moved);
        (step.state == StepState::Asked).then(|| running::model(step, live, (since, now)))
    }

    /// Whether a call of the open turn is at work.
    pub(super) fn runs_tools(&self) -> bool {
        let mut open = self.view.open_turn().into_iter().flat_map(TurnView::calls);
        open.any(|call| call.state == CallState::Running)
    }

    fn newest_step(&self) -> Option<&StepView> {
        self.view.open_turn()?.steps().next_back()
    }

    fn progress_of(&self, call: CallId) -> Option<&str> {
        let live = self.live.calls.iter().find(|live| live.call == call)?;
        live.progress.as_deref()
    }

    /// Shows what no entry holds yet.
    pub(super) fn live(&mut self, live: Live, now: Timestamp, output: &mut Output) {
        if live.step != self.live.step {
            self.moved = now;
        }
        if self.form == Form::Json {
            if self.pace.is_due(&live) {
                output.json(&Data::live(&live));
            }
        } else {
            self.stream(&live, output);
        }
        if !output.can_spin() {
            for call in self.view.open_turn().into_iter().flat_map(TurnView::calls) {
                let new = live.calls.iter().find(|live| live.call == call.id);
                let new = new.and_then(|live| live.progress.as_deref());
                if let Some(far) = new.filter(|far| self.progress_of(call.id) != Some(*far))
                    && self.form == Form::Text
                {
                    output.talk(&tool::progress(call, far));
                }
            }
        }
        self.live = live;
    }

    /// Shows the text that came since the last time.
    fn stream(&mut self, live: &Live, output: &mut Output) {
        let Some(step) = &live.step else { return };
        // A plan is no answer; its workers are told of when it is read.
        if self.view.open_turn().is_some_and(is_planning) {
            return;
        }
        // The text of a try that is over stands in the journal.
        let is_asked = self.newest_step().is_some_and(|newest| {
            let names = (newest.number, newest.attempt) == (step.step, step.attempt);
            names && newest.state == StepState::Asked
        });
        if !is_asked {
            return;
        }
        let name = (step.turn, step.step, step.attempt);
        if !step.text.is_empty() {
            self.show_thought(name, &step.reasoning, output);
        }
        self.show_text(name, &step.text, output);
    }

    /// Shows what the model said to itself before it answered, once.
    fn show_thought(&mut self, name: Try, reasoning: &str, output: &mut Output) {
        if self.form == Form::Json || self.thought == Some(name) || reasoning.trim().is_empty() {
            return;
        }
        self.thought = Some(name);
        if let Some(page) = output.talk_page() {
            output.talk_painted(&Painted::lines(&thought(reasoning, page), page.style));
        }
    }

    /// The same of an answer that is whole.
    fn show_kept_thought(&mut self, output: &mut Output) {
        let (Some(turn), Some(step)) = (self.view.head.open, self.newest_step()) else { return };
        let (name, thoughts) = ((turn, step.number, step.attempt), reasoning(step));
        self.show_thought(name, &thoughts, output);
    }

    /// Shows what is new of the text of a try.
    fn show_text(&mut self, name: Try, text: &str, output: &mut Output) {
        let shown = self.streamed.filter(|(of, _)| *of == name).map_or(0, |(_, shown)| shown);
        let more = text.get(shown..).unwrap_or_default();
        self.streamed = Some((name, shown + more.len()));
        output.answer(self.text.live(more));
    }

    /// A try is over without an answer: what the journal has of it and nobody has seen is shown.
    fn show_kept(&mut self, output: &mut Output) {
        if self.form == Form::Json || self.view.open_turn().is_some_and(is_planning) {
            return;
        }
        if let (Some(turn), Some(step)) = (self.view.head.open, self.newest_step())
            && step.partial
        {
            let (name, text) = ((turn, step.number, step.attempt), text(step));
            self.show_text(name, &text, output);
        }
    }

    /// Nothing more will come of the answer: what was held back of it goes to the person.
    pub(super) fn give_up_answer(&mut self, output: &mut Output) {
        self.break_off(output);
        if let Some(left) = self.text.left_over() {
            output.talk(&format!("[the answer broke off; this much came]\n{}", left.trim_end()));
        }
    }

    /// What came so far is all there will be of this try.
    fn break_off(&mut self, output: &mut Output) {
        let end = self.text.break_off();
        self.show(end, output);
        output.end_answer();
    }

    fn happened(&mut self, happened: &Move, output: &mut Output) {
        match happened {
            Move::Asked => self.break_off(output),
            Move::Answered(text) => {
                self.show_kept_thought(output);
                let text = self.text.answered(text);
                self.show(&text, output);
                output.end_answer();
            }
            Move::Failed(failure) => {
                self.show_kept(output);
                self.break_off(output);
                if let Some(line) = failure.told() {
                    output.talk(&line);
                }
            }
            Move::Broke => {
                self.show_kept(output);
                self.give_up_answer(output);
            }
            // Its list comes with its end.
            Move::Started(call) if *call.tool == *UPDATE_PLAN => {}
            Move::Started(call) => output.talk(&tool::started(call)),
            Move::Suspended(call) => output.talk(&tool::suspended(call)),
            Move::Ended(call) if call.lists_tasks() => self.show_tasks(&call.tasks, output),
            Move::Ended(call) => self.show_end(call, output),
            Move::TurnBegan(turn) if *turn != self.announced => {
                self.announced = *turn;
                output.talk(&format!("turn {}", turn.0));
            }
            Move::SummingUp(tokens) if !output.can_spin() => {
                output.talk(&format!("{} …", room::summing_up(*tokens)));
            }
            Move::SummedUp(covered) => output.talk(&room::summed_up(covered)),
            Move::Shortened(outputs) => output.talk(&tool::shortened(*outputs)),
            Move::Repaired => output.talk(REPAIRED),
            Move::Planned(1) => output.talk("Not split: one worker does it."),
            Move::Planned(count) => output.talk(&format!("Split into {count} subtasks.")),
            Move::Settled(_, asked) => {
                if let Some(answer) = asked.answer.as_ref().filter(|_| !self.is_ours(asked)) {
                    output.talk(&tool::answered(&answer.given));
                }
            }
            Move::Said(message) if Some(&message.id) != self.own.as_ref() => {
                let text = shorten(&said(&message.parts), MESSAGE_LETTERS_MAX);
                output.talk(&format!("> {}", text.replace('\n', "\n> ")));
            }
            Move::SummingUp(_) | Move::TurnBegan(_) | Move::Raised(..) | Move::Said(_) => {}
        }
    }

    /// Shows how a call ended, and what it changed unless that was on the screen before.
    fn show_end(&mut self, call: &CallView, output: &mut Output) {
        let line = tool::finished(call);
        let size = self.asked.remove(&call.id).and_then(|asked| as_asked(call, &asked));
        if let Some(size) = size {
            output.talk(&format!("{line} ({size})"));
        } else {
            output.talk(&line);
            show_change(call, output);
        }
    }

    /// Shows the task list, if it has changed.
    fn show_tasks(&mut self, tasks: &[Task], output: &mut Output) {
        if self.tasks != tasks {
            tasks.clone_into(&mut self.tasks);
            show_tasks(tasks, output);
        }
    }

    fn show(&self, text: &str, output: &mut Output) {
        match self.form {
            Form::Text => output.answer(text),
            Form::Json => {}
        }
    }
}

/// Shows the task list.
pub(super) fn show_tasks(tasks: &[Task], output: &mut Output) {
    let page = output.talk_page().unwrap_or(UNBOUND);
    output.talk_painted(&Painted::lines(&listed(tasks, page), page.style));
}

/// Shows what a call changed in a file, or how a command failed, to a person who watches.
pub(super) fn show_change(call: &CallView, output: &mut Output) {
    if let Some(page) = output.talk_page() {
        let dim = Look::new().dimmed();
        let words = tool::last_words(call);
        let words: Vec<Line> =
            words.iter().map(|line| vec![Span::new(&format!("  {line}"), dim)]).collect();
        if !words.is_empty() {
            output.talk_painted(&Painted::lines(&words, page.style));
        }
        let lines = changed(call, Extent::Short, page);
        if !lines.is_empty() {
            output.talk_painted(&Painted::lines(&lines, page.style));
        }
    }
}
