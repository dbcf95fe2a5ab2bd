//! Providers as written in the settings file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use piton_core::event::{Effort, NotAnEffort};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use super::provider::{KeyFrom, Provider, RequestDefaults, Speaks};
use super::waits::{IdleSeconds, Waits};
use crate::words;

/// A provider as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenProvider {
    /// The wire format that it speaks.
    #[serde(default)]
    dialect: Option<Speaks>,
    /// Where it is asked.
    #[serde(default)]
    base_url: Option<String>,
    /// The variable that has its key.
    #[serde(default)]
    key_env: Option<String>,
    /// A command that prints its key: a program and its arguments. Counts before `key_env`.
    #[serde(default)]
    key_command: Option<Vec<String>>,
    /// Headers of every request to it. Their values are never shown.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    headers: BTreeMap<String, String>,
    /// How much its models should think.
    #[serde(default)]
    effort: Option<WrittenEffort>,
    /// Most tokens of one answer; 0 leaves it to the provider.
    #[serde(default)]
    max_tokens: Option<u32>,
    /// Most tokens that its models take at once. Counts before what it says of itself.
    #[serde(default)]
    window_tokens: Option<u64>,
    /// Longest wait for the first byte of an answer; 0 is for ever.
    #[serde(default)]
    first_byte_seconds: Option<u64>,
    /// Longest wait for the next byte of an answer: 10 or more; 0 is for ever.
    #[serde(default)]
    idle_seconds: Option<IdleSeconds>,
    /// Longest wait for a network that is not there; 0 is not at all.
    #[serde(default)]
    outage_seconds: Option<u64>,
}

/// An effort as written. The stored form takes words that it does not know; a person should hear
/// of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct WrittenEffort(pub(crate) Effort);

impl JsonSchema for WrittenEffort {
    fn schema_name() -> Cow<'static, str> {
        "Effort".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        words::efforts(generator)
    }
}

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
            let window_tokens = self.window_tokens;
            return Some(Provider {
                speaks,
                base_url,
                key,
                headers,
                defaults,
                window_tokens,
                waits,
            });
        }
        let built_in = built_in?.clone();
        headers.extend(built_in.headers);
        Some(Provider {
            speaks: self.dialect.unwrap_or(built_in.speaks),
            base_url: base_url.unwrap_or(built_in.base_url),
            key: key.unwrap_or(built_in.key),
            headers,
            defaults,
            window_tokens: self.window_tokens,
            waits,
        })
    }
}
