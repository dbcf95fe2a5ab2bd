//! The configuration in force: part of the turn, changed by events.

use std::sync::Arc;

use crate::event::{ConfigChange, Effort, InDoubtPolicy, Limits, ModelRef, Permissions, ToolSpec};

/// The configuration in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Who answers.
    pub model: Option<ModelRef>,
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools offered.
    pub tools: Arc<[ToolSpec]>,
    /// The allowances.
    pub limits: Limits,
    /// What may run without asking.
    pub permissions: Permissions,
    /// What to do with a call in doubt that only a person can settle.
    pub in_doubt: InDoubtPolicy,
    /// How much the model should think.
    pub effort: Effort,
    /// Most tokens of one answer; 0 leaves it to the provider.
    pub answer_tokens_max: u32,
}

impl Config {
    pub(super) fn change(&mut self, change: &ConfigChange) -> bool {
        let ConfigChange { model, system, tools, limits, permissions, .. } = change.clone();
        let ConfigChange { in_doubt, effort, answer_tokens_max, .. } = *change;
        self.model = model.or(self.model.take());
        self.limits = limits.unwrap_or(self.limits);
        self.in_doubt = in_doubt.unwrap_or(self.in_doubt);
        self.effort = effort.unwrap_or(self.effort);
        self.answer_tokens_max = answer_tokens_max.unwrap_or(self.answer_tokens_max);
        if let Some(system) = system {
            self.system = system;
        }
        if let Some(tools) = tools {
            self.tools = tools.into();
        }
        if let Some(permissions) = permissions {
            self.permissions = permissions;
        }
        true
    }

    /// What has to be recorded so that `wanted` applies.
    pub fn change_to(&self, wanted: &Self) -> ConfigChange {
        fn differs<T: Clone + PartialEq>(now: &T, wanted: &T) -> Option<T> {
            (now != wanted).then(|| wanted.clone())
        }
        ConfigChange {
            model: differs(&self.model, &wanted.model).flatten(),
            system: differs(&self.system, &wanted.system),
            tools: differs(&self.tools, &wanted.tools).map(|tools| tools.to_vec()),
            limits: differs(&self.limits, &wanted.limits),
            permissions: differs(&self.permissions, &wanted.permissions),
            in_doubt: differs(&self.in_doubt, &wanted.in_doubt),
            effort: differs(&self.effort, &wanted.effort),
            answer_tokens_max: differs(&self.answer_tokens_max, &wanted.answer_tokens_max),
        }
    }

    /// The specification of a tool.
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}
