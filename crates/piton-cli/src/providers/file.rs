//! The settings file `piton.toml`, as far as models go.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{KeyFrom, Provider, Speaks};

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SettingsFile {
    /// The model that is used when nobody names one.
    pub(crate) model: Option<String>,
    /// Providers by name.
    pub(crate) providers: BTreeMap<String, Written>,
}

/// A provider as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    dialect: Speaks,
    base_url: String,
    #[serde(default)]
    key_env: Option<String>,
    #[serde(default)]
    key_command: Option<Vec<String>>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileFault {
    /// It cannot be read.
    #[error("cannot read the settings {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// It makes no sense.
    #[error("cannot use the settings {}: {detail}", path.display())]
    Parse { path: PathBuf, detail: String },
}

impl SettingsFile {
    /// Reads the file; no file says nothing.
    pub(crate) fn read(path: &Path) -> Result<Self, FileFault> {
        // A home that is no directory is the store's to report.
        if !path.parent().is_some_and(Path::is_dir) {
            return Ok(Self::default());
        }
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(FileFault::Read { path: path.to_owned(), source }),
        };
        Self::parse(&text).map_err(|detail| FileFault::Parse { path: path.to_owned(), detail })
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }
}

impl Written {
    pub(super) fn provider(&self) -> Provider {
        let key = match (&self.key_command, &self.key_env) {
            (Some(command), _) => KeyFrom::Command(command.clone()),
            (None, Some(variable)) => KeyFrom::Variables(vec![variable.clone()]),
            (None, None) => KeyFrom::Nowhere,
        };
        Provider {
            speaks: self.dialect,
            base_url: self.base_url.trim_end_matches('/').to_owned(),
            key,
            headers: self.headers.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let provider = file.providers["work"].provider();
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
    }
}
