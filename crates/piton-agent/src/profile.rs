//! What a turn is run with: what the conversation has, what the settings say, what a command changes.

use std::path::PathBuf;
use std::sync::Arc;

use piton::{Attendance, Unattended};
use piton_core::event::{
    CostLimit, Effort, InDoubtPolicy, Limits, ModelRef, Permissions, ToolSpec,
};
use piton_core::state::Config;

use crate::agent::Agent;
use crate::ceilings::Ceilings;
use crate::models::known::KnownModel;
use crate::models::{ModelError, typed};
use crate::overrides::Overrides;
use crate::prompt::system_prompt;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    /// The directory that the conversation works in.
    pub workspace: PathBuf,
    /// Where the person is, if that is known.
    pub directory: Option<PathBuf>,
    /// What the conversation is configured with now.
    pub present: Config,
    /// Whether the conversation has said how its requests are made.
    pub standing: Standing,
    /// What the command changes.
    pub overrides: Overrides,
    /// Whether the turn begins.
    pub turn: TurnStart,
    /// Who is there to be asked.
    pub attendance: Attendance,
}

/// How far a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It begins: the settings say how its requests are made.
    New,
    /// It had a turn: its own configuration counts.
    Known,
}

/// Whether a turn begins.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnStart {
    /// It begins, with these tools in this order.
    Begins {
        /// The tools on offer.
        tools: Arc<[ToolSpec]>,
    },
    /// It goes on. Its tools must not change under it.
    GoesOn,
}

/// What a turn is run with.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What is frozen with the turn.
    pub frozen: Frozen,
    /// What counts as it is when a driver starts.
    pub live: Live,
}

/// What is frozen with the turn: it is the same after a crash, whatever the settings say by then.
#[derive(Clone, Debug, PartialEq)]
pub struct Frozen {
    /// Who answers.
    pub model: ModelRef,
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools on offer, in this order.
    pub tools: Arc<[ToolSpec]>,
    /// The allowances.
    pub limits: Limits,
    /// How much the model should think.
    pub effort: Effort,
    /// Most tokens of one answer; 0 leaves it to the provider.
    pub answer_tokens_max: u32,
}

/// What counts as it is when a driver starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// What may run without asking: the mode and the rules.
    pub permissions: Permissions,
    /// What to do with a call in doubt that only a person can settle.
    pub in_doubt: InDoubtPolicy,
    /// What becomes of questions while nobody is there.
    pub unattended: Unattended,
}

/// Why a turn cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// No model can be had: choose another one.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A turn may cost so much, and nobody knows what its model costs.
    #[error("the price of {model} is not known, so a limit of cost cannot be held")]
    NoPrice {
        /// The model, as it is typed.
        model: String,
    },
}

impl Agent {
    /// What a turn is run with.
    pub fn profile(&self, request: &ProfileRequest) -> Result<Profile, ProfileError> {
        Ok(Profile { frozen: self.frozen(request)?, live: self.live(request) })
    }

    /// The model of a turn: the one that the command names, else that of the conversation, else that
    /// of the settings.
    pub fn model(
        &self,
        overrides: &Overrides,
        present: Option<&ModelRef>,
    ) -> Result<ModelRef, ModelError> {
        let named = overrides.model.as_ref().or(present);
        named.cloned().map_or_else(|| self.default_model(), Ok)
    }

    /// The part that is frozen with the turn. What the command does not name stays as it was: a
    /// resumed turn goes on with the model, tools and limits it was started with.
    fn frozen(&self, request: &ProfileRequest) -> Result<Frozen, ProfileError> {
        let ProfileRequest { workspace, present, overrides, .. } = request;
        let model = self.model(overrides, present.model.as_ref())?;
        let system = match &*present.system {
            "" => {
                let instructions = self.instructions(workspace, request.directory.as_deref());
                system_prompt(&instructions, &self.skills(workspace)).into()
            }
            _ => present.system.clone(),
        };
        let tools = match &request.turn {
            TurnStart::Begins { tools } => tools.clone(),
            TurnStart::GoesOn => present.tools.clone(),
        };
        let mut limits = match &request.turn {
            TurnStart::Begins { .. } => self.limits_of_requests(present.limits, &model),
            TurnStart::GoesOn if present.model.as_ref() == Some(&model) => present.limits,
            TurnStart::GoesOn => Limits { window: self.window(&model), ..present.limits },
        };
        limits.steps_max = overrides.steps_max.unwrap_or(limits.steps_max);
        // A conversation keeps its limits, whatever the settings say by now.
        let said = match request.standing {
            Standing::New => self.ceilings(),
            Standing::Known => Ceilings::default(),
        };
        limits.tokens_max = overrides.tokens_max.or(said.tokens_max).unwrap_or(limits.tokens_max);
        let cost_max = overrides.microdollars_max.or(said.microdollars_max);
        limits.cost = cost_limit(cost_max, limits.cost, &model)?;
        // Whoever wants more room in a conversation that is there wants it there.
        limits.queue_max = self.queue_max.unwrap_or(limits.queue_max);
        let (mut effort, mut answer_tokens_max) = (present.effort, present.answer_tokens_max);
        if request.standing == Standing::New || is_other_provider(present, &model) {
            let defaults = self.request_defaults(&model);
            effort = defaults.effort.unwrap_or(effort);
            answer_tokens_max = defaults.max_tokens.unwrap_or(answer_tokens_max);
        }
        effort = overrides.effort.unwrap_or(effort);
        answer_tokens_max = overrides.answer_tokens_max.unwrap_or(answer_tokens_max);
        Ok(Frozen { model, system, tools, limits, effort, answer_tokens_max })
    }

    /// The part that counts as it is when a driver starts: what was taken back in the settings counts
    /// no more, and what becomes of questions depends on who is there now.
    pub fn live(&self, request: &ProfileRequest) -> Live {
        let ProfileRequest { workspace, present, overrides, .. } = request;
        let mut permissions = present.permissions.clone();
        permissions.rules = self.rules_in_force(&permissions.rules, workspace);
        // A conversation keeps its mode, whatever the settings say by now.
        let kept = match request.standing {
            Standing::New => self.default_mode(),
            Standing::Known => permissions.mode,
        };
        permissions.mode = overrides.permissions.unwrap_or(kept);
        overrides.change_directories(&mut permissions.directories);
        permissions.hooked = self.hooks.hooked();
        permissions.opened = Box::new(self.opened(overrides));
        permissions.protect = self.protected(workspace);
        let in_doubt = match request.attendance {
            Attendance::Attended => InDoubtPolicy::Ask,
            Attendance::Unattended => InDoubtPolicy::TellModel,
        };
        let unattended = self.unattended.with(overrides.unattended);
        Live { permissions, in_doubt, unattended }
    }
}

impl Profile {
    /// The configuration of the conversation from now on. What becomes of questions is no part of
    /// it: that belongs to the driver.
    pub fn config(&self) -> Config {
        let Frozen { model, system, tools, limits, effort, answer_tokens_max } =
            self.frozen.clone();
        let Live { permissions, in_doubt, unattended: _ } = self.live.clone();
        let model = Some(model);
        Config { model, system, tools, limits, permissions, in_doubt, effort, answer_tokens_max }
    }
}

/// The limits of an answer and its effort mean something else for another provider.
fn is_other_provider(present: &Config, model: &ModelRef) -> bool {
    present.model.as_ref().is_none_or(|now| now.provider != model.provider)
}

/// The most that a turn may cost, with the price of its model.
fn cost_limit(
    wanted: Option<u64>,
    present: Option<CostLimit>,
    model: &ModelRef,
) -> Result<Option<CostLimit>, ProfileError> {
    let present = present.map(|limit| limit.microdollars_max);
    let most = wanted.or(present).filter(|most| 0 < *most);
    let Some(microdollars_max) = most else { return Ok(None) };
    let model = typed(model);
    match KnownModel::find(&model).and_then(|known| known.price) {
        Some(price) => Ok(Some(CostLimit { microdollars_max, price })),
        None => Err(ProfileError::NoPrice { model }),
    }
}

#[cfg(test)]
mod tests;
