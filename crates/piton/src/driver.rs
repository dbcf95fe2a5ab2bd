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
use piton_core::action::{Action, Verdict};
use piton_core::budget::mechanical_summary;
use piton_core::decide::decide;
use piton_core::event::{BreakReason, Event, ToolOutput, TurnEnd};
use piton_core::id::{CallId, MessageId, Timestamp, TurnId};
use piton_core::outcome::Ending;
use piton_store::AppendError;
use piton_tools::Site;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::digest::Chain;
use crate::engine::Parts;
use crate::log::Log;
use crate::perform::model::{ModelFlight, ModelLanding, Tap};
use crate::perform::tool::ToolLanding;
use crate::session::{Attendance, Control, Controls};

/// Longest wait for a cancelled tool to stop by itself. Then its outcome counts as unknown.
const CANCEL_WAIT: Duration = Duration::from_secs(10);

/// Performs the open turn of one conversation.
pub(crate) struct Driver<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) log: &'a mut Log,
    pub(crate) chain: &'a mut Chain,
    pub(crate) site: Arc<Site>,
    pub(crate) controls: &'a mut Controls,
    pub(crate) attendance: Attendance,
    /// What is in flight. Dropped with the driver, so nothing is ever leaked.
    pub(crate) flights: FuturesUnordered<BoxFuture<'static, Landing>>,
    /// Effects whose intents are not durable yet.
    pub(crate) launches: Vec<BoxFuture<'static, Landing>>,
    pub(crate) asking: Option<ModelFlight>,
    pub(crate) cancel: CancellationToken,
}

/// What came back.
pub(crate) enum Landing {
    Model(ModelLanding),
    Tool(ToolLanding),
}

/// Why the loop looks at the world again.
enum Woken {
    Landed(Landing),
    Told(Control),
    Interrupted,
    Streamed,
    FlushDue,
    Waited,
}

impl Driver<'_> {
    /// Goes on until there is nothing to do that needs no person.
    pub(crate) async fn run(mut self) -> Result<Ending, AppendError> {
        let mut give_up = None;
        loop {
            let wish = self.controls.wish();
            match decide(self.log.state(), wish) {
                Action::Rest => {
                    self.log.commit().await?;
                    return Ok(Ending::of(self.log.state()));
                }
                Action::StartQueued(message) => self.start_queued(&message),
                Action::AskModel { step, attempt, not_before } => match self.wait_until(not_before)
                {
                    Some(deadline) => self.wait(Some(deadline)).await?,
                    None => self.ask_model(step, attempt),
                },
                Action::Compact => self.compact(),
                Action::RunTools(calls) => self.start_tools(calls).await,
                Action::Settle(calls) => self.settle(calls).await,
                Action::Raise(inquiries) => {
                    for inquiry in inquiries {
                        self.log.push(Event::InquiryRaised { inquiry });
                    }
                }
                Action::Finish(verdicts) => self.finish(verdicts),
                Action::Break { reason, message } => self.give_up(reason, message),
                Action::Complete => {
                    let turn = self.turn();
                    self.log.push(Event::TurnEnded { turn, end: TurnEnd::Completed });
                }
                Action::Await => self.wait(None).await?,
                Action::Cancel => {
                    self.cancel.cancel();
                    let deadline = *give_up.get_or_insert_with(|| Instant::now() + CANCEL_WAIT);
                    if deadline <= Instant::now() {
                        self.abandon_tools();
                    }
                    self.wait(Some(deadline)).await?;
                }
                Action::WaitForPerson => match self.attendance {
                    Attendance::Attended => self.wait(None).await?,
                    Attendance::Unattended => {
                        self.log.commit().await?;
                        return Ok(Ending::of(self.log.state()));
                    }
                },
            }
        }
    }

    /// The open turn; every action but `Rest` and `StartQueued` has one.
    pub(crate) fn turn(&self) -> TurnId {
        self.log.state().open_turn().map_or(TurnId(0), |turn| turn.id)
    }

    /// Makes everything durable, starts the effects that waited for it, and sleeps until something
    /// happens.
    async fn wait(&mut self, deadline: Option<Instant>) -> Result<(), AppendError> {
        self.log.commit().await?;
        self.flights.extend(self.launches.drain(..));
        match self.woken(deadline).await {
            Woken::Landed(landing) => {
                self.land(landing).await;
                // What ended together is committed together.
                while let Some(Some(landing)) = self.flights.next().now_or_never() {
                    self.land(landing).await;
                }
            }
            Woken::Told(control) => self.obey(control),
            Woken::Streamed => self.show_stream(),
            Woken::FlushDue => self.flush_stream(),
            Woken::Interrupted | Woken::Waited => {}
        }
        Ok(())
    }

    async fn woken(&mut self, deadline: Option<Instant>) -> Woken {
        let flush_at = self.asking.as_ref().and_then(ModelFlight::flush_at);
        let streamed = self.asking.as_ref().map(ModelFlight::tap);
        tokio::select! {
            biased;
            told = self.controls.told() => told.map_or(Woken::Interrupted, Woken::Told),
            Some(landing) = self.flights.next() => Woken::Landed(landing),
            () = more_text(streamed) => Woken::Streamed,
            () = sleep_until(flush_at) => Woken::FlushDue,
            () = sleep_until(deadline) => Woken::Waited,
        }
    }

    async fn land(&mut self, landing: Landing) {
        match landing {
            Landing::Model(landing) => self.land_model(landing),
            Landing::Tool(landing) => self.land_tool(landing).await,
        }
    }

    /// When to go on, if that is not now.
    fn wait_until(&self, not_before: Option<Timestamp>) -> Option<Instant> {
        let wait_ms = not_before?.ms_since(self.parts.clock.now());
        (0 < wait_ms).then(|| Instant::now() + Duration::from_millis(wait_ms))
    }

    fn start_queued(&mut self, message: &MessageId) {
        let queued = self.log.state().queue.iter().find(|queued| queued.message == *message);
        let Some(queued) = queued.cloned() else { return };
        let turn = self.log.state().next_turn();
        self.log.push(Event::TurnStarted { turn, agent: None });
        self.log.push(Event::UserMessage {
            message: queued.message,
            parts: queued.parts,
            attempt: piton_core::id::Attempt::FIRST,
        });
    }

    fn compact(&mut self) {
        // `decide` asks for this only when a turn is left to cover, so the summary exists.
        if let Some((summary, through)) = mechanical_summary(self.log.state()) {
            self.log.push(Event::Compacted { summary, through });
        }
    }

    fn finish(&mut self, verdicts: Vec<Verdict>) {
        for Verdict { call, outcome, text } in verdicts {
            self.log.push(Event::ToolFinished { call, outcome, output: ToolOutput::text(text) });
        }
    }

    fn give_up(&mut self, reason: BreakReason, message: String) {
        self.drop_request();
        let turn = self.turn();
        self.log.push(Event::TurnBroke { turn, reason, message });
    }

    fn obey(&mut self, control: Control) {
        let Control::Answer { inquiry, reply, done } = control;
        let events = reply.events(self.log.state(), &inquiry);
        let known = !events.is_empty();
        for event in events {
            self.log.push(event);
        }
        // Whoever asked may have gone; the answer counts all the same.
        done.send(known).unwrap_or_default();
    }

    /// The calls that this driver has running.
    pub(crate) fn running(&self) -> Vec<CallId> {
        use piton_core::state::Progress;
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
