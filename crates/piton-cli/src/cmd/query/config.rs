//! The configuration of a turn: what the conversation has, and what the flags change.

use std::path::Path;

use piton::{Engine, Session};
use piton_core::event::{InDoubtPolicy, ModelRef};
use piton_core::state::Config;

use super::open::Life;
use crate::flags::Query;
use crate::providers::RequestDefaults;
use crate::rules::{self, WrittenRule};

/// Makes the flags count from the next commit on. What no flag names stays as it was: a resumed turn
/// goes on with the model, tools and limits it was started with.
pub(super) fn apply(session: &mut Session, engine: &Engine, query: &Query, turn: &Ahead<'_>) {
    let state = session.state();
    let mut config = state.config.clone();
    let workspace = state.opened.as_ref().map_or("", |opened| opened.workspace.as_str());
    config.model = Some(turn.model.clone());
    let here = if workspace.is_empty() { turn.workspace } else { Path::new(workspace) };
    // As the settings are now: what was taken back there counts no more.
    config.permissions.rules = rules::in_force(&config.permissions.rules, turn.rules, here);
    if config.system.is_empty() {
        config.system = system_prompt(here).into();
    }
    if let Some(steps_max) = query.max_steps {
        config.limits.steps_max = steps_max;
    }
    if turn.life != Life::Known || is_other_provider(&state.config, turn.model) {
        config.effort = turn.defaults.effort.unwrap_or(config.effort);
        config.answer_tokens_max = turn.defaults.max_tokens.unwrap_or(config.answer_tokens_max);
    }
    config.effort = query.effort.unwrap_or(config.effort);
    config.answer_tokens_max = query.max_tokens.unwrap_or(config.answer_tokens_max);
    if let Some(mode) = query.permissions {
        config.permissions.mode = mode.into();
    }
    config.in_doubt = turn.in_doubt;
    if turn.begins {
        engine.offer_tools(&mut config);
    }
    session.configure(&config);
}

fn is_other_provider(config: &Config, model: &ModelRef) -> bool {
    config.model.as_ref().is_none_or(|now| now.provider != model.provider)
}

/// The turn that comes.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    pub(super) model: &'a ModelRef,
    pub(super) workspace: &'a Path,
    /// Standing rules of the settings.
    pub(super) rules: &'a [WrittenRule],
    /// What the settings say for this model; counts when the conversation begins or its provider
    /// changes. After that the conversation knows.
    pub(super) defaults: RequestDefaults,
    pub(super) life: Life,
    /// Depends on who is there now, not on who was there when the turn began.
    pub(super) in_doubt: InDoubtPolicy,
    /// Whether it begins; tools of a turn that goes on must not change under it.
    pub(super) begins: bool,
}

fn system_prompt(workspace: &Path) -> String {
    format!(
        "You are piton, a coding agent. You work in the directory {}; paths are relative to it. \
         Use the tools to look before you answer and to do what you are asked. Be truthful: say \
         what you did, what you did not do, and what you do not know. If a tool's outcome is \
         unknown, check before you repeat it.",
        workspace.display()
    )
}
