//! Names of tools: `SERVER__tool`, in letters that every provider takes.
//!
//! What had to be changed gets a digest of what it was, so two tools never share a name, and a tool
//! has the same name in every process.

use crate::text::{digest, head};

/// Longest name, in bytes; the shortest of what providers take.
const NAME_BYTES_MAX: usize = 64;
/// Letters of the digest in a name that was changed.
const DIGEST_LETTERS: usize = 8;
/// Longest name of a server in front of a tool's, in bytes.
const SERVER_BYTES_MAX: usize = 24;
/// Between server and tool.
const BETWEEN: &str = "__";

// A shortened name has room for both, and for the digest.
const _: () = assert!(SERVER_BYTES_MAX + 2 + 1 + DIGEST_LETTERS < NAME_BYTES_MAX);

/// What a tool of a server is called.
pub(crate) fn tool_name(server: &str, tool: &str) -> String {
    let name = format!("{server}{BETWEEN}{tool}");
    if is_plain_server(server) && is_plain(tool) && name.len() <= NAME_BYTES_MAX {
        return name;
    }
    // The parts may not be told apart in what is left of them, but in this they can.
    let digest = digest(format!("{server:?} {tool:?}").as_bytes());
    let digest = head(&digest, DIGEST_LETTERS);
    let server = plain(server).replace(BETWEEN, "_");
    let server = head(&server, SERVER_BYTES_MAX).trim_end_matches('_');
    let mut name = format!("{server}{BETWEEN}{}", plain(tool));
    name.truncate(NAME_BYTES_MAX - DIGEST_LETTERS - 1);
    format!("{name}_{digest}")
}

/// Whether a tool of this name would be one of this server's.
pub fn is_tool_of(server: &str, tool: &str) -> bool {
    let of = |name: &str| name.split_once(BETWEEN).map(|(server, _)| server.to_owned());
    let server = of(&tool_name(server, "x"));
    server.is_some() && of(tool) == server
}

/// Where the first `__` of a name is must say which server it is.
fn is_plain_server(server: &str) -> bool {
    let begins = server.starts_with(|c: char| c.is_ascii_alphabetic());
    begins && is_plain(server) && !server.contains(BETWEEN) && !server.ends_with('_')
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_taken)
}

fn is_taken(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// In letters that are taken, beginning with one that is taken there.
fn plain(text: &str) -> String {
    let text: String = text.chars().map(|c| if is_taken(c) { c } else { '_' }).collect();
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) { text } else { format!("x{text}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_plain_name_stays_as_it_is() {
        assert_eq!(tool_name("files", "read_file"), "files__read_file");
        assert_eq!(tool_name("a-b", "c__d"), "a-b__c__d");
        assert_eq!(tool_name("a", "_b"), "a___b");
    }

    #[test]
    fn no_two_tools_share_a_name() {
        let long = "t".repeat(80);
        let other = format!("{long}x");
        let servers = ["a", "a_", "a__b", "A", "é", "", "1", "files.local", "ö", long.as_str()];
        let tools = ["b", "_b", "b__c", "c", "x.y", "x y", "", "é", long.as_str(), other.as_str()];
        let mut seen = BTreeSet::new();
        for server in servers {
            for tool in tools {
                let name = tool_name(server, tool);
                assert!(name.len() <= NAME_BYTES_MAX, "{name}");
                assert!(name.starts_with(|c: char| c.is_ascii_alphabetic()), "{name}");
                assert!(name.chars().all(is_taken), "{name}");
                assert!(name.contains(BETWEEN), "{name}");
                assert_eq!(name, tool_name(server, tool));
                assert!(seen.insert(name.clone()), "{name}");
            }
        }
    }
}
