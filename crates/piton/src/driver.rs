//! The loop: fold, decide, perform, append. It has no `if` about resuming.
//!
//! Facts are pushed to the log as they become known; effects wait in `launches` until the commit
//! that holds their intents returned. That is the whole of "intent before effect": there is no
//! other way to start one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use piton_core::action::{Action, Verdict, Wish};
use piton_core::command::{Command, Performing, Reply, Sender, Then};
use piton_core::decide::decide;
use piton_core::event::{BreakReason, Event, Handle, PlannedCall, ToolOutput, TurnEnd};
use piton_core::id::{Attempt, CallId, InquiryId, MessageId, TurnId};
use piton_core::outcome::Ending;
use piton_core::state::{Progress, Queued};
use piton_store::AppendError;
use piton_tools::{Site, Tool, Toolbox, Word};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::{self, Beginning};
use crate::control::{Control, Controls};
use crate::digest::Chain;
use crate::files::FileShelf;
use crate::flight::ask::{Asks, Secrets};
use crate::flight::model::{ModelFlight, Tap};
use crate::flight::progress::ProgressTap;
use crate::flight::summary::SummaryFlight;
use crate::flight::{Landing, Launch};
use crate::log::Log;
use crate::mailbox::MailWatch;
use crate::orders::{self, Order};
use crate::parts::Parts;
use crate::receipt::{Handed, Receipt, Receipts};
use crate::unattended::{Attendance, Unattended};

/// Longest wait for a cancelled tool to stop by itself. Then its outcome counts as unknown.
const CANCEL_WAIT: Duration = Duration::from_secs(10);

/// Performs the open turn of one conversation.
pub(crate) struct Driver<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) log: &'a mut Log,
    pub(crate) chain: &'a mut Chain,
    pub(crate) files: &'a Arc<FileShelf>,
    pub(crate) site: Arc<Site>,
    pub(crate) controls: &'a mut Controls,
    pub(crate) attendance: Attendance,
    pub(crate) unattended: Unattended,
    pub(crate) secrets: &'a mut Secrets,
    /// Questions of running tools.
    pub(crate) asks: Asks,
    /// What is in flight. Dropped with the driver, so nothing is ever leaked.
    pub(crate) flights: FuturesUnordered<BoxFuture<'static, Landing>>,
    /// Effects whose intents are not durable yet.
    pub(crate) launches: Vec<Launch>,
    pub(crate) asking: Option<ModelFlight>,
    /// The request for a summary that is on its way.
    pub(crate) summing: Option<SummaryFlight>,
    pub(crate) cancel: CancellationToken,
    /// When cancelled tools are left behind.
    pub(crate) give_up_at: Option<Instant>,
    /// When a try of a step may leave.
    pub(crate) retry: Option<(u32, Attempt, Instant)>,
    /// Where running calls say how far they are.
    pub(crate) progress: Arc<ProgressTap>,
    /// Callers that wait until their answer, or word, is durable.
    pub(crate) acknowledgements: Vec<oneshot::Sender<bool>>,
    /// Callers that wait until their command is durable.
    pub(crate) receipts: Receipts,
    /// What settles calls whose ends are not durable yet; behind the commit nobody needs it.
    pub(crate) settled: Vec<(Arc<dyn Tool>, Handle)>,
    /// Why nothing more may be done.
    pub(crate) refused: Option<AppendError>,
    /// Letters of other processes whose commands are not durable yet.
    pub(crate) letters_taken: Vec<String>,
    /// Wakes the driver when a letter comes.
    pub(crate) mail_watch: MailWatch,
    /// Hooks that were told something. Dropped with the driver.
    pub(crate) listening: JoinSet<()>,
    /// Each ends when hooks have heard of one thing of this turn.
    pub(crate) unheard: Vec<oneshot::Receiver<()>>,
}

/// Why the loop looks at the world again.
enum Woken {
    Landed(Box<Landing>),
    Heard(Word),
    TakenBack,
    Told(Control),
    Interrupted,
    Streamed,
    Progressed,
    FlushDue,
    MailCame,
    Waited,
}

impl Driver<'_> {
    /// Goes on until there is nothing to do that needs no person.
    pub(crate) async fn run(mut self) -> Result<Ending, AppendError> {
        // Tasks and threads that a tool has started learn that the driver does not wait for them any
        // more, also when this future is dropped.
        let _stop = self.cancel.clone().drop_guard();
        self.take_letters().await;
        self.look_elsewhere().await;
        loop {
            if let Some(error) = self.refused.take() {
                return self.break_off(error).await;
            }
            let action = decide(self.log.state(), self.controls.wish());
            if let Some(deadline) = self.wait_until(&action) {
                self.wait(Some(deadline)).await?;
                continue;
            }
            match action {
                Action::Rest => return self.rest().await,
                Action::WaitForPerson => match (self.controls.waiting(), self.attendance()) {
                    (Some(control), _) => self.obey(control).await,
                    // Nothing that is said here answers a worker: the next driver looks at it again.
                    (None, Attendance::Attended) if self.waits_for_workers() => {
                        return self.rest().await;
                    }
                    (None, Attendance::Attended) => self.wait(None).await?,
                    (None, Attendance::Unattended) if self.answer_unattended() => {}
                    (None, Attendance::Unattended) => return self.rest().await,
                },
                Action::Await => self.wait(None).await?,
                Action::Cancel => self.stop_tools().await?,
                Action::StartQueued(_)
                | Action::Steer(_)
                | Action::AskModel { .. }
                | Action::SumUp(_)
                | Action::LeaveSummary
                | Action::Compact(_)
                | Action::Shorten(_)
                | Action::Repair(_)
                | Action::Plan(_)
                | Action::Locate(_)
                | Action::RunTools(_)
                | Action::Settle(_)
                | Action::Raise(_)
                | Action::Finish(_)
                | Action::Break { .. }
                | Action::Complete => {
                    if !self.act(action).await {
                        return self.rest().await;
                    }
                }
            }
        }
    }

    /// Whether everything that is open waits for questions that workers ask, in conversations of their own.
    fn waits_for_workers(&self) -> bool {
        self.log.state().open_turn().is_some_and(|turn| {
            let mut open = turn.steps().flat_map(|step| &step.calls).filter(|call| !call.is_done());
            turn.parked().is_some() && open.all(|call| matches!(call.progress, Progress::Parked(_)))
        })
    }

    /// The journal of a worker has refused. What else has ended is kept; the call is left in doubt for
    /// the next driver.
    async fn break_off(mut self, error: AppendError) -> Result<Ending, AppendError> {
        self.commit().await?;
        self.log.close();
        Err(error)
    }

    async fn rest(mut self) -> Result<Ending, AppendError> {
        // Every caller has a reply before the driver stops listening.
        while let Some(control) = self.controls.waiting() {
            match control {
                // The turn is over for this driver: what comes now is planned without it.
                Control::Command(handed) => self.controls.postponed.push(*handed),
                Control::Answer { .. } | Control::Look | Control::Hold(_) => {
                    self.obey(control).await;
                }
            }
        }
        self.commit().await?;
        self.let_hooks_end().await;
        Ok(Ending::of(self.log.state()))
    }

    /// Turns an action into facts. An action that changes nothing would be decided again for ever, so
    /// such a bug breaks the turn and ends the run instead.
    async fn act(&mut self, action: Action) -> bool {
        let (end, strays) = (self.log.state().end, self.log.state().strays);
        match action {
            Action::StartQueued(message) => self.start_queued(&message).await,
            Action::Steer(message) => self.steer(&message),
            Action::AskModel { step, attempt, .. } => self.ask_model(step, attempt),
            Action::SumUp(ask) => self.sum_up(ask),
            Action::LeaveSummary => self.leave_summary(),
            Action::Compact(cut) => self.compact(cut).await,
            Action::Shorten(outputs) => self.log.push(Event::OutputsShortened { outputs }),
            Action::Repair(steps) => self.log.push(Event::HistoryRepaired { steps }),
            Action::Plan(calls) => self.plan(calls),
            Action::Locate(calls) => self.locate(calls).await,
            Action::RunTools(calls) => self.start_tools(calls).await,
            Action::Settle(calls) => self.settle(calls).await,
            Action::Raise(inquiries) => self.ask_person(inquiries),
            Action::Finish(verdicts) => self.finish(verdicts),
            Action::Break { reason, message } => self.give_up(reason, message),
            Action::Complete => {
                let turn = self.turn();
                self.log.push(Event::TurnEnded { turn, end: TurnEnd::Completed });
            }
            // These wait; the loop sees to them.
            Action::Rest | Action::Await | Action::Cancel | Action::WaitForPerson => {}
        }
        let state = self.log.state();
        // An interrupt may cut an action short; what comes next is decided differently then.
        let interrupted = self.controls.wish() == Wish::Interrupt;
        if interrupted || (end < state.end && strays == state.strays) {
            return true;
        }
        let next = decide(state, Wish::Proceed);
        self.give_up(BreakReason::Limit, format!("this is a bug: nothing comes of {next:?}"));
        false
    }

    /// Stops what runs, within a bound. What has not begun never does.
    async fn stop_tools(&mut self) -> Result<(), AppendError> {
        self.cancel.cancel();
        self.asks.defer_all();
        if self.scrap_launches() {
            return Ok(());
        }
        let deadline = *self.give_up_at.get_or_insert_with(|| Instant::now() + CANCEL_WAIT);
        if deadline <= Instant::now() {
            self.abandon_tools().await;
            return Ok(());
        }
        self.wait(Some(deadline)).await
    }

    /// The open turn; every action but `Rest` and `StartQueued` has one.
    pub(crate) fn turn(&self) -> TurnId {
        self.log.state().open_turn().map_or(TurnId(0), |turn| turn.id)
    }

    /// Makes everything durable, starts the effects that waited for it, and sleeps until something
    /// happens.
    async fn wait(&mut self, deadline: Option<Instant>) -> Result<(), AppendError> {
        self.commit().await?;
        self.flights.extend(self.launches.drain(..).map(|launch| launch.flight));
        match self.woken(deadline).await {
            Woken::Landed(landing) => self.land(*landing).await,
            Woken::Heard(word) => self.hear(word),
            Woken::TakenBack => self.withdraw_taken_back(),
            Woken::Told(control) => self.obey(control).await,
            Woken::Streamed => self.show_stream(),
            Woken::Progressed => self.show_progress(),
            Woken::FlushDue => self.flush_stream(),
            Woken::MailCame => self.take_letters().await,
            Woken::Interrupted => self.notice_absence(),
            Woken::Waited => {}
        }
        self.land_what_ended().await;
        Ok(())
    }

    /// Makes everything durable, and only then says so to the callers that wait for it.
    async fn commit(&mut self) -> Result<(), AppendError> {
        let news = self.to_tell_hooks();
        self.log.commit().await?;
        for acknowledgement in self.acknowledgements.drain(..) {
            // The caller may have gone; the answer counts all the same.
            acknowledgement.send(true).unwrap_or_default();
        }
        self.receipts.hand_out();
        for (tool, handle) in self.settled.drain(..) {
            tool.forget(&self.site, &handle);
        }
        self.tell_askers();
        self.discard_letters().await;
        self.tell_hooks(news).await;
        Ok(())
    }

    async fn woken(&mut self, deadline: Option<Instant>) -> Woken {
        let flush_at = self.asking.as_ref().and_then(ModelFlight::flush_at);
        let streamed = self.asking.as_ref().map(ModelFlight::tap);
        tokio::select! {
            biased;
            told = self.controls.told() => told.map_or(Woken::Interrupted, Woken::Told),
            Some(landing) = self.flights.next() => Woken::Landed(Box::new(landing)),
            heard = self.asks.next() => heard.map_or(Woken::TakenBack, Woken::Heard),
            () = more_text(streamed) => Woken::Streamed,
            () = self.progress.more() => Woken::Progressed,
            () = sleep_until(flush_at) => Woken::FlushDue,
            () = self.mail_watch.came() => Woken::MailCame,
            () = sleep_until(deadline) => Woken::Waited,
        }
    }

    /// Takes in everything that has ended. What ended together is committed together, and what has
    /// ended is never dropped, for any reason to wake.
    pub(crate) async fn land_what_ended(&mut self) {
        while let Some(Some(landing)) = self.flights.next().now_or_never() {
            self.land(landing).await;
        }
    }

    async fn land(&mut self, landing: Landing) {
        match landing {
            Landing::Model(landing) => self.land_model(landing),
            Landing::Summary(landing) => self.land_summary(*landing),
            Landing::Tool(landing) => self.record(landing).await,
            Landing::Parked { call, question } => {
                self.log.push(Event::CallParked { call, question });
            }
            Landing::EndedElsewhere { call, end } => self.take_over(call, end),
            Landing::Nothing => {}
            Landing::Unrecorded(error) => self.refused = Some(error),
        }
    }

    /// When a request may leave, if the action is one that has to wait. Fixed once, in the runtime's
    /// time and no longer than it was meant: a clock that is set back must not prolong the wait.
    fn wait_until(&mut self, action: &Action) -> Option<Instant> {
        let Action::AskModel { step, attempt, not_before: Some(not_before) } = *action else {
            return None;
        };
        let step_now = self.log.state().open_turn().and_then(|turn| turn.steps().next_back());
        let failure = step_now.and_then(|step| step.failure.as_ref());
        let bound_ms = failure.map_or(0, |failure| not_before.ms_since(failure.at));
        let wait_ms = not_before.ms_since(self.parts.clock.now()).min(bound_ms);
        let known = self.retry.filter(|(of, number, _)| (*of, *number) == (step, attempt));
        let until = Instant::now() + Duration::from_millis(wait_ms);
        let (.., deadline) = *self.retry.insert(known.unwrap_or((step, attempt, until)));
        (Instant::now() < deadline).then_some(deadline)
    }

    /// Somebody wants the turn to go on: a try that waits for its moment leaves at once.
    fn try_now(&mut self) {
        if let Some((.., deadline)) = &mut self.retry {
            *deadline = Instant::now();
        }
    }

    async fn start_queued(&mut self, message: &MessageId) {
        let queued = self.log.state().queue.iter().find(|queued| queued.message == *message);
        let Some(queued) = queued.cloned() else { return };
        let turn = self.log.state().next_turn();
        let Queued { message, parts, .. } = queued;
        let said = Event::UserMessage { message, parts, attempt: Attempt::FIRST };
        let facts = vec![Event::TurnStarted { turn, agent: None }, said];
        let state = self.log.state();
        let beginning = Beginning {
            conversation: &self.site.conversation,
            workspace: &self.site.workspace,
            // Nobody knows any more where it was typed.
            sender: &Sender::default(),
            config: &state.config,
            attendance: self.attendance(),
        };
        for fact in context::add(self.parts, state, facts, beginning).await {
            self.log.push(fact);
        }
    }

    /// A waiting message becomes part of the open turn; the fold takes it from the queue.
    fn steer(&mut self, message: &MessageId) {
        let queued = self.log.state().queue.iter().find(|queued| queued.message == *message);
        let Some(Queued { message, parts, .. }) = queued.cloned() else { return };
        self.log.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
    }

    fn plan(&mut self, calls: Vec<PlannedCall>) {
        // A plan is made of an answer, and every call of it says whose.
        if let Some(step) = calls.first().map(|first| first.call.step) {
            self.log.push(Event::CallsPlanned { step, calls });
        }
    }

    fn finish(&mut self, verdicts: Vec<Verdict>) {
        for Verdict { call, outcome, text } in verdicts {
            self.withdraw_questions(call);
            self.log.push(Event::ToolFinished { call, outcome, output: ToolOutput::text(text) });
        }
    }

    fn give_up(&mut self, reason: BreakReason, message: String) {
        self.drop_request();
        let turn = self.turn();
        self.log.push(Event::TurnBroke { turn, reason, message });
    }

    async fn obey(&mut self, control: Control) {
        match control {
            Control::Answer { inquiry, reply, done } => self.take_answer(inquiry, reply, done),
            Control::Command(handed) => self.take_command(*handed),
            Control::Look => self.take_letters().await,
            // The caller may have gone.
            Control::Hold(held) => held.send(Ok(())).unwrap_or_default(),
        }
    }

    fn take_answer(&mut self, inquiry: InquiryId, reply: Reply, done: oneshot::Sender<bool>) {
        let secret = reply.secret();
        let events = reply.events(self.log.state(), &inquiry, None);
        if events.is_empty() {
            // The caller may have gone.
            done.send(false).unwrap_or_default();
            return;
        }
        self.secrets.extend(secret.map(|secret| (inquiry, secret)));
        for event in events {
            self.log.push(event);
        }
        self.acknowledgements.push(done);
    }

    /// Records a command, or keeps it until the turn is interrupted.
    pub(crate) fn take_command(&mut self, handed: Handed) {
        let sets_going = matches!(
            handed.envelope.command,
            Command::Say { .. } | Command::Resume | Command::Retry { .. }
        );
        if sets_going && self.controls.wish() == Wish::Interrupt {
            // The turn is being stopped: it would not go on for this command.
            self.controls.postponed.push(handed);
            return;
        }
        let state = self.log.state();
        let model = state.config.model.as_ref();
        match orders::order(self.parts, state, model, &handed, Performing::Now) {
            Order::Known(receipt) => {
                self.receipts.promise(handed.receipt, receipt);
                self.controls.resting.extend(handed.rest);
            }
            Order::InterruptFirst => {
                self.controls.interrupt();
                self.controls.postponed.push(handed);
            }
            Order::Record { facts, then, .. } => {
                if matches!(handed.envelope.command, Command::Resume) {
                    self.try_now();
                }
                let (command, seq) = (handed.envelope.id, self.log.state().end.next());
                let receipt = Receipt { command, seq, verdict: orders::verdict(&facts) };
                if let Command::Answer { inquiry, reply, .. } = &handed.envelope.command {
                    self.secrets.extend(reply.secret().map(|secret| (inquiry.clone(), secret)));
                }
                for fact in facts {
                    self.log.push(fact);
                }
                self.drop_summary();
                self.receipts.promise(handed.receipt, receipt);
                self.controls.resting.extend(handed.rest);
                if then == Then::Interrupt {
                    self.controls.interrupt();
                }
            }
        }
    }

    /// The last face that could answer may have gone: nothing waits for it any more.
    fn notice_absence(&mut self) {
        let proceeds = self.controls.wish() == Wish::Proceed;
        if proceeds && self.attendance() == Attendance::Unattended {
            self.answer_unattended();
            self.asks.defer_all();
            self.tell_askers();
        }
    }

    /// Whether a person can answer at this moment.
    pub(crate) fn attendance(&self) -> Attendance {
        if self.controls.faces().are_there() { Attendance::Attended } else { self.attendance }
    }

    /// The calls that this driver has running.
    pub(crate) fn running(&self) -> Vec<CallId> {
        let turn = self.log.state().open_turn();
        turn.into_iter()
            .flat_map(piton_core::state::Turn::steps)
            .flat_map(|step| &step.calls)
            .filter(|call| matches!(call.progress, Progress::Running(_)))
            .map(|call| call.id)
            .collect()
    }
}

async fn more_text(tap: Option<Arc<Tap>>) {
    match tap {
        Some(tap) => tap.more().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
