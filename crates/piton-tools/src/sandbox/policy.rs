//! What one command may touch.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::contract::excerpt;

/// What programs print when they are refused something, in small letters.
const SIGNS: [&str; 6] =
    ["permission denied", "not permitted", "eacces", "eperm", "read-only", "bad system call"];
/// What they print when there is no network.
const NETWORK_SIGNS: [&str; 4] = ["resolv", "network", "socket", "connect"];
/// What they print when they do not find what is outside the wall of a command that only looks.
const LOOK_SIGNS: [&str; 2] = ["not found", "not a git repository"];
/// What is told then. There is a way out: what runs other programs asks.
const LOOKS_TOLD: &str = "[it ran without asking the user, in a sandbox that reads only the workspace \
                          and the system's own files, writes nowhere and has no network; to ask the \
                          user instead, put `env` in front of the command]";
/// Most places that are told.
const PLACES_TOLD_MAX: usize = 4;
/// Longest note about a sandbox, in bytes.
const TOLD_BYTES_MAX: usize = 256;

/// What one command may do. Recorded, so it never changes meaning: new fields are optional.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Where it may write; the workspace comes first.
    pub write: Vec<PathBuf>,
    /// What it may neither read nor write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
    /// Whether it may use sockets of this machine.
    pub unix_sockets: bool,
    /// What a command that only looks may read. Absent for all others, which read everything that is
    /// not closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
}

/// What a command that only looks may read. It changes nothing, not even modes and times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// Where it reads.
    pub read: Vec<PathBuf>,
    /// Where it reads, and runs programs.
    pub programs: Vec<PathBuf>,
}

impl Policy {
    /// Adds to what a failed command printed that it ran in a sandbox, if something in there looks
    /// as if that were the reason. Nobody can know, so nothing more is claimed.
    pub(crate) fn explain(&self, text: &mut String) {
        let printed = text.to_ascii_lowercase();
        if self.looks.is_some() {
            if SIGNS.iter().chain(&LOOK_SIGNS).any(|sign| printed.contains(sign)) {
                excerpt::note(text, LOOKS_TOLD);
            }
            return;
        }
        let refused = SIGNS.iter().any(|sign| printed.contains(sign));
        let unreached = !self.network && NETWORK_SIGNS.iter().any(|sign| printed.contains(sign));
        if refused || unreached {
            excerpt::note(text, excerpt::head(&self.told(), TOLD_BYTES_MAX));
        }
    }

    fn told(&self) -> String {
        let places = self.write.iter().skip(1).filter(|place| !place.starts_with("/dev"));
        let mut places: Vec<_> = places.map(|place| place.display().to_string()).collect();
        places.insert(0, "the workspace".into());
        if PLACES_TOLD_MAX < places.len() {
            places.truncate(PLACES_TOLD_MAX);
            places.push("and more".into());
        }
        let sockets = match (self.network, self.unix_sockets) {
            (true, true) => "",
            (true, false) => "; no Unix sockets",
            (false, true) => "; no network",
            (false, false) => "; no network, no Unix sockets",
        };
        let places = places.join(", ");
        let closed = if self.closed.is_empty() { "" } else { "; some places cannot be read" };
        format!(
            "[it ran in a sandbox: writes only in {places}{closed}{sockets}; the user can change \
             that]"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_what_stood_in_its_way() {
        let write = vec!["/w".into(), "/tmp".into(), "/dev/null".into(), "/cache".into()];
        let policy =
            Policy { write, closed: Vec::new(), network: false, unix_sockets: true, looks: None };
        let explained = |text: &str| {
            let mut text = text.to_owned();
            policy.explain(&mut text);
            text
        };
        assert_eq!(
            explained("f: Permission denied"),
            "f: Permission denied\n[it ran in a sandbox: writes only in the workspace, /tmp, /cache; \
             no network; the user can change that]"
        );
        assert!(explained("Could not resolve host").contains("no network"));
        assert_eq!(explained("3 tests failed"), "3 tests failed");
        let closed = Policy { closed: vec!["/secret".into()], ..policy.clone() };
        let mut text = "cat: Permission denied".to_owned();
        closed.explain(&mut text);
        assert!(text.contains("; some places cannot be read; no network;"), "{text}");
    }

    #[test]
    fn a_policy_is_read_as_it_was_written() {
        let text = r#"{"write":["/w"],"network":true,"unix_sockets":false}"#;
        let policy: Policy = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&policy).unwrap(), text);
    }
}
