//! What is said of a server: how to reach it, how far to trust it, how long to wait for it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use piton_tools::sandbox::{Confinement, Rules};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::expand::{Expand, Missing};

/// Longest wait for a server to be there and to list its tools, in seconds, unless it says more.
const CONNECT_SECONDS: u64 = 10;
/// Longest silence of a server during a call, in seconds, unless it says more.
const CALL_SECONDS: u64 = 300;

/// `[mcp.NAME]` of the settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenServer {
    /// The program that is the server.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables for it, beside a few harmless ones. Their values are never shown.
    #[schemars(extend("x-secret" = true))]
    pub env: BTreeMap<String, String>,
    /// Where it is started; the workspace if absent, and relative to that.
    pub cwd: Option<PathBuf>,
    /// Whether the program runs in the sandbox; a table also says what is open to it: `write`, `read`, `network`, `unix_sockets`, `env`.
    #[schemars(extend("default" = false))]
    pub sandbox: Confinement,
    /// Where the server is, if it is no program of ours.
    pub url: Option<String>,
    /// Headers of every request to it. Their values are never shown.
    #[schemars(extend("x-secret" = true))]
    pub headers: BTreeMap<String, String>,
    /// Whether what it says about the effects of its tools counts.
    pub trust: bool,
    /// `false` leaves it out.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Longest wait for it to be there, in seconds.
    #[schemars(extend("default" = CONNECT_SECONDS))]
    pub connect_seconds: Option<u64>,
    /// Longest silence during a call, in seconds; 0 is for ever.
    #[schemars(extend("default" = CALL_SECONDS))]
    pub call_seconds: Option<u64>,
    /// The only tools that are offered, by the server's own names.
    pub allow: Option<Vec<String>>,
    /// Tools that are never offered.
    pub deny: Vec<String>,
}

/// A server, with every variable in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Its name.
    pub name: String,
    /// Where it was written down.
    pub origin: Origin,
    /// What a person is shown of it: as written, with the names of variables in place of their values.
    pub how: String,
    /// How to reach it; or why that cannot be tried.
    pub launch: Result<Launch, String>,
    /// Whether what it says about the effects of its tools counts.
    pub trust: bool,
    /// The rules that its program is confined by; none leaves it free.
    pub rules: Option<Rules>,
    /// Whether it is wanted.
    pub enabled: bool,
    /// Longest wait for it to be there.
    pub connect_wait: Duration,
    /// Longest silence during a call.
    pub call_wait: Option<Duration>,
    /// The only tools that are offered.
    pub allow: Option<Vec<String>>,
    /// Tools that are never offered.
    pub deny: Vec<String>,
}

/// Where a server was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the user's settings.
    Settings,
    /// In the workspace, by its author.
    Project,
}

/// How to reach a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Launch {
    /// Start a program and talk over its standard streams.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it.
        env: BTreeMap<String, String>,
        /// Where it is started.
        cwd: Option<PathBuf>,
    },
    /// Ask over streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// With these headers.
        headers: BTreeMap<String, String>,
    },
}

// Variables, headers and arguments often hold secrets.
impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program { command, .. } => write!(f, "Program({command:?}, ..)"),
            Self::Http { .. } => f.write_str("Http(..)"),
        }
    }
}

impl Launch {
    /// What makes it this server and no other. Secrets change, and the server stays the same.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::Program { command, args, cwd, .. } => format!("{command:?} {args:?} {cwd:?}"),
            Self::Http { url, .. } => without_secrets(url),
        }
    }
}

/// An address without what stands in front of its host and behind its path.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

impl WrittenServer {
    /// The server that is meant. What cannot be used is kept with the reason, so that it can be shown.
    pub fn settle(&self, name: &str, origin: Origin, expand: &Expand<'_>) -> ServerSettings {
        let seconds = |written: Option<u64>, usual| Duration::from_secs(written.unwrap_or(usual));
        let call_wait = seconds(self.call_seconds, CALL_SECONDS);
        ServerSettings {
            name: name.to_owned(),
            origin,
            how: self.how(),
            launch: self.launch(expand),
            trust: self.trust,
            rules: None,
            enabled: self.enabled.unwrap_or(true),
            connect_wait: seconds(self.connect_seconds, CONNECT_SECONDS),
            call_wait: (!call_wait.is_zero()).then_some(call_wait),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
        }
    }

    /// What a person is shown of it: as written, without what is secret in an address.
    pub fn how(&self) -> String {
        let url = self.url.as_deref().map(without_secrets);
        let words = self.command.iter().chain(&self.args).cloned();
        words.chain(url).collect::<Vec<_>>().join(" ")
    }

    fn launch(&self, expand: &Expand<'_>) -> Result<Launch, String> {
        let text = |text: &str| expand.text(text).map_err(|missing| missing.to_string());
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => Err("it has a command and a url: keep one of them".into()),
            (None, None) => Err("it has neither a command nor a url".into()),
            (None, Some(_)) if self.sandbox != Confinement::No => {
                Err("it is no program of ours, which a sandbox could hold: leave sandbox out"
                    .into())
            }
            (Some(command), None) => {
                let args: Result<_, String> = self.args.iter().map(|arg| text(arg)).collect();
                let cwd = self.cwd.as_ref().map(|cwd| text(&cwd.to_string_lossy())).transpose()?;
                Ok(Launch::Program {
                    command: text(command)?,
                    args: args?,
                    env: values(&self.env, expand)?,
                    cwd: cwd.map(PathBuf::from),
                })
            }
            (None, Some(url)) => {
                let url = text(url)?;
                let known = url.starts_with("http://") || url.starts_with("https://");
                if !known {
                    return Err("its url does not begin with http:// or https://".into());
                }
                Ok(Launch::Http { url, headers: values(&self.headers, expand)? })
            }
        }
    }
}

fn values(
    written: &BTreeMap<String, String>,
    expand: &Expand<'_>,
) -> Result<BTreeMap<String, String>, String> {
    let expanded = written.iter().map(|(name, value)| {
        let value = expand.text(value)?;
        Ok((name.clone(), value))
    });
    expanded.collect::<Result<_, Missing>>().map_err(|missing| missing.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(written: &WrittenServer) -> ServerSettings {
        let look = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        written.settle("a", Origin::Settings, &Expand::new(&look, &[]))
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let program = WrittenServer { command: Some("run".into()), ..WrittenServer::default() };
        assert!(matches!(settled(&program).launch, Ok(Launch::Program { .. })));
        let both = WrittenServer { url: Some("http://h".into()), ..program };
        assert!(settled(&both).launch.unwrap_err().contains("keep one"));
        assert!(settled(&WrittenServer::default()).launch.unwrap_err().contains("neither"));
        let odd = WrittenServer { url: Some("ftp://h".into()), ..WrittenServer::default() };
        assert!(settled(&odd).launch.unwrap_err().contains("http://"));
    }

    #[test]
    fn what_is_shown_has_no_secret_in_it() {
        let env = BTreeMap::from([("KEY".to_owned(), "${TOKEN}".to_owned())]);
        let (command, args) = (Some("run".to_owned()), vec!["--token=${TOKEN}".to_owned()]);
        let program = WrittenServer { command, args, env, ..WrittenServer::default() };
        let program = settled(&program);
        assert_eq!(program.how, "run --token=${TOKEN}");
        assert!(!format!("{program:?}").contains("s3cret"), "{program:?}");
        let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer ${TOKEN}".to_owned())]);
        let url = Some("https://me:s3cret@h:1/mcp/${TOKEN}?key=s3cret".to_owned());
        let http = settled(&WrittenServer { url, headers, ..WrittenServer::default() });
        assert_eq!(http.how, "https://h:1/mcp/${TOKEN}");
        assert!(http.launch.is_ok());
        assert!(!format!("{http:?}").contains("s3cret"), "{http:?}");
    }

    #[test]
    fn a_call_without_a_limit_is_written_as_zero() {
        let written = WrittenServer { call_seconds: Some(0), ..WrittenServer::default() };
        assert_eq!(settled(&written).call_wait, None);
        let usual = settled(&WrittenServer::default()).call_wait;
        assert_eq!(usual, Some(Duration::from_secs(CALL_SECONDS)));
    }
}
