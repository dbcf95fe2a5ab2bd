//! What all sessions of an engine share.

use std::path::PathBuf;
use std::sync::Arc;

use piton_store::Journal;
use piton_tools::{Closed, Tool, Toolbox};

use crate::chance::Chance;
use crate::clock::Clock;
use crate::delegate::{Delegation, Desks};
use crate::hooks::Hooks;
use crate::lease::LeaseWait;
use crate::live::Lives;
use crate::model::Models;
use crate::profile::Profiles;
use crate::toolbox::{ToolPlace, Tools, ToolsError};

/// What performing needs.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) models: Arc<dyn Models>,
    /// The tools that every conversation has, without the tool that hands tasks on.
    pub(crate) everywhere: Toolbox,
    /// The tools of single conversations, behind `everywhere`.
    pub(crate) tools: Arc<dyn Tools>,
    /// The tool that hands tasks on, behind all others.
    pub(crate) delegate: Option<Arc<dyn Tool>>,
    /// The tools that read the rest of long outputs, and the past of the conversation.
    pub(crate) looking_back: Vec<Arc<dyn Tool>>,
    pub(crate) profiles: Arc<dyn Profiles>,
    /// Who is asked before calls run, and told of what happens.
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chance: Arc<dyn Chance>,
    pub(crate) scratch: PathBuf,
    /// Where supervised commands are recorded.
    pub(crate) calls: Option<PathBuf>,
    pub(crate) closed: Closed,
    pub(crate) host: String,
    pub(crate) boot: String,
    pub(crate) lease_wait: LeaseWait,
    /// What happens right now, for followers.
    pub(crate) lives: Lives,
    /// Sessions that run, for their workers.
    pub(crate) desks: Desks,
    /// Whether turns are performed. Else commands are only recorded.
    pub(crate) performs: bool,
    /// What workers are allowed, if there are any.
    pub(crate) delegation: Option<Delegation>,
}

impl Parts {
    /// The tools of a conversation.
    pub(crate) async fn toolbox(&self, place: ToolPlace<'_>) -> Result<Arc<Toolbox>, ToolsError> {
        Ok(self.toolbox_with(&*self.tools.find(place).await?))
    }

    /// The tools of one conversation, between the tools that every conversation has.
    pub(crate) fn toolbox_with(&self, tools: &Toolbox) -> Arc<Toolbox> {
        let own = self.looking_back.iter().chain(&self.delegate);
        let all = self.everywhere.iter().chain(tools.iter()).chain(own);
        Arc::new(all.cloned().collect())
    }
}
