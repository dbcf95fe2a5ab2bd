//! Servers of tools in words.

use piton_agent::ServerNotice;
use piton_mcp::PROJECT_FILE;

use crate::report::chain;

/// Why servers of a project are not used.
pub(crate) fn notice(notice: &ServerNotice) -> String {
    match notice {
        ServerNotice::Project(fault) => format!("mcp: {}; going on without it", chain(fault)),
        ServerNotice::Untrusted { servers } => format!(
            "mcp: {PROJECT_FILE} of this workspace is not trusted; going on without {}. \
             To look at it and decide: piton trust",
            servers.join(", ")
        ),
        ServerNotice::Trust(fault) => {
            format!("mcp: {PROJECT_FILE} is not used: {}", chain(fault))
        }
    }
}
