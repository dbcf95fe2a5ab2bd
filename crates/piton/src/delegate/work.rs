//! One worker at work: its conversation is entered, its turn performed, its news passed on.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use piton_core::command::{NewMessage, OnIncomplete};
use piton_core::event::{BreakReason, Outcome, ParentCall, UserPart};
use piton_core::outcome::Ending;
use piton_core::state::{State, Turn};
use piton_core::summary::shorten;
use piton_store::{AppendError, LeaseError};
use piton_tools::{Finished, Job, Ran, Refusal};

use super::allowance::{Allowance, Delegation};
use super::desk::Desk;
use super::errand::{Context, Errand};
use super::halt::Halt;
use super::inherit::{Parent, given};
use super::report;
use super::worker::Worker;
use crate::control::Controls;
use crate::error::{OpenError, SessionError};
use crate::lease::LeaseWait;
use crate::opening;
use crate::parts::Parts;
use crate::reader::fold;
use crate::session::{Birth, Session};

/// How often a worker that another process drives is looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);
/// Longest title of a worker's conversation, in characters.
const TITLE_CHARS_MAX: usize = 60;

const NOT_BEGUN_TEXT: &str = "Stopped before the worker began.";

/// A worker, what it is asked, and for whom it works.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) parts: Arc<Parts>,
    pub(super) desk: Desk,
    pub(super) errand: Errand,
    pub(super) worker: Worker,
    pub(super) delegation: Delegation,
    pub(super) job: Job,
}

enum Entered {
    /// It is ours to drive.
    Here(Box<Session>),
    /// Another process has driven it to its end, or still does.
    Elsewhere(Finished),
}

/// Why a worker is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The conversation that it works for was interrupted.
    Cancelled,
    /// Its time is up.
    TimeUp,
}

impl Work {
    /// Goes on until the worker has ended, asks a person who is not there, or is stopped.
    pub(super) async fn run(self) -> Result<Ran, Halt> {
        let mut allowance = Allowance::of(self.delegation.limit);
        let _place = tokio::select! {
            biased;
            () = self.job.cancel.cancelled() => {
                return Ok(Ran::Finished(Finished::cancelled(NOT_BEGUN_TEXT)));
            }
            place = self.desk.places().acquire() => place,
        };
        allowance.run();
        let mut session = match self.enter(&allowance).await? {
            Entered::Here(session) => *session,
            Entered::Elsewhere(finished) => return Ok(Ran::Finished(finished)),
        };
        if let Some(finished) = report::of(session.state(), &self.worker.conversation) {
            return Ok(Ran::Finished(finished));
        }
        session.share(self.desk.toolbox().clone());
        self.prepare(&mut session).await?;
        session.obey_through(Controls::with_seat(self.desk.seat().clone()));
        session.attend(self.desk.presence().attendance);
        session.leave_unattended(self.desk.presence().unattended);
        self.drive(session, allowance).await
    }

    /// Takes the worker's conversation. If another process drives it, its journal is read until
    /// the worker has ended: a second driver would be one too many.
    async fn enter(&self, allowance: &Allowance) -> Result<Entered, Halt> {
        let worker = &self.worker.conversation;
        loop {
            let workspace = &self.job.site.workspace;
            let wait = LeaseWait::NONE;
            match opening::enter_at(&self.parts, worker.clone(), workspace, wait).await {
                Ok(session) => return Ok(Entered::Here(Box::new(session))),
                Err(OpenError::Lease(LeaseError::Held { .. })) => {}
                Err(error) => return Err(error.into()),
            }
            // It may not have written anything yet.
            let state = fold(&*self.parts.journal, worker, &mut |_, _| ()).await;
            if let Some(finished) = report::of(&state.unwrap_or_default(), worker) {
                return Ok(Entered::Elsewhere(finished));
            }
            tokio::select! {
                biased;
                () = self.job.cancel.cancelled() => {
                    let text = format!("Left to the process that works on conversation {worker}.");
                    return Ok(Entered::Elsewhere(Finished::cancelled(text)));
                }
                () = allowance.spent() => {
                    let text = format!("Another process still works on conversation {worker}.");
                    return Ok(Entered::Elsewhere(Finished::failed(text)));
                }
                () = tokio::time::sleep(FOLLOW_EVERY) => {}
            }
        }
    }

    /// Gives a new worker what it inherits, and takes from a worker that goes on what has been forbidden
    /// since.
    async fn prepare(&self, session: &mut Session) -> Result<(), Halt> {
        let Job { site, call, .. } = &self.job;
        let parent = Parent::read(&*self.parts.journal, &site.conversation, *call).await;
        let parent = parent.map_err(AppendError::from)?;
        let link = ParentCall { conversation: site.conversation.clone(), call: *call };
        match &session.state().opened {
            Some(opened) if opened.parent.as_ref() == Some(&link) => {
                let given = given(&*self.parts.journal, session.conversation()).await;
                let given = given.map_err(AppendError::from)?;
                let config = parent.config_on(&session.state().config, &given);
                session.configure(&config);
            }
            Some(_) => {
                let taken = session.conversation();
                let taken = format!("Conversation {taken} belongs to somebody else.");
                return Err(Refusal(taken).into());
            }
            None => {
                let config = parent.config_for(&self.errand, self.delegation);
                let cut = match self.errand.context {
                    Context::None => None,
                    Context::Snapshot => parent.cut,
                };
                let title = Some(shorten(&self.errand.task, TITLE_CHARS_MAX));
                let origin = cut.as_ref().map(|(origin, _)| origin.clone());
                let birth = Birth { title, origin, parent: Some(link) };
                session.be_born(birth, cut.map(|(_, state)| state));
                session.configure(&config);
            }
        }
        Ok(())
    }

    async fn drive(&self, mut session: Session, mut allowance: Allowance) -> Result<Ran, Halt> {
        let mut asking = session.asking();
        let (controller, id) = (session.controller(), self.worker.conversation.clone());
        let _at_work = self.parts.desks.set_to_work(id, controller.clone());
        let mut stopped = None;
        let ending = {
            let mut work = pin!(self.perform(&mut session));
            loop {
                let asks = *asking.borrow_and_update();
                if asks {
                    allowance.pause();
                } else {
                    allowance.run();
                }
                self.parts.lives.ask(&self.job.site.conversation, self.job.call, asks);
                tokio::select! {
                    // Work first: an interrupt before the turn has begun would be forgotten.
                    biased;
                    ending = &mut work => break ending,
                    () = self.job.cancel.cancelled(), if stopped.is_none() => {
                        stopped = Some(Stop::Cancelled);
                        controller.interrupt();
                    }
                    () = allowance.spent(), if stopped.is_none() => {
                        stopped = Some(Stop::TimeUp);
                        controller.interrupt();
                    }
                    // The session, which lives on, has the other end.
                    _ = asking.changed() => {}
                }
            }
        };
        let asks = question(session.state());
        // Its question stays open, also if it was interrupted at it. So the call must wait, too: one that
        // had ended would leave the worker waiting for nobody.
        let waits = match (ending?, stopped) {
            (Ending::WaitingForInput, None) => true,
            (_, Some(Stop::Cancelled)) => asks.is_some(),
            (_, None | Some(Stop::TimeUp)) => false,
        };
        if waits {
            let (number, asks) = (self.worker.number(), asks.unwrap_or_default());
            return Ok(Ran::Parked { question: format!("worker {number}: {asks}") });
        }
        Ok(Ran::Finished(self.ended(session.state(), stopped)))
    }

    /// Begins the worker's turn, or goes on with it. Only a worker that was interrupted is granted
    /// new allowances: a crash must not make a worker stronger.
    async fn perform(&self, session: &mut Session) -> Result<Ending, SessionError> {
        let interrupted = |turn: &Turn| {
            turn.broke.as_ref().is_some_and(|broke| broke.reason == BreakReason::Interrupted)
        };
        if session.state().open_turn().is_some_and(interrupted) {
            return session.resume().await;
        }
        let id = Some(report::task_message(&self.worker.conversation));
        let message = NewMessage { id, parts: vec![UserPart::text(self.errand.task.as_str())] };
        session.send(message, OnIncomplete::Resume).await
    }

    fn ended(&self, state: &State, stopped: Option<Stop>) -> Finished {
        let id = &self.worker.conversation;
        if let Some(finished) = report::of(state, id) {
            return finished;
        }
        let Some(turn) = report::task_turn(state, id) else {
            return Finished::failed(NOT_BEGUN_TEXT);
        };
        match stopped {
            Some(Stop::Cancelled) => {
                let finished = report::incomplete(turn, id, "the user interrupted");
                Finished { outcome: Outcome::Cancelled, ..finished }
            }
            Some(Stop::TimeUp) => {
                let why = format!("it was stopped after {} s", self.delegation.limit.as_secs());
                report::incomplete(turn, id, &why)
            }
            None => report::incomplete(turn, id, "it stopped without a word"),
        }
    }
}

/// What a worker asks, if it does.
fn question(state: &State) -> Option<String> {
    let asked = state.open_turn()?.pending_inquiries().next()?;
    Some(asked.heading().to_owned())
}
