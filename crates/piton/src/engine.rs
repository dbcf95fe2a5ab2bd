//! The engine: what all sessions share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use piton_core::id::ConversationId;
use piton_core::state::Config;
use piton_store::{Holder, Journal};
use piton_tools::{Closed, Tool};

use crate::chance::{Chance, SystemChance};
use crate::clock::{Clock, SystemClock};
use crate::delegate::{Delegate, Delegation, Desks};
use crate::lease::{self, LeaseWait};
use crate::log::Log;
use crate::model::Models;
use crate::parts::Parts;
use crate::session::{self, OpenError, Session};

/// Opens sessions on conversations. Cheap to clone; many sessions run in one process.
#[derive(Clone, Debug)]
pub struct Engine {
    parts: Arc<Parts>,
}

/// Puts an engine together.
#[derive(Debug)]
pub struct Builder {
    parts: Parts,
}

impl Engine {
    /// An engine over a store and models. Without tools, on the machine's clock and chance.
    pub fn builder(journal: Arc<dyn Journal>, models: Arc<dyn Models>) -> Builder {
        Builder {
            parts: Parts {
                journal,
                models,
                tools: BTreeMap::new(),
                clock: Arc::new(SystemClock),
                chance: Arc::new(SystemChance),
                scratch: std::env::temp_dir(),
                closed: Closed::default(),
                host: "localhost".into(),
                boot: String::new(),
                lease_wait: LeaseWait::default(),
                desks: Desks::default(),
                delegation: None,
            },
        }
    }

    pub(crate) fn of(parts: Arc<Parts>) -> Self {
        Self { parts }
    }

    /// The store.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.parts.journal
    }

    /// A configuration that offers all tools of this engine.
    pub fn offer_tools(&self, config: &mut Config) {
        config.tools = self.parts.tools.values().map(|tool| tool.spec()).collect();
    }

    /// The same engine with more tools; one of the same name replaces its own.
    #[must_use]
    pub fn with_tools(&self, more: &[Arc<dyn Tool>]) -> Self {
        let mut parts = (*self.parts).clone();
        parts.tools.extend(more.iter().map(|tool| (tool.spec().name, tool.clone())));
        Self::assemble(parts)
    }

    /// The tool that hands tasks on must know the engine that it belongs to, with all of its tools.
    fn assemble(mut parts: Parts) -> Self {
        let parts = Arc::new_cyclic(|engine| {
            if let Some(delegation) = parts.delegation {
                let tool = Arc::new(Delegate::new(engine.clone(), delegation));
                parts.tools.insert(tool.spec().name, tool);
            }
            parts
        });
        Self { parts }
    }

    /// What sessions of this engine work with.
    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    /// Begins a conversation that works in `workspace`. Nothing is written before its first message.
    pub async fn create(&self, workspace: &Path) -> Result<Session, OpenError> {
        let conversation = ConversationId::from_chance(self.parts.chance.next());
        self.create_as(conversation, workspace).await
    }

    /// Begins a conversation under a name that the caller made.
    pub async fn create_as(
        &self,
        conversation: ConversationId,
        workspace: &Path,
    ) -> Result<Session, OpenError> {
        self.enter_at(conversation, workspace, self.parts.lease_wait).await
    }

    /// Takes the writer's place of a conversation that may or may not have begun.
    pub(crate) async fn enter_at(
        &self,
        conversation: ConversationId,
        workspace: &Path,
        wait: LeaseWait,
    ) -> Result<Session, OpenError> {
        // Before anything is made: a directory that cannot be used leaves no trace.
        let workspace = session::canonical(workspace)?;
        let mut session = self.enter(conversation, wait).await?;
        session.set_workspace(&workspace)?;
        Ok(session)
    }

    /// Opens a conversation to write to it: takes its lease, reads and folds. Writes nothing.
    pub async fn open(&self, conversation: &ConversationId) -> Result<Session, OpenError> {
        self.open_within(conversation, self.parts.lease_wait).await
    }

    /// The same, waiting as long as the caller says for another process to leave.
    pub async fn open_within(
        &self,
        conversation: &ConversationId,
        wait: LeaseWait,
    ) -> Result<Session, OpenError> {
        if self.parts.journal.status(conversation).await?.is_none() {
            return Err(OpenError::Unknown(conversation.clone()));
        }
        let mut session = self.enter(conversation.clone(), wait).await?;
        let opened = session.state().opened.clone();
        let workspace = opened.map(|opened| PathBuf::from(opened.workspace)).unwrap_or_default();
        session.set_workspace(&workspace)?;
        Ok(session)
    }

    async fn enter(
        &self,
        conversation: ConversationId,
        wait: LeaseWait,
    ) -> Result<Session, OpenError> {
        let Parts { journal, clock, host, .. } = &*self.parts;
        let holder = Holder { pid: std::process::id(), host: host.clone(), since: clock.now() };
        let lease = lease::acquire(&**journal, &conversation, holder, wait).await?;
        let log = Log::open(journal.clone(), clock.clone(), lease).await?;
        Ok(Session::new(self.parts.clone(), log))
    }
}

impl Builder {
    /// Adds a tool; a later one of the same name replaces it.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.parts.tools.insert(tool.spec().name, tool);
        self
    }

    /// Takes time from elsewhere.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.parts.clock = clock;
        self
    }

    /// Takes chance from elsewhere.
    #[must_use]
    pub fn chance(mut self, chance: Arc<dyn Chance>) -> Self {
        self.parts.chance = chance;
        self
    }

    /// Where tools keep long outputs while they are written.
    #[must_use]
    pub fn scratch(mut self, scratch: PathBuf) -> Self {
        self.parts.scratch = scratch;
        self
    }

    /// What file tools neither read nor change, wherever it lies: the files of the store and of
    /// whoever embeds this.
    #[must_use]
    pub fn closed(mut self, closed: Closed) -> Self {
        self.parts.closed = closed;
        self
    }

    /// How this machine and its present boot are called.
    #[must_use]
    pub fn machine(mut self, host: String, boot: String) -> Self {
        self.parts.host = host;
        self.parts.boot = boot;
        self
    }

    /// How long to wait for a conversation that another process holds.
    #[must_use]
    pub fn lease_wait(mut self, wait: LeaseWait) -> Self {
        self.parts.lease_wait = wait;
        self
    }

    /// Adds the tool that hands tasks to workers: conversations of their own, in the same store.
    #[must_use]
    pub fn delegate(mut self, delegation: Delegation) -> Self {
        self.parts.delegation = Some(delegation);
        self
    }

    /// The engine.
    pub fn build(self) -> Engine {
        Engine::assemble(self.parts)
    }
}
