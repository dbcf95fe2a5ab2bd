//! What one command may touch.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::limits::Limits;

/// What one command may do. Recorded, so it never changes meaning: new fields are optional. The default opens
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Where it may write; the workspace comes first.
    pub write: Vec<PathBuf>,
    /// What it may neither read nor write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<PathBuf>,
    /// What it may write and not read: files with secrets in places that were opened to write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<PathBuf>,
    /// What it may read and not change, although it lies where it may write: what others obey. `*` is any
    /// directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
    /// Whether it may use sockets of this machine.
    pub unix_sockets: bool,
    /// Variables that it sees although their names are those of secrets or services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// How much it may use.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// What was opened for it beside that.
    #[serde(default, skip_serializing_if = "Granted::is_empty")]
    pub granted: Granted,
    /// What a command that only looks may read. Absent for all others, which read everything that is
    /// not closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
}

/// What rules, settings for hosts, or a person opened for a command. Places are as they are behind their links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Granted {
    /// Hosts with ports, as grants name them. They are reached through the proxy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Sockets of this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<PathBuf>,
    /// Where it may write and read, also in places that are closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathBuf>,
    /// Where it may read, also in places that are closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    /// Devices that it may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<PathBuf>,
}

impl Policy {
    /// The policy as it holds where there are no namespaces: nothing tells single sockets apart, so none is open.
    pub(super) fn without_single_sockets(&self) -> Self {
        let unix_sockets = self.unix_sockets && self.granted.sockets.is_empty();
        Self { unix_sockets, ..self.clone() }
    }
}

impl Granted {
    /// Whether nothing was opened.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a command that only looks may read. It changes nothing, not even modes and times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// Where it reads.
    pub read: Vec<PathBuf>,
    /// Where it reads, and runs programs.
    pub programs: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_as_it_was_written() {
        let text = r#"{"write":["/w"],"network":true,"unix_sockets":false}"#;
        let policy: Policy = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&policy).unwrap(), text);
    }
}
