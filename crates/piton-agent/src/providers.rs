//! Providers: a dialect, an endpoint, a key. Built-in ones, and those of the settings file.
//!
//! Only the user's own settings and environment name endpoints and keys. A project's files never
//! do: opening a foreign directory must not send a key to a foreign host.

mod provider;
mod waits;
mod written;

mod address;
#[cfg(test)]
mod frozen;
mod key;

use std::collections::BTreeMap;

pub use self::provider::{
    KeyFrom, Provider, ProviderError, RequestDefaults, Speaks, client, client_builder,
};
pub(crate) use self::waits::{IdleSeconds, Waits};
pub(crate) use self::written::{WrittenEffort, WrittenProvider};
use crate::environment::Environment;

/// All providers by name: built-in ones, overlaid by those of the settings file.
pub(crate) fn all(
    written: &BTreeMap<String, WrittenProvider>,
    environment: &Environment,
) -> Result<BTreeMap<String, Provider>, ProviderError> {
    let mut providers: BTreeMap<String, Provider> = BUILT_IN
        .iter()
        .map(|built_in| (built_in.name.to_owned(), built_in.provider(environment)))
        .collect();
    for (name, written) in written {
        let provider = written.provider(providers.get(name));
        let provider =
            provider.ok_or_else(|| ProviderError::TooLittle { provider: name.clone() })?;
        // What the environment says of a provider is checked only when the provider is asked.
        if written.has_address() {
            provider.check_address(name)?;
        }
        providers.insert(name.clone(), provider);
    }
    Ok(providers)
}

/// The variables in which built-in providers expect their keys.
pub(crate) fn usual_key_variables() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().flat_map(|built_in| built_in.keys).copied()
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
            window_tokens: None,
            waits: Waits::default(),
        }
    }
}
#[cfg(test)]
mod tests {
    use piton_core::event::Effort;

    use super::*;

    fn found(name: &str, variables: &[(&str, &str)]) -> Provider {
        all(&BTreeMap::new(), &with(variables)).unwrap().remove(name).unwrap()
    }

    fn written(text: &str) -> BTreeMap<String, WrittenProvider> {
        let mut tables: BTreeMap<String, _> = toml::from_str(text).unwrap();
        tables.remove("providers").unwrap()
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
        let file = written(text);
        let providers = all(&file, &with(&[])).unwrap();
        assert_eq!(providers["openai"].speaks, Speaks::OpenaiChat);
        assert_eq!(providers["openai"].key, KeyFrom::Nowhere);
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_when_the_settings_are_read() {
        let text = "[providers.openai]\nbase_url = \"ftp://me:pw@h\"\n";
        let fault = all(&written(text), &with(&[])).unwrap_err().to_string();
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
        let providers = all(&written(text), &with(&[])).unwrap();
        assert_eq!(providers["gemini"].base_url, "http://h/v1");
        assert_eq!(providers["gemini"].key, found("gemini", &[]).key);
    }

    #[test]
    fn a_line_about_a_built_in_provider_changes_only_that() {
        let file = written("[providers.gemini]\neffort = \"low\"\n");
        let found = all(&file, &with(&[])).unwrap().remove("gemini").unwrap();
        let defaults = RequestDefaults { effort: Some(Effort::Low), max_tokens: None };
        let built_in = all(&BTreeMap::new(), &with(&[])).unwrap().remove("gemini").unwrap();
        assert_eq!(found, Provider { defaults, ..built_in });
        let file = written("[providers.mine]\neffort = \"low\"\n");
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
