//! `.mcp.json` of a workspace: servers that the author of the workspace would like to start.
//!
//! It names programs, so nothing of it counts before a person has approved exactly these bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use piton_tools::open_regular;
use serde::Deserialize;

use crate::expand::Expand;
use crate::settings::{Origin, ServerSettings, WrittenServer};
use crate::text::digest;

/// The name of the file in a workspace.
pub const PROJECT_FILE: &str = ".mcp.json";
/// Largest file that is looked at, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What a workspace would like to start.
#[derive(Clone, Debug)]
pub struct Project {
    /// Digest of the very bytes that the servers were read from.
    pub digest: String,
    servers: BTreeMap<String, WrittenJson>,
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectFault {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It makes no sense.
    #[error("cannot use {}: {detail}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Why.
        detail: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    mcp_servers: BTreeMap<String, WrittenJson>,
}

/// A server as other programs write it too. What we do not know is theirs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct WrittenJson {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    disabled: bool,
}

impl Project {
    /// Reads the file of a workspace; `None` if there is none.
    pub fn read(workspace: &Path) -> Result<Option<Self>, ProjectFault> {
        let path = workspace.join(PROJECT_FILE);
        let fault = |source| ProjectFault::Read { path: path.clone(), source };
        let file = match open_regular(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(fault(source)),
        };
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fault)?;
        if FILE_BYTES_MAX < bytes.len() as u64 {
            let detail = format!("it is larger than {FILE_BYTES_MAX} bytes");
            return Err(ProjectFault::Parse { path, detail });
        }
        let project = Self::parse(&bytes);
        project.map(Some).map_err(|detail| ProjectFault::Parse { path, detail })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let document: Document =
            serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        Ok(Self { digest: digest(bytes), servers: document.mcp_servers })
    }

    /// Whether it names no server.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The variables of the user that a server asks for, by its name.
    pub fn variables(&self, server: &str) -> BTreeSet<&str> {
        let Some(it) = self.servers.get(server) else { return BTreeSet::new() };
        let texts = it.command.iter().chain(&it.args).chain(&it.url);
        let texts = texts.chain(it.env.values()).chain(it.headers.values());
        let cwd = it.cwd.as_deref().and_then(Path::to_str).into_iter();
        texts.map(String::as_str).chain(cwd).flat_map(Expand::names).collect()
    }

    /// The servers. What they say of their tools never counts: only the user's settings grant that.
    pub fn servers(&self, expand: &Expand<'_>) -> Vec<ServerSettings> {
        let settled = self.servers.iter().map(|(name, json)| json.settle(name, expand));
        settled.collect()
    }
}

impl WrittenJson {
    fn settle(&self, name: &str, expand: &Expand<'_>) -> ServerSettings {
        let written = WrittenServer {
            command: self.command.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            enabled: Some(!self.disabled),
            ..WrittenServer::default()
        };
        let mut settled = written.settle(name, Origin::Project, expand);
        if let Some(fault) = self.unknown_kind() {
            settled.launch = Err(fault);
        }
        settled
    }

    fn unknown_kind(&self) -> Option<String> {
        match self.kind.as_deref() {
            None | Some("stdio" | "http" | "streamable-http" | "streamableHttp") => None,
            Some("sse") => Some("its type is sse, which is no longer in use: ask for http".into()),
            Some(other) => Some(format!("its type is {other:?}: stdio and http are known")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::settings::Launch;

    fn servers(json: &str) -> Vec<ServerSettings> {
        let look = |name: &str| (name == "ROOT").then(|| "/r".to_owned());
        let hidden = ["API_KEY".into()];
        Project::parse(json.as_bytes()).unwrap().servers(&Expand::new(&look, &hidden))
    }

    #[test]
    fn the_common_form_is_read() {
        let found = servers(
            r#"{"mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server", "${ROOT}/src"], "note": 1},
                "far": {"type": "http", "url": "https://h/mcp", "headers": {"X-A": "${B:-b}"}},
                "old": {"type": "sse", "url": "https://h/sse"},
                "off": {"command": "x", "disabled": true},
                "greedy": {"command": "x", "env": {"K": "${API_KEY}"}}
            }, "other": 2}"#,
        );
        let by = |name: &str| found.iter().find(|server| server.name == name).unwrap();
        let args = |name: &str| match &by(name).launch {
            Ok(Launch::Program { args, .. }) => args.clone(),
            Ok(Launch::Http { url, headers }) => vec![url.clone(), headers["X-A"].clone()],
            Err(fault) => vec![fault.clone()],
        };
        assert_eq!(args("files"), ["-y", "server", "/r/src"]);
        assert_eq!(by("files").how, "npx -y server ${ROOT}/src");
        assert_eq!(args("far"), ["https://h/mcp", "b"]);
        assert!(by("old").launch.as_ref().unwrap_err().contains("sse"));
        assert!(!by("off").enabled);
        assert!(by("greedy").launch.as_ref().unwrap_err().contains("API_KEY"));
        assert!(found.iter().all(|server| !server.trust && server.origin == Origin::Project));
    }

    #[test]
    fn the_variables_that_a_server_asks_for_are_known_wherever_they_stand() {
        let json = r#"{"mcpServers": {"a": {"command": "x", "args": ["${A}/${B:-b}"],
            "env": {"K": "${C}"}}, "b": {"url": "https://h?k=${D}", "headers": {"X": "${E"}}}}"#;
        let project = Project::parse(json.as_bytes()).unwrap();
        assert_eq!(project.variables("a").into_iter().collect::<Vec<_>>(), ["A", "B", "C"]);
        assert_eq!(project.variables("b").into_iter().collect::<Vec<_>>(), ["D", "E"]);
        assert!(project.variables("c").is_empty());
    }

    #[test]
    fn a_changed_file_is_another_one() {
        let digest = |json: &str| Project::parse(json.as_bytes()).unwrap().digest;
        assert_eq!(digest("{}"), digest("{}"));
        assert_ne!(digest("{}"), digest("{ }"));
        assert!(Project::parse(b"{\"mcpServers\": []}").is_err());
    }

    #[test]
    fn no_file_is_no_project() {
        let workspace = tempfile::tempdir().unwrap();
        assert!(Project::read(workspace.path()).unwrap().is_none());
        fs::create_dir(workspace.path().join(PROJECT_FILE)).unwrap();
        assert!(matches!(Project::read(workspace.path()), Err(ProjectFault::Read { .. })));
    }
}
