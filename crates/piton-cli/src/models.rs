//! Names of models, and the models behind them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use piton::Delegation;
use piton::model::{Model, ModelFailure, Models};
use piton_core::event::{FailureClass, ModelRef};
use piton_mcp::WrittenServer;
use piton_sim::demo::DemoModel;
use piton_sim::script::{Script, ScriptError, ScriptedModel};
use piton_tools::{CommandDefinition, Tool, read_regular};

use crate::command_tools;
use crate::flags::script_file;
use crate::providers::{
    self, FileFault, KeyFrom, Provider, ProviderFault, RequestDefaults, SettingsFile, WrittenAsk,
    WrittenEffort,
};
use crate::rules::WrittenRule;
use crate::sandbox::WrittenSandbox;
use crate::unattended::WrittenUnattended;

/// The provider of the built-in demo model.
const DEMO: &str = "demo";
/// The provider of scripted models; the model's name is the file.
const SCRIPT: &str = "script";

/// What every face should say in front of an answer of the demo model.
pub(crate) const DEMO_NOTE: &str =
    "The demo model answers: no key, no network, no language model. Choose another with --model.";

/// Why a model cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelFault {
    /// Nobody knows the name.
    #[error("there is no model {0} in this build")]
    Unknown(String),
    /// The script is not there.
    #[error("cannot read the script {}", path.display())]
    ScriptFile { path: PathBuf, source: std::io::Error },
    /// The script makes no sense.
    #[error("cannot use the script {}", path.display())]
    Script { path: PathBuf, source: ScriptError },
    /// The provider cannot be asked.
    #[error(transparent)]
    Provider(#[from] ProviderFault),
    /// A variable says something that makes no sense.
    #[error("{name} cannot be {value}: {why}")]
    Variable { name: &'static str, value: String, why: String },
    /// The settings cannot be used.
    #[error(transparent)]
    File(#[from] FileFault),
}

/// What can be asked here: the settings file and the environment, read once.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) providers: BTreeMap<String, Provider>,
    default: Option<String>,
    /// What the environment says about requests, and what the settings say of all providers.
    environment: RequestDefaults,
    general: RequestDefaults,
    /// Standing rules of the settings.
    pub(crate) rules: Vec<WrittenRule>,
    /// Servers of tools.
    pub(crate) mcp: BTreeMap<String, WrittenServer>,
    /// What workers are allowed.
    pub(crate) delegation: Delegation,
    /// What commands may touch.
    pub(crate) sandbox: WrittenSandbox,
    /// Tools of the settings.
    pub(crate) tools: Vec<CommandDefinition>,
    /// What becomes of questions while nobody is there.
    pub(crate) unattended: WrittenUnattended,
    /// How a person is asked.
    pub(crate) ask: WrittenAsk,
}

impl Shelf {
    /// Reads the settings file, if there is one.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, ModelFault> {
        let file = path.map(SettingsFile::read).transpose()?.unwrap_or_default();
        let providers = providers::all(&file, &environment)?;
        let effort = file.effort.map(|WrittenEffort(effort)| effort);
        let tools = command_tools::definitions(file.tools).map_err(|detail| FileFault::Parse {
            path: path.map(Path::to_owned).unwrap_or_default(),
            detail,
            page: "docs/tools.md",
        })?;
        Ok(Self {
            providers,
            default: environment("PITON_MODEL").or(file.model),
            environment: RequestDefaults {
                effort: variable("PITON_EFFORT")?,
                max_tokens: variable("PITON_MAX_TOKENS")?,
            },
            general: RequestDefaults { effort, max_tokens: file.max_tokens },
            rules: file.permissions,
            mcp: file.mcp,
            delegation: file.workers.into(),
            sandbox: file.sandbox,
            tools,
            unattended: file.unattended,
            ask: file.ask,
        })
    }

    /// What requests to a model are made with, unless the conversation says otherwise.
    pub(crate) fn defaults(&self, model: &ModelRef) -> RequestDefaults {
        let provider = self.providers.get(&model.provider).map(|provider| provider.defaults);
        self.environment.or(provider.unwrap_or_default()).or(self.general)
    }

    /// The variables that hold keys. What piton needs them for is no business of a command.
    pub(crate) fn key_variables(&self) -> Vec<OsString> {
        let keys = self.providers.values().flat_map(|provider| match &provider.key {
            KeyFrom::Variables(names) => names.as_slice(),
            KeyFrom::Nowhere | KeyFrom::Command(_) => &[],
        });
        keys.map(OsString::from).collect()
    }

    /// What to do about a key that the provider of a model refuses.
    pub(crate) fn key_advice(&self, model: &ModelRef) -> String {
        let name = &model.provider;
        match self.providers.get(name).map(|provider| &provider.key) {
            Some(KeyFrom::Variables(names)) => {
                format!("set {} to a key that {name} takes", names.join(" or "))
            }
            Some(KeyFrom::Command(_)) => {
                format!("see that the key command of {name} in piton.toml prints a key it takes")
            }
            Some(KeyFrom::Nowhere) => format!("give {name} a key in piton.toml"),
            None => format!("see to the key of {name}"),
        }
    }

    /// The model that is used when nobody names one.
    pub(crate) fn default(&self) -> Result<ModelRef, ModelFault> {
        self.default.as_deref().map_or_else(|| Ok(demo()), |typed| self.parse(typed))
    }

    /// The model that was typed. A script's file is looked up from here, so that the conversation
    /// can be resumed from elsewhere.
    pub(crate) fn parse(&self, typed: &str) -> Result<ModelRef, ModelFault> {
        if let Some(path) = script_file(typed) {
            let path = fs::canonicalize(&path)
                .map_err(|source| ModelFault::ScriptFile { path: path.clone(), source })?;
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
            Ok(_) | Err(_) => Err(ModelFault::Unknown(typed.to_owned())),
        }
    }

    /// Makes a model ready. Done before a turn begins, so that a wrong name leaves nothing behind.
    pub(crate) fn load(&self, name: &ModelRef) -> Result<Loaded, ModelFault> {
        let name = name.clone();
        match name.provider.as_str() {
            DEMO => Ok(Loaded { name, model: Arc::new(DemoModel), tools: Vec::new() }),
            SCRIPT => load_script(name),
            provider => {
                let found = self.providers.get(provider);
                let found = found.ok_or_else(|| ModelFault::Unknown(name.to_string()))?;
                let model = Arc::new(found.model(provider, &name.model, &environment)?);
                Ok(Loaded { name, model, tools: Vec::new() })
            }
        }
    }
}

/// What a variable says, if it is set.
fn variable<T>(name: &'static str) -> Result<Option<T>, ModelFault>
where
    T: FromStr,
    T::Err: ToString,
{
    let Some(value) = environment(name) else { return Ok(None) };
    match value.trim().parse() {
        Ok(parsed) => Ok(Some(parsed)),
        Err(error) => Err(ModelFault::Variable { name, value, why: error.to_string() }),
    }
}

/// A variable with something in it.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn demo() -> ModelRef {
    ModelRef { provider: DEMO.into(), model: String::new() }
}

/// Whether this is the demo model.
pub(crate) fn is_demo(model: &ModelRef) -> bool {
    model.provider == DEMO
}

/// How a model is named so that it can be typed.
pub(crate) fn typed(model: &ModelRef) -> String {
    match model.provider.as_str() {
        SCRIPT => format!("{SCRIPT}:{}", model.model),
        _ => model.to_string(),
    }
}

/// A model with the tools that exist only for it.
#[derive(Debug)]
pub(crate) struct Loaded {
    name: ModelRef,
    model: Arc<dyn Model>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

/// Reads a script.
pub(crate) fn read_script(path: &Path) -> Result<Script, ModelFault> {
    let text = read_regular(path)
        .map_err(|source| ModelFault::ScriptFile { path: path.to_owned(), source })?;
    Script::parse(&text).map_err(|source| ModelFault::Script { path: path.to_owned(), source })
}

fn load_script(name: ModelRef) -> Result<Loaded, ModelFault> {
    let script = read_script(Path::new(&name.model))?;
    let tools = script.tools();
    Ok(Loaded { name, model: Arc::new(ScriptedModel::new(script)), tools })
}

/// The model of this process, and its provider's others for workers. Which one is known only when the
/// conversation is open, and the engine exists before that.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    offered: OnceLock<(ModelRef, Arc<dyn Model>)>,
    provider: OnceLock<Provider>,
}

impl Catalogue {
    /// Offers a model and, if it has one, its provider; the first one stays. A worker goes nowhere that
    /// the conversation does not go.
    pub(crate) fn offer(&self, loaded: &Loaded, provider: Option<&Provider>) {
        self.offered.get_or_init(|| (loaded.name.clone(), loaded.model.clone()));
        if let Some(provider) = provider {
            self.provider.get_or_init(|| provider.clone());
        }
    }

    fn other(&self, model: &ModelRef) -> Option<Arc<dyn Model>> {
        let (offered, _) = self.offered.get()?;
        let provider = self.provider.get().filter(|_| offered.provider == model.provider)?;
        let made = provider.model(&model.provider, &model.model, &environment).ok()?;
        Some(Arc::new(made))
    }
}

impl Models for Catalogue {
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Model>, ModelFailure> {
        let offered = self.offered.get().filter(|(name, _)| name == model);
        let found = offered.map(|(_, found)| found.clone()).or_else(|| self.other(model));
        found.ok_or_else(|| {
            let message = format!("there is no model {} here", typed(model));
            ModelFailure::new(FailureClass::InvalidRequest, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_nobody_offers_is_refused_by_name() {
        let shelf = Shelf {
            providers: providers::all(&SettingsFile::default(), &|_| None).unwrap(),
            sandbox: WrittenSandbox::default(),
            rules: Vec::new(),
            mcp: BTreeMap::new(),
            delegation: Delegation::default(),
            tools: Vec::new(),
            unattended: WrittenUnattended::default(),
            ask: WrittenAsk::default(),
            default: None,
            environment: RequestDefaults::default(),
            general: RequestDefaults::default(),
        };
        for typed in ["", "opus", "nobody/opus", "demo/x", "/demo", "anthropic", "anthropic/"] {
            assert!(matches!(shelf.parse(typed), Err(ModelFault::Unknown(name)) if name == typed));
        }
        assert_eq!(shelf.parse("demo").ok(), Some(demo()));
        assert_eq!(shelf.parse("anthropic/opus").unwrap().to_string(), "anthropic/opus");
    }

    #[test]
    fn a_model_is_named_as_it_is_typed() {
        assert_eq!(typed(&demo()), "demo");
        let script = ModelRef { provider: SCRIPT.into(), model: "/a/b.json".into() };
        assert_eq!(typed(&script), "script:/a/b.json");
        assert_eq!(script_file(&typed(&script)), Some(PathBuf::from("/a/b.json")));
    }
}
