//! The task of one conversation, for as long as it has the writer's place.

use std::path::PathBuf;
use std::sync::Arc;

use piton_core::command::{Command, Performing, Then};
use piton_core::id::ConversationId;
use piton_store::LeaseError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::{IDLE_HOLD, Stage};
use crate::control::{Control, Controls};
use crate::error::{CommandError, OpenError, SessionError};
use crate::lease::LeaseWait;
use crate::mailbox::{self, MailWatch};
use crate::opening;
use crate::parts::Parts;
use crate::receipt::{Accepted, Handed};
use crate::session::Session;

/// What the task of a conversation needs.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) parts: Arc<Parts>,
    pub(super) conversation: ConversationId,
    /// Where it works, if it has not begun.
    pub(super) workspace: Option<PathBuf>,
    pub(super) turns: Arc<Semaphore>,
    pub(super) stage: watch::Sender<Stage>,
}

impl Task {
    /// Serves the conversation until nothing is left to do. Hands the controls back, so that they end
    /// behind everything else.
    pub(super) async fn run(self, mut controls: Controls) -> Controls {
        let mut came = None;
        loop {
            match (self.open().await, came.take()) {
                (Ok(mut session), control) => {
                    session.obey_through(controls);
                    let served = self.serve(&mut session, control).await;
                    controls = session.take_controls();
                    drop(session);
                    // A journal that refuses would refuse again: the next command tries.
                    if served.is_err() || !self.parts.performs || !self.has_letters().await {
                        return controls;
                    }
                }
                (
                    Err(OpenError::Lease(LeaseError::Held { .. })),
                    Some(Control::Command(handed)),
                ) => self.forward(*handed).await,
                (Err(error), Some(control)) => {
                    turn_away(control, CommandError::Open(Arc::new(error)));
                    return controls;
                }
                (Err(_), None) => match tokio::time::timeout(IDLE_HOLD, controls.next()).await {
                    Ok(control) => came = Some(control),
                    Err(_) => return controls,
                },
            }
        }
    }

    async fn open(&self) -> Result<Session, OpenError> {
        let known = self.parts.journal.status(&self.conversation).await?.is_some();
        match &self.workspace {
            Some(workspace) if !known => {
                let id = self.conversation.clone();
                opening::enter_at(&self.parts, id, workspace, LeaseWait::NONE).await
            }
            Some(_) | None => opening::open(&self.parts, &self.conversation, LeaseWait::NONE).await,
        }
    }

    /// Letters that came while the writer's place was given up. Their senders may have found it taken.
    async fn has_letters(&self) -> bool {
        let letters = self.parts.journal.letters(&self.conversation).await.unwrap_or_default();
        for letter in letters {
            match mailbox::read(&*self.parts.journal, &letter).await {
                // A letter that this build cannot read is no reason to come back.
                Ok(mailbox::Brought::Nothing) | Err(_) => {}
                Ok(_) => return true,
            }
        }
        false
    }

    /// Another process has the writer's place: a command becomes a letter to it.
    async fn forward(&self, handed: Handed) {
        let Handed { envelope, receipt, .. } = handed;
        let (journal, at) = (&*self.parts.journal, self.parts.clock.now());
        let posted = mailbox::post(journal, &self.conversation, &envelope, at).await;
        let accepted = match posted {
            Ok(Some(letter)) => Ok(Accepted::Letter { command: envelope.id, letter }),
            Ok(None) => Err(CommandError::SecretElsewhere),
            Err(error) => Err(CommandError::Store(Arc::new(error))),
        };
        if let Some(receipt) = receipt {
            // The sender may have gone; the letter counts all the same.
            receipt.send(accepted).unwrap_or_default();
        }
    }

    /// Obeys and performs until nothing has come for a while, or the journal refuses.
    async fn serve(
        &self,
        session: &mut Session,
        control: Option<Control>,
    ) -> Result<(), Arc<SessionError>> {
        let mut then = match session.settle_undos().await {
            Ok(()) => self.take_letters(session).await,
            Err(error) => Err(error),
        };
        if let (Ok(letters), Some(control)) = (&then, control) {
            // What a letter wants to go on goes on behind the command.
            let runs = *letters == Then::Run;
            then = self.obey(session, control).await.map(|it| if runs { Then::Run } else { it });
        }
        let mut idle_until = Instant::now() + IDLE_HOLD;
        let (journal, id) = (self.parts.journal.clone(), self.conversation.clone());
        let mut mail = MailWatch::new(journal, id);
        loop {
            then = match then {
                Ok(Then::Run | Then::Interrupt) => {
                    let performed = self.perform(session).await;
                    idle_until = Instant::now() + IDLE_HOLD;
                    performed
                }
                Ok(Then::Rest) => {
                    session.rest_well();
                    self.stage.send_replace(Stage::Resting);
                    match self.idle(session, &mut mail, idle_until).await {
                        Some(then) => then,
                        None => return Ok(()),
                    }
                }
                Err(error) => {
                    let error = Arc::new(error);
                    session.rest(Err(error.clone()));
                    return Err(error);
                }
            };
        }
    }

    /// Waits for something to do; none if nothing comes.
    async fn idle(
        &self,
        session: &mut Session,
        mail: &mut MailWatch,
        until: Instant,
    ) -> Option<Result<Then, SessionError>> {
        let holds = session.holds().clone();
        let is_held = holds.are_there();
        tokio::select! {
            biased;
            control = session.next_control() => Some(self.obey(session, control).await),
            () = mail.came() => Some(self.take_letters(session).await),
            () = holds.gone(), if is_held => Some(Ok(Then::Rest)),
            () = tokio::time::sleep_until(until), if !is_held => None,
        }
    }

    /// Takes in what other processes left. While a face holds the conversation, what the letters want to
    /// go on waits for that face.
    async fn take_letters(&self, session: &mut Session) -> Result<Then, SessionError> {
        let then = session.take_letters().await?;
        Ok(if session.holds().are_there() { Then::Rest } else { then })
    }

    async fn obey(&self, session: &mut Session, control: Control) -> Result<Then, SessionError> {
        match control {
            Control::Command(handed) => session.obey(*handed, Performing::Nobody).await,
            Control::Look => self.take_letters(session).await,
            Control::Hold(held) => {
                // The caller may have gone.
                held.send(Ok(())).unwrap_or_default();
                Ok(Then::Rest)
            }
            Control::Answer { inquiry, reply, done } => {
                let taken = session.answer(&inquiry, reply).await;
                // The caller may have gone.
                done.send(taken.is_ok()).unwrap_or_default();
                match taken {
                    Ok(()) | Err(SessionError::NotAsked(_)) => Ok(Then::Rest),
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Performs the conversation's turn once there is room for it, then what had to wait for its end.
    async fn perform(&self, session: &mut Session) -> Result<Then, SessionError> {
        self.stage.send_replace(Stage::Waiting);
        let room = self.room(session).await?;
        if !matches!(room, Room::Closed) {
            self.stage.send_replace(Stage::Performing);
            session.perform().await?;
            session.reset_controls();
        }
        drop(room);
        let mut then = Then::Rest;
        for handed in session.take_postponed() {
            if session.obey(handed, Performing::Nobody).await? == Then::Run {
                then = Then::Run;
            }
        }
        Ok(then)
    }

    /// Waits for room, and obeys meanwhile. An interrupt needs no room: there is nothing to perform.
    async fn room(&self, session: &mut Session) -> Result<Room, SessionError> {
        let mut room = std::pin::pin!(self.turns.clone().acquire_owned());
        loop {
            tokio::select! {
                biased;
                permit = &mut room => return Ok(match permit {
                    Ok(permit) => Room::There(permit),
                    Err(_) => Room::Closed,
                }),
                control = session.next_control() => {
                    let Control::Command(handed) = control else {
                        self.obey(session, control).await?;
                        continue;
                    };
                    let interrupts = handed.envelope.command == Command::Interrupt;
                    let performing =
                        if interrupts { Performing::Now } else { Performing::Nobody };
                    if session.obey(*handed, performing).await? == Then::Interrupt {
                        session.interrupt();
                        return Ok(Room::Needless);
                    }
                }
            }
        }
    }
}

/// Room for a turn.
#[derive(Debug)]
enum Room {
    /// One of the places.
    #[expect(dead_code, reason = "the place is free again when this goes")]
    There(OwnedSemaphorePermit),
    /// None is needed.
    Needless,
    /// The engine performs nothing any more.
    Closed,
}

/// Tells the sender of what cannot be taken why.
fn turn_away(control: Control, error: CommandError) {
    match control {
        // The sender may have gone.
        Control::Command(handed) => {
            if let Some(receipt) = handed.receipt {
                receipt.send(Err(error)).unwrap_or_default();
            }
        }
        Control::Hold(held) => held.send(Err(error)).unwrap_or_default(),
        Control::Answer { .. } | Control::Look => {}
    }
}
