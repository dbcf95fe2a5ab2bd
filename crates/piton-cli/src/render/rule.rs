//! Rules in words.

use piton_agent::rules::strangers::Stranger;
use piton_core::permit::grants::words;
use piton_core::permit::review::Remark;
use piton_core::view::{PermissionRule, RuleEffect};

use super::visible::visible_name;

/// Which calls a rule is for, and what it says of them, on one line.
pub(crate) fn named(rule: &PermissionRule) -> String {
    let effect = match rule.effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    };
    // A path may have the end of a line in it, and forge one.
    let command = rule.command.as_ref().map(|command| format!(" `{}`", visible_name(command)));
    let path = rule.path.as_ref().map(|path| format!(" on {}", visible_name(path)));
    let arguments: Vec<_> =
        rule.arguments.iter().map(|(key, pattern)| format!("{key} = /{pattern}/")).collect();
    let given = if arguments.is_empty() { "" } else { " where " };
    let (command, path) = (command.unwrap_or_default(), path.unwrap_or_default());
    format!("{effect} {}{command}{path}{given}{}", rule.tool, arguments.join(" and "))
}

/// A rule, for people.
pub(crate) fn told(rule: &PermissionRule) -> String {
    let free = if rule.frees() { ", outside the sandbox" } else { "" };
    let opens = words(&rule.grants);
    let opens =
        if opens.is_empty() { String::new() } else { format!(", and may {}", opens.join(" and ")) };
    format!("{}{free}{opens}", named(rule))
}

/// What is to be known about a rule, for people.
pub(crate) fn remark(remark: Remark) -> String {
    match remark {
        Remark::Confined => "in the sandbox".into(),
        Remark::Unconfined => "wide: whatever follows these words".into(),
        Remark::EveryTool => "wide: every call of every tool".into(),
        Remark::EveryCommand => "wide: every command".into(),
        Remark::Repeats { by } => format!("says nothing new: rule {} says it", by + 1),
        Remark::Overruled { by } => format!("says nothing: rule {} beats it", by + 1),
        Remark::Unused { conversations: 1 } => "not used in the newest conversation here".into(),
        Remark::Unused { conversations } => {
            format!("not used in the newest {conversations} conversations here")
        }
        _ => String::new(),
    }
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
