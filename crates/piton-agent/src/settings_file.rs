//! The settings file `piton.toml`: models, standing rules, tools and servers of tools.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton::Delegation;
use piton_core::event::PermissionMode;
use piton_mcp::WrittenServer;
use piton_tools::read_regular;
use serde::Deserialize;

use crate::command_tools::WrittenTool;
use crate::providers::{IdleSeconds, WrittenEffort, WrittenProvider};
use crate::rules::WrittenRule;
use crate::sandbox::WrittenSandbox;
use crate::unattended::WrittenUnattended;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SettingsFile {
    /// The model that is used when nobody names one.
    pub(crate) model: Option<String>,
    /// How much models should think.
    pub(crate) effort: Option<WrittenEffort>,
    /// Most tokens of one answer.
    pub(crate) max_tokens: Option<u32>,
    /// Longest wait for the first byte of an answer; 0 is for ever.
    pub(crate) first_byte_seconds: Option<u64>,
    /// Longest wait for the next byte; 0 is for ever.
    pub(crate) idle_seconds: Option<IdleSeconds>,
    /// How long to wait for a network that is not there.
    pub(crate) outage_seconds: Option<u64>,
    /// Standing rules.
    pub(crate) permissions: Vec<WrittenRule>,
    /// Servers of tools by name.
    pub(crate) mcp: BTreeMap<String, WrittenServer>,
    /// What commands may touch.
    pub(crate) sandbox: WrittenSandbox,
    /// What becomes of questions while nobody is there.
    pub(crate) unattended: WrittenUnattended,
    /// How a person is asked.
    pub(crate) ask: WrittenAsk,
    /// Tools by name.
    pub(crate) tools: BTreeMap<String, WrittenTool>,
    /// Providers by name.
    pub(crate) providers: BTreeMap<String, WrittenProvider>,
    /// What workers are allowed.
    pub(crate) workers: WrittenWorkers,
}

/// How a person is asked, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenAsk {
    /// Whether one answer is for all calls of an answer that need one.
    pub(crate) batch: bool,
    /// What may run without asking in new conversations.
    pub(crate) permissions: Option<PermissionMode>,
}

/// What workers are allowed, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenWorkers {
    /// Longest time at work, in seconds.
    seconds: Option<u64>,
    /// Most model answers; 0 is no limit.
    steps: Option<u32>,
}

impl From<WrittenWorkers> for Delegation {
    fn from(written: WrittenWorkers) -> Self {
        let usual = Self::default();
        Self {
            limit: written.seconds.map_or(usual.limit, Duration::from_secs),
            steps_max: written.steps.unwrap_or(usual.steps_max),
        }
    }
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read the settings {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It makes no sense.
    #[error("cannot use the settings {}: {detail}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What makes no sense, with its line.
        detail: String,
        /// The page of the documents that has the form of the table.
        page: &'static str,
    },
}

impl SettingsFile {
    /// Reads the file; no file says nothing.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        // A home that is no directory is the store's to report.
        if !path.parent().is_some_and(Path::is_dir) {
            return Ok(Self::default());
        }
        let text = match read_regular(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(FileError::Read { path: path.to_owned(), source }),
        };
        let told = |error: toml::de::Error| FileError::Parse {
            path: path.to_owned(),
            detail: detail(&error),
            page: page(&text, error.span().map_or(0, |span| span.start)),
        };
        toml::from_str(&text).map_err(told)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| detail(&error))
    }
}

fn detail(error: &toml::de::Error) -> String {
    error.to_string().trim_end().to_owned()
}

/// Where the form of the table is told that has something at `at`.
fn page(text: &str, at: usize) -> &'static str {
    let end = text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end);
    let before = text.get(..end).unwrap_or(text);
    let header = before.lines().rev().find(|line| line.trim_start().starts_with('['));
    let line = header.or_else(|| before.lines().next_back()).unwrap_or_default();
    let name = line.trim_start_matches(['[', ' ', '\t']);
    match name.split(['.', ']', '=', ' ']).next().unwrap_or_default() {
        "permissions" | "unattended" => "piton help permissions",
        "sandbox" => "piton help sandbox",
        "tools" => "piton help tools",
        "mcp" => "piton help mcp",
        "workers" => "piton help subagents",
        _ => "piton help models",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::{KeyFrom, Speaks};

    #[test]
    fn a_provider_is_a_few_lines() {
        let file = SettingsFile::parse(
            r#"
            model = "work/large"

            [providers.work]
            dialect = "openai-chat"
            base_url = "https://models.example.invalid/v1/"
            key_command = ["pass", "show", "models"]
            headers = { x-team = "climbers" }
            "#,
        )
        .unwrap();
        let provider = file.providers["work"].provider(None).unwrap();
        assert_eq!(file.model.as_deref(), Some("work/large"));
        assert_eq!(provider.speaks, Speaks::OpenaiChat);
        assert_eq!(provider.base_url, "https://models.example.invalid/v1");
        assert_eq!(
            provider.key,
            KeyFrom::Command(vec!["pass".into(), "show".into(), "models".into()])
        );
        assert_eq!(provider.headers["x-team"], "climbers");
    }

    #[test]
    fn what_is_misspelled_is_named() {
        let text = "[providers.work]\ndialect = \"klingon\"\nbase_url = \"x\"\n";
        assert!(SettingsFile::parse(text).unwrap_err().contains("klingon"));
        let text = "[providers.work]\ndialect = \"gemini\"\nbase = \"x\"\n";
        assert!(SettingsFile::parse(text).unwrap_err().contains("base"));
        let text = "effort = \"heroic\"\n";
        assert!(SettingsFile::parse(text).unwrap_err().contains("one of auto, none, minimal"));
        let text = "[providers.openai]\nmax_tokens = -1\n";
        assert!(SettingsFile::parse(text).unwrap_err().contains("max_tokens"));
    }
}
