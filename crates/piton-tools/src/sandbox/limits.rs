//! How much a confined command may use.
//!
//! Two things hold that. A shell that becomes the command sets limits of its own process first, which all that it
//! starts inherits, each process for itself. And where a cgroup can be made, all processes of a policy are counted
//! together ([`super::cgroup`]). A limit on the number of processes is held by that, and for an ordinary user by a
//! namespace ([`super::namespaces`]): elsewhere the kernel's own limit counts whatever the user runs, a browser too.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What the shell counts file sizes in, in bytes.
const FILE_UNIT_BYTES: u64 = 512;
/// What it counts memory in, in bytes.
const MEMORY_UNIT_BYTES: u64 = 1024;

/// Limits of confined commands; none is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Most processes and threads of all commands together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Most memory, in bytes: of all commands together in a cgroup, else of each process, without what it shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Largest file that is written, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Most files that a process has open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}

impl Limits {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a shell says before it becomes the command. A limit that was lower before stays.
    pub fn words(&self) -> String {
        let Self { processes: _, memory_bytes, file_bytes, open_files } = *self;
        let mut words = String::new();
        for (letter, limit, unit) in [
            ('d', memory_bytes, MEMORY_UNIT_BYTES),
            ('f', file_bytes, FILE_UNIT_BYTES),
            ('n', open_files, 1),
        ] {
            if let Some(limit) = limit {
                // Writing to a string cannot fail.
                write!(words, "ulimit -{letter} {} 2>/dev/null; ", limit / unit)
                    .unwrap_or_default();
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_in_the_units_of_the_shell() {
        assert_eq!(Limits::default().words(), "");
        let limits = Limits {
            processes: Some(3),
            memory_bytes: Some(1 << 20),
            file_bytes: Some(1 << 20),
            open_files: Some(64),
        };
        let expected =
            "ulimit -d 1024 2>/dev/null; ulimit -f 2048 2>/dev/null; ulimit -n 64 2>/dev/null; ";
        assert_eq!(limits.words(), expected);
    }

    #[test]
    fn limits_are_read_as_they_were_written() {
        assert_eq!(serde_json::to_string(&Limits::default()).unwrap(), "{}");
        let text = r#"{"processes":4096,"file_bytes":1024}"#;
        let limits: Limits = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&limits).unwrap(), text);
    }
}
