//! Models as their provider lists them, kept for a day.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use piton_core::event::ModelRef;
use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::known::{self, KnownModel};
use crate::agent::Agent;
use crate::providers::{KeyFrom, Provider, Speaks};
use crate::settings::make_private;

/// How long a list counts.
const KEPT_FOR: Duration = Duration::from_hours(24);
/// Longest wait for a provider.
const WAIT: Duration = Duration::from_secs(10);
/// Most bytes of a list.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// The version of the API that Anthropic wants to hear.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A model in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedModel {
    /// Its name at the provider.
    pub model: String,
    /// Most tokens of a request and its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Most tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_max: Option<u64>,
}

/// The models of a provider, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelList {
    /// The models, by name.
    pub models: Vec<ListedModel>,
    /// How they are known.
    pub source: ListSource,
}

/// How a list is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListSource {
    /// The provider was asked just now.
    Asked,
    /// The provider was asked, so long ago.
    Kept(Duration),
    /// From the table in this build. The provider was not asked, for this reason.
    Table(String),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    providers: BTreeMap<String, KeptList>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KeptList {
    base_url: String,
    asked_at_s: u64,
    models: Vec<ListedModel>,
}

impl Agent {
    /// The models of a provider: as it listed them within a day, else as it lists them now, else those
    /// of the table. With `anew` it is asked in any case.
    pub async fn list_models(
        &self,
        client: &reqwest::Client,
        name: &str,
        provider: &Provider,
        anew: bool,
    ) -> ModelList {
        let kept = self.kept_lists().providers.remove(name);
        let kept = kept.filter(|kept| kept.base_url == provider.base_url);
        let age =
            kept.as_ref().map(|kept| Duration::from_secs(now_s().saturating_sub(kept.asked_at_s)));
        if let (Some(kept), Some(age), false) = (&kept, age, anew)
            && age < KEPT_FOR
        {
            return ModelList { models: kept.models.clone(), source: ListSource::Kept(age) };
        }
        match self.ask_for_models(client, name, provider).await {
            Ok(models) => {
                self.keep_list(name, provider, &models);
                ModelList { models, source: ListSource::Asked }
            }
            Err(why) => {
                if let (Some(kept), Some(age)) = (kept, age) {
                    return ModelList { models: kept.models, source: ListSource::Kept(age) };
                }
                let known = known::KNOWN.iter().filter(|known| known.provider == name);
                let models = known.map(KnownModel::listed).collect();
                ModelList { models, source: ListSource::Table(why) }
            }
        }
    }

    /// What the provider said of a model when it was asked for its list, however long ago.
    pub(crate) fn listed(&self, model: &ModelRef, provider: &Provider) -> Option<ListedModel> {
        let kept = self.kept_lists().providers.remove(&model.provider)?;
        let same = kept.base_url == provider.base_url;
        kept.models.into_iter().find(|listed| same && listed.model == model.model)
    }

    async fn ask_for_models(
        &self,
        client: &reqwest::Client,
        name: &str,
        provider: &Provider,
    ) -> Result<Vec<ListedModel>, String> {
        let path = match provider.speaks {
            Speaks::Anthropic => "/v1/models?limit=1000",
            Speaks::Gemini => "/models?pageSize=1000",
            Speaks::Codex => return Err("it has no list".into()),
            Speaks::OpenaiResponses
            | Speaks::OpenaiChat
            | Speaks::Deepseek
            | Speaks::Mistral
            | Speaks::Openrouter
            | Speaks::LocalChat => "/models",
        };
        let auth = provider.auth(name, &self.settings().environment).map_err(|e| e.to_string())?;
        let header = auth.header(false).await.map_err(|failure| failure.message)?;
        let mut request = client.get(format!("{}{path}", provider.base_url)).timeout(WAIT);
        for (name, value) in &provider.headers {
            request = request.header(name, value);
        }
        if provider.speaks == Speaks::Anthropic {
            request = request.header("anthropic-version", ANTHROPIC_VERSION);
        }
        if let Some((name, value)) = header {
            let value = HeaderValue::try_from(value.as_str());
            let mut value = value.map_err(|_| "its key cannot be sent")?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let mut response = request.send().await.map_err(in_words)?;
        if !response.status().is_success() {
            return Err(format!("it answered with status {}", response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(in_words)? {
            body.extend_from_slice(&piece);
            if BYTES_MAX < body.len() {
                return Err("its list is too long".into());
            }
        }
        let body: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        let models = read(&body);
        if models.is_empty() { Err("its list is empty".into()) } else { Ok(models) }
    }

    fn list_file(&self) -> Option<PathBuf> {
        Some(self.settings().cache.as_ref()?.join("models.json"))
    }

    fn kept_lists(&self) -> Kept {
        let text = self.list_file().and_then(|file| fs::read_to_string(file).ok());
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Keeps a list. A cache that cannot be written costs a question the next time, and nothing else.
    fn keep_list(&self, name: &str, provider: &Provider, models: &[ListedModel]) {
        let Some(file) = self.list_file() else { return };
        let mut kept = self.kept_lists();
        let (base_url, models) = (provider.base_url.clone(), models.to_vec());
        kept.providers.insert(name.into(), KeptList { base_url, asked_at_s: now_s(), models });
        let text = serde_json::to_string(&kept).unwrap_or_default();
        let aside = file.with_extension(format!("{}.new", std::process::id()));
        let written = file.parent().is_some_and(|directory| make_private(directory).is_ok())
            && fs::write(&aside, text).is_ok();
        if !written || fs::rename(&aside, &file).is_err() {
            fs::remove_file(&aside).unwrap_or_default();
        }
    }
}

impl Provider {
    /// Whether its list can be had without asking a person for a key.
    pub fn lists_quietly(&self) -> bool {
        !matches!(self.key, KeyFrom::Command(_))
    }
}

impl KnownModel {
    fn listed(&self) -> ListedModel {
        let (window, output_max) = (Some(self.window), Some(self.output_max));
        ListedModel { model: self.model.to_owned(), window, output_max }
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// An error of the client, without addresses.
fn in_words(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("it did not answer within {} s", WAIT.as_secs());
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// The models of a list in any of the forms that providers use.
fn read(body: &Value) -> Vec<ListedModel> {
    let list = body.get("data").or_else(|| body.get("models")).and_then(Value::as_array);
    let mut models: Vec<ListedModel> = list.into_iter().flatten().filter_map(read_one).collect();
    models.sort_by(|a, b| a.model.cmp(&b.model));
    models.dedup_by(|a, b| a.model == b.model);
    models
}

fn read_one(entry: &Value) -> Option<ListedModel> {
    let name = entry.get("id").or_else(|| entry.get("name"))?.as_str()?;
    let makes_text =
        |methods: &Vec<Value>| methods.iter().any(|method| method == "generateContent");
    let methods = entry.get("supportedGenerationMethods").and_then(Value::as_array);
    if !methods.is_none_or(makes_text) {
        return None;
    }
    let number = |names: &[&str]| names.iter().find_map(|name| entry.get(*name)?.as_u64());
    Some(ListedModel {
        model: name.strip_prefix("models/").unwrap_or(name).to_owned(),
        window: number(&[
            "context_length",
            "max_context_length",
            "max_model_len",
            "max_input_tokens",
            "inputTokenLimit",
        ]),
        output_max: number(&["outputTokenLimit", "max_tokens", "max_output_tokens"]),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_read_in_the_form_of_each_provider() {
        let names = |body: Value| {
            let shown = |model: &ListedModel| format!("{} {:?}", model.model, model.window);
            read(&body).iter().map(shown).collect::<Vec<_>>()
        };
        let openai =
            json!({"object": "list", "data": [{"id": "b"}, {"id": "a", "context_length": 9}]});
        assert_eq!(names(openai), ["a Some(9)", "b None"]);
        let gemini = json!({"models": [
            {"name": "models/g", "inputTokenLimit": 7, "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]}]});
        assert_eq!(names(gemini), ["g Some(7)"]);
        assert_eq!(names(json!({"data": 3})), Vec::<String>::new());
        assert_eq!(names(json!([])), Vec::<String>::new());
    }
}
