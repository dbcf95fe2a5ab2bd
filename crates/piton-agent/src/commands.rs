//! How commands are run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use piton_tools::sandbox::Rules;
use piton_tools::supervise::Supervisor;

use crate::agent::Agent;
use crate::overrides::Overrides;

/// How commands are run.
#[derive(Clone, Debug)]
pub enum Commands {
    /// They outlive this process.
    Supervised(Arc<Supervisor>),
    /// They end with it, do not see these variables, and are confined by these rules.
    Plain(Vec<OsString>, Box<Rules>),
    /// There are none to run: nobody drives a turn here.
    Unused,
}

impl Agent {
    /// Commands that outlive this process, with records in the home. `supervisor` is a program that
    /// begins with [`piton_tools::supervise::dispatch`].
    pub fn supervised_commands(&self, supervisor: PathBuf, overrides: &Overrides) -> Commands {
        let (calls, hidden) = (self.settings.calls(), self.key_variables());
        let supervisor = Supervisor::new(supervisor, calls, hidden);
        Commands::Supervised(Arc::new(supervisor.sandbox(self.sandbox_rules(overrides))))
    }

    /// Commands that end with this process.
    pub fn plain_commands(&self, overrides: &Overrides) -> Commands {
        Commands::Plain(self.key_variables(), Box::new(self.sandbox_rules(overrides)))
    }
}
