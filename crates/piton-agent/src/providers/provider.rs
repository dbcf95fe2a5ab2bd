//! A provider, and the models that can be asked there.

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
use schemars::JsonSchema;
use serde::Deserialize;

use super::address;
use super::key::KeyCommand;
use super::waits::Waits;
use crate::environment::Environment;

/// Longest wait for a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(20);

/// The wire formats that a provider can speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// Most tokens that its models take at once, as the settings say.
    pub window_tokens: Option<u64>,
    /// How long it is waited for.
    pub(crate) waits: Waits,
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

    pub(super) fn check_address(&self, name: &str) -> Result<(), ProviderError> {
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
        let model = HttpModel::new(client()?, self.dialect(), endpoint, ask);
        Ok(model.timeouts(self.waits.timeouts()))
    }

    pub(crate) fn auth(
        &self,
        name: &str,
        environment: &Environment,
    ) -> Result<Auth, ProviderError> {
        let source: Arc<dyn KeySource> = match &self.key {
            KeyFrom::Nowhere => return Ok(Auth::None),
            KeyFrom::Command(command) => {
                Arc::new(KeyCommand::new(command.clone(), environment.clone()))
            }
            KeyFrom::Variables(names) => {
                let key = names.iter().find_map(|name| environment.key(name));
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
    client_builder().build().map_err(|error| ProviderError::Client(error.to_string()))
}

/// What every client of ours begins with.
pub fn client_builder() -> reqwest::ClientBuilder {
    // A second call finds the first one's choice, which is the same.
    rustls::crypto::ring::default_provider().install_default().unwrap_or_default();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_WAIT)
        // A redirect to another host would take keys along: only `Authorization` is left behind.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("piton/", env!("CARGO_PKG_VERSION")))
}
