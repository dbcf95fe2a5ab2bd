//! What servers get from the process that runs them.

use std::path::PathBuf;

/// Where servers work.
#[derive(Clone, Debug)]
pub struct Place {
    /// The workspace of the conversation.
    pub workspace: PathBuf,
    /// Where lists of tools are kept, out of the reach of tools and commands.
    pub lists: PathBuf,
    /// Where the records of commands are, which may run beside a server.
    pub calls: PathBuf,
    /// Makes the client for those over HTTP. It must not follow redirects: headers hold secrets.
    pub http: fn() -> Result<reqwest::Client, String>,
}
