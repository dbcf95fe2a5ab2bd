//! Openings in the wall around commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a rule, the settings or a call open in the wall. What each entry means is in [`crate::grants`].
/// A build that does not know a field opens nothing by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Grants {
    /// Hosts with their ports: `crates.io:443`, `*.crates.io:443`, `127.0.0.1:8080`. `*` is the whole network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<String>,
    /// Sockets of this machine, by their paths. `*` is all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
    /// Places to write to, and to read. They begin with / or ~/.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Places to read that are closed by themselves. They begin with / or ~/.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Variables that are withheld by their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Devices, by their paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
}

impl Grants {
    /// Whether they open nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what others open, each entry once.
    pub fn add(&mut self, others: &Self) {
        let Self { network, sockets, write, read, env, devices } = others;
        for (own, more) in [
            (&mut self.network, network),
            (&mut self.sockets, sockets),
            (&mut self.write, write),
            (&mut self.read, read),
            (&mut self.env, env),
            (&mut self.devices, devices),
        ] {
            for entry in more {
                if !own.contains(entry) {
                    own.push(entry.clone());
                }
            }
        }
    }
}
