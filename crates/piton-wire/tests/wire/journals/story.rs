//! Journals as the core makes them: what `decide` asks for is done with random outcomes, between
//! crashes, interrupts, injected messages, retries, discards, compactions and switches of the model.
//!
//! A request is made where the engine makes one: where `decide` says so. There is none without an
//! open turn.

use piton_core::action::{Action, PieceAsk, Verdict, Wish};
use piton_core::answer::Answer;
use piton_core::coordinate::COORDINATOR;
use piton_core::cut;
use piton_core::decide::calls::doubt;
use piton_core::decide::decide;
use piton_core::event::{
    BreakReason, ConfigChange, EffectClass, Entry, Event, FailureClass, Found, Handle,
    InDoubtPolicy, InquiryAnswer, InquiryKind, Limits, ModelRef, Outcome, PartialKind,
    PermissionMode, Permissions, QueuePlace, Rejected, ToolOutput, TurnEnd, Usage, UserPart,
};
use piton_core::id::{
    Attempt, CallId, Digest, DriverId, Epoch, InquiryId, MessageId, Timestamp, TurnId,
};
use piton_core::recap::Look;
use piton_core::state::{Call, Exchange, Item, Progress, State, Turn};
use piton_core::summarise;
use piton_core::transcript::Transcript;

use super::luck::Luck;
use super::speech::{self, End};
use super::voices::{VOICES, Voice};
use super::{imported, oddities};

const FAILURES: [FailureClass; 7] = [
    FailureClass::Network,
    FailureClass::Server,
    FailureClass::Stalled,
    FailureClass::Malformed,
    FailureClass::RateLimited,
    FailureClass::ContextOverflow,
    FailureClass::Auth,
];

/// How often a long output says the same.
const LONG_OUTPUT: usize = 400;

/// Sees every request that the engine would send.
pub(crate) trait Watch {
    fn request(&mut self, state: &State, voice: Voice, luck: &mut Luck);
}

/// A conversation in the making.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) state: State,
    voice: Voice,
    /// Who takes turns in this story: few, so that a model meets its own words again.
    cast: [Voice; 3],
    messages: u32,
}

/// Tells the story of a tape.
pub(crate) fn tell(tape: &[u64], watch: &mut dyn Watch) {
    let mut luck = Luck::of(tape.first().copied().unwrap_or_default());
    let mut story = Story::new(&mut luck);
    if luck.once_in(3) {
        imported::history(&mut story, &mut luck);
        story.drive();
    }
    let strays = story.state.strays;
    for seed in tape {
        let mut luck = Luck::of(*seed);
        if !story.outside(&mut luck) {
            story.perform(&mut luck, watch);
        }
        assert_eq!(story.state.strays, strays, "the engine writes nothing that does not fit");
    }
}

impl Story {
    fn new(luck: &mut Luck) -> Self {
        let cast = [luck.pick(&VOICES), luck.pick(&VOICES), luck.pick(&VOICES)];
        let mut story = Self { state: State::default(), voice: cast[0], cast, messages: 0 };
        let limits = Limits {
            context_tokens_max: luck.pick(&[0, 0, 200, 2_000]),
            steps_max: luck.pick(&[0, 3]),
            ..Limits::default()
        };
        let mode = luck.pick(&[PermissionMode::Auto, PermissionMode::Auto, PermissionMode::Ask]);
        let change = ConfigChange {
            system: Some(luck.pick(&["Be brief.", "", " ", "\u{0}"]).into()),
            tools: Some(oddities::tools(luck)).filter(|_| !luck.once_in(8)),
            limits: Some(limits),
            permissions: Some(Permissions { mode, rules: Vec::new(), ..Permissions::default() }),
            in_doubt: Some(luck.pick(&[InDoubtPolicy::Ask, InDoubtPolicy::TellModel])),
            ..ConfigChange::default()
        };
        story.push(Event::ConfigChanged { change });
        story.switch(luck);
        story
    }

    pub(crate) fn push(&mut self, event: Event) {
        let seq = self.state.end.next();
        self.state.apply(&Entry { seq, at: Timestamp(seq.0 * 1_000), event });
    }

    pub(crate) fn voice(&self) -> Voice {
        self.voice
    }

    fn open(&self) -> Option<&Turn> {
        self.state.open_turn()
    }

    /// Another model answers from now on.
    pub(crate) fn switch(&mut self, luck: &mut Luck) {
        self.voice = luck.pick(&self.cast);
        let change = ConfigChange { model: Some(self.model()), ..ConfigChange::default() };
        self.push(Event::ConfigChanged { change });
    }

    fn model(&self) -> ModelRef {
        ModelRef { provider: self.voice.provider.into(), model: self.voice.model.into() }
    }

    fn drive(&mut self) {
        let (driver, epoch) = (DriverId::new("d"), Epoch(self.state.end.0));
        let (host, boot) = ("h".into(), "b".into());
        self.push(Event::DriverStarted { driver, epoch, host, boot, pid: 1 });
    }

    pub(crate) fn next_message(&mut self) -> MessageId {
        self.messages += 1;
        MessageId::new(format!("m{}", self.messages))
    }

    fn say(&mut self, message: MessageId, parts: Vec<UserPart>) {
        self.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
    }

    fn begin(&mut self, message: MessageId, parts: Vec<UserPart>) {
        let turn = self.state.next_turn();
        let agent = turn.0.is_multiple_of(3).then(|| COORDINATOR.to_owned());
        self.push(Event::TurnStarted { turn, agent });
        self.say(message, parts);
    }

    fn inject(&mut self, luck: &mut Luck) {
        let message = self.next_message();
        self.say(message, oddities::user_parts(luck));
    }

    fn end(&mut self, end: TurnEnd) {
        if let Some(turn) = self.open().map(|turn| turn.id) {
            self.push(Event::TurnEnded { turn, end });
        }
    }

    fn resume(&mut self) {
        if let Some(turn) = self.open().map(|turn| turn.id) {
            self.push(Event::TurnResumed { turn });
        }
    }

    fn stop(&mut self, reason: BreakReason) {
        if let Some(turn) = self.open().map(|turn| turn.id) {
            self.push(Event::TurnBroke { turn, reason, message: String::new() });
        }
    }

    /// Something happens that nobody decided. Says whether it did.
    fn outside(&mut self, luck: &mut Luck) -> bool {
        let open = self.open().is_some();
        let broke = self.open().is_some_and(|turn| turn.broke.is_some());
        match luck.below(32) {
            0 | 1 => self.drive(),
            2 => self.interrupt(luck),
            3 if open => self.inject(luck),
            4 if broke => self.resume(),
            5 => self.retry(luck),
            6 if open => self.end(TurnEnd::Discarded),
            7 if open => self.end(TurnEnd::Stopped),
            8 => {
                let message = self.next_message();
                let place = luck.pick(&[QueuePlace::Next, QueuePlace::Steer]);
                let parts = oddities::user_parts(luck);
                self.push(Event::MessageQueued { message, parts, place });
            }
            9 => self.compact(),
            10 => self.answer_inquiry(luck),
            11..=14 => self.switch(luck),
            15 => {
                let tools = Some(oddities::tools(luck));
                let system = Some(oddities::text(luck).into());
                let change = ConfigChange { tools, system, ..ConfigChange::default() };
                self.push(Event::ConfigChanged { change });
            }
            _ => return false,
        }
        true
    }

    fn retry(&mut self, luck: &mut Luck) {
        let said: Vec<_> = self.state.turns.iter().flat_map(Turn::said).cloned().collect();
        if said.is_empty() {
            return;
        }
        let (message, attempt) = {
            let said = luck.pick(&said);
            (said.message, said.attempt.next())
        };
        self.push(Event::MessageRetried { message: message.clone(), attempt });
        if luck.once_in(2) {
            let mut parts = oddities::user_parts(luck);
            parts.push(UserPart::text(format!("again {}", self.state.end)));
            self.push(Event::UserMessage { message, parts, attempt });
        }
    }

    fn compact(&mut self) {
        if let Some(wide) = cut::widest(&self.state) {
            self.push(cut::lay(&self.state, wide, &Look::default()));
        }
    }

    fn interrupt(&mut self, luck: &mut Luck) {
        let action = decide(&self.state, Wish::Interrupt);
        while let (Action::Cancel, Some(call)) = (&action, self.running(luck)) {
            self.finish(call, Outcome::Cancelled, luck);
        }
        if action != Action::Rest {
            self.stop(BreakReason::Interrupted);
        }
    }

    fn answer_inquiry(&mut self, luck: &mut Luck) {
        let pending: Vec<(InquiryId, InquiryKind)> = self
            .open()
            .into_iter()
            .flat_map(Turn::pending_inquiries)
            .map(|inquiry| (inquiry.id.clone(), inquiry.kind))
            .collect();
        if pending.is_empty() {
            return;
        }
        let (inquiry, kind) = luck.pick(&pending);
        let told = InquiryAnswer::Text { text: oddities::text(luck).into() };
        let answer = match kind {
            InquiryKind::Permission => luck.pick(&[InquiryAnswer::Allow, InquiryAnswer::DENY]),
            InquiryKind::InDoubt => {
                luck.pick(&[InquiryAnswer::RunAgain, InquiryAnswer::TreatAsDone, told])
            }
            InquiryKind::Question => told,
        };
        self.push(Event::InquiryAnswered {
            inquiry,
            answer,
            by: String::new(),
            letter: None,
            by_rule: false,
        });
    }

    /// A part is summed up by a model.
    fn sum_up(&mut self, ask: &PieceAsk) {
        let request = summarise::request(&self.state, ask);
        let tokens_estimated = request.tokens_estimated();
        self.push(Event::SummaryAsked {
            range: ask.range,
            model: request.model().unwrap().clone(),
            digest: Digest::new("00"),
            tokens_estimated,
            tokens_before: tokens_estimated,
        });
        let (text, usage) = ("what there was".into(), Usage::default());
        self.push(Event::SummaryAnswered { text, usage });
    }

    /// Does what was decided.
    fn perform(&mut self, luck: &mut Luck, watch: &mut dyn Watch) {
        match decide(&self.state, Wish::Proceed) {
            Action::Rest => match (self.open().is_some(), luck.below(4)) {
                (false, _) => {
                    let message = self.next_message();
                    self.begin(message, oddities::user_parts(luck));
                }
                (true, 0) => self.end(TurnEnd::Stopped),
                (true, 1) => self.inject(luck),
                (true, _) => self.resume(),
            },
            Action::StartQueued(message) => {
                let queued = self.state.queue.iter().find(|queued| queued.message == message);
                let parts = queued.map(|queued| queued.parts.clone()).unwrap_or_default();
                self.begin(message, parts);
            }
            Action::Steer(message) => {
                let queued = self.state.queue.iter().find(|queued| queued.message == message);
                let parts = queued.map(|queued| queued.parts.clone()).unwrap_or_default();
                self.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
            }
            Action::Await => self.arrive(luck),
            Action::Cancel | Action::LeaveSummary => panic!("nobody interrupted"),
            Action::WaitForPerson => self.answer_inquiry(luck),
            Action::AskModel { step, attempt, .. } => {
                watch.request(&self.state, self.voice, luck);
                self.ask(step, attempt);
            }
            Action::SumUp(ask) => self.sum_up(&ask),
            Action::Compact(cut) => self.push(cut::lay(&self.state, cut, &Look::default())),
            Action::Shorten(outputs) => self.push(Event::OutputsShortened { outputs }),
            Action::Repair(steps) => self.push(Event::HistoryRepaired { steps }),
            Action::Plan(calls) => {
                let step = calls[0].call.step;
                self.push(Event::CallsPlanned { step, calls });
            }
            Action::RunTools(calls) => {
                for call in &calls[..=luck.below(calls.len())] {
                    self.start(*call);
                }
            }
            Action::Settle(calls) => self.settle(luck.pick(&calls), luck),
            Action::Locate(calls) => {
                for call in calls {
                    self.push(Event::CallLocated { call, found: Found::default() });
                }
            }
            Action::Raise(inquiries) => {
                for inquiry in inquiries {
                    self.push(Event::InquiryRaised { inquiry });
                }
            }
            Action::Finish(verdicts) => {
                for Verdict { call, outcome, text } in verdicts {
                    let output = ToolOutput::text(text);
                    self.push(Event::ToolFinished { call, outcome, output });
                }
            }
            Action::Break { reason, .. } => self.stop(reason),
            Action::Complete => self.end(TurnEnd::Completed),
        }
    }

    pub(crate) fn ask(&mut self, step: u32, attempt: Attempt) {
        let (model, digest) = (self.model(), Digest::new("0"));
        let tokens_estimated = Transcript::from(&self.state).tokens_estimated();
        self.push(Event::ModelAsked { step, attempt, model, digest, tokens_estimated });
    }

    fn start(&mut self, call: CallId) {
        let known = self.open().and_then(|turn| turn.call(call));
        let tool = known.and_then(|call| self.state.config.tool(&call.name));
        let effect = tool.map_or(EffectClass::Once, |tool| tool.effect);
        self.push(Event::ToolStarted { call, effect, handle: Handle::None });
    }

    fn settle(&mut self, call: CallId, luck: &mut Luck) {
        let known = self.open().and_then(|turn| turn.call(call)).unwrap();
        let inquiry = doubt(known);
        if luck.once_in(3) {
            self.push(Event::InquiryRaised { inquiry });
        } else {
            self.finish(call, Outcome::Ok, luck);
        }
    }

    /// What is in flight moves on.
    fn arrive(&mut self, luck: &mut Luck) {
        let Some(turn) = self.open() else { return };
        if let Some(Item::Step(step)) = turn.items.last()
            && step.exchange == Exchange::Asked
        {
            let place = (turn.id, step.number);
            return match luck.below(10) {
                0 => self.stream(luck),
                1 if luck.once_in(4) => self.reject(luck),
                1 => self.fail(luck.pick(&FAILURES)),
                _ => self.hear(place, luck),
            };
        }
        if let Some(call) = self.running(luck) {
            let outcome = luck.pick(&[Outcome::Ok, Outcome::Ok, Outcome::Failed]);
            self.finish(call, outcome, luck);
        }
    }

    fn stream(&mut self, luck: &mut Luck) {
        let kind = luck.pick(&[PartialKind::Text, PartialKind::Text, PartialKind::Reasoning]);
        self.push(Event::ModelPartial { kind, text: oddities::text(luck).into() });
    }

    fn fail(&mut self, class: FailureClass) {
        self.push(Event::ModelFailed {
            class,
            message: "failed".into(),
            retry_after_ms: None,
            bytes_received: 0,
            jitter_permille: 0,
            rejected: None,
            outage_ms_max: None,
            detail: None,
        });
    }

    /// The provider refuses what it signed itself.
    fn reject(&mut self, luck: &mut Luck) {
        let unnamed = Rejected::Named { excerpt: String::new() };
        self.push(Event::ModelFailed {
            class: FailureClass::InvalidRequest,
            message: "a signature is not valid".into(),
            retry_after_ms: None,
            bytes_received: 0,
            jitter_permille: 0,
            rejected: Some(luck.pick(&[Rejected::LatestMessage, Rejected::OpenTurn, unnamed])),
            outage_ms_max: None,
            detail: None,
        });
    }

    /// The stream of the model that was asked ends, in one way or another.
    fn hear(&mut self, place: (TurnId, u32), luck: &mut Luck) {
        let end = match luck.below(16) {
            0 | 1 => End::Length,
            2 => End::Refused,
            3 => End::Cut,
            _ => End::Whole,
        };
        match speech::say(self.voice, &self.state.config.tools, &speech::pieces(luck), end, place) {
            Some(answer) => self.answered(answer, luck),
            None if end == End::Cut => self.fail(FailureClass::StreamBroke),
            None => self.fail(FailureClass::Empty),
        }
    }

    pub(crate) fn answered(&mut self, answer: Answer, luck: &mut Luck) {
        let Answer { parts, finish, usage, dropped, native } = answer;
        let native = native
            .map(|native| if luck.once_in(16) { oddities::damaged(native, luck) } else { native });
        self.push(Event::ModelAnswered { parts, finish, usage, dropped, native });
    }

    fn running(&self, luck: &mut Luck) -> Option<CallId> {
        let calls = self.open()?.steps().flat_map(|step| &step.calls);
        let runs = |call: &&Call| matches!(call.progress, Progress::Running(_));
        let calls: Vec<_> = calls.filter(runs).map(|call| call.id).collect();
        calls.get(luck.below(calls.len())).copied()
    }

    fn finish(&mut self, call: CallId, outcome: Outcome, luck: &mut Luck) {
        let times = if luck.once_in(4) { LONG_OUTPUT } else { 1 };
        let text = oddities::text(luck).repeat(times);
        let files = if luck.once_in(4) { oddities::output_files(luck) } else { Vec::new() };
        let output = ToolOutput { files, ..ToolOutput::text(text) };
        self.push(Event::ToolFinished { call, outcome, output });
    }
}
