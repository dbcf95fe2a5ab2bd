//! Providers: a dialect, an endpoint, a key. Built-in ones, and those of the settings file.
//!
//! Only the user's own settings and environment name endpoints and keys. A project's files never
//! do: whoever opens a foreign directory must not send a key to a foreign host.

mod address;
mod key;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use piton::transport::{Auth, Endpoint, HttpModel, KeySource, Secret};
use piton_core::event::Effort;
use piton_wire::anthropic::Anthropic;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect};
use serde::Deserialize;

use self::key::KeyCommand;
use crate::environment::Environment;
use crate::settings_file::SettingsFile;

/// Longest wait for a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(20);

/// The wire formats that a provider can speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Speaks {
    /// Anthropic's messages.
    Anthropic,
    /// The responses of `OpenAI`.
    OpenaiResponses,
    /// The chat completions of `OpenAI`.
    OpenaiChat,
    /// The chat completions of `DeepSeek`.
    Deepseek,
    /// Mistral's chat completions.
    Mistral,
    /// The chat completions of `OpenRouter`.
    Openrouter,
    /// Chat completions of a server on this machine.
    LocalChat,
    /// The responses of `OpenAI` for an account of its chat.
    Codex,
    /// Google's Gemini.
    Gemini,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFrom {
    /// No key is needed.
    Nowhere,
    /// The first of these variables that is set.
    Variables(Vec<String>),
    /// What a command prints.
    Command(Vec<String>),
}

/// A provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its wire format.
    pub speaks: Speaks,
    /// Where it is asked.
    pub base_url: String,
    /// Where its key comes from.
    pub key: KeyFrom,
    /// Headers of every request to it.
    pub headers: BTreeMap<String, String>,
    /// What requests to it are made with.
    pub defaults: RequestDefaults,
}

/// What requests are made with unless a conversation says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDefaults {
    /// How much the model should think.
    pub effort: Option<Effort>,
    /// Most tokens of one answer.
    pub max_tokens: Option<u32>,
}

impl RequestDefaults {
    /// What is said here, else what is said there.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            effort: self.effort.or(other.effort),
            max_tokens: self.max_tokens.or(other.max_tokens),
        }
    }
}

/// Why a provider cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// Nobody set its key.
    #[error("{provider} needs a key: set {}", variables.join(" or "))]
    NoKey {
        /// Its name.
        provider: String,
        /// The variables that could hold it.
        variables: Vec<String>,
    },
    /// The settings say too little of it.
    #[error("the provider {provider} needs dialect and base_url in the settings")]
    TooLittle {
        /// Its name.
        provider: String,
    },
    /// Its address makes no sense.
    #[error(
        "{provider} has no usable address: \"{base_url}\"; write https://HOST/PATH or http://HOST:PORT/PATH"
    )]
    Address {
        /// Its name.
        provider: String,
        /// The address, without a password.
        base_url: String,
    },
    /// No client could be made.
    #[error("cannot prepare HTTP: {0}")]
    Client(String),
}

/// All providers by name: built-in ones, overlaid by those of the settings file.
pub(crate) fn all(
    file: &SettingsFile,
    environment: &Environment,
) -> Result<BTreeMap<String, Provider>, ProviderError> {
    let mut providers: BTreeMap<String, Provider> = BUILT_IN
        .iter()
        .map(|built_in| (built_in.name.to_owned(), built_in.provider(environment)))
        .collect();
    for (name, written) in &file.providers {
        let provider = written.provider(providers.get(name));
        let provider =
            provider.ok_or_else(|| ProviderError::TooLittle { provider: name.clone() })?;
        // What the environment says of a provider is looked at only when that one is asked.
        if written.has_address() {
            provider.check_address(name)?;
        }
        providers.insert(name.clone(), provider);
    }
    Ok(providers)
}

struct BuiltIn {
    name: &'static str,
    speaks: Speaks,
    host: &'static str,
    /// The variable of the provider's own libraries that replaces the host.
    host_variable: &'static str,
    /// What those libraries add to it.
    suffix: &'static str,
    keys: &'static [&'static str],
    /// A header that a variable gives: the account, where a login has several.
    header: Option<(&'static str, &'static str)>,
}

const BUILT_IN: [BuiltIn; 9] = [
    built_in("anthropic", Speaks::Anthropic, "https://api.anthropic.com", "ANTHROPIC_BASE_URL")
        .keys(&["ANTHROPIC_API_KEY"]),
    built_in("openai", Speaks::OpenaiResponses, "https://api.openai.com/v1", "OPENAI_BASE_URL")
        .keys(&["OPENAI_API_KEY"]),
    built_in("openai-chat", Speaks::OpenaiChat, "https://api.openai.com/v1", "OPENAI_BASE_URL")
        .keys(&["OPENAI_API_KEY"]),
    built_in("codex", Speaks::Codex, "https://chatgpt.com/backend-api/codex", "CODEX_BASE_URL")
        .keys(&["CODEX_ACCESS_TOKEN"])
        .header("chatgpt-account-id", "CODEX_ACCOUNT_ID"),
    built_in(
        "gemini",
        Speaks::Gemini,
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GEMINI_BASE_URL",
    )
    .suffix("/v1beta")
    .keys(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
    built_in("deepseek", Speaks::Deepseek, "https://api.deepseek.com", "DEEPSEEK_BASE_URL")
        .keys(&["DEEPSEEK_API_KEY"]),
    built_in("mistral", Speaks::Mistral, "https://api.mistral.ai/v1", "MISTRAL_BASE_URL")
        .keys(&["MISTRAL_API_KEY"]),
    built_in(
        "openrouter",
        Speaks::Openrouter,
        "https://openrouter.ai/api/v1",
        "OPENROUTER_BASE_URL",
    )
    .keys(&["OPENROUTER_API_KEY"]),
    built_in("ollama", Speaks::LocalChat, "http://localhost:11434", "OLLAMA_HOST").suffix("/v1"),
];

const fn built_in(
    name: &'static str,
    speaks: Speaks,
    host: &'static str,
    host_variable: &'static str,
) -> BuiltIn {
    BuiltIn { name, speaks, host, host_variable, suffix: "", keys: &[], header: None }
}

impl BuiltIn {
    const fn keys(mut self, keys: &'static [&'static str]) -> Self {
        self.keys = keys;
        self
    }

    const fn suffix(mut self, suffix: &'static str) -> Self {
        self.suffix = suffix;
        self
    }

    const fn header(mut self, header: &'static str, variable: &'static str) -> Self {
        self.header = Some((header, variable));
        self
    }

    fn provider(&self, environment: &Environment) -> Provider {
        let header = self.header.and_then(|(name, variable)| {
            Some((name.to_owned(), environment.text(variable)?.trim().to_owned()))
        });
        let host = environment.text(self.host_variable).unwrap_or_else(|| self.host.into());
        let host = if self.speaks == Speaks::LocalChat { address::ollama(&host) } else { host };
        let key = match self.keys {
            [] => KeyFrom::Nowhere,
            keys => KeyFrom::Variables(keys.iter().map(|key| (*key).to_owned()).collect()),
        };
        Provider {
            speaks: self.speaks,
            base_url: format!("{}{}", host.trim_end_matches('/'), self.suffix),
            key,
            headers: header.into_iter().collect(),
            defaults: RequestDefaults::default(),
        }
    }
}

impl Provider {
    /// Its address without the name and password that may stand in it.
    pub fn shown_address(&self) -> String {
        let Some((scheme, rest)) = self.base_url.split_once("://") else {
            return self.base_url.rsplit('@').next().unwrap_or_default().to_owned();
        };
        let (host, path) =
            rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
        let host = host.rsplit('@').next().unwrap_or(host);
        match path {
            Some(path) => format!("{scheme}://{host}/{path}"),
            None => format!("{scheme}://{host}"),
        }
    }

    fn check_address(&self, name: &str) -> Result<(), ProviderError> {
        if address::is_usable(&self.base_url) {
            return Ok(());
        }
        Err(ProviderError::Address { provider: name.into(), base_url: self.shown_address() })
    }

    /// A model of this provider, ready to be asked.
    pub(crate) fn model(
        &self,
        name: &str,
        model: &str,
        environment: &Environment,
    ) -> Result<HttpModel, ProviderError> {
        self.check_address(name)?;
        let shown = self.shown_address();
        let (_, rest) = shown.split_once("://").unwrap_or_default();
        // Without what stands in front of it: it is recorded beside native blocks.
        let host = rest.split('/').next().unwrap_or_default();
        let endpoint = Endpoint {
            base_url: self.base_url.clone(),
            auth: self.auth(name, environment)?,
            headers: self.headers.clone().into_iter().collect(),
        };
        let ask = Ask {
            provider: name.into(),
            host: host.into(),
            model: model.into(),
            // The conversation says, or nobody: each model has its own limit.
            max_tokens: None,
            effort: None,
            // Each request names its conversation.
            cache_key: String::new(),
        };
        Ok(HttpModel::new(client()?, self.dialect(), endpoint, ask))
    }

    fn auth(&self, name: &str, environment: &Environment) -> Result<Auth, ProviderError> {
        let source: Arc<dyn KeySource> = match &self.key {
            KeyFrom::Nowhere => return Ok(Auth::None),
            KeyFrom::Command(command) => Arc::new(KeyCommand::new(command.clone())),
            KeyFrom::Variables(names) => {
                let key = names.iter().find_map(|name| environment.text(name));
                let key = key.ok_or_else(|| ProviderError::NoKey {
                    provider: name.into(),
                    variables: names.clone(),
                })?;
                // A line end from a file would make a header that cannot be sent.
                Arc::new(Secret::new(key.trim()))
            }
        };
        Ok(match self.speaks {
            Speaks::Anthropic => Auth::Header("x-api-key", source),
            Speaks::Gemini => Auth::Header("x-goog-api-key", source),
            Speaks::OpenaiResponses
            | Speaks::OpenaiChat
            | Speaks::Deepseek
            | Speaks::Mistral
            | Speaks::Openrouter
            | Speaks::LocalChat
            | Speaks::Codex => Auth::Bearer(source),
        })
    }

    fn dialect(&self) -> Arc<dyn Dialect> {
        let chat = |flavour| Arc::new(OpenAiChat { flavour }) as Arc<dyn Dialect>;
        match self.speaks {
            Speaks::Anthropic => Arc::new(Anthropic),
            Speaks::OpenaiResponses => Arc::new(OpenAiResponses::Public),
            Speaks::Codex => Arc::new(OpenAiResponses::Codex),
            Speaks::Gemini => Arc::new(Gemini),
            Speaks::OpenaiChat => chat(Flavour::OpenAi),
            Speaks::Deepseek => chat(Flavour::DeepSeek),
            Speaks::Mistral => chat(Flavour::Mistral),
            Speaks::Openrouter => chat(Flavour::OpenRouter),
            Speaks::LocalChat => chat(Flavour::Local),
        }
    }
}

/// A client with the system's proxies and certificates. Made only when a provider is asked: loading
/// certificates takes longer than all the rest of a start.
pub fn client() -> Result<reqwest::Client, ProviderError> {
    // A second call finds the first one's choice, which is the same.
    rustls::crypto::ring::default_provider().install_default().unwrap_or_default();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_WAIT)
        // A redirect to another host would take keys along: only `Authorization` is left behind.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("piton/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ProviderError::Client(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, variables: &[(&str, &str)]) -> Provider {
        all(&SettingsFile::default(), &with(variables)).unwrap().remove(name).unwrap()
    }

    fn with(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Environment::new("/".into(), variables)
    }

    #[test]
    fn base_urls_are_spelled_as_the_providers_own_libraries_spell_them() {
        let check = |name, variable, value, expected| {
            assert_eq!(found(name, &[(variable, value)]).base_url, expected);
        };
        let local = "http://127.0.0.1:1";
        check("anthropic", "ANTHROPIC_BASE_URL", "http://127.0.0.1:1/", local);
        check("openai", "OPENAI_BASE_URL", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1");
        check("gemini", "GOOGLE_GEMINI_BASE_URL", local, "http://127.0.0.1:1/v1beta");
        check("ollama", "OLLAMA_HOST", "127.0.0.1:1", "http://127.0.0.1:1/v1");
        assert_eq!(found("anthropic", &[]).base_url, "https://api.anthropic.com");
    }

    #[test]
    fn a_missing_key_is_named_and_a_key_shows_itself_to_nobody() {
        let provider = found("gemini", &[]);
        let fault = provider.model("gemini", "m", &with(&[])).unwrap_err();
        assert_eq!(fault.to_string(), "gemini needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY");
        let model = provider.model("gemini", "m", &with(&[("GEMINI_API_KEY", "s3cret")])).unwrap();
        assert!(!format!("{model:?}").contains("s3cret"));
        assert!(found("ollama", &[]).model("ollama", "m", &with(&[])).is_ok());
    }

    #[test]
    fn the_settings_file_replaces_a_built_in_provider() {
        let text = "[providers.openai]\ndialect = \"openai-chat\"\nbase_url = \"http://h/v1\"\n";
        let file = SettingsFile::parse(text).unwrap();
        let providers = all(&file, &with(&[])).unwrap();
        assert_eq!(providers["openai"].speaks, Speaks::OpenaiChat);
        assert_eq!(providers["openai"].key, KeyFrom::Nowhere);
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_when_the_settings_are_read() {
        let text = "[providers.openai]\nbase_url = \"ftp://me:pw@h\"\n";
        let fault = all(&SettingsFile::parse(text).unwrap(), &with(&[])).unwrap_err().to_string();
        let start = "openai has no usable address: \"ftp://h\"; write https://";
        assert!(fault.starts_with(start), "{fault}");
        let provider = found("anthropic", &[("ANTHROPIC_BASE_URL", "h")]);
        let fault =
            provider.model("anthropic", "m", &with(&[("ANTHROPIC_API_KEY", "k")])).unwrap_err();
        assert!(fault.to_string().contains("no usable address: \"h\""), "{fault}");
    }

    #[test]
    fn a_built_in_provider_at_another_address_keeps_its_key() {
        let text = "[providers.gemini]\ndialect = \"gemini\"\nbase_url = \"http://h/v1\"\n";
        let providers = all(&SettingsFile::parse(text).unwrap(), &with(&[])).unwrap();
        assert_eq!(providers["gemini"].base_url, "http://h/v1");
        assert_eq!(providers["gemini"].key, found("gemini", &[]).key);
    }

    #[test]
    fn a_line_about_a_built_in_provider_changes_only_that() {
        let file = SettingsFile::parse("[providers.gemini]\neffort = \"low\"\n").unwrap();
        let found = all(&file, &with(&[])).unwrap().remove("gemini").unwrap();
        let defaults = RequestDefaults { effort: Some(Effort::Low), max_tokens: None };
        let built_in = all(&SettingsFile::default(), &with(&[])).unwrap().remove("gemini").unwrap();
        assert_eq!(found, Provider { defaults, ..built_in });
        let file = SettingsFile::parse("[providers.mine]\neffort = \"low\"\n").unwrap();
        let fault = all(&file, &with(&[])).unwrap_err().to_string();
        assert_eq!(fault, "the provider mine needs dialect and base_url in the settings");
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let shown = |url: &str| found("anthropic", &[("ANTHROPIC_BASE_URL", url)]).shown_address();
        assert_eq!(shown("http://user:pa@ss@h:1/x"), "http://h:1/x");
        assert_eq!(shown("http://h:1"), "http://h:1");
    }

    #[test]
    fn codex_is_told_the_account() {
        let provider = found("codex", &[("CODEX_ACCOUNT_ID", "a1\n")]);
        assert_eq!(provider.headers["chatgpt-account-id"], "a1");
        assert_eq!(found("codex", &[]).headers.len(), 0);
    }
}
