//! What a person trusts a workspace with.
//!
//! A cloned repository is data. Trust in a workspace lets its skills and commands count. What starts a
//! program is approved by its exact bytes besides, and again after each change. Both are kept in one file
//! of the user's own directory, where no tool and no confined command writes.

mod exact;
mod place;
mod store;

use std::path::Path;

pub use self::exact::Exact;
pub(crate) use self::exact::{Reading, plain, relative};
pub(crate) use self::place::{is_inside, real};
pub use self::store::{Given, ServersRun, Trust, TrustFault};
use crate::settings::Settings;

impl Settings {
    /// What is trusted of a workspace. Nothing, where nobody has a directory of their own.
    pub fn trust_in(&self, workspace: &Path) -> Result<Trust, TrustFault> {
        let workspace = real(workspace);
        let known = self.trusts()?.into_iter().find(|trust| trust.workspace == workspace);
        Ok(known.unwrap_or_else(|| Trust::nothing(workspace)))
    }

    /// Every workspace that somebody has said something about.
    pub fn trusts(&self) -> Result<Vec<Trust>, TrustFault> {
        self.config().map_or_else(|| Ok(Vec::new()), store::read)
    }

    /// Trusts a workspace, and approves exactly these bytes: what was approved before and is not among
    /// them is no longer approved. Durable when this returns.
    pub fn give_trust(
        &self,
        workspace: &Path,
        given: Given,
        exact: &[Exact],
    ) -> Result<(), TrustFault> {
        self.change_trust(workspace, |trust| {
            trust.given = Some(given);
            trust.declined = None;
            trust.servers = ServersRun::Confined;
            trust.approved.clear();
            trust.approve(exact);
        })
    }

    /// Approves exactly these bytes, and nothing else of the workspace.
    pub fn approve_exactly(&self, workspace: &Path, exact: &[Exact]) -> Result<(), TrustFault> {
        self.change_trust(workspace, |trust| trust.approve(exact))
    }

    /// Says where the approved servers of a workspace run.
    pub fn run_servers(&self, workspace: &Path, servers: ServersRun) -> Result<(), TrustFault> {
        self.change_trust(workspace, |trust| trust.servers = servers)
    }

    /// Takes back what was approved for the files that `is_meant` names; says whether something was.
    pub fn disapprove(
        &self,
        workspace: &Path,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<bool, TrustFault> {
        let before = self.trust_in(workspace)?.approved;
        if !before.keys().any(|path| is_meant(path)) {
            return Ok(false);
        }
        self.change_trust(workspace, |trust| trust.approved.retain(|path, _| !is_meant(path)))?;
        Ok(true)
    }

    /// Notes that a person does not trust this: they are not asked about the same once more.
    pub fn decline_trust(&self, workspace: &Path, about: &str) -> Result<(), TrustFault> {
        self.change_trust(workspace, |trust| trust.declined = Some(about.to_owned()))
    }

    /// Forgets all that was said about a workspace; says whether something of it was trusted.
    pub fn revoke_trust(&self, workspace: &Path) -> Result<bool, TrustFault> {
        let trust = self.trust_in(workspace)?;
        let was_trusted = trust.given.is_some() || !trust.approved.is_empty();
        if was_trusted || trust.declined.is_some() {
            self.change_trust(workspace, |trust| *trust = Trust::nothing(trust.workspace.clone()))?;
        }
        Ok(was_trusted)
    }

    fn change_trust(
        &self,
        workspace: &Path,
        change: impl FnOnce(&mut Trust),
    ) -> Result<(), TrustFault> {
        store::change(self.config().ok_or(TrustFault::NoHome)?, real(workspace), change)
    }
}
