//! May a call run without asking? Rules first, then the mode; a deny beats an allow.

use crate::event::{EffectClass, PermissionMode, Permissions, RuleEffect, ToolSpec};

/// What the rules say of a call.
pub fn permit(permissions: &Permissions, tool: &ToolSpec) -> RuleEffect {
    let says = |effect: RuleEffect| {
        permissions.rules.iter().any(|rule| rule.tool == tool.name && rule.effect == effect)
    };
    if says(RuleEffect::Deny) {
        return RuleEffect::Deny;
    }
    if says(RuleEffect::Ask) {
        return RuleEffect::Ask;
    }
    if says(RuleEffect::Allow) {
        return RuleEffect::Allow;
    }
    match (permissions.mode, tool.effect) {
        (PermissionMode::Auto, _) | (_, EffectClass::ReadOnly) => RuleEffect::Allow,
        (PermissionMode::Ask, _) => RuleEffect::Ask,
        (PermissionMode::ReadOnly, _) => RuleEffect::Deny,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::PermissionRule;

    fn check(
        mode: PermissionMode,
        rules: &[RuleEffect],
        effect: EffectClass,
        expected: RuleEffect,
    ) {
        let rules = rules
            .iter()
            .map(|effect| PermissionRule { tool: "t".into(), effect: *effect })
            .chain([PermissionRule { tool: "other".into(), effect: RuleEffect::Deny }])
            .collect();
        let tool =
            ToolSpec { name: "t".into(), description: "".into(), parameters: "{}".into(), effect };
        assert_eq!(permit(&Permissions { mode, rules }, &tool), expected);
    }

    #[test]
    fn reading_needs_no_permission() {
        for mode in [PermissionMode::Ask, PermissionMode::Auto, PermissionMode::ReadOnly] {
            check(mode, &[], EffectClass::ReadOnly, RuleEffect::Allow);
        }
    }

    #[test]
    fn the_mode_decides_on_effects_without_a_rule() {
        check(PermissionMode::Ask, &[], EffectClass::Digested, RuleEffect::Ask);
        check(PermissionMode::Auto, &[], EffectClass::Once, RuleEffect::Allow);
        check(PermissionMode::ReadOnly, &[], EffectClass::Idempotent, RuleEffect::Deny);
    }

    // D43
    #[test]
    fn deny_beats_ask_beats_allow_beats_the_mode() {
        use RuleEffect::{Allow, Ask, Deny};
        check(PermissionMode::Auto, &[Allow, Deny], EffectClass::ReadOnly, Deny);
        check(PermissionMode::Auto, &[Allow, Ask], EffectClass::ReadOnly, Ask);
        check(PermissionMode::ReadOnly, &[Allow], EffectClass::Once, Allow);
    }
}
