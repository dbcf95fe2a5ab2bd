//! Commands while no turn is performed: recorded behind what has to be stopped first.

use std::sync::Arc;

use piton_core::command::{
    AnswerThen, Command, Envelope, Leave, OnIncomplete, Performing, Refusal, Then,
};
use piton_core::event::Event;
use piton_core::id::{CommandId, Seq};
use piton_core::outcome::Ending;
use piton_core::state::Verdict;
use piton_store::{AppendError, Letter};

use super::{Session, canonical};
use crate::context::{self, Beginning};
use crate::control::{Control, Controls, Count};
use crate::error::{CommandError, OpenError, SessionError};
use crate::mailbox::{self, Brought};
use crate::orders::{self, Order};
use crate::profile::{Moment, ProfileError, ProfileRequest};
use crate::receipt::{Accepted, Handed, Receipt, Rest, Rested};
use crate::toolbox::ToolsError;
use crate::unattended::Attendance;

impl Session {
    /// Obeys or refuses a command; durable when this returns. Says what follows from it.
    pub(crate) async fn obey(
        &mut self,
        handed: Handed,
        performing: Performing,
    ) -> Result<Then, SessionError> {
        let Handed { envelope, letter, receipt, rest } = handed;
        let taken = self.take(&envelope, letter.as_deref(), performing).await;
        self.unsaid.take();
        let (outcome, then) = match taken {
            Ok((receipt, then)) => (Ok(Accepted::Entry(receipt)), Ok(then)),
            // Nothing has begun, so nothing is recorded, and nothing is broken.
            Err(SessionError::Refused(refusal)) => {
                (Err(CommandError::Refused(refusal)), Ok(Then::Rest))
            }
            Err(error) => {
                let error = Arc::new(error);
                (Err(CommandError::Failed(error.clone())), Err(error))
            }
        };
        if let (Some(letter), Ok(_)) = (&letter, &then) {
            self.discard_letter(letter).await;
        }
        if outcome.is_ok() {
            self.resting.extend(rest);
        }
        if let Some(to) = receipt {
            // The sender may have gone; the command counts all the same.
            to.send(outcome).unwrap_or_default();
        }
        then.map_err(SessionError::Shared)
    }

    /// What a command begins; nothing, if it performs nothing.
    fn moment(&self, command: &Command) -> Option<Moment> {
        let open = self.state().open_turn().is_some();
        let says = matches!(command, Command::Say { .. } | Command::Queue { .. });
        let resumes = matches!(command, Command::Resume);
        let discards = OnIncomplete::Discard;
        if matches!(command, Command::Say { on_incomplete, .. } if *on_incomplete == discards)
            || matches!(command, Command::Retry { .. })
            || (!open && (says || resumes))
        {
            return Some(Moment::TurnBegins);
        }
        let answers = matches!(command, Command::Answer { then: AnswerThen::GoOn, .. });
        let asks = matches!(command, Command::Say { .. } | Command::Compact { .. });
        let goes_on = answers || resumes || asks;
        // A turn that another program began has nothing that is frozen with it.
        let moment = match self.state().config.model {
            Some(_) => Moment::DriverStarts,
            None => Moment::TurnBegins,
        };
        goes_on.then_some(moment)
    }

    /// Asks for the settings that apply to what a command begins.
    async fn prepare(&mut self, envelope: &Envelope) -> Result<(), Refusal> {
        let Some(moment) = self.moment(&envelope.command) else { return Ok(()) };
        let tools = match self.toolbox_for(moment).await {
            Ok(toolbox) => toolbox.specs(),
            Err(ToolsError { message }) => return Err(Refusal::Impossible { message }),
        };
        let place = (self.conversation(), &*self.workspace);
        let sender = (&envelope.from, self.attendance_now());
        let request = ProfileRequest::new(place, sender, &self.state().config, &tools, moment);
        match self.parts.profiles.profile(request).await {
            Ok(profile) => {
                self.unattended = profile.unattended;
                self.unsaid = Some(profile.config);
                Ok(())
            }
            Err(ProfileError { message }) => Err(Refusal::Impossible { message }),
        }
    }

    async fn take(
        &mut self,
        envelope: &Envelope,
        letter: Option<&str>,
        performing: Performing,
    ) -> Result<(Receipt, Then), SessionError> {
        self.log.usable()?;
        self.settle_undos().await?;
        let command = envelope.id.clone();
        let (envelope, letter) = (envelope.clone(), letter.map(ToOwned::to_owned));
        let mut handed = Handed { envelope, letter, receipt: None, rest: None };
        let vetted = match self.vet_place(&mut handed.envelope.command) {
            Ok(()) => self.prepare(&handed.envelope).await,
            refused => refused,
        };
        let ordered = match vetted {
            // A command that was refused before is refused for the same reason again.
            Err(_) if self.state().commands.contains_key(&command) => {
                self.order(&handed, performing)
            }
            Ok(()) => self.order(&handed, performing),
            Err(refusal) => {
                let (command, letter) = (command.clone(), handed.letter.clone());
                let facts = vec![Event::CommandRefused { command, refusal, letter }];
                Order::Record { leave: Leave::Nothing, facts, then: Then::Rest }
            }
        };
        let ordered = self.vet_leaving(ordered, &command, handed.letter.as_deref()).await;
        let (leave, facts, then) = match ordered {
            Order::Known(receipt) => return Ok((receipt, Then::Rest)),
            Order::Record { leave, facts, then } => (leave, facts, then),
            // Only a running turn is interrupted.
            Order::InterruptFirst => (Leave::Nothing, Vec::new(), Then::Rest),
        };
        let verdict = orders::verdict(&facts);
        if let (Verdict::Refused(refusal), None) = (&verdict, &self.state().opened) {
            // A refusal does not begin a conversation.
            return Err(SessionError::Refused(refusal.clone()));
        }
        if let Command::Answer { inquiry, reply, .. } = &handed.envelope.command {
            self.secrets.extend(reply.secret().map(|secret| (inquiry.clone(), secret)));
        }
        let beginning = Beginning {
            conversation: self.conversation(),
            workspace: &self.workspace,
            sender: &handed.envelope.from,
            // What comes with the command is recorded in front of the turn.
            config: self.unsaid.as_ref().unwrap_or(&self.state().config),
            attendance: self.attendance_now(),
        };
        let facts = context::add(&self.parts, self.state(), facts, beginning).await;
        let seq = self.record(leave, facts).await?;
        self.settle_undos().await?;
        Ok((Receipt { command, seq, verdict }, then))
    }

    /// What to do with a command, if the settings that come with it are there.
    fn order(&self, handed: &Handed, performing: Performing) -> Order {
        let model = self.unsaid.as_ref().unwrap_or(&self.state().config).model.as_ref();
        orders::order(&self.parts, self.state(), model, handed, performing)
    }

    /// What is left can only be stopped by its tools: without them the command is refused.
    async fn vet_leaving(
        &mut self,
        ordered: Order,
        command: &CommandId,
        letter: Option<&str>,
    ) -> Order {
        match ordered {
            Order::Record { leave: Leave::Turn(_) | Leave::Doubts, .. } => {}
            Order::Known(_) | Order::Record { .. } | Order::InterruptFirst => return ordered,
        }
        let Err(ToolsError { message }) = self.toolbox().await else { return ordered };
        let (command, letter) = (command.clone(), letter.map(ToOwned::to_owned));
        let refusal = Refusal::Impossible { message };
        let facts = vec![Event::CommandRefused { command, refusal, letter }];
        Order::Record { leave: Leave::Nothing, facts, then: Then::Rest }
    }

    /// Whether a person can answer at this moment.
    fn attendance_now(&self) -> Attendance {
        if self.controls.faces().are_there() { Attendance::Attended } else { self.attendance }
    }

    /// Records facts, with what has to be stopped in front of them. Returns the place of the first.
    pub(super) async fn record(
        &mut self,
        leave: Leave,
        facts: Vec<Event>,
    ) -> Result<Seq, SessionError> {
        let first = self.push_all(leave, facts).await?;
        self.log.commit().await?;
        if matches!(leave, Leave::Turn(_)) {
            // Only behind the commit: until then the next driver may ask what became of its calls.
            // And to the end: there may be no other driver to do it.
            let toolbox = self.toolbox().await?;
            for tidying in self.tidy(&toolbox) {
                tidying.await;
            }
        }
        Ok(first)
    }

    /// Adds facts to the next commit, with what has to be stopped in front of them. Returns the place of
    /// the first.
    pub(super) async fn push_all(
        &mut self,
        leave: Leave,
        facts: Vec<Event>,
    ) -> Result<Seq, SessionError> {
        match leave {
            Leave::Nothing => {}
            Leave::Turn(turn) => self.stop_left_running(turn).await?,
            Leave::Doubts => self.abandon_in_doubt().await?,
        }
        self.start();
        let first = self.state().end.next();
        for fact in facts {
            let (taken, bound) = (
                matches!(fact, Event::CommandTaken { .. }),
                matches!(fact, Event::WorkspaceBound { .. }),
            );
            self.log.push(fact);
            if let Some(config) = self.unsaid.take_if(|_| taken) {
                // Behind the command that it comes with, and in front of the turn.
                self.configure(&config);
            }
            if bound {
                self.workspace = self.state().workspace().into();
                self.forget_tools();
            }
        }
        Ok(first)
    }

    /// What the journal cannot know of a command: whether its directory is there.
    fn vet_place(&self, command: &mut Command) -> Result<(), Refusal> {
        if let Command::Rebind { workspace } = command {
            let found = canonical(std::path::Path::new(workspace.as_str()));
            let found = found.map_err(|error| Refusal::Impossible { message: told(&error) })?;
            *workspace = found.to_string_lossy().into_owned();
            return Ok(());
        }
        self.look_at_change(command)?;
        let performs = matches!(
            command,
            Command::Say { .. } | Command::Resume | Command::Retry { .. } | Command::Queue { .. }
        );
        match self.check_workspace() {
            Err(error) if performs => Err(Refusal::Impossible { message: told(&error) }),
            _ => Ok(()),
        }
    }

    /// Takes in what other processes left, while the session does not run. Says what follows.
    pub async fn take_letters(&mut self) -> Result<Then, SessionError> {
        self.log.usable()?;
        let (journal, conversation) = (self.parts.journal.clone(), self.conversation().clone());
        let letters = journal.letters(&conversation).await.map_err(AppendError::from)?;
        let mut then = Then::Rest;
        for letter in letters {
            if self.take_letter(letter).await? == Then::Run {
                then = Then::Run;
            }
        }
        Ok(then)
    }

    async fn take_letter(&mut self, letter: Letter) -> Result<Then, SessionError> {
        let journal = self.parts.journal.clone();
        let brought = mailbox::read(&*journal, &letter).await;
        match brought.unwrap_or(Brought::Nothing) {
            Brought::Command(envelope)
                if !self.parts.performs && self.moment(&envelope.command).is_some() =>
            {
                return Ok(Then::Rest);
            }
            Brought::Command(envelope) => {
                let handed = Handed::by_letter(*envelope, letter.id);
                return self.obey(handed, Performing::Nobody).await;
            }
            Brought::Unknown { command, kind } => self.refuse(command, kind, &letter.id).await?,
            Brought::Nothing => return Ok(Then::Rest),
        }
        self.discard_letter(&letter.id).await;
        Ok(Then::Rest)
    }

    async fn refuse(
        &mut self,
        command: CommandId,
        kind: String,
        letter: &str,
    ) -> Result<(), SessionError> {
        if !self.state().commands.contains_key(&command) {
            let refused = orders::refuse_unknown(command, kind, letter);
            self.record(Leave::Nothing, vec![refused]).await?;
        }
        Ok(())
    }

    /// Tells the senders that wait that nothing is left to do, and what was stopped on the way.
    pub(crate) fn rest_well(&mut self) {
        let (ending, stopped) = (Ending::of(self.state()), self.take_stopped());
        self.rest(Ok(Rested { ending, stopped }));
    }

    /// Tells the senders that wait how the conversation came to rest.
    pub(crate) fn rest(&mut self, rest: Rest) {
        let waiting = std::mem::take(&mut self.controls.resting);
        for sender in self.resting.drain(..).chain(waiting) {
            // The sender may have gone.
            sender.send(rest.clone()).unwrap_or_default();
        }
    }

    /// The next message to this session, while it does not run.
    pub(crate) async fn next_control(&mut self) -> Control {
        self.controls.next().await
    }

    /// Commands that waited for the turn to be interrupted.
    pub(crate) fn take_postponed(&mut self) -> Vec<Handed> {
        std::mem::take(&mut self.controls.postponed)
    }

    /// The faces that keep the writer's place.
    pub(crate) fn holds(&self) -> &Count {
        self.controls.holds()
    }

    /// The run that comes next stops as soon as possible.
    pub(crate) fn interrupt(&self) {
        self.controls.interrupt();
    }

    /// An old interrupt does not stop a new run.
    pub(crate) fn reset_controls(&mut self) {
        self.controls.reset();
    }

    /// Works with these controls from now on.
    pub(crate) fn obey_through(&mut self, controls: Controls) {
        self.controls = controls;
    }

    /// Gives the controls back.
    pub(crate) fn take_controls(&mut self) -> Controls {
        std::mem::take(&mut self.controls)
    }

    async fn discard_letter(&self, id: &str) {
        // A letter that stays is known again by what it brought.
        let discarded = self.parts.journal.discard_letter(self.conversation(), id).await;
        discarded.unwrap_or_default();
    }
}

/// What went wrong with a directory, and what can be done.
fn told(error: &OpenError) -> String {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}; bind the conversation to another directory", source.unwrap_or_default())
}
