//! Whose network the commands of a policy have.

use serde::{Deserialize, Serialize};

use super::policy::Policy;

/// Whose network a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Network {
    /// That of the machine.
    #[default]
    Shared,
    /// One of its own, with nobody else in it.
    Own,
}

impl Network {
    /// The one that commands of this policy are to have, where there are namespaces.
    pub(super) fn of(policy: &Policy) -> Self {
        if policy.network { Self::Shared } else { Self::Own }
    }
}
