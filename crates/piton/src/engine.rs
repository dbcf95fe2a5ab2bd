//! The engine: what all conversations share, and who owns their tasks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use piton_core::event::{ModelRef, UserPart};
use piton_core::id::{ConversationId, Seq};
use piton_core::state::Config;
use piton_core::view::View;
use piton_store::Journal;
use piton_tools::{Closed, Tool, Toolbox};

use crate::chance::{Chance, SystemChance};
use crate::clock::{Clock, SystemClock};
use crate::conversation::Conversation;
use crate::delegate::{Delegate, Delegation, Desks};
use crate::error::OpenError;
use crate::files::{self, FilesFault};
use crate::follow::{self, Follow, FollowError};
use crate::hooks::Hooks;
use crate::host::{Hosts, Running, TURNS_MAX};
use crate::lease::LeaseWait;
use crate::live::Lives;
use crate::model::Models;
use crate::opening;
use crate::parts::Parts;
use crate::profile::{OneProfile, Profile, Profiles};
use crate::read_output::ReadOutput;
use crate::recall::Recall;
use crate::session::{self, Session};
use crate::toolbox::Tools;

/// Gives handles on conversations, and owns the tasks behind them. Cheap to clone. Dropping the last
/// clone drops all tasks, which equals a crash: everything can be resumed.
#[derive(Clone, Debug)]
pub struct Engine {
    hosts: Arc<Hosts>,
}

/// Puts an engine together.
#[derive(Debug)]
pub struct Builder {
    parts: Parts,
    turns_max: usize,
    config: Option<Config>,
}

impl Engine {
    /// An engine over a store and models. Without tools, on the machine's clock and chance.
    pub fn builder(journal: Arc<dyn Journal>, models: Arc<dyn Models>) -> Builder {
        Builder {
            parts: Parts {
                journal,
                models,
                everywhere: Toolbox::new(),
                tools: Arc::new(Toolbox::new()),
                delegate: None,
                looking_back: Vec::new(),
                profiles: Arc::new(OneProfile::default()),
                hooks: None,
                clock: Arc::new(SystemClock),
                chance: Arc::new(SystemChance),
                scratch: std::env::temp_dir(),
                calls: None,
                closed: Closed::default(),
                host: "localhost".into(),
                boot: String::new(),
                lease_wait: LeaseWait::default(),
                lives: Lives::default(),
                desks: Desks::default(),
                performs: true,
                delegation: None,
            },
            turns_max: TURNS_MAX,
            config: None,
        }
    }

    /// The handle on a conversation, which need not exist. Reads and writes nothing.
    pub fn conversation(&self, id: &ConversationId) -> Conversation {
        Conversation::new(id.clone(), None, &self.hosts)
    }

    /// The handle on a new conversation that works in a directory. Nothing is written before its first
    /// command.
    pub fn begin(&self, workspace: &Path) -> Result<Conversation, OpenError> {
        let workspace = session::canonical(workspace)?;
        let id = ConversationId::from_chance(self.parts().chance.next());
        Ok(Conversation::new(id, Some(workspace), &self.hosts))
    }

    /// The same under a name that the caller made.
    pub fn begin_as(
        &self,
        id: ConversationId,
        workspace: &Path,
    ) -> Result<Conversation, OpenError> {
        let workspace = session::canonical(workspace)?;
        Ok(Conversation::new(id, Some(workspace), &self.hosts))
    }

    /// All there is to show of a conversation. Needs no lease, and no driver.
    pub async fn view(&self, id: &ConversationId) -> Result<View, FollowError> {
        follow::view(self.parts(), id).await
    }

    /// A conversation as it moves: a snapshot, then changes; behind a cursor the changes alone. The same
    /// stream whether the driver is in this process, in another one, or nowhere.
    pub async fn follow(
        &self,
        id: &ConversationId,
        cursor: Option<Seq>,
    ) -> Result<Follow, FollowError> {
        Follow::new(self.parts(), id, cursor).await
    }

    /// The conversations that have something to do, and how far each is.
    pub fn running(&self) -> Vec<Running> {
        self.hosts.running()
    }

    /// Ends all work and leaves everything resumable. No turn begins any more; those that run have until
    /// the deadline to come to rest, and are dropped then, as in a crash.
    pub async fn shutdown(&self, deadline: Duration) {
        self.hosts.close();
        // What is not quiet by then is dropped.
        tokio::time::timeout(deadline, self.hosts.quiet()).await.unwrap_or_default();
        self.hosts.drop_all().await;
    }

    /// Why a model is not sent a file, if it is not. Goes behind the model's name.
    pub fn refusal_of_file(
        &self,
        model: &ModelRef,
        media_type: &str,
        bytes: u64,
    ) -> Option<String> {
        files::refusal(&*self.parts().models, model, media_type, bytes)
    }

    /// Whether a model can be sent the files of a message. Sending checks the same.
    pub fn check_files(&self, model: &ModelRef, parts: &[UserPart]) -> Result<(), FilesFault> {
        files::check(&*self.parts().models, Some(model), parts)
    }

    /// The store.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.parts().journal
    }

    /// A configuration that offers the tools that every conversation of this engine has.
    pub fn offer_tools(&self, config: &mut Config) {
        config.tools = self.parts().toolbox_with(&Toolbox::new()).specs().into();
    }

    /// The tool that hands tasks on must know the engine that it belongs to. With a configuration,
    /// conversations begin with that configuration.
    fn assemble(mut parts: Parts, turns_max: usize, config: Option<Config>) -> Self {
        let parts = Arc::new_cyclic(|engine| {
            if let Some(delegation) = parts.delegation {
                let tool = Arc::new(Delegate::new(engine.clone(), delegation));
                parts.delegate = Some(tool);
            }
            if let Some(config) = config {
                parts.profiles = Arc::new(OneProfile(Profile { config, ..Profile::default() }));
            }
            parts
        });
        let performs = parts.performs;
        let hosts = Hosts::new(parts, turns_max);
        if !performs {
            hosts.close();
        }
        Self { hosts }
    }

    /// What conversations of this engine work with.
    pub(crate) fn parts(&self) -> &Arc<Parts> {
        self.hosts.parts()
    }

    /// Begins a conversation that works in `workspace`. Nothing is written before its first message.
    pub async fn create(&self, workspace: &Path) -> Result<Session, OpenError> {
        let conversation = ConversationId::from_chance(self.parts().chance.next());
        self.create_as(conversation, workspace).await
    }

    /// Begins a conversation under a name that the caller made.
    pub async fn create_as(
        &self,
        conversation: ConversationId,
        workspace: &Path,
    ) -> Result<Session, OpenError> {
        let wait = self.parts().lease_wait;
        opening::enter_at(self.parts(), conversation, workspace, wait).await
    }

    /// Opens a conversation to write to it: takes its lease, reads and folds. Writes nothing.
    pub async fn open(&self, conversation: &ConversationId) -> Result<Session, OpenError> {
        self.open_within(conversation, self.parts().lease_wait).await
    }

    /// The same, waiting as long as the caller says for another process to leave.
    pub async fn open_within(
        &self,
        conversation: &ConversationId,
        wait: LeaseWait,
    ) -> Result<Session, OpenError> {
        opening::open(self.parts(), conversation, wait).await
    }
}

impl Builder {
    /// Adds a tool that every conversation has. The model reads tools in the order in which they were
    /// added; a later one of the same name takes the place of the earlier one.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.parts.everywhere.add(tool);
        self
    }

    /// Takes the tools of each conversation from elsewhere. They come behind those that every
    /// conversation has.
    #[must_use]
    pub fn tools(mut self, tools: Arc<dyn Tools>) -> Self {
        self.parts.tools = tools;
        self
    }

    /// A configuration that offers all tools that were added so far.
    pub fn offer_tools(&self, config: &mut Config) {
        config.tools = self.parts.everywhere.specs().into();
    }

    /// Lets every conversation begin with this configuration. If it names no tools, all tools of the
    /// engine are offered. Replaces [`Builder::profiles`].
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = Some(config);
        self
    }

    /// Takes what turns begin with from elsewhere.
    #[must_use]
    pub fn profiles(mut self, profiles: Arc<dyn Profiles>) -> Self {
        self.parts.profiles = profiles;
        self
    }

    /// Asks hooks before calls run, and tells them what happens. Which tools they look at is said in the
    /// permissions of a configuration.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.parts.hooks = Some(hooks);
        self
    }

    /// Performs at most so many turns at the same time; the others wait.
    #[must_use]
    pub fn turns_max(mut self, turns_max: usize) -> Self {
        self.turns_max = turns_max;
        self
    }

    /// Performs no turn: commands are recorded, and what they set going waits for another engine. Letters
    /// that set something going stay where they are.
    #[must_use]
    pub fn recording_only(mut self) -> Self {
        self.parts.performs = false;
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

    /// Where supervised commands are recorded, for [`Engine::commands`].
    #[must_use]
    pub fn calls(mut self, calls: PathBuf) -> Self {
        self.parts.calls = Some(calls);
        self
    }

    /// What file tools neither read nor change, wherever it lies: the files of the store and of the
    /// program that embeds this.
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

    /// Lets models look back: read the rest of outputs that are too long to be shown whole, and what
    /// happened earlier in their conversation, also where a summary stands for it.
    #[must_use]
    pub fn look_back(mut self) -> Self {
        let journal = &self.parts.journal;
        let output: Arc<dyn Tool> = Arc::new(ReadOutput::new(journal.clone()));
        let past: Arc<dyn Tool> = Arc::new(Recall::new(journal.clone()));
        self.parts.looking_back = vec![output, past];
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
        Engine::assemble(self.parts, self.turns_max, self.config)
    }
}
