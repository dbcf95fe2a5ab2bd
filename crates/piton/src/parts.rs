//! What all sessions of an engine share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use piton_store::Journal;
use piton_tools::{Closed, Tool};

use crate::chance::Chance;
use crate::clock::Clock;
use crate::delegate::{Delegation, Desks};
use crate::lease::LeaseWait;
use crate::live::Lives;
use crate::model::Models;
use crate::profile::Profiles;

/// What performing needs.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tools: BTreeMap<String, Arc<dyn Tool>>,
    pub(crate) profiles: Arc<dyn Profiles>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chance: Arc<dyn Chance>,
    pub(crate) scratch: PathBuf,
    pub(crate) closed: Closed,
    pub(crate) host: String,
    pub(crate) boot: String,
    pub(crate) lease_wait: LeaseWait,
    /// What happens right now, for followers.
    pub(crate) lives: Lives,
    /// Sessions that run, for those who work for them.
    pub(crate) desks: Desks,
    /// What workers are allowed, if there are any.
    pub(crate) delegation: Option<Delegation>,
}
