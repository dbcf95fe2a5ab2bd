//! The handle on one conversation: send, resume, answer, interrupt, discard.

mod attach;
mod command;
mod tools;
mod undo;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use piton_core::command::{
    Command, Envelope, Leave, NewMessage, OnIncomplete, Performing, Plan, Refusal, Reply, plan,
};
use piton_core::coordinate::COORDINATOR;
use piton_core::event::{BreakReason, Event, ForkOrigin, ParentCall, TurnEnd};
use piton_core::id::{CommandId, ConversationId, DriverId, InquiryId, MessageId};
use piton_core::outcome::Ending;
use piton_core::state::{Config, State, Turn};
use piton_core::view::View;
use piton_store::AppendError;
use piton_tools::Toolbox;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::control::{Controller, Controls};
use crate::delegate::{Desk, DeskKey, Presence};
use crate::digest::Chain;
use crate::driver::Driver;
use crate::error::{OpenError, SessionError};
use crate::files::FileShelf;
use crate::flight::ask::{Asks, Secrets};
use crate::log::Log;
use crate::mailbox::MailWatch;
use crate::orders;
use crate::parts::Parts;
use crate::receipt::{Receipts, Rest};
use crate::toolbox::Hands;
use crate::unattended::{Attendance, Unattended};

/// The one writer of a conversation. Dropping it leaves the conversation as it is.
#[derive(Debug)]
pub struct Session {
    parts: Arc<Parts>,
    log: Log,
    /// Whether the present driver is announced. Not while one runs: a run that is dropped takes its
    /// driver along, and the next one has to say so.
    started: bool,
    workspace: PathBuf,
    hands: Hands,
    chain: Chain,
    files: Arc<FileShelf>,
    controls: Controls,
    attendance: Attendance,
    unattended: Unattended,
    /// What tools were told in secret, by question. Never written down.
    secrets: Secrets,
    /// What was stopped because its turn was left.
    stopped: Vec<String>,
    birth: Birth,
    /// Who answers the turn that begins next.
    agent: Option<String>,
    /// What the next command configures, if it is taken.
    unsaid: Option<Config>,
    /// Senders that wait until the conversation rests.
    resting: Vec<oneshot::Sender<Rest>>,
}

/// What its first entry says of a conversation that works for another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Birth {
    pub(crate) title: Option<String>,
    pub(crate) origin: Option<ForkOrigin>,
    pub(crate) parent: Option<ParentCall>,
}

impl Session {
    pub(crate) fn new(parts: Arc<Parts>, log: Log) -> Self {
        Self {
            parts,
            log,
            started: false,
            workspace: PathBuf::new(),
            hands: Hands::default(),
            chain: Chain::default(),
            files: Arc::default(),
            controls: Controls::default(),
            attendance: Attendance::default(),
            unattended: Unattended::default(),
            secrets: Secrets::new(),
            stopped: Vec::new(),
            birth: Birth::default(),
            agent: None,
            unsaid: None,
            resting: Vec::new(),
        }
    }

    /// Says where the conversation comes from, and what it begins with. Only before its first entry.
    pub(crate) fn be_born(&mut self, birth: Birth, cut: Option<State>) {
        self.birth = birth;
        if let Some(cut) = cut {
            self.log.begin_from(cut);
        }
    }

    /// A directory that is gone is kept by its name: everything but performing works without it.
    pub(crate) fn set_workspace(&mut self, workspace: &Path) {
        self.workspace = canonical(workspace).unwrap_or_else(|_| workspace.to_owned());
    }

    /// Whether tools can work. Everything but performing works without their directory.
    pub fn check_workspace(&self) -> Result<(), OpenError> {
        canonical(&self.workspace).map(|_| ())
    }

    /// The conversation's name.
    pub fn conversation(&self) -> &ConversationId {
        self.log.lease().conversation()
    }

    /// What the journal means.
    pub fn state(&self) -> &State {
        self.log.state()
    }

    /// Says whether a person is there to answer.
    pub fn attend(&mut self, attendance: Attendance) {
        self.attendance = attendance;
    }

    /// Says what becomes of questions while nobody is there.
    pub fn leave_unattended(&mut self, unattended: Unattended) {
        self.unattended = unattended;
    }

    /// What was stopped since this was asked last because its turn was interrupted or discarded: what
    /// calls had left running. Nothing is stopped in silence.
    pub fn take_stopped(&mut self) -> Vec<String> {
        std::mem::take(&mut self.stopped)
    }

    /// A handle to interrupt and answer while the session runs.
    pub fn controller(&self) -> Controller {
        self.controls.controller()
    }

    /// Whether a question waits for a person, as it changes.
    pub(crate) fn asking(&self) -> watch::Receiver<bool> {
        self.log.asking()
    }

    /// Makes `wanted` the configuration from the next commit on.
    pub fn configure(&mut self, wanted: &Config) {
        let change = self.state().config.change_to(wanted);
        if !change.is_empty() {
            self.start();
            self.log.push(Event::ConfigChanged { change });
        }
    }

    /// Makes what was configured durable, without going on.
    pub async fn keep(&mut self) -> Result<(), SessionError> {
        self.log.usable()?;
        Ok(self.log.commit().await?)
    }

    /// Sends a message and performs the turn.
    pub async fn send(
        &mut self,
        message: NewMessage,
        on_incomplete: OnIncomplete,
    ) -> Result<Ending, SessionError> {
        self.log.usable()?;
        let NewMessage { id, parts } = message;
        let id = id.unwrap_or_else(|| MessageId::from_chance(self.parts.chance.next()));
        if let Some(bytes) = orders::too_large(&id, &parts) {
            return Err(AppendError::Size { bytes }.into());
        }
        let agent = self.agent.take();
        let message = NewMessage { id: Some(id), parts };
        let known = self.plan(Command::Say { message: message.clone(), on_incomplete, agent });
        if !matches!(&known, Plan::Record { facts, .. } if facts.is_empty()) {
            self.check_files(&message.parts)?;
        }
        self.follow(known).await
    }

    /// What becomes of a command that has no name, because its caller waits for it.
    fn plan(&self, command: Command) -> Plan {
        let envelope = Envelope::new(CommandId::new(""), command);
        plan(self.state(), &envelope, Performing::Nobody, None)
    }

    /// Does what a plan says, and goes on.
    async fn follow(&mut self, plan: Plan) -> Result<Ending, SessionError> {
        match plan {
            Plan::Record { leave, facts, .. } => {
                if facts.is_empty() {
                    return self.run().await;
                }
                self.push_all(leave, facts).await?;
                self.run().await
            }
            Plan::Refuse(refusal) => Err(self.refusal(refusal)),
            // Nothing runs.
            Plan::InterruptFirst => self.run().await,
        }
    }

    fn refusal(&self, refusal: Refusal) -> SessionError {
        let open = View::from(self.state()).turns.pop();
        match (refusal, open) {
            (Refusal::Incomplete, Some(turn)) => SessionError::Incomplete(Box::new(turn)),
            (Refusal::EmptyMessage, _) => SessionError::EmptyMessage,
            (Refusal::NotAsked { inquiry }, _) => SessionError::NotAsked(inquiry),
            (refusal, _) => SessionError::Refused(refusal),
        }
    }

    /// Sends a message whose turn is coordinated: the model splits it into subtasks, workers do them at
    /// the same time, and the model answers from their results. A turn that is open goes on as it was.
    pub async fn coordinate(
        &mut self,
        message: NewMessage,
        on_incomplete: OnIncomplete,
    ) -> Result<Ending, SessionError> {
        self.agent = Some(COORDINATOR.to_owned());
        let ending = self.send(message, on_incomplete).await;
        self.agent = None;
        ending
    }

    /// Goes on with the open turn, if there is one.
    pub async fn resume(&mut self) -> Result<Ending, SessionError> {
        self.log.usable()?;
        let planned = self.plan(Command::Resume);
        if planned == Plan::Refuse(Refusal::NoOpenTurn) {
            return self.run().await;
        }
        self.follow(planned).await
    }

    /// Tries a message again from scratch, with the model that is configured now. The old attempt
    /// is kept in the journal and hidden; its effects are not undone.
    pub async fn retry(&mut self, message: &MessageId) -> Result<Ending, SessionError> {
        self.log.usable()?;
        let planned = self.plan(Command::Retry { message: message.clone() });
        if matches!(planned, Plan::Refuse(Refusal::UnknownMessage { .. })) {
            return self.run().await;
        }
        if matches!(planned, Plan::Record { .. })
            && let Some(parts) = orders::said_before(self.state(), message)
        {
            self.check_files(parts)?;
        }
        self.follow(planned).await
    }

    /// Closes the open turn: `Stopped` keeps what is there, `Discarded` hides it.
    pub async fn close_turn(&mut self, end: TurnEnd) -> Result<(), SessionError> {
        self.log.usable()?;
        if let Some(turn) = self.state().open_turn().map(|turn| turn.id) {
            self.record(Leave::Turn(turn), vec![Event::TurnEnded { turn, end }]).await?;
        }
        Ok(())
    }

    /// Answers a question while the session does not run.
    pub async fn answer(&mut self, inquiry: &InquiryId, reply: Reply) -> Result<(), SessionError> {
        self.log.usable()?;
        let secret = reply.secret();
        let events = reply.events(self.state(), inquiry, None);
        if events.is_empty() {
            return Err(SessionError::NotAsked(inquiry.clone()));
        }
        self.secrets.extend(secret.map(|secret| (inquiry.clone(), secret)));
        self.start();
        for event in events {
            self.log.push(event);
        }
        Ok(self.log.commit().await?)
    }

    /// Announces this driver, once, in front of the first fact that it appends.
    fn start(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        if self.state().opened.is_none() {
            self.log.push(Event::ConversationOpened {
                // Nothing is lost: `canonical` lets no other path in.
                workspace: self.workspace.to_string_lossy().into_owned(),
                title: self.birth.title.clone(),
                origin: self.birth.origin.clone(),
                parent: self.birth.parent.clone(),
            });
        }
        self.log.push(Event::DriverStarted {
            driver: DriverId::from_chance(self.parts.chance.next()),
            epoch: self.log.lease().epoch(),
            host: self.parts.host.clone(),
            boot: self.parts.boot.clone(),
            pid: std::process::id(),
        });
    }

    /// Where workers find the conversation that they work for, while it runs.
    fn open_desk(&self, toolbox: Arc<Toolbox>) -> DeskKey {
        let is_worker = self.state().opened.as_ref().is_some_and(|opened| opened.parent.is_some());
        let presence = Presence { attendance: self.attendance, unattended: self.unattended };
        let desk = Desk::new(presence, self.controls.seat().clone(), is_worker, toolbox);
        self.parts.desks.open(self.conversation().clone(), desk)
    }

    async fn run(&mut self) -> Result<Ending, SessionError> {
        let idle = self.state().open_turn().is_none() && self.state().queue.is_empty();
        if idle && !self.started {
            return Ok(Ending::of(self.state()));
        }
        self.controls.reset();
        self.perform().await
    }

    /// Goes on until there is nothing to do that needs no person. An interrupt that came before counts.
    pub(crate) async fn perform(&mut self) -> Result<Ending, SessionError> {
        self.check_workspace().map_err(|error| SessionError::Workspace(Box::new(error)))?;
        self.settle_undos().await?;
        let toolbox = self.toolbox().await?;
        if self.state().open_turn().is_some_and(|turn| turn.parked().is_some()) {
            // The driver that left a call waiting elsewhere is gone; the next driver looks again.
            self.started = false;
        }
        self.start();
        self.started = false;
        let site = self.site();
        let _desk = self.open_desk(toolbox.clone());
        drop(self.tidy(&toolbox));
        let (journal, id) = (self.parts.journal.clone(), self.conversation().clone());
        let mail_watch = MailWatch::new(journal, id);
        let driver = Driver {
            parts: &self.parts,
            toolbox,
            log: &mut self.log,
            chain: &mut self.chain,
            files: &self.files,
            site: Arc::new(site),
            controls: &mut self.controls,
            attendance: self.attendance,
            unattended: self.unattended,
            secrets: &mut self.secrets,
            asks: Asks::default(),
            flights: FuturesUnordered::new(),
            launches: Vec::new(),
            asking: None,
            summing: None,
            cancel: CancellationToken::new(),
            give_up_at: None,
            retry: None,
            progress: Arc::default(),
            acknowledgements: Vec::new(),
            receipts: Receipts::default(),
            settled: Vec::new(),
            refused: None,
            letters_taken: Vec::new(),
            mail_watch,
            listening: JoinSet::new(),
            unheard: Vec::new(),
        };
        let ending = driver.run().await?;
        self.started = true;
        let interrupted =
            |turn: &&Turn| matches!(&turn.broke, Some(it) if it.reason == BreakReason::Interrupted);
        if let Some(turn) = self.state().open_turn().filter(interrupted).map(|turn| turn.id) {
            self.stop_left_running(turn).await?;
        }
        Ok(ending)
    }
}

/// Whether a conversation can work in a directory.
pub fn check_workspace(workspace: &Path) -> Result<(), OpenError> {
    canonical(workspace).map(drop)
}

/// Where a conversation works. Canonical once, here: tools compare against it.
pub(crate) fn canonical(workspace: &Path) -> Result<PathBuf, OpenError> {
    let found = workspace.canonicalize();
    let path =
        found.map_err(|source| OpenError::Workspace { path: workspace.to_owned(), source })?;
    if path.to_str().is_none() {
        return Err(OpenError::WorkspaceName { path });
    }
    Ok(path)
}
