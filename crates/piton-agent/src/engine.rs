//! Puts store, models and tools together.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use piton::{Builder, Engine, LeaseWait, Tools};
use piton_store::Journal;
use piton_tools::Closed;

use crate::agent::Agent;
use crate::commands::Commands;
use crate::models::Catalogue;
use crate::profiles::AgentProfiles;
use crate::settings::{Machine, Settings, SettingsError};
use crate::tools;

/// How long a process that only writes something down waits for another one that is about to leave
/// the conversation. A process that asks on its own terminal does not leave.
const WRITE_WAIT: Duration = Duration::from_secs(1);

/// What an engine works with, beside what the settings say.
#[derive(Debug)]
pub struct EngineParts {
    /// Where conversations are kept.
    pub journal: Arc<dyn Journal>,
    /// Who answers.
    pub models: Arc<Catalogue>,
    /// Where tools keep long outputs while they are written.
    pub scratch: PathBuf,
    /// How long to wait for a conversation that another process holds.
    pub lock_wait: Duration,
}

impl Agent {
    /// An engine whose conversations have the tools of their workspaces, and whose turns begin with what
    /// the settings and the senders of commands say.
    pub fn engine(
        &self,
        parts: EngineParts,
        tools: Arc<dyn Tools>,
        profiles: Arc<AgentProfiles>,
    ) -> Engine {
        let builder = builder(&self.settings, parts).delegate(self.delegation);
        let builder = builder.hooks(profiles.hooks());
        builder.tools(tools).profiles(profiles).build()
    }
}

/// An engine that opens conversations to write something down. Nothing runs: there is no model to
/// ask, and no command is started. Needs no settings file, so that a broken one is in nobody's way.
pub fn engine_to_write(
    journal: Arc<dyn Journal>,
    settings: &Settings,
) -> Result<Engine, SettingsError> {
    let models = Arc::new(Catalogue::new(settings.environment.clone()));
    let parts =
        EngineParts { journal, models, scratch: settings.scratch()?, lock_wait: WRITE_WAIT };
    let tools = tools::own_tools(&Commands::Unused);
    let builder = builder(settings, parts).delegate(piton::Delegation::default()).recording_only();
    Ok(tools.into_iter().fold(builder, Builder::tool).build())
}

fn builder(settings: &Settings, parts: EngineParts) -> Builder {
    let Machine { host, boot } = Machine::ask();
    let EngineParts { journal, models, scratch, lock_wait } = parts;
    Engine::builder(journal, models)
        .look_back()
        .machine(host, boot)
        .scratch(scratch)
        .calls(settings.calls())
        .closed(Closed::new(settings.own_places()))
        .lease_wait(LeaseWait { max: lock_wait, ..LeaseWait::default() })
}
