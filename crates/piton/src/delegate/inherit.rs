//! What a worker has from the conversation that it works for, at that time. Never more than that.

use std::sync::Arc;

use piton_core::event::{
    Event, ForkOrigin, InDoubtPolicy, Limits, PermissionMode, PermissionRule, Permissions,
    RuleEffect, RuleScope, ToolSpec,
};
use piton_core::id::{CallId, ConversationId, Seq};
use piton_core::state::{Config, State};
use piton_store::{Journal, StoreError};

use super::errand::Errand;
use super::{Delegation, NOT_FOR_WORKERS};
use crate::log::fold;

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
        Config {
            model: errand.model.clone().or(config.model.clone()),
            system: system.trim_start().into(),
            tools,
            limits: Limits { steps_max, ..config.limits },
            ..config
        }
    }

    /// The configuration that a worker goes on with: its own, with what has been forbidden since.
    pub(super) fn config_on(&self, own: &Config) -> Config {
        let permissions = narrowed(&own.permissions, &self.state.config.permissions);
        let in_doubt: InDoubtPolicy = self.state.config.in_doubt;
        Config { permissions, in_doubt, ..own.clone() }
    }
}

/// The smaller of two limits, where 0 is none.
fn least(one: u32, other: u32) -> u32 {
    match (one, other) {
        (0, limit) | (limit, 0) => limit,
        (one, other) => one.min(other),
    }
}

/// What both allow, as far as modes and rules that forbid or ask tell. Never wider than `own`.
fn narrowed(own: &Permissions, parent: &Permissions) -> Permissions {
    let mode = if rank(parent.mode) < rank(own.mode) { parent.mode } else { own.mode };
    let mut rules = own.rules.clone();
    // What the settings allow no more. Which allows of a conversation a worker was given itself cannot
    // be told, so those stay.
    rules.retain(|rule| {
        rule.effect != RuleEffect::Allow
            || rule.scope == RuleScope::Conversation
            || parent.rules.contains(rule)
    });
    let missing =
        |rule: &&PermissionRule| rule.effect != RuleEffect::Allow && !own.rules.contains(rule);
    rules.extend(parent.rules.iter().filter(missing).cloned());
    Permissions { mode, rules }
}

/// How much a mode lets run without asking.
fn rank(mode: PermissionMode) -> u8 {
    match mode {
        PermissionMode::ReadOnly => 0,
        PermissionMode::Ask => 1,
        PermissionMode::AcceptEdits => 2,
        PermissionMode::Auto => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [PermissionMode; 4] = [
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
            let own = Permissions { mode: own, rules: vec![] };
            let parent = Permissions { mode: parent, rules: vec![allow.clone(), deny.clone()] };
            let now = narrowed(&own, &parent);
            assert!(rank(now.mode) <= rank(own.mode) && rank(now.mode) <= rank(parent.mode));
            assert_eq!(now.rules, std::slice::from_ref(&deny));
            assert_eq!(narrowed(&now, &parent), now, "once is enough");
        }
    }

    // D79
    #[test]
    fn what_the_settings_allow_no_more_is_taken_from_a_worker() {
        let of = |tool: &str, scope| PermissionRule {
            scope,
            ..PermissionRule::of_tool(tool, RuleEffect::Allow)
        };
        let own = [
            of("a", RuleScope::User),
            of("b", RuleScope::Project),
            of("c", RuleScope::Conversation),
        ];
        let own = Permissions { mode: PermissionMode::Ask, rules: own.to_vec() };
        let parent = Permissions { rules: vec![of("b", RuleScope::Project)], ..own.clone() };
        let left: Vec<_> = narrowed(&own, &parent).rules.into_iter().map(|it| it.tool).collect();
        assert_eq!(left, ["b", "c"]);
    }

    #[test]
    fn a_limit_of_nought_is_none() {
        for (one, other, expected) in [(0, 5, 5), (5, 0, 5), (0, 0, 0), (3, 5, 3), (9, 5, 5)] {
            assert_eq!(least(one, other), expected);
        }
    }
}
