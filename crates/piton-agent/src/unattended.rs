//! What becomes of questions while nobody is there, as written and as overridden.

use piton::{Policy, Unattended};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A policy as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnattendedPolicy {
    /// Allow calls in which no deny could hide; take defaults, or tell the tool that there is no
    /// answer.
    Auto,
    /// Take defaults; a question without one waits.
    Defaults,
    /// Refuse calls; tell the tool that there is no answer.
    Deny,
    /// Let the other calls end, and leave the turn waiting.
    Defer,
}

impl From<UnattendedPolicy> for Policy {
    fn from(policy: UnattendedPolicy) -> Self {
        match policy {
            UnattendedPolicy::Auto => Self::Auto,
            UnattendedPolicy::Defaults => Self::Defaults,
            UnattendedPolicy::Deny => Self::Deny,
            UnattendedPolicy::Defer => Self::Defer,
        }
    }
}

/// The table of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenUnattended {
    /// What becomes of calls that ask for permission.
    #[schemars(extend("x-flag" = "--unattended", "default" = "defer"))]
    permissions: Option<UnattendedPolicy>,
    /// What becomes of questions that tools ask.
    #[schemars(extend("x-flag" = "--unattended", "default" = "defer"))]
    questions: Option<UnattendedPolicy>,
}

impl WrittenUnattended {
    /// The policies that count. An override counts for every kind of question.
    pub(crate) fn with(self, overridden: Option<UnattendedPolicy>) -> Unattended {
        let policy = |written: Option<UnattendedPolicy>| {
            overridden.or(written).map_or(Policy::Defer, Policy::from)
        };
        Unattended { permissions: policy(self.permissions), questions: policy(self.questions) }
    }
}
