//! Plausible journals: what `decide` asks for is done with random outcomes, between crashes,
//! interrupts, injected messages, retries, discards, compactions and undos.

use std::collections::BTreeSet;

use piton_core::action::{Action, Verdict, Wish};
use piton_core::command::{Command, Envelope, Performing, Plan, plan};
use piton_core::cut;
use piton_core::decide::calls::{doubt, doubt_elsewhere};
use piton_core::decide::decide;
use piton_core::event::{
    BreakReason, EffectClass, Entry, Event, Found, Handle, Inquiry, InquiryAnswer, InquiryKind,
    Outcome, ToolOutput, TurnEnd, UndoIntent, UndoOutcome, UserPart,
};
use piton_core::id::{CallId, CommandId, ConversationId};
use piton_core::integrity::violations;
use piton_core::question::Question;
use piton_core::recap::Look;
use piton_core::state::{Call, Cut, Exchange, Progress, Started, State, Turn};
use piton_core::transcript::{Message, Transcript, typed};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::proptest;

use crate::append_only::compare;
use crate::nonsense::quietly;
use crate::script::Journal;

/// Answers that a model may give. `{n}` is a number, so that calls have names of their own.
const ANSWERS: [&str; 12] = [
    "answer:done",
    "calls(r:a{n})",
    "calls(t:so o:a{n} r:b{n} d:c{n})",
    "calls(s:a{n} i:b{n} c:c{n})",
    "calls(bad:a{n} ghost:b{n} o:c{n})",
    "calls(th:hm o:same)",
    "length:so",
    "length(t:so r:a{n} x:o)",
    "refused(t:no o:a{n})",
    "length(x:o)",
    "calls(n:raw{n} r:a{n})",
    "answer(t:done n:raw{n})",
];
const FAILURES: [&str; 6] = ["network", "server", "empty", "auth", "context_overflow", "stalled"];
const REJECTIONS: [&str; 4] = ["reject:latest", "reject:turn", "reject:raw1", "reject:"];
/// How often a long output says the same.
const LONG_OUTPUT: usize = 500;
/// Actions within which a turn must be over once the world behaves.
const CALM_ACTIONS_MAX: usize = 60;

/// How many native blocks are left.
fn natives(state: &State) -> usize {
    let steps = state.turns.iter().flat_map(Turn::steps);
    steps.filter(|step| step.answer.as_ref().is_some_and(|it| it.native.is_some())).count()
}

fn is_context(part: &UserPart) -> bool {
    matches!(part, UserPart::Text { .. }) && typed(part).is_none()
}

struct World {
    journal: Journal,
    /// Of the last request.
    transcript: Transcript,
    count: u32,
    /// Entries of the conversation that this one was forked from.
    before: Vec<Entry>,
    /// What the model heard there of changes that were taken back, or was to hear.
    told_before: usize,
}

impl World {
    fn open(&self) -> Option<&Turn> {
        self.journal.state.open_turn()
    }

    fn play(&mut self, script: &str) {
        self.count += 1;
        self.journal.play(&script.replace("{n}", &self.count.to_string()));
    }

    /// The call that a choice points to, among those that fit.
    fn some_call(&self, choice: usize, fits: impl Fn(&Call) -> bool) -> Option<CallId> {
        let calls = self.open()?.steps().flat_map(|step| &step.calls);
        let calls: Vec<_> = calls.filter(|call| fits(call)).map(|call| call.id).collect();
        calls.get(choice % calls.len().max(1)).copied()
    }

    fn finish(&mut self, call: CallId, outcome: Outcome) {
        self.count += 1;
        let long = if self.count.is_multiple_of(3) { LONG_OUTPUT } else { 1 };
        let output = ToolOutput::text(format!("output of {call} ").repeat(long));
        self.journal.push(Event::ToolFinished { call, outcome, output });
    }

    fn start(&mut self, calls: &[CallId]) {
        for call in calls {
            let turn = self.open().unwrap();
            let (known, effect) = (turn.call(*call).unwrap(), self.effect(*call));
            let repeatable = matches!(effect, EffectClass::ReadOnly | EffectClass::Idempotent);
            let decided = turn.raised(&doubt(known).id).and_then(|raised| raised.answer.as_ref());
            let allowed = decided == Some(&InquiryAnswer::RunAgain) || self.asked_first(*call);
            // X7: no way from doubt to a second run without a class or a decision that allows it.
            assert!(known.starts == 0 || repeatable || allowed, "{call} is run twice");
            assert!(!known.is_done(), "{call} is run although it is done");
            assert!(!is_of_origin(known), "{call} belongs to another conversation");
            let handle = Handle::None;
            self.journal.push(Event::ToolStarted { call: *call, effect, handle });
        }
    }

    /// Whether a call that was started has provably done nothing: it said so, or its driver went
    /// while it stood at a question in front of everything. Read off the entries, not the fold.
    fn asked_first(&self, call: CallId) -> bool {
        let (mut runs, mut unharmed, mut open) = (false, false, BTreeSet::new());
        for Entry { event, .. } in self.before.iter().chain(&self.journal.entries) {
            let goes = matches!(event, Event::DriverStarted { .. } | Event::TurnBroke { .. });
            if let Event::ToolStarted { call: started, .. } = event
                && *started == call
            {
                (runs, unharmed) = (true, false);
            } else if let Event::ToolSuspended { call: waits } = event
                && *waits == call
            {
                (runs, unharmed) = (false, true);
            } else if let Event::InquiryRaised { inquiry } = event
                && inquiry.call == call
            {
                let first = inquiry.wants.as_ref().is_some_and(|wants| wants.before_acting);
                open.extend(first.then(|| inquiry.id.clone()));
            } else if let Event::InquiryAnswered { inquiry, .. } = event {
                open.remove(inquiry);
            } else if goes && runs {
                (runs, unharmed) = (false, !open.is_empty());
            }
        }
        unharmed
    }

    fn effect(&self, call: CallId) -> EffectClass {
        let tool = self.open().and_then(|turn| turn.call(call)).map(|call| call.name.clone());
        self.journal.state.config.tool(&tool.unwrap()).unwrap().effect
    }

    /// Something happens that nobody decided. Says whether it did.
    fn outside(&mut self, choice: usize) -> bool {
        let open = self.open().is_some();
        let broke = self.open().is_some_and(|turn| turn.broke.is_some());
        match choice % 24 {
            0 | 1 => self.play("driver"),
            2 => self.interrupt(choice),
            3 if open => self.play("inject"),
            4 if broke => self.play("resume"),
            5 => self.retry(choice / 24),
            6 if open => self.play("end:discarded"),
            7 if open => self.play("end:stopped"),
            8 => self.play("queue:q{n}"),
            9 => self.compact(),
            10 => self.answer_inquiry(choice / 24),
            11 => self.play("alien:New"),
            12 => self.play("mode:ask"),
            13 => self.play("mode:auto"),
            14 => self.undo(choice / 24),
            _ => return false,
        }
        true
    }

    /// A person takes a change back, or a driver ends what another one began. Where [`plan`] would
    /// refuse it, nothing happens.
    fn undo(&mut self, choice: usize) {
        self.count += 1;
        let open = self.journal.state.unsettled_undos().next().map(|intent| intent.change.clone());
        if let Some(change) = open {
            let outcome =
                if choice.is_multiple_of(3) { UndoOutcome::Left } else { UndoOutcome::Done };
            self.journal.push(Event::UndoFinished { change, outcome, text: String::new() });
            return;
        }
        let intent = UndoIntent {
            change: format!("change{}", self.count),
            conversation: ConversationId::new("c"),
            workspace: "/w".into(),
            path: format!("f{}.txt", choice % 4),
            before: None,
            after: None,
            again: choice.is_multiple_of(5),
            at_us: self.count.into(),
        };
        let name = CommandId::new(format!("undo{}", self.count));
        let command =
            Command::Undo { change: intent.change.clone(), intent: Some(Box::new(intent)) };
        let performing = match self.open() {
            Some(turn) if turn.broke.is_none() => Performing::Now,
            Some(_) | None => Performing::Nobody,
        };
        let envelope = Envelope::new(name, command);
        if let Plan::Record { facts, .. } = plan(&self.journal.state, &envelope, performing, None) {
            for fact in facts {
                self.journal.push(fact);
            }
        }
    }

    fn retry(&mut self, choice: usize) {
        let said = self.journal.state.turns.iter().flat_map(Turn::said);
        let ids: Vec<_> = said.map(|said| said.message.to_string()).collect();
        if let Some(id) = ids.get(choice % ids.len().max(1)) {
            let resend = if choice.is_multiple_of(2) {
                String::new()
            } else {
                format!("resend:{id}:new{{n}}")
            };
            self.play(&format!("retry:{id} {resend}"));
        }
    }

    fn compact(&mut self) {
        if let Some(wide) = cut::widest(&self.journal.state) {
            self.journal.push(cut::lay(&self.journal.state, wide, &Look::default()));
        }
    }

    fn sum_up(&mut self, cut: Cut) {
        let sent = |state: &State| Transcript::from(state).tokens_estimated();
        let before = sent(&self.journal.state);
        self.journal.push(cut::lay(&self.journal.state, cut, &Look::default()));
        assert!(sent(&self.journal.state) < before, "a summary shrinks");
    }

    // X12, O37: from any state, an interrupt ends in a turn that is broken or over.
    fn interrupt(&mut self, choice: usize) {
        let mut action = decide(&self.journal.state, Wish::Interrupt);
        if action == Action::Cancel {
            let running = |call: &Call| matches!(call.progress, Progress::Running(_));
            while let Some(call) = self.some_call(choice, running) {
                if choice.is_multiple_of(5) {
                    self.journal.push(Event::ToolSuspended { call });
                } else {
                    self.finish(call, Outcome::Cancelled);
                }
            }
            let (reason, message) = (BreakReason::Interrupted, String::new());
            action = Action::Break { reason, message };
        }
        if let Action::Break { reason, .. } = action {
            self.stop(reason);
        }
        assert_eq!(decide(&self.journal.state, Wish::Interrupt), Action::Rest);
    }

    fn stop(&mut self, reason: BreakReason) {
        let turn = self.open().unwrap().id;
        self.journal.push(Event::TurnBroke { turn, reason, message: String::new() });
    }

    fn answer_inquiry(&mut self, choice: usize) {
        let Some(turn) = self.open() else { return };
        let pending: Vec<Inquiry> = turn.pending_inquiries().cloned().collect();
        let Some(inquiry) = pending.get(choice % pending.len().max(1)) else { return };
        let answers = match inquiry.kind {
            InquiryKind::Permission => [InquiryAnswer::Allow, InquiryAnswer::DENY],
            InquiryKind::InDoubt => [InquiryAnswer::RunAgain, InquiryAnswer::TreatAsDone],
            InquiryKind::Question => {
                [InquiryAnswer::Text { text: "so".into() }, InquiryAnswer::Redacted]
            }
        };
        let (inquiry, by) = (inquiry.id.clone(), String::new());
        let answer = answers[choice % answers.len()].clone();
        self.journal.push(Event::InquiryAnswered {
            inquiry,
            answer,
            by,
            letter: None,
            by_rule: false,
        });
    }

    /// Does what was decided; the choice says how it ends.
    fn perform(&mut self, choice: usize) {
        match decide(&self.journal.state, Wish::Proceed) {
            Action::Rest => match (self.open().is_some(), choice % 4) {
                (false, 3) => self.play("coordinate user"),
                (false, 2) => self.play("turn context:now:c{n} user"),
                (false, _) => self.play("turn user"),
                (true, 0) => self.play("end:stopped"),
                (true, 1) => self.play("inject"),
                (true, _) => self.play("resume"),
            },
            Action::StartQueued(message) => self.play(&format!("turn say:{message}")),
            Action::Steer(message) => self.play(&format!("say:{message}")),
            Action::Await => self.arrive(choice),
            Action::Cancel => panic!("nobody interrupted"),
            Action::WaitForPerson => {
                let turn = self.open().unwrap();
                if turn.pending_inquiries().next().is_some() {
                    self.answer_inquiry(choice);
                } else {
                    // Whoever answers elsewhere comes back with a driver of his own.
                    assert!(turn.parked().is_some());
                    self.play("driver");
                }
            }
            Action::AskModel { step, .. } => {
                self.check_request();
                self.play(&format!("ask:{step}"));
            }
            Action::SumUp(_) => self.play("summing"),
            Action::LeaveSummary => self.play("unsummed:stopped"),
            Action::Compact(cut) => self.sum_up(cut),
            Action::Shorten(outputs) => {
                let sent = |state: &State| Transcript::from(state).tokens_estimated();
                let before = sent(&self.journal.state);
                self.journal.push(Event::OutputsShortened { outputs });
                assert!(sent(&self.journal.state) < before, "a round of shortening shrinks");
            }
            Action::Repair(steps) => {
                let before = natives(&self.journal.state);
                self.journal.push(Event::HistoryRepaired { steps });
                assert!(natives(&self.journal.state) < before, "a repair shrinks");
            }
            Action::Plan(calls) => {
                let step = self.open().unwrap().steps().next_back().unwrap().number;
                self.journal.push(Event::CallsPlanned { step, calls });
            }
            Action::Locate(calls) => {
                for call in calls {
                    self.journal.push(Event::CallLocated { call, found: Found::default() });
                }
            }
            Action::RunTools(calls) => self.start(&calls[..=choice % calls.len()]),
            Action::Settle(calls) => self.settle(calls[choice % calls.len()], choice),
            Action::Raise(inquiries) => {
                for inquiry in inquiries {
                    self.journal.push(Event::InquiryRaised { inquiry });
                }
            }
            Action::Finish(verdicts) => {
                for Verdict { call, outcome, text } in verdicts {
                    let output = ToolOutput::text(text);
                    self.journal.push(Event::ToolFinished { call, outcome, output });
                }
            }
            Action::Break { reason, .. } => self.stop(reason),
            Action::Complete => {
                let turn = self.open().unwrap().id;
                self.journal.push(Event::TurnEnded { turn, end: TurnEnd::Completed });
            }
        }
    }

    fn settle(&mut self, call: CallId, choice: usize) {
        let turn = self.open().unwrap();
        let known = turn.call(call).unwrap();
        let inquiry = match &known.progress {
            Progress::InDoubt(Started { handle: Handle::Origin { conversation, .. }, .. }) => {
                doubt_elsewhere(turn, known, conversation)
            }
            Progress::Waiting
            | Progress::Running(_)
            | Progress::InDoubt(_)
            | Progress::Parked(_)
            | Progress::Done(_) => doubt(known),
        };
        if choice.is_multiple_of(3) {
            self.journal.push(Event::InquiryRaised { inquiry });
        } else {
            self.finish(call, Outcome::Ok);
        }
    }

    /// What is in flight moves on.
    fn arrive(&mut self, choice: usize) {
        if self.journal.state.summing.asked.is_some() {
            match choice % 4 {
                0 => self.play("unsummed:failed"),
                1 => self.play("unsummed:stopped"),
                _ => self.play("summed:told"),
            }
        } else if self.open().is_some_and(is_asked) {
            match choice % 8 {
                0 => self.play("partial:piece"),
                1 if choice.is_multiple_of(3) => {
                    self.play(REJECTIONS[choice / 8 % REJECTIONS.len()]);
                }
                1 | 2 => self.play(&format!("fail:{}", FAILURES[choice / 8 % FAILURES.len()])),
                _ => self.play(ANSWERS[choice / 8 % ANSWERS.len()]),
            }
        } else {
            let running = |call: &Call| matches!(call.progress, Progress::Running(_));
            let call = self.some_call(choice, running).expect("something is in flight");
            if choice % 7 == 6 {
                return self.ask(call, choice);
            }
            if choice.is_multiple_of(7) {
                self.journal.push(Event::CallParked { call, question: "may I?".into() });
                return;
            }
            if choice % 11 == 10 {
                let handle = match choice % 3 {
                    0 => Handle::None,
                    1 => Handle::Task { id: "t".into(), since: "then".into() },
                    _ => Handle::Round { number: 1, state: None, asked: "{}".into() },
                };
                self.journal.push(Event::CallTracked { call, handle });
                return;
            }
            self.finish(call, if choice.is_multiple_of(5) { Outcome::Failed } else { Outcome::Ok });
        }
    }

    /// A tool asks, and waits for the answer where it is, or ends for now.
    fn ask(&mut self, call: CallId, choice: usize) {
        self.count += 1;
        let mut question = Question::new(format!("q{}", self.count), "What?");
        question.wants.before_acting = choice.is_multiple_of(2);
        self.journal.push(Event::InquiryRaised { inquiry: question.inquiry(call, 1) });
        if choice.is_multiple_of(3) {
            self.journal.push(Event::ToolSuspended { call });
        }
    }

    fn check_request(&mut self) {
        let transcript = Transcript::from(&self.journal.state);
        self.transcript.update(&self.journal.state);
        assert_eq!(self.transcript, transcript);
        assert_eq!(violations(&transcript), vec![]);
        let sent = format!("{:?}", transcript.messages());
        // What was taken back is told with the next request, and once.
        let state = &self.journal.state;
        for note in &state.untold {
            assert!(sent.contains(&**note), "{note} is not told");
        }
        let done = state.undos.iter().filter(|undo| undo.outcome == Some(UndoOutcome::Done));
        assert!(told(state) <= self.told_before + done.count());
        let turn = self.open().unwrap();
        for said in turn.said() {
            let holds = |message: &Message| match message {
                Message::User(parts) => {
                    let context = parts.iter().take_while(|part| is_context(part)).count();
                    parts[context..].starts_with(&said.parts)
                }
                Message::Assistant(_) | Message::Results(_) => false,
            };
            assert!(transcript.messages().iter().any(holds));
        }
        // K15, O8: what was done is told, and every call of a request has ended.
        let cut = state.cut();
        let sent_steps = turn.steps().filter(|step| !cut.has_step(turn.id, step.number));
        for call in sent_steps.flat_map(|step| &step.calls) {
            let output = call.output_sent().unwrap_or_else(|| panic!("{} is open", call.id));
            assert!(sent.contains(&format!("{output:?}")));
        }
    }

    /// The world behaves from here on: the turn must end, and the queue must drain.
    fn calm_down(&mut self) {
        // A person who was told that nothing is left to shorten goes on with a model that takes more.
        let limits = "model:demo/large failures_max:9 attempts_max:99 steps_max:0 context_max:0 mode:auto driver";
        self.play(limits);
        for _ in 0..CALM_ACTIONS_MAX {
            let asked = self.open().is_some_and(is_asked);
            match (decide(&self.journal.state, Wish::Proceed), self.open().is_some()) {
                (Action::Rest, false) => return,
                (Action::Rest, true) => self.play("resume"),
                (Action::Await, _) if asked => self.play("answer:calm"),
                (_, _) => self.perform(1),
            }
        }
        panic!("the turn never ends: {:?}", decide(&self.journal.state, Wish::Proceed));
    }
}

/// How often the model hears that a change was taken back.
fn told(state: &State) -> usize {
    let steps = state.turns.iter().flat_map(Turn::steps);
    steps.map(|step| step.told.len()).sum::<usize>() + state.untold.len()
}

fn is_of_origin(call: &Call) -> bool {
    matches!(&call.progress, Progress::InDoubt(it) if matches!(it.handle, Handle::Origin { .. }))
}

/// The person of a fork answers whatever is asked, and the world behaves: it must come to an end.
pub(crate) fn calm_branch(before: &[Entry], journal: Journal) {
    let (transcript, told_before) = (Transcript::from(&journal.state), told(&journal.state));
    let before = before.to_vec();
    let mut world = World { journal, transcript, count: 1_000, before, told_before };
    if world.open().is_some_and(|turn| turn.said().next().is_none()) {
        // Cut in the middle of a commit: there is nothing to go on with.
        world.play("end:discarded");
    }
    world.calm_down();
    assert_eq!(world.journal.state.strays, 0);
}

fn is_asked(turn: &Turn) -> bool {
    turn.steps().any(|step| step.exchange == Exchange::Asked)
}

/// Lives through what a tape says, and calms down. Gives the journal.
pub(crate) fn live(tape: &[usize]) -> Vec<Entry> {
    let journal = Journal::new();
    let transcript = Transcript::from(&journal.state);
    let before = Vec::new();
    let mut world = World { journal, transcript, count: 0, before, told_before: 0 };
    world.play(match tape[0] % 3 {
        0 => "context_max:60 failures_max:2 steps_max:3",
        1 if tape[0].is_multiple_of(2) => "context_max:4000",
        1 => "mode:ask attempts_max:3",
        _ => "in_doubt:tell_model tokens_max:500",
    });
    for choice in tape {
        if !world.outside(*choice) {
            world.perform(choice / 24);
        }
        let state = &world.journal.state;
        assert_eq!(state.strays, 0, "did not fit: {:?}", world.journal.entries.last());
    }
    world.calm_down();
    compare(&world.journal.entries);
    world.journal.entries
}

proptest! {
    #![proptest_config(quietly())]

    // M18, K15, K20, X7, X12, D66
    #[test]
    fn whatever_happens_requests_are_valid_and_nothing_is_done_twice(
        tape in vec(any::<usize>(), 1..120)
    ) {
        live(&tape);
    }
}
