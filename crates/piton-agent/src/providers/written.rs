//! Providers as written in the settings file.

use std::collections::BTreeMap;

use piton_core::event::{Effort, NotAnEffort};
use serde::Deserialize;

use super::provider::{KeyFrom, Provider, RequestDefaults, Speaks};
use super::waits::{IdleSeconds, Waits};

/// A provider as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenProvider {
    #[serde(default)]
    dialect: Option<Speaks>,
    #[serde(default)]
    base_url: Option<String>,
    #[serde(default)]
    key_env: Option<String>,
    #[serde(default)]
    key_command: Option<Vec<String>>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    effort: Option<WrittenEffort>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    first_byte_seconds: Option<u64>,
    #[serde(default)]
    idle_seconds: Option<IdleSeconds>,
    #[serde(default)]
    outage_seconds: Option<u64>,
}

/// An effort as written. The stored form takes words that it does not know; a person should hear
/// of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct WrittenEffort(pub(crate) Effort);

impl TryFrom<String> for WrittenEffort {
    type Error = NotAnEffort;

    fn try_from(text: String) -> Result<Self, NotAnEffort> {
        text.parse().map(Self)
    }
}

impl WrittenProvider {
    /// Whether it says where the provider is.
    pub(crate) fn has_address(&self) -> bool {
        self.base_url.is_some()
    }

    /// The provider that is meant. With another dialect and an address it is a new one, which gets
    /// no key that it was not given; what is said of a built-in one changes only that. `None` if
    /// too little is said.
    pub(crate) fn provider(&self, built_in: Option<&Provider>) -> Option<Provider> {
        let key = match (&self.key_command, &self.key_env) {
            (Some(command), _) => Some(KeyFrom::Command(command.clone())),
            (None, Some(variable)) => Some(KeyFrom::Variables(vec![variable.clone()])),
            (None, None) => None,
        };
        let base_url = self.base_url.as_deref().map(|url| url.trim_end_matches('/').to_owned());
        let effort = self.effort.map(|WrittenEffort(effort)| effort);
        let defaults = RequestDefaults { effort, max_tokens: self.max_tokens };
        let waits = Waits {
            first_byte: self.first_byte_seconds,
            idle: self.idle_seconds,
            outage: self.outage_seconds,
        };
        let mut headers = self.headers.clone();
        let is_new = self.dialect != built_in.map(|built_in| built_in.speaks);
        if let (true, Some(speaks), Some(base_url)) = (is_new, self.dialect, base_url.clone()) {
            let key = key.unwrap_or(KeyFrom::Nowhere);
            return Some(Provider { speaks, base_url, key, headers, defaults, waits });
        }
        let built_in = built_in?.clone();
        headers.extend(built_in.headers);
        Some(Provider {
            speaks: self.dialect.unwrap_or(built_in.speaks),
            base_url: base_url.unwrap_or(built_in.base_url),
            key: key.unwrap_or(built_in.key),
            headers,
            defaults,
            waits,
        })
    }
}
