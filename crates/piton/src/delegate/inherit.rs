//! What a worker inherits from the conversation that it works for. Never more than that conversation has.

use std::sync::Arc;

use piton_core::event::{
    Event, ForkOrigin, InDoubtPolicy, Limits, PermissionMode, PermissionRule, Permissions,
    RuleEffect, RuleScope, ToolSpec,
};
use piton_core::id::{CallId, ConversationId, Seq};
use piton_core::state::{Config, Opened, State};
use piton_store::{Journal, StoreError};

use crate::reader::fold;

use super::allowance::{Delegation, NOT_FOR_WORKERS};
use super::errand::Errand;

/// What a worker is told behind the system prompt.
const WORKER_NOTE: &str = "You are a worker: another agent has handed you the task in the last message. \
    Do that task and nothing else. Nobody reads along; your last message is the result that goes back. \
    Put into it what you found or did, what you did not do, and what you do not know.";

/// The conversation that a worker works for.
#[derive(Debug)]
pub(super) struct Parent {
    pub(super) state: State,
    /// Where it stood before the answer that asked for the worker.
    pub(super) cut: Option<(ForkOrigin, State)>,
}

impl Parent {
    /// Reads it, and finds the cut for a call of it.
    pub(super) async fn read(
        journal: &dyn Journal,
        conversation: &ConversationId,
        call: CallId,
    ) -> Result<Self, StoreError> {
        let mut cut = None;
        let state = fold(journal, conversation, &mut |state, entry| {
            let turn = state.open_turn().map(|turn| turn.id);
            if let Event::ModelAsked { step, .. } = &entry.event
                && (turn, *step) == (Some(call.turn), call.step)
                && cut.is_none()
            {
                let through = Seq(entry.seq.0.saturating_sub(1));
                let conversation = conversation.clone();
                cut = Some((ForkOrigin { conversation, through }, state.clone()));
            }
        })
        .await?;
        if cut.is_none()
            && let Some(Opened { origin: Some(origin), parent: None, .. }) = &state.opened
        {
            // The answer was given before the conversation was forked from another one.
            cut = Box::pin(Self::read(journal, &origin.conversation, call)).await?.cut;
        }
        Ok(Self { state, cut })
    }

    /// The configuration that a worker begins with.
    pub(super) fn config_for(&self, errand: &Errand, delegation: Delegation) -> Config {
        let config = self.state.config.clone();
        let wanted = |tool: &&ToolSpec| {
            let named = errand.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
            named && !NOT_FOR_WORKERS.contains(&tool.name.as_str())
        };
        let tools: Arc<[ToolSpec]> = config.tools.iter().filter(wanted).cloned().collect();
        let steps_max = least(config.limits.steps_max, delegation.steps_max);
        let system = format!("{}\n\n{WORKER_NOTE}", config.system);
        // Nobody here knows how much another model takes.
        let is_other = errand.model.is_some() && errand.model != config.model;
        let window = config.limits.window.filter(|_| !is_other);
        Config {
            model: errand.model.clone().or(config.model.clone()),
            system: system.trim_start().into(),
            tools,
            limits: Limits { steps_max, window, ..config.limits },
            ..config
        }
    }

    /// The configuration that a worker goes on with: its own, without what has been forbidden or taken
    /// back since.
    pub(super) fn config_on(&self, own: &Config, given: &Permissions) -> Config {
        let permissions = narrowed(&own.permissions, &self.state.config.permissions, given);
        let in_doubt: InDoubtPolicy = self.state.config.in_doubt;
        Config { permissions, in_doubt, ..own.clone() }
    }
}

/// The permissions that a worker began with: all of them were its parent's.
pub(super) async fn given(
    journal: &dyn Journal,
    worker: &ConversationId,
) -> Result<Permissions, StoreError> {
    let mut given = None;
    let state = fold(journal, worker, &mut |state, entry| {
        if matches!(entry.event, Event::TurnStarted { .. }) && given.is_none() {
            given = Some(state.config.permissions.clone());
        }
    })
    .await?;
    Ok(given.unwrap_or(state.config.permissions))
}

/// The smaller of two limits, where 0 is none.
fn least(one: u32, other: u32) -> u32 {
    match (one, other) {
        (0, limit) | (limit, 0) => limit,
        (one, other) => one.min(other),
    }
}

/// What both allow, as far as modes and rules tell. Never wider than `own`.
fn narrowed(own: &Permissions, parent: &Permissions, given: &Permissions) -> Permissions {
    let mode = if rank(parent.mode) < rank(own.mode) { parent.mode } else { own.mode };
    let mut rules = own.rules.clone();
    // What the settings allow no more, and what the parent was allowed when it began. What a person
    // allowed the worker itself is the worker's own.
    let is_its_own = |rule: &PermissionRule| {
        rule.scope == RuleScope::Conversation && !given.rules.contains(rule)
    };
    rules.retain(|rule| {
        rule.effect != RuleEffect::Allow || is_its_own(rule) || parent.rules.contains(rule)
    });
    let missing =
        |rule: &&PermissionRule| rule.effect != RuleEffect::Allow && !own.rules.contains(rule);
    rules.extend(parent.rules.iter().filter(missing).cloned());
    let mut directories = own.directories.clone();
    directories.retain(|directory| parent.directories.contains(directory));
    // Hooks and what is protected are the user's, and those of now count for every call.
    let (hooked, protect) = (parent.hooked.clone(), parent.protect.clone());
    // What the settings open, they open for both.
    let is_same = own.opened == parent.opened;
    let opened = if is_same { own.opened.clone() } else { Box::default() };
    Permissions { mode, rules, directories, hooked, opened, protect }
}

/// How much a mode lets run without asking.
fn rank(mode: PermissionMode) -> u8 {
    match mode {
        PermissionMode::Plan => 0,
        PermissionMode::ReadOnly => 1,
        PermissionMode::Ask => 2,
        PermissionMode::AcceptEdits => 3,
        PermissionMode::Auto => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [PermissionMode; 5] = [
        PermissionMode::Plan,
        PermissionMode::ReadOnly,
        PermissionMode::Ask,
        PermissionMode::AcceptEdits,
        PermissionMode::Auto,
    ];

    // D79
    #[test]
    fn permissions_only_ever_get_narrower() {
        let allow = PermissionRule::of_tool("shell", RuleEffect::Allow);
        let deny = PermissionRule::of_tool("edit_file", RuleEffect::Deny);
        for (own, parent) in MODES.into_iter().flat_map(|own| MODES.map(|parent| (own, parent))) {
            let own = Permissions { mode: own, rules: vec![], ..Permissions::default() };
            let parent = Permissions {
                mode: parent,
                rules: vec![allow.clone(), deny.clone()],
                ..Permissions::default()
            };
            let now = narrowed(&own, &parent, &own);
            assert!(rank(now.mode) <= rank(own.mode) && rank(now.mode) <= rank(parent.mode));
            assert_eq!(now.rules, std::slice::from_ref(&deny));
            assert_eq!(narrowed(&now, &parent, &own), now, "once is enough");
        }
    }

    // D79
    #[test]
    fn what_is_allowed_no_more_is_taken_from_a_worker() {
        let of = |tool: &str, scope| PermissionRule {
            scope,
            ..PermissionRule::of_tool(tool, RuleEffect::Allow)
        };
        let given = [
            of("a", RuleScope::User),
            of("b", RuleScope::Project),
            of("c", RuleScope::Conversation),
            of("d", RuleScope::Conversation),
        ];
        let given = Permissions {
            mode: PermissionMode::Ask,
            rules: given.to_vec(),
            ..Permissions::default()
        };
        let itself = [of("e", RuleScope::Conversation), of("f", RuleScope::User)];
        let own = Permissions { rules: [&*given.rules, &itself].concat(), ..given.clone() };
        let still = vec![of("b", RuleScope::Project), of("d", RuleScope::Conversation)];
        let parent = Permissions { rules: still, ..own.clone() };
        let left = narrowed(&own, &parent, &given).rules.into_iter().map(|it| it.tool);
        assert_eq!(left.collect::<Vec<_>>(), ["b", "d", "e"]);
    }

    #[test]
    fn a_limit_of_nought_is_none() {
        for (one, other, expected) in [(0, 5, 5), (5, 0, 5), (0, 0, 0), (3, 5, 3), (9, 5, 5)] {
            assert_eq!(least(one, other), expected);
        }
    }
}
