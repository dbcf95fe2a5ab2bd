//! What turns of the engine begin with: the profile of the settings, with what a command's sender chose.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use piton::profile::{self, Moment, Profiles};
use piton::{Attendance, Policy};
use piton_core::event::ContextItem;

use crate::added::ADDED_DIRECTORIES_MAX;
use crate::agent::Agent;
use crate::context;
use crate::hooks::AgentHooks;
use crate::instructions::InstructionNote;
use crate::models::{Catalogue, ModelError};
use crate::overrides::Overrides;
use crate::profile::{Profile, ProfileError, ProfileRequest, Standing, TurnStart};
use crate::rules::strangers::{Stranger, Strangers};
use crate::sandbox::{SandboxGap, SandboxMode};
use crate::skills::SkillNote;

/// Why a turn cannot begin with what its sender chose.
#[derive(Debug, thiserror::Error)]
pub enum FlagsError {
    /// What the settings say cannot be used.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// No model can be had: choose another one.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The flags are of another version, or no flags at all.
    #[error("cannot understand the flags that came with the command")]
    Unreadable(#[from] serde_json::Error),
    /// The commands of this process are confined otherwise than the sender of the command wants.
    #[error(
        "commands of the process that works on the conversation are confined in another way; \
         leave out the flags about the sandbox and the network, or wait until it has ended"
    )]
    Confinement,
    /// The conversation works in too many directories.
    #[error(
        "the conversation works in {ADDED_DIRECTORIES_MAX} directories beside its workspace, which is \
         the most; begin another one"
    )]
    Directories,
}

/// Turns settings, and what the sender of a command chose, into what a turn begins with.
#[derive(Debug)]
pub struct AgentProfiles {
    agent: Arc<Agent>,
    models: Arc<Catalogue>,
    /// How the commands of this process are confined.
    confined: Overrides,
    // A lock, because turns begin in any task.
    notes: Mutex<Vec<ProfileNote>>,
    hooks: Arc<AgentHooks>,
}

/// What a person should hear of what a turn begins with. None of it stops the turn.
#[derive(Debug)]
pub enum ProfileNote {
    /// This kernel cannot hold all of the sandbox.
    Sandbox(SandboxGap),
    /// A file of our own has a second name, under which tools may reach it.
    SecondName(PathBuf),
    /// A rule names a tool that is not there.
    Stranger(Box<Stranger>),
    /// A file of instructions does not count, or not all of it.
    Instructions(InstructionNote),
    /// A skill does not count.
    Skill(SkillNote),
    /// Something went wrong with a hook.
    Hook(String),
}

impl AgentProfiles {
    /// Profiles of an agent. Models that turns need are offered in the catalogue. `confined` is what
    /// the commands of this process were made with.
    pub fn new(agent: Arc<Agent>, models: Arc<Catalogue>, confined: Overrides) -> Self {
        let hooks = Arc::new(AgentHooks::new(agent.hooks.clone(), agent.key_variables()));
        Self { agent, models, confined, notes: Mutex::default(), hooks }
    }

    /// What a person should hear, and has not heard yet.
    pub fn take_notes(&self) -> Vec<ProfileNote> {
        let mut notes =
            std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        notes.extend(self.hooks.take_warnings().into_iter().map(ProfileNote::Hook));
        notes
    }

    /// The hooks of the settings. What goes wrong with them is among the notes.
    pub(crate) fn hooks(&self) -> Arc<AgentHooks> {
        self.hooks.clone()
    }

    fn note(&self, request: &ProfileRequest, profile: &Profile) {
        let Profile { frozen, live } = profile;
        let unasked = request.attendance == Attendance::Unattended
            && live.unattended.permissions == Policy::Auto;
        let gaps = self.agent.sandbox_gaps(&request.overrides, live.permissions.mode, unasked);
        let second = self.agent.settings().shared_files();
        let strangers = Strangers::new(&self.agent, &request.workspace).with(&frozen.tools);
        let notes = gaps.into_iter().map(ProfileNote::Sandbox);
        let notes = notes.chain(second.into_iter().map(ProfileNote::SecondName));
        let strangers = strangers.among(&live.permissions.rules).into_iter();
        let notes =
            notes.chain(strangers.map(|stranger| ProfileNote::Stranger(Box::new(stranger))));
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).extend(notes);
    }

    fn resolve(
        &self,
        request: profile::ProfileRequest<'_>,
    ) -> Result<profile::Profile, FlagsError> {
        let overrides = overrides(request.sender.flags.as_deref())?;
        self.check_confinement(&overrides)?;
        let present = request.config.clone();
        let request = ProfileRequest {
            workspace: request.workspace.to_owned(),
            directory: request.sender.directory.as_ref().map(PathBuf::from),
            standing: if present.model.is_some() { Standing::Known } else { Standing::New },
            present,
            overrides,
            turn: match request.moment {
                Moment::TurnBegins => TurnStart::Begins { tools: request.tools.into() },
                Moment::DriverStarts => TurnStart::GoesOn,
            },
            attendance: request.attendance,
        };
        let profile = self.agent.profile(&request)?;
        if ADDED_DIRECTORIES_MAX < profile.live.permissions.directories.len() {
            return Err(FlagsError::Directories);
        }
        self.note(&request, &profile);
        let model = self.agent.load_model(&profile.frozen.model)?;
        let provider = self.agent.providers().get(&profile.frozen.model.provider);
        self.models.offer(&model, provider);
        Ok(profile::Profile { config: profile.config(), unattended: profile.live.unattended })
    }

    /// Commands of this process are confined in one way. A turn must not run with less than its sender
    /// asked for.
    fn check_confinement(&self, wanted: &Overrides) -> Result<(), FlagsError> {
        let sandbox = match wanted.sandbox {
            // What the settings say: a process whose own flags weaken that is not good enough.
            None => self.confined.sandbox != Some(SandboxMode::Off),
            wanted => wanted == self.confined.sandbox,
        };
        let network = !wanted.no_network || self.confined.no_network;
        if sandbox && network { Ok(()) } else { Err(FlagsError::Confinement) }
    }
}

#[async_trait]
impl Profiles for AgentProfiles {
    async fn profile(
        &self,
        request: profile::ProfileRequest<'_>,
    ) -> Result<profile::Profile, profile::ProfileError> {
        self.resolve(request)
            .map_err(|error| profile::ProfileError { message: with_sources(&error) })
    }

    async fn context(&self, request: profile::ContextRequest<'_>) -> Vec<ContextItem> {
        let directory = request.sender.directory.as_deref().map(Path::new);
        let skills = self.agent.skills(request.workspace);
        let instructions = self.agent.instructions(request.workspace, directory);
        let items = context::context(&self.agent, request, &instructions).await;
        // A person hears of a file when the model hears of it, and of one that cannot be used once.
        let is_new = |note: &InstructionNote| {
            let named = |item: &ContextItem| item.name.ends_with(&*note.path.to_string_lossy());
            request.told.is_empty() || items.iter().any(named)
        };
        let notes = instructions.notes.into_iter().filter(is_new).map(ProfileNote::Instructions);
        let skills = skills.notes.iter().filter(|_| request.told.is_empty()).cloned();
        let notes = notes.chain(skills.map(ProfileNote::Skill));
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).extend(notes);
        items
    }
}

/// What the sender of a command chose.
fn overrides(flags: Option<&str>) -> Result<Overrides, FlagsError> {
    let Some(flags) = flags else { return Ok(Overrides::default()) };
    // An object first: a list would be read as one without any field.
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(flags)?;
    Ok(serde_json::from_value(serde_json::Value::Object(fields))?)
}

/// An error with its causes, on one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use piton::Sender;
    use piton::model::Models as _;
    use piton_core::event::{EffectClass, PermissionMode, ToolSpec};
    use piton_core::id::ConversationId;
    use piton_core::state::Config;

    use super::*;
    use crate::environment::Environment;

    fn profiles() -> AgentProfiles {
        confined(Overrides::default())
    }

    /// Profiles of a process whose own flags say this.
    fn confined(flags: Overrides) -> AgentProfiles {
        let agent = Arc::new(Agent::of("model = \"demo\"\n", &[]));
        let models = Arc::new(Catalogue::new(Environment::new("/".into(), [])));
        AgentProfiles::new(agent, models, flags)
    }

    fn ask(
        profiles: &AgentProfiles,
        flags: Option<&str>,
        config: &Config,
        moment: Moment,
    ) -> Result<profile::Profile, FlagsError> {
        let tools = [ToolSpec::new("look", "Looks.", "{}", EffectClass::ReadOnly)];
        let id = ConversationId::new("c");
        let sender = Sender { flags: flags.map(Into::into), ..Sender::default() };
        let request = profile::ProfileRequest::new(
            (&id, Path::new("/work")),
            (&sender, Attendance::Unattended),
            config,
            &tools,
            moment,
        );
        profiles.resolve(request)
    }

    #[test]
    fn a_turn_begins_with_the_tools_of_the_conversation_and_the_flags_of_the_sender() {
        let (profiles, flags) = (profiles(), r#"{"permissions":"auto","steps_max":3}"#);
        let begun = ask(&profiles, Some(flags), &Config::default(), Moment::TurnBegins).unwrap();
        assert_eq!(begun.config.tools.len(), 1);
        assert_eq!(begun.config.limits.steps_max, 3);
        assert_eq!(begun.config.permissions.mode, PermissionMode::Auto);
        assert!(profiles.models.find(&begun.config.model.clone().unwrap()).is_ok());
        let present = Config { tools: [].into(), ..begun.config };
        let on = ask(&profiles, None, &present, Moment::DriverStarts).unwrap();
        assert_eq!((on.config.tools.len(), on.config.limits.steps_max), (0, 3));
    }

    #[test]
    fn directories_are_added_to_those_that_the_conversation_has() {
        let (profiles, flags) = (profiles(), r#"{"directories":["/a","/b"]}"#);
        let begun = ask(&profiles, Some(flags), &Config::default(), Moment::TurnBegins).unwrap();
        assert_eq!(begun.config.permissions.directories, ["/a", "/b"]);
        let flags = Some(r#"{"directories":["/b","/c"]}"#);
        let on = ask(&profiles, flags, &begun.config, Moment::DriverStarts).unwrap();
        assert_eq!(on.config.permissions.directories, ["/a", "/b", "/c"]);
        let same = ask(&profiles, None, &on.config, Moment::DriverStarts).unwrap();
        assert_eq!(same.config.permissions, on.config.permissions);
        let many: Vec<_> = (0..=ADDED_DIRECTORIES_MAX).map(|n| format!("/{n}")).collect();
        let many = Overrides { directories: many, ..Overrides::default() };
        let many = serde_json::to_string(&many).unwrap();
        let refused = ask(&profiles, Some(&many), &Config::default(), Moment::TurnBegins);
        assert!(matches!(refused, Err(FlagsError::Directories)));
    }

    #[test]
    fn flags_that_nobody_understands_begin_nothing() {
        for flags in ["", "[]", r#"{"no_files":true}"#] {
            let refused = ask(&profiles(), Some(flags), &Config::default(), Moment::TurnBegins);
            assert!(matches!(refused, Err(FlagsError::Unreadable(_))), "{flags}");
        }
    }

    #[test]
    fn a_turn_does_not_run_less_confined_than_its_sender_asked() {
        for flags in [r#"{"no_network":true}"#, r#"{"sandbox":"on"}"#] {
            let refused = ask(&profiles(), Some(flags), &Config::default(), Moment::TurnBegins);
            assert!(matches!(refused, Err(FlagsError::Confinement)), "{flags}");
        }
    }

    #[test]
    fn a_process_that_confines_nothing_runs_no_turn_of_a_sender_who_did_not_ask_for_that() {
        let open = confined(Overrides { sandbox: Some(SandboxMode::Off), ..Overrides::default() });
        let begin = |flags| ask(&open, flags, &Config::default(), Moment::TurnBegins);
        assert!(matches!(begin(Some("{}")), Err(FlagsError::Confinement)));
        assert!(begin(Some(r#"{"sandbox":"off"}"#)).is_ok());
    }
}
