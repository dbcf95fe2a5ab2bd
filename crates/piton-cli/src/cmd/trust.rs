//! `piton trust`: what this workspace brings, and whether a person trusts it with that.

use std::path::Path;

use piton::clock::{Clock as _, SystemClock};
use piton_agent::{Agent, Brought, Settings, Trust};

use super::init::agrees;
use crate::flags::{Trust as Flags, TrustWish};
use crate::output::Output;
use crate::render::lines::Line;
use crate::render::offered;
use crate::report::{Fault, Report};
use crate::terminal::Terminal;

/// What is asked, with what trust means in front of it.
pub(super) const QUESTION: &str = "Trust it as it is now? What starts programs is asked about again when it \
                                   changes. [y/N] ";

/// Does it.
pub(crate) async fn run(
    flags: &Flags,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    match &flags.wish {
        Some(TrustWish::Ls) => list(settings, flags.json, output),
        Some(TrustWish::Revoke { workspace }) => {
            let here = settings.directory()?;
            let workspace = match workspace {
                Some(typed) => here.join(typed),
                None => settings.workspace()?.to_owned(),
            };
            revoke(&workspace, settings, output)
        }
        None => of_this_workspace(flags, settings, output).await,
    }
}

async fn of_this_workspace(
    flags: &Flags,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let agent = Agent::load(settings.clone())?;
    let workspace = settings.workspace()?;
    let brought = agent.brings(workspace);
    show(&brought, flags.json, output);
    if let Some(fault) = &brought.fault {
        output.talk(&format!("warning: nothing is trusted: {fault}"));
    }
    if flags.yes {
        return give(&agent, workspace, &brought, output);
    }
    if brought.not_counting().next().is_none() {
        return Ok(Report::ok("shown"));
    }
    let may_ask = !flags.json && settings.environment.value("PITON_NO_INPUT").is_none();
    let Some(terminal) = may_ask.then(Terminal::open).and_then(Result::ok) else {
        output.talk("To trust it as it is now: piton trust --yes");
        return Ok(Report::ok("shown"));
    };
    if agrees(terminal, QUESTION).await? {
        return give(&agent, workspace, &brought, output);
    }
    settings.decline_trust(workspace, &brought.about())?;
    Ok(Report::nothing("Nothing is trusted that was not trusted before."))
}

/// Shows what a workspace brings.
fn show(brought: &Brought, json: bool, output: &mut Output) {
    if json {
        output.json(&standing(&brought.trust));
        for offered in &brought.offers {
            output.json(&Line::Brought {
                kind: offered::kind_word(offered.kind),
                name: &offered.name,
                path: &offered.path,
                opens: &offered.opens,
                files: offered.exact.iter().map(|exact| exact.path.as_str()).collect(),
                state: offered::state_word(offered.state),
            });
        }
        return;
    }
    output.lines(&told(brought));
}

/// What a workspace brings, for a person.
pub(super) fn told(brought: &Brought) -> String {
    let mut told = vec![offered::standing(brought)];
    if brought.offers.is_empty() {
        told.push("It brings no skill, no command and no server of tools.".into());
    }
    told.extend(brought.offers.iter().map(|it| offered::offered(it, brought)));
    told.extend(offered::never_read(brought));
    told.join("\n")
}

fn give(
    agent: &Agent,
    workspace: &Path,
    brought: &Brought,
    output: &mut Output,
) -> Result<Report, Fault> {
    agent.trust(workspace, brought, SystemClock.now().0)?;
    output.talk("It is trusted as it is now. To take that back: piton trust revoke");
    Ok(Report::ok("done"))
}

fn revoke(workspace: &Path, settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    if !settings.revoke_trust(workspace)? {
        return Ok(Report::nothing("It was not trusted."));
    }
    output.talk(&format!("{} is no longer trusted.", workspace.display()));
    Ok(Report::ok("done"))
}

fn list(settings: &Settings, json: bool, output: &mut Output) -> Result<Report, Fault> {
    let all = settings.trusts()?;
    for trust in &all {
        if json {
            output.json(&standing(trust));
        } else {
            let what = match (&trust.given, trust.approved.len()) {
                (Some(given), _) => format!("trusted by {}", given.by),
                (None, 0) => "not trusted, and not asked about again".into(),
                (None, files) => format!("not trusted, but {files} of its files approved"),
            };
            output.lines(&format!("{}  {what}", trust.workspace.display()));
        }
    }
    if all.is_empty() {
        return Ok(Report::nothing("No workspace is trusted."));
    }
    Ok(Report::ok("listed"))
}

fn standing(trust: &Trust) -> Line<'_> {
    Line::Trust {
        workspace: trust.workspace.to_str().unwrap_or_default(),
        trusted: trust.is_given(),
        by: trust.given.as_ref().map(|given| given.by.as_str()),
        at: trust.given.as_ref().map(|given| given.at_ms),
        approved: trust.approved.keys().map(String::as_str).collect(),
    }
}
