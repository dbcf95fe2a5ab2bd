//! Puts store, models and tools together.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use piton::{Delegation, Engine, LeaseWait};
use piton_store::{Journal, SqliteJournal};
use piton_tools::sandbox::Rules;
use piton_tools::supervise::Supervisor;
use piton_tools::{AskUser, Closed, CommandDefinition, Registry, Tool};

use crate::models::Catalogue;
use crate::output::Output;
use crate::report::Fault;
use crate::settings::{Machine, Settings};

/// How long whoever only writes something down waits for a process that is about to leave the
/// conversation. One that asks on its own terminal does not leave.
const WRITE_WAIT: Duration = Duration::from_secs(1);

/// Opens the store; what a person should hear about it is said.
pub(crate) fn open_store(
    settings: &Settings,
    output: &mut Output,
) -> Result<Arc<dyn Journal>, Fault> {
    let (journal, notice) = SqliteJournal::open(&settings.home)?;
    if let Some(notice) = notice {
        output.talk(&format!("warning: {notice}"));
    }
    Ok(Arc::new(journal))
}

/// What engines of this process share.
#[derive(Debug)]
pub(crate) struct Wiring {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) models: Arc<Catalogue>,
    /// Where tools keep long outputs while they are written.
    pub(crate) scratch: PathBuf,
    /// What file tools keep away from.
    pub(crate) closed: Closed,
    pub(crate) lock_wait: Duration,
    pub(crate) commands: Commands,
    /// What workers are allowed.
    pub(crate) delegation: Delegation,
    /// Tools of the settings.
    pub(crate) tools: Vec<CommandDefinition>,
}

/// How commands are run.
#[derive(Clone, Debug)]
pub(crate) enum Commands {
    /// They outlive this process.
    Supervised(Arc<Supervisor>),
    /// They end with it, do not see these variables, and are confined by these rules.
    Plain(Vec<OsString>, Rules),
    /// There are none to run: nobody drives a turn here.
    Unused,
}

/// Supervises commands, with records in the home.
pub(crate) fn supervisor(settings: &Settings, hidden: Vec<OsString>, rules: Rules) -> Supervisor {
    // Not its path: the file there may be another one by now.
    Supervisor::new("/proc/self/exe".into(), settings.calls(), hidden).sandbox(rules)
}

impl Wiring {
    /// Opens conversations to write something down. Nothing runs: there is no model to ask, and no
    /// command is started.
    pub(crate) fn to_write(journal: Arc<dyn Journal>, settings: &Settings) -> Result<Self, Fault> {
        Ok(Self {
            journal,
            models: Arc::new(Catalogue::default()),
            delegation: Delegation::default(),
            scratch: settings.scratch()?,
            closed: Closed::new(settings.own_places()),
            lock_wait: WRITE_WAIT,
            commands: Commands::Unused,
            tools: Vec::new(),
        })
    }

    /// An engine with the standard tools and `more`.
    pub(crate) fn engine(&self, more: &[Arc<dyn Tool>]) -> Engine {
        let Machine { host, boot } = Machine::ask();
        let wait = LeaseWait { max: self.lock_wait, ..LeaseWait::default() };
        let mut builder = Engine::builder(self.journal.clone(), self.models.clone())
            .machine(host, boot)
            .scratch(self.scratch.clone())
            .closed(self.closed.clone())
            .lease_wait(wait)
            .delegate(self.delegation);
        let mut registry = match &self.commands {
            Commands::Supervised(supervisor) => Registry::supervised(supervisor.clone()),
            Commands::Plain(hidden, rules) => Registry::plain(hidden.clone(), rules.clone()),
            Commands::Unused => Registry::standard(),
        };
        if let Err(taken) = registry.add(Arc::new(AskUser)) {
            // None of the standard tools has this name.
            debug_assert!(false, "{taken}");
        }
        for spec in registry.specs() {
            if let Some(tool) = registry.get(&spec.name) {
                builder = builder.tool(tool.clone());
            }
        }
        for tool in &self.tools {
            let tool = match &self.commands {
                Commands::Supervised(supervisor) => tool.supervised(supervisor.clone()),
                Commands::Plain(hidden, rules) => tool.plain(hidden.clone(), rules.clone()),
                Commands::Unused => continue,
            };
            builder = builder.tool(Arc::new(tool));
        }
        for tool in more {
            builder = builder.tool(tool.clone());
        }
        builder.build()
    }
}
