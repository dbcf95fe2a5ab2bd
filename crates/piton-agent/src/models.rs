//! Names of models, and the models behind them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use piton::model::{Model, ModelFailure, Models};
use piton_core::event::{FailureClass, ModelRef};
use piton_sim::demo::DemoModel;
use piton_sim::script::{Script, ScriptError, ScriptedModel};
use piton_tools::{Tool, read_regular};

use crate::agent::Agent;
use crate::environment::Environment;
use crate::providers::{Provider, ProviderError};

/// The provider of the built-in demo model.
const DEMO: &str = "demo";
/// The provider of scripted models; the model's name is the file.
const SCRIPT: &str = "script";

/// Why a model cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Nobody knows the name.
    #[error("there is no model {0} in this build")]
    Unknown(String),
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

impl Agent {
    /// The model that is used when nobody names one.
    pub fn default_model(&self) -> Result<ModelRef, ModelError> {
        self.default_model.as_deref().map_or_else(|| Ok(demo()), |typed| self.parse_model(typed))
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
            Ok(_) | Err(_) => Err(ModelError::Unknown(typed.to_owned())),
        }
    }

    /// Makes a model ready. Done before a turn begins, so that a wrong name leaves nothing behind.
    pub fn load_model(&self, name: &ModelRef) -> Result<Loaded, ModelError> {
        let name = name.clone();
        match name.provider.as_str() {
            DEMO => Ok(Loaded { name, model: Arc::new(DemoModel), tools: Vec::new() }),
            SCRIPT => load_script(name),
            provider => {
                let found = self.providers.get(provider);
                let found = found.ok_or_else(|| ModelError::Unknown(name.to_string()))?;
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

/// How a model is named so that it can be typed.
pub fn typed(model: &ModelRef) -> String {
    match model.provider.as_str() {
        SCRIPT => format!("{SCRIPT}:{}", model.model),
        _ => model.to_string(),
    }
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
        for typed in ["", "opus", "nobody/opus", "demo/x", "/demo", "anthropic", "anthropic/"] {
            assert!(
                matches!(agent.parse_model(typed), Err(ModelError::Unknown(name)) if name == typed)
            );
        }
        assert_eq!(agent.parse_model("demo").ok(), Some(demo()));
        assert_eq!(agent.parse_model("anthropic/opus").unwrap().to_string(), "anthropic/opus");
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
