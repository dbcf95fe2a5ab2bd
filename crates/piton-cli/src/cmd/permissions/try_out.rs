//! `piton permissions try COMMAND`, in words.

use piton_agent::{Trial, Wall, Why};
use piton_core::permit::grants::words as words_of;
use piton_core::view::{PermissionRule, RuleEffect};

use crate::output::Output;
use crate::render::lines::Line;
use crate::render::rule::named;

/// Shows what would become of a command.
pub(super) fn show(trial: &Trial, rules: &[PermissionRule], json: bool, output: &mut Output) {
    if json {
        output.json(&line(trial, rules));
    } else {
        output.lines(&words(trial, rules));
    }
}

/// What would become of a command.
fn words(trial: &Trial, rules: &[PermissionRule]) -> String {
    let why = why(&trial.why, rules);
    match trial.effect {
        RuleEffect::Deny => format!("denied: {why}"),
        RuleEffect::Ask => format!("asks: {why}"),
        RuleEffect::Allow => {
            let opens = words_of(&trial.grants);
            let may = if opens.is_empty() {
                String::new()
            } else {
                format!(", and may {}", opens.join(" and "))
            };
            format!("runs {}{may}: {why}", wall(trial.wall))
        }
    }
}

/// The same as data.
fn line<'a>(trial: &'a Trial, rules: &'a [PermissionRule]) -> Line<'a> {
    let rule = if let Why::Rule(at) = &trial.why { Some(at + 1) } else { None };
    let grants = &trial.grants;
    let wall = match trial.wall {
        Wall::Free => "none",
        Wall::Sandbox => "sandbox",
        Wall::Looks => "looks",
        Wall::Missing => "missing",
    };
    Line::Tried { effect: trial.effect, wall, rule, grants, why: why(&trial.why, rules) }
}

fn wall(wall: Wall) -> &'static str {
    match wall {
        Wall::Free => "outside the sandbox",
        Wall::Sandbox => "in the sandbox",
        Wall::Looks => "behind the wall for commands that only look",
        Wall::Missing => "without a sandbox, because there is none here",
    }
}

fn why(why: &Why, rules: &[PermissionRule]) -> String {
    match why {
        Why::Rule(at) => {
            // Where it runs and what is open for it is said already.
            let rule = rules.get(*at).map(named).unwrap_or_default();
            format!("rule {}, {rule}", at + 1)
        }
        Why::Rules => "several rules together".into(),
        Why::Mode(mode) => format!("the mode {}", Line::word(mode)),
        Why::OnlyLooks => "it only looks".into(),
        Why::Openings(told) => told.clone(),
        Why::NoRule => "no rule allows it".into(),
        Why::NeverByRule(reason) => format!("no rule can allow it: {reason}"),
    }
}
