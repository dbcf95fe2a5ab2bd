//! `piton permissions`: the rules in force, with their scope and where they come from.

mod try_out;

use std::path::PathBuf;
use std::sync::Arc;

use piton::{OpenError, reader};
use piton_agent::rules::{file as rule_file, strangers::Strangers};
use piton_agent::{Agent, Settings, engine_to_write};
use piton_core::id::ConversationId;
use piton_core::permit::review::{Remark, decides, review};
use piton_core::view::{PermissionMode, PermissionRule, RuleScope, TurnView, View};
use piton_store::{Journal, LeaseError};

use super::query::open::SUPERVISOR;
use crate::flags::{Permissions, RulesWish};
use crate::output::Output;
use crate::render::lines::Line;
use crate::render::rule::{remark, stranger, told};
use crate::report::{Fault, Report};
use crate::{store, target};

/// In how many conversations calls are looked for that rules decided on.
const CONVERSATIONS_MAX: usize = 30;

/// Shows them, or takes one back.
pub(crate) async fn run(
    flags: &Permissions,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let agent = Agent::load(settings.clone())?;
    let mut state = None;
    let mut meant = None;
    if settings.has_database()? || flags.id.is_some() {
        let journal = store::open(settings, output)?;
        let id = match &flags.id {
            Some(typed) => Some(target::by_prefix(&*journal, typed, settings).await?),
            None => target::newest(&*journal, settings).await?,
        };
        if let Some(id) = id {
            state = Some(reader::state(&*journal, &id).await?);
            meant = Some((journal, id));
        }
    }
    let opened = state.as_ref().filter(|state| state.opened.is_some());
    let (begun, workspace) = match opened {
        Some(state) => (true, PathBuf::from(state.workspace())),
        None => (false, settings.workspace()?.to_owned()),
    };
    let config = state.map(|state| state.config).unwrap_or_default();
    let rules = agent.rules_in_force(&config.permissions.rules, &workspace);
    let file = settings.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    let mode = if begun { config.permissions.mode } else { agent.default_mode() };
    if let Some(RulesWish::Try { command, permissions: wanted }) = &flags.wish {
        let mut permissions = config.permissions;
        permissions.mode = wanted.map_or(mode, PermissionMode::from);
        permissions.rules = rules;
        let trial = agent.try_command(command, &permissions, &workspace, SUPERVISOR.as_ref());
        try_out::show(&trial, &permissions.rules, flags.json, output);
        return Ok(Report::ok("done"));
    }
    let Some(RulesWish::Revoke { number }) = flags.wish else {
        let id = meant.as_ref().map_or("", |(_, id)| id.as_str());
        let mut remarks = review(&rules);
        if let Some((journal, _)) = &meant {
            note_unused(&rules, &**journal, settings, &mut remarks).await?;
        }
        for (at, (rule, remarks)) in rules.iter().zip(&remarks).enumerate() {
            show(at + 1, (rule, remarks), from(rule, id, &file), flags.json, output);
        }
        output.talk(&format!(
            "The mode is {}; where no rule says anything it decides.",
            Line::word(&mode)
        ));
        let strangers = Strangers::new(&agent, &workspace).with(&config.tools);
        return Ok(listed(&rules, &strangers, output));
    };
    let rule = number.checked_sub(1).and_then(|at| rules.get(at));
    let rule = rule.ok_or(Fault::NoRule { number, count: rules.len() })?;
    let told = told(rule);
    match (rule.scope, meant, &settings.file) {
        (RuleScope::Conversation, Some((journal, id)), _) => {
            revoke(journal, &id, (number, rule), settings).await?;
            output.talk(&format!("Taken back: {told}, in conversation {id}"));
        }
        (RuleScope::Project | RuleScope::User, _, Some(path)) => {
            rule_file::remove(path, rule, &workspace)?;
            output.talk(&format!("Taken back: {told}, {}, from {file}", scope_word(rule.scope)));
            output.talk("A turn that runs keeps it until it ends.");
        }
        // Conversation rules come from a conversation, the others from a file.
        (RuleScope::Conversation | RuleScope::Project | RuleScope::User, ..) => {
            return Err(Fault::NoRule { number, count: rules.len() });
        }
    }
    Ok(Report::ok("done"))
}

/// Shows those of the settings, for a conversation that has not begun.
pub(crate) fn of_settings(agent: &Agent, output: &mut Output) -> Result<Report, Fault> {
    let settings = agent.settings();
    let workspace = settings.workspace()?;
    let rules = agent.rules_in_force(&[], workspace);
    let file = settings.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    for (at, (rule, remarks)) in rules.iter().zip(&review(&rules)).enumerate() {
        show(at + 1, (rule, remarks), from(rule, "", &file), false, output);
    }
    Ok(listed(&rules, &Strangers::new(agent, workspace), output))
}

/// Warns of rules that cannot mean anything, and says so if there are none.
fn listed(rules: &[PermissionRule], strangers: &Strangers, output: &mut Output) -> Report {
    for found in strangers.among(rules) {
        output.talk(&format!("warning: {}", stranger(&found)));
    }
    if rules.is_empty() {
        return Report::nothing("There are no rules; the mode decides on every call.");
    }
    Report::ok("done")
}

/// Writes down that the conversation goes on without the rule.
async fn revoke(
    journal: Arc<dyn Journal>,
    id: &ConversationId,
    (number, rule): (usize, &PermissionRule),
    settings: &Settings,
) -> Result<(), Fault> {
    let engine = engine_to_write(journal, settings)?;
    let mut session = match engine.open(id).await {
        Err(OpenError::Lease(LeaseError::Held { conversation, holder })) => {
            return Err(Fault::RuleHeld { rule: told(rule), number, conversation, holder });
        }
        opened => opened?,
    };
    let mut config = session.state().config.clone();
    config.permissions.rules.retain(|other| other != rule);
    session.configure(&config);
    session.keep().await?;
    Ok(())
}

fn show(
    number: usize,
    (rule, remarks): (&PermissionRule, &[Remark]),
    from: &str,
    json: bool,
    output: &mut Output,
) {
    if json {
        output.json(&Line::rule(number, rule, remarks, from));
    } else {
        let scope = scope_word(rule.scope);
        let remarks: Vec<_> = remarks.iter().map(|it| format!("  ({})", remark(*it))).collect();
        let remarks = remarks.concat();
        output.lines(&format!("{number}  {}  {scope}  {from}{remarks}", told(rule)));
    }
}

/// Notes which rules decided on no call of the newest conversations here.
async fn note_unused(
    rules: &[PermissionRule],
    journal: &dyn Journal,
    settings: &Settings,
    remarks: &mut [Vec<Remark>],
) -> Result<(), Fault> {
    let newest = target::newest_ones(journal, settings, CONVERSATIONS_MAX).await?;
    let mut used = vec![false; rules.len()];
    for listed in &newest {
        // One that cannot be read says nothing of rules.
        let Ok(state) = reader::state(journal, &listed.conversation).await else { continue };
        let (view, workspace) = (View::from(&state), state.workspace().to_owned());
        let tools = &state.config.tools;
        for call in view.turns.iter().flat_map(TurnView::calls) {
            let Some(tool) = tools.iter().find(|tool| *tool.name == *call.tool) else { continue };
            for (used, rule) in used.iter_mut().zip(rules) {
                *used = *used || decides(rule, &workspace, tool, &call.arguments);
            }
        }
    }
    let conversations = newest.len();
    for (remarks, used) in remarks.iter_mut().zip(used) {
        remarks.extend((!used).then_some(Remark::Unused { conversations }));
    }
    Ok(())
}

fn from<'a>(rule: &PermissionRule, conversation: &'a str, file: &'a str) -> &'a str {
    match rule.scope {
        RuleScope::Conversation => conversation,
        RuleScope::Project | RuleScope::User => file,
    }
}

fn scope_word(scope: RuleScope) -> &'static str {
    match scope {
        RuleScope::Conversation => "conversation",
        RuleScope::Project => "project",
        RuleScope::User => "user",
    }
}
