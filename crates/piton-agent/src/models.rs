//! Names of models, and the models behind them.

pub mod known;
pub mod listed;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use piton::model::{Model, ModelFailure, Models};
use piton_core::event::{FailureClass, ModelRef, SCRIPT};
use piton_sim::demo::DemoModel;
use piton_sim::script::{Script, ScriptError, ScriptedModel};
use piton_tools::{Tool, read_regular};

use crate::agent::Agent;
use crate::environment::Environment;
use crate::near::{near, suggestion};
use crate::providers::{KeyFrom, Provider, ProviderError};

/// The provider of the built-in demo model.
const DEMO: &str = "demo";

/// Why a model cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Nobody knows the name.
    #[error("there is no model {name} in this build{}", suggestion(near))]
    Unknown {
        /// The name.
        name: String,
        /// Names that may be meant.
        near: Vec<String>,
    },
    /// The provider has many models, and none that is used where nobody has chosen.
    #[error("{provider} has no model of its own choice; name one: {provider}/MODEL")]
    NoDefault {
        /// The provider.
        provider: String,
    },
    /// Keys of several providers are there, and nobody has chosen.
    #[error("no model is chosen, and there are keys for several: {}", several(.0))]
    Several(Vec<ModelRef>),
    /// The script is not there.
    #[error("cannot read the script {}", path.display())]
    ScriptFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The script makes no sense.
    #[error("cannot use the script {}", path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// What makes no sense.
        source: ScriptError,
    },
    /// The provider cannot be asked.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

fn several(models: &[ModelRef]) -> String {
    models.iter().map(typed).collect::<Vec<_>>().join(", ")
}

impl Agent {
    /// The model that is used when nobody names one: that of the settings, else that of the only
    /// provider with a key in the environment, else the demo model.
    pub fn default_model(&self) -> Result<ModelRef, ModelError> {
        if let Some(typed) = &self.default_model {
            return self.parse_model(typed);
        }
        let mut with_key: Vec<ModelRef> =
            self.models_with_key().into_iter().map(|(model, _)| model).collect();
        match with_key.len() {
            0 => Ok(demo()),
            1 => Ok(with_key.remove(0)),
            _ => Err(ModelError::Several(with_key)),
        }
    }

    /// Models of providers whose key is in the environment, one for each key, and the variable with it.
    pub fn models_with_key(&self) -> Vec<(ModelRef, String)> {
        let mut found: Vec<(ModelRef, String)> = Vec::new();
        for known in known::KNOWN {
            let KeyFrom::Variables(names) = (match self.providers.get(known.provider) {
                Some(provider) => &provider.key,
                None => continue,
            }) else {
                continue;
            };
            let set = names.iter().find(|name| self.settings.environment.text(name).is_some());
            if let Some(name) = set.filter(|name| !found.iter().any(|(_, known)| known == *name)) {
                let (provider, model) = (known.provider.to_owned(), known.model.to_owned());
                found.push((ModelRef { provider, model }, name.clone()));
            }
        }
        found
    }

    /// The variable whose key decided who answers, if nobody has chosen a model.
    pub fn chosen_by_key(&self, model: &ModelRef) -> Option<String> {
        let chosen = self.default_model.is_none().then(|| self.models_with_key())?;
        chosen.into_iter().find(|(with_key, _)| with_key == model).map(|(_, variable)| variable)
    }

    /// The model that was typed. A script's file is looked up from here, so that the conversation
    /// can be resumed from elsewhere.
    pub fn parse_model(&self, typed: &str) -> Result<ModelRef, ModelError> {
        if let Some(path) = script_file(typed) {
            let here = self.settings.environment.directory();
            let path =
                fs::canonicalize(here.map_or_else(|_| path.clone(), |here| here.join(&path)))
                    .map_err(|source| ModelError::ScriptFile { path: path.clone(), source })?;
            let model = path.to_string_lossy().into_owned();
            return Ok(ModelRef { provider: SCRIPT.into(), model });
        }
        match typed.parse::<ModelRef>() {
            Ok(model) if model == demo() => Ok(model),
            Ok(model)
                if !model.model.is_empty() && self.providers.contains_key(&model.provider) =>
            {
                Ok(model)
            }
            Ok(_) | Err(_) if self.providers.contains_key(typed) => {
                let provider = typed.to_owned();
                let Some(known) = known::default_of(typed) else {
                    return Err(ModelError::NoDefault { provider });
                };
                Ok(ModelRef { provider, model: known.model.to_owned() })
            }
            Ok(_) | Err(_) => match known::KNOWN.iter().find(|known| known.model == typed) {
                Some(known::KnownModel { provider, model, .. }) => {
                    Ok(ModelRef { provider: (*provider).into(), model: (*model).into() })
                }
                None => Err(self.unknown(typed)),
            },
        }
    }

    fn unknown(&self, typed: &str) -> ModelError {
        let known: Vec<String> = known::KNOWN.iter().map(known::KnownModel::typed).collect();
        let names =
            known.iter().map(String::as_str).chain(self.providers.keys().map(String::as_str));
        let near = near(typed, names.chain([DEMO]));
        ModelError::Unknown { name: typed.to_owned(), near }
    }

    /// Makes a model ready. Done before a turn begins, so that a wrong name leaves nothing behind.
    pub fn load_model(&self, name: &ModelRef) -> Result<Loaded, ModelError> {
        let name = name.clone();
        match name.provider.as_str() {
            DEMO => Ok(Loaded { name, model: Arc::new(DemoModel), tools: Vec::new() }),
            SCRIPT => load_script(name),
            provider => {
                let found = self.providers.get(provider);
                let found = found.ok_or_else(|| self.unknown(&name.to_string()))?;
                let model =
                    Arc::new(found.model(provider, &name.model, &self.settings.environment)?);
                Ok(Loaded { name, model, tools: Vec::new() })
            }
        }
    }
}

fn demo() -> ModelRef {
    ModelRef { provider: DEMO.into(), model: String::new() }
}

/// Whether this is the demo model.
pub fn is_demo(model: &ModelRef) -> bool {
    model.provider == DEMO
}

/// Whether a provider answers, and not a part of piton.
pub(crate) fn is_real(model: &ModelRef) -> bool {
    ![DEMO, SCRIPT].contains(&model.provider.as_str())
}

/// How a model is named so that it can be typed.
pub fn typed(model: &ModelRef) -> String {
    model.typed()
}

/// A model with the tools that exist only for it.
#[derive(Debug)]
pub struct Loaded {
    name: ModelRef,
    model: Arc<dyn Model>,
    /// The tools.
    pub tools: Vec<Arc<dyn Tool>>,
}

/// Reads a script.
pub fn read_script(path: &Path) -> Result<Script, ModelError> {
    let text = read_regular(path)
        .map_err(|source| ModelError::ScriptFile { path: path.to_owned(), source })?;
    Script::parse(&text).map_err(|source| ModelError::Script { path: path.to_owned(), source })
}

fn load_script(name: ModelRef) -> Result<Loaded, ModelError> {
    let script = read_script(Path::new(&name.model))?;
    let tools = script.tools();
    Ok(Loaded { name, model: Arc::new(ScriptedModel::new(script)), tools })
}

/// Models that conversations of this process use, and the others of their providers for workers. The
/// model of a conversation is known only when the conversation is open, and the engine exists before
/// that.
#[derive(Debug)]
pub struct Catalogue {
    environment: Environment,
    // A lock, because a model is looked up from any task.
    offered: Mutex<Offered>,
}

#[derive(Debug, Default)]
struct Offered {
    models: Vec<(ModelRef, Arc<dyn Model>)>,
    providers: BTreeMap<String, Provider>,
}

impl Catalogue {
    /// A catalogue without models. Keys come from the environment.
    pub fn new(environment: Environment) -> Self {
        Self { environment, offered: Mutex::default() }
    }

    /// Offers a model and, if it has one, its provider; the first model of a name stays. A worker can
    /// use no provider that was not offered for a conversation.
    pub fn offer(&self, loaded: &Loaded, provider: Option<&Provider>) {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        if !offered.models.iter().any(|(name, _)| *name == loaded.name) {
            offered.models.push((loaded.name.clone(), loaded.model.clone()));
        }
        if let Some(provider) = provider {
            let name = loaded.name.provider.clone();
            offered.providers.entry(name).or_insert_with(|| provider.clone());
        }
    }

    fn offered(&self, model: &ModelRef) -> Option<Arc<dyn Model>> {
        let offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let found = offered.models.iter().find(|(name, _)| name == model);
        if let Some((_, found)) = found {
            return Some(found.clone());
        }
        let provider = offered.providers.get(&model.provider)?;
        let made = provider.model(&model.provider, &model.model, &self.environment).ok()?;
        Some(Arc::new(made))
    }
}

impl Models for Catalogue {
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Model>, ModelFailure> {
        self.offered(model).ok_or_else(|| {
            let message = format!("there is no model {} here", typed(model));
            ModelFailure::new(FailureClass::InvalidRequest, message)
        })
    }
}

/// Where `script:FILE` points, if that was typed.
fn script_file(model: &str) -> Option<PathBuf> {
    let file = model.strip_prefix("script:").or_else(|| model.strip_prefix("script/"))?;
    Some(PathBuf::from(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_nobody_offers_is_refused_by_name() {
        let agent = Agent::of("", &[]);
        for typed in ["", "opus", "nobody/opus", "demo/x", "/demo", "anthropic/"] {
            let refused = agent.parse_model(typed);
            assert!(matches!(refused, Err(ModelError::Unknown { name, .. }) if name == typed));
        }
        let refused = agent.parse_model("antropic").unwrap_err().to_string();
        let start = "there is no model antropic in this build; did you mean anthropic or ";
        assert!(refused.starts_with(start), "{refused}");
        assert_eq!(agent.parse_model("demo").ok(), Some(demo()));
        assert_eq!(agent.parse_model("anthropic/opus").unwrap().to_string(), "anthropic/opus");
    }

    #[test]
    fn the_only_provider_with_a_key_answers_where_nobody_has_chosen() {
        let chosen = |variables: &[(&str, &str)], text: &str| {
            Agent::of(text, variables).default_model().map(|model| typed(&model))
        };
        assert_eq!(chosen(&[], "").unwrap(), "demo");
        let key = [("OPENAI_API_KEY", "k")];
        assert_eq!(chosen(&key, "").unwrap(), "openai/gpt-6-sol");
        assert_eq!(chosen(&key, "model = \"demo\"").unwrap(), "demo");
        let both = [("OPENAI_API_KEY", "k"), ("GEMINI_API_KEY", "k")];
        let asked = chosen(&both, "").unwrap_err().to_string();
        assert_eq!(
            asked,
            "no model is chosen, and there are keys for several: openai/gpt-6-sol, gemini/gemini-3.1-pro-preview"
        );
    }

    #[test]
    fn a_provider_alone_means_its_first_model() {
        let agent = Agent::of("", &[]);
        let model = |typed: &str| agent.parse_model(typed).map(|model| model.to_string());
        assert_eq!(model("anthropic").unwrap(), "anthropic/claude-sonnet-5-5");
        let refused = model("ollama").unwrap_err().to_string();
        assert_eq!(refused, "ollama has no model of its own choice; name one: ollama/MODEL");
    }

    #[test]
    fn a_model_is_named_as_it_is_typed() {
        assert_eq!(typed(&demo()), "demo");
        let script = ModelRef { provider: SCRIPT.into(), model: "/a/b.json".into() };
        assert_eq!(typed(&script), "script:/a/b.json");
        assert_eq!(script_file(&typed(&script)), Some(PathBuf::from("/a/b.json")));
    }

    #[test]
    fn a_worker_uses_no_provider_that_was_not_offered_for_a_conversation() {
        let agent = Agent::of("", &[("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")]);
        let catalogue = Catalogue::new(agent.settings().environment.clone());
        for name in ["demo", "anthropic/opus"] {
            let loaded = agent.load_model(&agent.parse_model(name).unwrap()).unwrap();
            catalogue.offer(&loaded, agent.providers().get(&loaded.name.provider));
        }
        let finds = |name: &str| catalogue.find(&name.parse().unwrap()).is_ok();
        assert!(finds("demo") && finds("anthropic/opus") && finds("anthropic/haiku"));
        assert!(!finds("openai/gpt") && !finds("nobody/x"));
    }
}
