//! The laws, one by one.

use super::super::WORKSPACE;
use super::case::{Case, about};
use super::lines::{may_look, may_print};
use crate::line::Line;
use crate::review::review;
use crate::*;

/// A command that no rule of a case names.
const UNHEARD: &str = "unheard-of";

type Law = fn(&Case) -> Result<(), String>;

/// What holds, and what finds out whether it does.
pub(super) const LAWS: &[(&str, Law)] = &[
    ("what is plain is read to the letter", plain_is_read),
    ("what is not plain is not taken for certain", unclear_is_not_certain),
    ("without a rule, nothing but looks runs unasked", only_looks),
    ("without walls, only what is approved word for word runs unasked", no_wall),
    ("outside the wall runs what a rule names alone, or takes out", free),
    ("a line that cannot be read runs free by no rule for commands", unread_is_not_free),
    ("a rule that forbids a command of the line is obeyed", denied),
    ("no rule that allows lifts one that forbids", lifted),
    ("one more rule that forbids makes nothing freer", more_denied),
    ("a line is allowed only if each of its commands is, or prints behind the wall", covered),
    ("the order of rules decides nothing", order),
    ("what is planned changes nothing", planned),
    ("what is offered allows the call, and is as free as it says", offered),
    ("what is offered for these commands allows no others", nothing_else),
];

fn holds(law: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if law { Ok(()) } else { Err(why()) }
}

fn plain_is_read(case: &Case) -> Result<(), String> {
    let Some(commands) = &case.made.commands else { return Ok(()) };
    let line = Line::read(&case.made.text);
    holds(line.is_certain() && line.commands == *commands, || format!("{line:?}"))
}

fn unclear_is_not_certain(case: &Case) -> Result<(), String> {
    let line = Line::read(&case.made.text);
    holds(!case.made.is_unclear || !line.is_certain(), || format!("{line:?}"))
}

fn only_looks(case: &Case) -> Result<(), String> {
    if matches!(case.mode, PermissionMode::Auto) {
        return Ok(());
    }
    let bare = Permissions { mode: case.mode, ..Permissions::default() };
    if case.verdict(&bare) != RuleEffect::Allow {
        return Ok(());
    }
    let looks = case.made.known().all(|words| may_look(&words[0]));
    holds(case.is_look(&bare) && case.confines && looks && !case.goes_on, || {
        "runs without a rule".into()
    })
}

fn no_wall(case: &Case) -> Result<(), String> {
    let permissions = case.permissions();
    let is_unasked = case.verdict(&permissions) == RuleEffect::Allow;
    let judged = case.confines || case.mode == PermissionMode::Auto || !is_unasked;
    holds(judged || case.is_free(&permissions), || "runs without a wall".into())
}

/// A line without what tells the same line apart: blanks, quotes and harmless redirections.
fn bare(text: &str) -> String {
    let mut text = text.replace(['\'', '"', ' ', '\t', '\n'], "");
    for harmless in ["2>&1", "1>&2", ">&1", ">&2"] {
        text = text.replace(harmless, "");
    }
    let digits = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
    for harmless in [">/dev/null", "</dev/null"] {
        while let Some((before, behind)) = text.split_once(harmless) {
            text = format!("{}{behind}", before.strip_suffix(digits).unwrap_or(before));
        }
    }
    text.trim_end_matches(';').to_owned()
}

fn free(case: &Case) -> Result<(), String> {
    if !case.is_free(&case.permissions()) {
        return Ok(());
    }
    let unconfined: Vec<_> = case.allows().filter(|it| it.rule.is_unconfined()).collect();
    // A rule for the text of commands has no words.
    let takes_out = |words: &Vec<String>| {
        unconfined.iter().any(|it| it.names(words) || it.rule.command.is_none())
    };
    let is_taken_out = match &case.made.commands {
        Some(commands) => commands.iter().all(takes_out),
        None => !unconfined.is_empty(),
    };
    let mut exact = case.allows().filter(|it| it.is_exact() && it.rule.confined != Some(true));
    let is_named = exact.any(|it| {
        if let Some(commands) = &case.made.commands {
            commands.len() == 1 && it.names(&commands[0])
        } else {
            let named = it.rule.command.as_deref().map(bare).unwrap_or_default();
            // A digit in front of a redirection is the number of a file, or the end of a word.
            let digits = |text: &str| text.trim_end_matches(|it: char| it.is_ascii_digit()).len();
            let given = bare(&case.made.text);
            given == named || given[..digits(&given)] == named[..digits(&named)]
        }
    });
    holds(is_taken_out || is_named && !case.goes_on, || "runs outside the wall".into())
}

fn unread_is_not_free(case: &Case) -> Result<(), String> {
    let taken_out = case.allows().any(|it| it.rule.is_unconfined() && it.is_bare());
    let is_read = Line::read(&case.made.text).is_certain();
    let is_known = is_read && !case.made.is_unclear;
    holds(is_known || taken_out || !case.is_free(&case.permissions()), || {
        "runs outside the wall, and was not read".into()
    })
}

fn denied(case: &Case) -> Result<(), String> {
    for (at, words) in case.made.known().enumerate() {
        for way in [0, 2, 4] {
            let deny = about(words, way, RuleEffect::Deny);
            let mut permissions = case.permissions();
            permissions.rules.insert(at % (permissions.rules.len() + 1), deny.rule.clone());
            let verdict = case.verdict(&permissions);
            let is_plain = case.made.commands.is_some() && deny.names(words);
            let expected = verdict == RuleEffect::Deny || !is_plain && verdict == RuleEffect::Ask;
            holds(expected, || format!("{verdict:?} in spite of {:?}", deny.rule))?;
            let asks = is_for_a_person(&permissions, WORKSPACE, case.tool(), &case.arguments());
            holds(asks, || format!("a policy may allow it in spite of {:?}", deny.rule))?;
        }
    }
    Ok(())
}

fn lifted(case: &Case) -> Result<(), String> {
    let permissions = case.permissions();
    let arguments = case.arguments();
    if forbidding(&permissions, WORKSPACE, case.tool(), &arguments).is_none() {
        return Ok(());
    }
    let known: Vec<_> = case.made.known().cloned().collect();
    let mut wider = permissions.clone();
    wider.rules.push(PermissionRule::of_tool("*", RuleEffect::Allow));
    let more = known.iter().map(|words| about(words, 0, RuleEffect::Allow).rule);
    wider.rules.extend(more.map(|rule| PermissionRule { confined: Some(false), ..rule }));
    let verdicts = [case.verdict(&permissions), case.verdict(&wider)];
    holds(verdicts == [RuleEffect::Deny; 2], || format!("{verdicts:?} where a rule forbids"))
}

fn rank(verdict: RuleEffect) -> u8 {
    match verdict {
        RuleEffect::Deny => 0,
        RuleEffect::Ask => 1,
        RuleEffect::Allow => 2,
    }
}

fn more_denied(case: &Case) -> Result<(), String> {
    let permissions = case.permissions();
    let before = case.verdict(&permissions);
    for command in ["rm *", "git push *", "b", "*", "a $x"] {
        let command = Some(command.to_owned());
        let deny = PermissionRule { command, ..PermissionRule::of_tool("*", RuleEffect::Deny) };
        let mut closer = permissions.clone();
        closer.rules.push(deny);
        let after = case.verdict(&closer);
        let is_closer = rank(after) <= rank(before);
        holds(is_closer, || format!("{before:?}, then {after:?} with {:?}", closer.rules.last()))?;
    }
    Ok(())
}

fn covered(case: &Case) -> Result<(), String> {
    let permissions = case.permissions();
    let is_judged = case.mode != PermissionMode::Auto && !case.is_look(&permissions);
    if !is_judged || case.verdict(&permissions) != RuleEffect::Allow {
        return Ok(());
    }
    // A pattern for the text of commands is none of words.
    let is_whole = case.allows().any(super::case::Ruled::is_bare);
    let is_named =
        |words: &Vec<String>| case.allows().any(|it| it.names(words) || it.rule.command.is_none());
    let prints = |words: &Vec<String>| may_print(&words[0]);
    let is_covered = case.made.commands.as_ref().is_none_or(|all| {
        let is_ruled = all.iter().all(is_named);
        let is_confined = case.confines && !case.is_free(&permissions);
        let all_print = all.iter().all(|words| is_named(words) || prints(words));
        is_ruled || is_confined && all.iter().any(is_named) && all_print
    });
    let is_read = Line::read(&case.made.text).is_certain() && !case.made.is_unclear;
    holds(is_whole || is_covered && is_read, || "no rule allows all of it".into())
}

fn order(case: &Case) -> Result<(), String> {
    let permissions = case.permissions();
    let mut turned = permissions.clone();
    turned.rules.reverse();
    let all = |it: &Permissions| (case.verdict(it), case.is_free(it), case.is_look(it));
    holds(all(&permissions) == all(&turned), || "another order decides otherwise".into())?;
    let remarks = review(&permissions.rules, "shell");
    holds(remarks.len() == permissions.rules.len(), || "a rule without remarks".into())
}

fn planned(case: &Case) -> Result<(), String> {
    let planning = Permissions { mode: PermissionMode::Plan, ..case.permissions() };
    let runs = case.verdict(&planning) == RuleEffect::Allow;
    holds(!runs || case.is_look(&planning) && case.confines, || "runs while planning".into())
}

fn offers_of(case: &Case) -> Vec<(Width, Permissions)> {
    let permissions = case.permissions();
    let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Project };
    let offers = offers(&permissions, WORKSPACE, case.tool(), &case.arguments(), standing);
    offers.into_iter().map(|(width, rules)| (width, with(&permissions, &rules))).collect()
}

fn offered(case: &Case) -> Result<(), String> {
    let permissions = case.permissions();
    let was_free = case.is_free(&permissions);
    for (width, wider) in offers_of(case) {
        let verdict = case.verdict(&wider);
        holds(verdict == RuleEffect::Allow, || format!("{verdict:?} with {width:?}"))?;
        let is_free = case.is_free(&wider);
        let as_said = match width {
            Width::Unconfined => is_free,
            Width::FirstWords | Width::Program | Width::Tool | Width::Directory => {
                !is_free || was_free
            }
            Width::Exactly => !is_free || was_free || parts_of(case) <= 1,
        };
        holds(as_said, || format!("with {width:?} it runs free: {is_free}, before: {was_free}"))?;
    }
    Ok(())
}

fn parts_of(case: &Case) -> usize {
    Line::read(&case.made.text).commands.len()
}

fn nothing_else(case: &Case) -> Result<(), String> {
    let permissions = case.permissions();
    for (width, wider) in offers_of(case) {
        if width == Width::Tool {
            continue;
        }
        let text = &case.made.text;
        let more = [format!("{text} && {UNHEARD}"), format!("{UNHEARD}; {text}")];
        // Of several commands, a rule from before may allow the last one with any words.
        let is_exact = width == Width::Exactly && parts_of(case) == 1;
        let longer = is_exact.then(|| format!("{text} {UNHEARD}"));
        for other in more.into_iter().chain(longer) {
            let arguments = case.arguments_of(&other);
            let verdict = |it: &Permissions| permit(it, WORKSPACE, case.tool(), &arguments);
            let free = |it: &Permissions| runs_free(it, WORKSPACE, case.tool(), &arguments);
            let (before, after) = (verdict(&permissions), verdict(&wider));
            holds(rank(after) <= rank(before), || format!("{width:?} allows {other:?}"))?;
            let is_as_free = free(&permissions) || !free(&wider);
            holds(is_as_free, || format!("{width:?} frees {other:?}"))?;
        }
    }
    Ok(())
}
