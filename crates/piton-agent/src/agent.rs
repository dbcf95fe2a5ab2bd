//! The agent: what the settings and the environment say, read once; but standing rules count as they are now.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use piton::Delegation;
use piton_core::event::{Grants, ModelRef, PermissionMode, PermissionRule};
use piton_mcp::WrittenServer;
use piton_tools::CommandDefinition;
use piton_tools::sandbox::{Confinement, Rules, WrittenPlace};

use crate::ceilings::{Ceilings, Dollars, WrittenContext};
use crate::command_tools;
use crate::environment::Environment;
use crate::hooks::HookSet;
use crate::instructions::{Instructions, Places};
use crate::near::with_near;
use crate::notify::{NOTIFY_SECONDS_DEFAULT, Notify};
use crate::overrides::Overrides;
use crate::providers::{
    self, KeyFrom, Provider, ProviderError, RequestDefaults, Waits, WrittenEffort,
};
use crate::rules;
use crate::rules::standing::Standing;
use crate::sandbox::{self, Sandbox, SandboxGap, WrittenSandbox};
use crate::settings::Settings;
use crate::settings_file::{FileError, SettingsFile, WrittenServe};
use crate::skills::{SkillNote, Skills};
use crate::titles::Titles;
use crate::unattended::WrittenUnattended;
use crate::web::PrivateHosts;

/// How long a network that is not there is waited for while a person watches, in seconds.
const WATCHED_OUTAGE_SECONDS: u64 = 600;

/// Shortest time between two signs of life on a stream.
const SERVE_BEAT_MIN: Duration = Duration::from_millis(100);

/// Most workspaces whose skills are kept in mind.
const SKILLS_OF_WORKSPACES_MAX: usize = 64;

/// Why settings cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The settings file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The settings file has a provider that cannot be asked.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// A variable says something that makes no sense.
    #[error("{name} cannot be {value}: {why}")]
    Variable {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// Why the value makes no sense.
        why: String,
    },
}

/// Turns settings into an engine, tools, models and profiles. Loaded once; the same for every
/// conversation, and safe to share between tasks.
#[derive(Debug)]
pub struct Agent {
    pub(crate) settings: Settings,
    pub(crate) providers: BTreeMap<String, Provider>,
    /// The model of a new conversation, as written.
    pub(crate) default_model: Option<String>,
    /// What the environment says about requests.
    from_environment: RequestDefaults,
    /// What the settings say about requests to all providers.
    general: RequestDefaults,
    /// What one turn may use at most.
    ceilings: Ceilings,
    /// Most messages that wait at once, if something is said about that.
    pub(crate) queue_max: Option<u32>,
    /// Where titles come from; none leaves it to who is there.
    pub(crate) titles: Option<Titles>,
    /// After how many days without a turn complete conversations go; none is never.
    keep_days: Option<u32>,
    /// How large requests may become.
    pub(crate) context: WrittenContext,
    rules: Standing,
    pub(crate) mcp: BTreeMap<String, WrittenServer>,
    pub(crate) delegation: Delegation,
    sandbox: Sandbox,
    written_sandbox: WrittenSandbox,
    /// Each with what it opens in its sandbox.
    pub(crate) tools: Vec<(CommandDefinition, Confinement)>,
    pub(crate) unattended: WrittenUnattended,
    // A lock, because turns begin in any task. By workspace: one may be trusted, and another one not.
    skills: Mutex<BTreeMap<PathBuf, Arc<Skills>>>,
    asks_in_batches: bool,
    /// Hosts that `web_fetch` may reach although they are private.
    pub(crate) web: Arc<PrivateHosts>,
    pub(crate) hooks: HookSet,
    notify: Notify,
    notify_after: Duration,
    /// What may run without asking in new conversations, if the environment or the settings say it.
    mode: Option<PermissionMode>,
    serve: WrittenServe,
}

impl Agent {
    /// Reads the settings file, if there is one.
    pub fn load(settings: Settings) -> Result<Self, LoadError> {
        let path = settings.file.as_deref();
        let file = path.map(SettingsFile::read).transpose()?.unwrap_or_default();
        Self::new(settings, file)
    }

    /// The agent that a settings file describes.
    pub(crate) fn new(settings: Settings, file: SettingsFile) -> Result<Self, LoadError> {
        let environment = &settings.environment;
        let mut providers = providers::all(&file.providers, environment)?;
        let general = Waits {
            first_byte: file.first_byte_seconds,
            idle: file.idle_seconds,
            outage: file.outage_seconds,
        };
        let said = waits_of(environment)?;
        for provider in providers.values_mut() {
            provider.waits = said.or(provider.waits).or(general);
        }
        let unclear = |detail, page| FileError::Parse {
            path: settings.file.clone().unwrap_or_default(),
            detail,
            page,
        };
        let tools = command_tools::definitions(file.tools)
            .map_err(|detail| unclear(detail, "piton help tools"))?;
        let hooks =
            HookSet::read(file.hooks).map_err(|detail| unclear(detail, "piton help hooks"))?;
        let notify_seconds = variable(environment, "PITON_NOTIFY_SECONDS")?.or(file.notify_seconds);
        let sandbox = Sandbox::new(&file.sandbox, environment)
            .map_err(|detail| unclear(detail, "piton help sandbox"))?;
        check_openings(&tools, &file.sandbox, environment)
            .map_err(|detail| unclear(detail, "piton help sandbox"))?;
        let web = PrivateHosts::read(&file.web.private_hosts)
            .map_err(|detail| unclear(detail, "piton help tools"))?;
        Ok(Self {
            web: Arc::new(web),
            providers,
            default_model: environment.text("PITON_MODEL").or(file.model),
            from_environment: RequestDefaults {
                effort: variable(environment, "PITON_EFFORT")?,
                max_tokens: variable(environment, "PITON_MAX_TOKENS")?,
            },
            general: RequestDefaults {
                effort: file.effort.map(|WrittenEffort(effort)| effort),
                max_tokens: file.max_tokens,
            },
            ceilings: ceilings_of(environment)?.or(Ceilings {
                tokens_max: file.max_turn_tokens,
                microdollars_max: file.max_turn_cost.map(Dollars::microdollars),
                seconds_max: file.max_turn_seconds,
            }),
            queue_max: variable(environment, "PITON_QUEUE_MAX")?.or(file.queue_max),
            titles: variable(environment, "PITON_TITLES")?.or(file.titles),
            keep_days: file.keep_days.filter(|days| 0 < *days),
            context: WrittenContext {
                tokens_max: variable(environment, "PITON_CONTEXT_TOKENS")?
                    .or(file.context.tokens_max),
                ..file.context
            },
            rules: Standing::new(settings.file.as_deref(), file.permissions),
            mcp: file.mcp,
            delegation: file.workers.into(),
            sandbox,
            written_sandbox: file.sandbox,
            tools,
            hooks,
            notify: variable(environment, "PITON_NOTIFY")?.or(file.notify).unwrap_or_default(),
            notify_after: Duration::from_secs(notify_seconds.unwrap_or(NOTIFY_SECONDS_DEFAULT)),
            unattended: file.unattended,
            serve: file.serve,
            skills: Mutex::default(),
            asks_in_batches: file.ask.batch,
            mode: variable(environment, "PITON_PERMISSIONS")?.or(file.ask.permissions),
            settings,
        })
    }

    /// Waits longer for a network that is not there, where nothing else is said: a person watches, and
    /// can stop it.
    #[must_use]
    pub fn watched(mut self) -> Self {
        let watched = Waits { outage: Some(WATCHED_OUTAGE_SECONDS), ..Waits::default() };
        for provider in self.providers.values_mut() {
            provider.waits = provider.waits.or(watched);
        }
        self
    }

    /// Where settings and conversations are.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All providers by name.
    pub fn providers(&self) -> &BTreeMap<String, Provider> {
        &self.providers
    }

    /// Whether one answer of a person is for all calls of a model's answer that need one.
    pub fn asks_in_batches(&self) -> bool {
        self.asks_in_batches
    }

    /// What one turn may use at most, unless its command or its conversation says otherwise.
    pub fn ceilings(&self) -> Ceilings {
        self.ceilings
    }

    /// After how many days without a turn complete conversations go; none is never.
    pub fn keep_days(&self) -> Option<u32> {
        self.keep_days
    }

    /// Whether a server that starts goes on with turns that were left.
    pub fn serve_resumes(&self) -> bool {
        self.serve.resume
    }

    /// Time between two signs of life on a stream of a server, if it is set.
    pub fn serve_beat(&self) -> Option<Duration> {
        let beat = self.serve.beat_ms.map(|beat| Duration::from_millis(beat.into()));
        beat.map(|beat| beat.max(SERVE_BEAT_MIN))
    }

    /// Names under which a server is reached, beside those of the machine for itself.
    pub fn serve_names(&self) -> &[String] {
        &self.serve.names
    }

    /// The certificate of a server, and its private key, as far as they are set.
    pub fn serve_files(&self) -> Result<[Option<PathBuf>; 2], String> {
        let environment = &self.settings.environment;
        let place = |written: &Option<WrittenPlace>| {
            let own = environment.user_directory();
            written.as_ref().map(|place| place.resolve(own)).transpose()
        };
        Ok([place(&self.serve.cert)?, place(&self.serve.key)?])
    }

    /// How a person is called, and how long a turn goes on before that.
    pub fn notify(&self) -> (Notify, Duration) {
        (self.notify, self.notify_after)
    }

    /// What may run without asking in a new conversation, unless its first command says otherwise.
    pub fn default_mode(&self) -> PermissionMode {
        self.mode.unwrap_or_default()
    }

    /// The instructions that count for a person in a directory.
    pub(crate) fn instructions(&self, workspace: &Path, directory: Option<&Path>) -> Instructions {
        let home = self.settings.environment.user_directory();
        Instructions::find(Places { own: self.settings.config(), home, workspace, directory })
    }

    /// The skills of a workspace, as they were when the last turn began there.
    pub(crate) fn skills(&self, workspace: &Path) -> Arc<Skills> {
        let kept = self.lock_skills().get(workspace).cloned();
        kept.unwrap_or_else(|| self.find_skills(workspace))
    }

    /// The skills for a turn that goes on: looked for once.
    pub(crate) fn kept_skills(&self, workspace: &Path) -> Arc<Skills> {
        let kept = self.skills(workspace);
        if kept.all.is_empty() { self.find_skills(workspace) } else { kept }
    }

    /// Folders of skills that do not count, and why.
    pub fn skill_notes(&self, workspace: &Path) -> Vec<SkillNote> {
        self.find_skills(workspace).notes.clone()
    }

    /// Looks for skills anew.
    pub(crate) fn find_skills(&self, workspace: &Path) -> Arc<Skills> {
        let found = Arc::new(Skills::find(&self.settings, workspace));
        let mut kept = self.lock_skills();
        if SKILLS_OF_WORKSPACES_MAX <= kept.len() {
            // They are found again when they are needed.
            kept.clear();
        }
        kept.insert(workspace.to_owned(), found.clone());
        found
    }

    fn lock_skills(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Skills>>> {
        self.skills.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What requests to a model are made with, unless the conversation says otherwise.
    pub fn request_defaults(&self, model: &ModelRef) -> RequestDefaults {
        let provider = self.providers.get(&model.provider).map(|provider| provider.defaults);
        self.from_environment.or(provider.unwrap_or_default()).or(self.general)
    }

    /// The variables that hold keys. No command and no server of a project needs them.
    pub fn key_variables(&self) -> Vec<OsString> {
        let keys = self.providers.values().flat_map(|provider| match &provider.key {
            KeyFrom::Variables(names) => names.as_slice(),
            KeyFrom::Nowhere | KeyFrom::Command(_) => &[],
        });
        // A provider that gets its key elsewhere leaves what the usual variable holds a key.
        let usual = providers::usual_key_variables().map(OsString::from);
        keys.map(OsString::from).chain(usual).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The standing rules of the settings that count in a workspace now.
    pub fn standing_rules(&self, workspace: &Path) -> Vec<PermissionRule> {
        rules::counting_in(&self.rules.now(), workspace)
    }

    /// The rules that a conversation is run with: its own, and those of the settings as they are now.
    pub fn rules_in_force(&self, own: &[PermissionRule], workspace: &Path) -> Vec<PermissionRule> {
        rules::in_force(own, &self.rules.now(), workspace)
    }

    /// The sandbox of commands.
    pub fn sandbox_rules(&self, overrides: &Overrides) -> Rules {
        self.sandbox.rules(overrides.sandbox, overrides.no_network, self.settings.own_places())
    }

    /// The sandbox of one program, if it is to have one; or what makes no sense of it.
    pub(crate) fn rules_of(
        &self,
        confinement: &Confinement,
        overrides: &Overrides,
    ) -> Result<Option<Rules>, String> {
        let more = match confinement {
            Confinement::No => return Ok(None),
            Confinement::Yes => return Ok(Some(self.sandbox_rules(overrides))),
            Confinement::With(more) => more,
        };
        let opened = self.written_sandbox.opening(more);
        let sandbox = Sandbox::new(&opened, &self.settings.environment)?;
        let own = self.settings.own_places();
        Ok(Some(sandbox.rules(overrides.sandbox, overrides.no_network, own)))
    }

    /// What the settings and the process open in the sandbox of every command.
    pub(crate) fn opened(&self, overrides: &Overrides) -> Grants {
        let mut opened = self.sandbox.opened(overrides.sandbox);
        if overrides.no_network {
            opened.network.clear();
        }
        opened
    }

    /// What others obey beside what is known by itself, for rules about files in a workspace.
    pub(crate) fn protected(&self, workspace: &Path) -> Vec<String> {
        self.sandbox.protected(workspace)
    }

    /// What this kernel cannot hold of the sandbox that a conversation is promised. The conversation
    /// is `unasked` if a policy allows its calls in place of a person.
    pub fn sandbox_gaps(
        &self,
        overrides: &Overrides,
        mode: PermissionMode,
        unasked: bool,
    ) -> Vec<SandboxGap> {
        let rules = self.sandbox_rules(overrides);
        sandbox::gaps(&rules, mode, unasked, &self.settings.environment)
    }
}

/// Whether what tools open in their sandbox makes sense.
fn check_openings(
    tools: &[(CommandDefinition, Confinement)],
    sandbox: &WrittenSandbox,
    environment: &Environment,
) -> Result<(), String> {
    for (tool, confinement) in tools {
        if let Confinement::With(more) = confinement {
            Sandbox::new(&sandbox.opening(more), environment)
                .map_err(|detail| format!("tools.{}.sandbox: {detail}", tool.name))?;
        }
    }
    Ok(())
}

/// What the environment says about waiting for providers.
fn waits_of(environment: &Environment) -> Result<Waits, LoadError> {
    Ok(Waits {
        first_byte: variable(environment, "PITON_FIRST_BYTE_SECONDS")?,
        idle: variable(environment, "PITON_IDLE_SECONDS")?,
        outage: variable(environment, "PITON_OUTAGE_SECONDS")?,
    })
}

/// What the environment says about the ceilings of a turn.
fn ceilings_of(environment: &Environment) -> Result<Ceilings, LoadError> {
    let cost: Option<Dollars> = variable(environment, "PITON_MAX_TURN_COST")?;
    Ok(Ceilings {
        tokens_max: variable(environment, "PITON_MAX_TURN_TOKENS")?,
        microdollars_max: cost.map(Dollars::microdollars),
        seconds_max: variable(environment, "PITON_MAX_TURN_SECONDS")?,
    })
}

/// What a variable says, if it is set.
fn variable<T>(environment: &Environment, name: &'static str) -> Result<Option<T>, LoadError>
where
    T: FromStr,
    T::Err: ToString,
{
    let Some(value) = environment.text(name) else { return Ok(None) };
    match value.trim().parse() {
        Ok(parsed) => Ok(Some(parsed)),
        Err(error) => {
            let why = with_near(&value, error.to_string());
            Err(LoadError::Variable { name, value, why })
        }
    }
}

#[cfg(test)]
impl Agent {
    /// The agent of a settings file with this text, in an environment with these variables.
    pub(crate) fn of(text: &str, variables: &[(&str, &str)]) -> Self {
        let home = [("PITON_HOME", "/no/home")];
        let variables = variables.iter().chain(&home);
        let variables = variables.map(|(name, value)| ((*name).into(), (*value).into()));
        let settings = Settings::resolve(Environment::new("/".into(), variables)).unwrap();
        Self::new(settings, SettingsFile::parse(text).unwrap()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use piton_core::event::Effort;

    use super::*;

    #[test]
    fn an_agent_can_be_shared_between_tasks() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Agent>();
        check::<crate::AgentTools>();
        check::<crate::Catalogue>();
    }

    #[test]
    fn the_environment_counts_before_the_settings() {
        let text = "model = \"gemini/pro\"\neffort = \"low\"\nmax_tokens = 7\n";
        let agent = Agent::of(text, &[("PITON_MODEL", "demo"), ("PITON_EFFORT", "max")]);
        assert_eq!(agent.default_model().unwrap().to_string(), "demo");
        let defaults = RequestDefaults { effort: Some(Effort::Max), max_tokens: Some(7) };
        assert_eq!(agent.request_defaults(&"gemini/pro".parse().unwrap()), defaults);
    }

    #[test]
    fn a_variable_that_makes_no_sense_is_named() {
        let variables = [("PITON_MAX_TOKENS", "many"), ("PITON_HOME", "/no/home")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let settings = Settings::resolve(Environment::new("/".into(), variables)).unwrap();
        let error = Agent::load(settings).unwrap_err().to_string();
        assert!(error.starts_with("PITON_MAX_TOKENS cannot be many: "), "{error}");
    }

    #[test]
    fn no_command_sees_a_variable_that_holds_a_key() {
        let text = "[providers.work]\ndialect = \"gemini\"\nbase_url = \"https://h\"\nkey_env = \"WORK_KEY\"\n\
                    [providers.anthropic]\nkey_command = [\"pass\"]\n";
        let hidden = Agent::of(text, &[]).key_variables();
        for name in ["WORK_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"] {
            assert!(hidden.contains(&OsString::from(name)), "{name}");
        }
    }
}
