//! Rules in words.

use piton_agent::rules::strangers::Stranger;
use piton_core::view::{PermissionRule, RuleEffect};

/// A rule, for people.
pub(crate) fn told(rule: &PermissionRule) -> String {
    let effect = match rule.effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    };
    let command = rule.command.as_ref().map(|command| format!(" `{command}`"));
    let path = rule.path.as_ref().map(|path| format!(" on {path}"));
    let arguments: Vec<_> =
        rule.arguments.iter().map(|(key, pattern)| format!("{key} = /{pattern}/")).collect();
    let given = if arguments.is_empty() { "" } else { " where " };
    let (command, path) = (command.unwrap_or_default(), path.unwrap_or_default());
    format!("{effect} {}{command}{path}{given}{}", rule.tool, arguments.join(" and "))
}

/// Rules, for people.
pub(crate) fn told_all(rules: &[PermissionRule]) -> String {
    rules.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// A rule that says nothing, for people.
pub(crate) fn stranger(stranger: &Stranger) -> String {
    let near = stranger.near.as_ref().map(|near| format!(", did you mean {near}?"));
    let (tool, rule) = (&stranger.rule.tool, told(&stranger.rule));
    format!("the rule `{rule}` says nothing: there is no tool {tool}{}", near.unwrap_or_default())
}
