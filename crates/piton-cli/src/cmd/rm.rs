//! `piton rm`: hides conversations, and with `--purge` takes them away for good.
//!
//! Purging is the only thing here that cannot be taken back. So it asks, and it is refused while anybody
//! works on the conversation, while one of its commands runs, and while a fork needs what was said in it:
//! `--detach` copies that first.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use piton::Shelf;
use piton::clock::{Clock as _, SystemClock};
use piton::commands::Commands;
use piton::fork::{self, Fork};
use piton_agent::Settings;
use piton_core::id::ConversationId;
use piton_server::Drafts;
use piton_store::{Holder, Journal, Lease, LeaseError, PurgeError, SqliteJournal};

use super::init::agrees;
use super::shelve::shelve;
use crate::drafts;
use crate::flags::Rm;
use crate::output::Output;
use crate::render::visible::visible_name;
use crate::report::{Fault, ForkFault, Report, holding};
use crate::target;
use crate::terminal::Terminal;

/// Removes them, or purges them.
pub(crate) async fn run(
    rm: &Rm,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (journal, notice) = SqliteJournal::open(&settings.home)?;
    if let Some(notice) = notice {
        output.talk(&format!("warning: {notice}"));
    }
    let mut meant = Vec::new();
    for typed in &rm.ids {
        meant.push(target::to_change(&journal, typed, settings).await?);
    }
    // Whoever handed the task out may still need what the worker found.
    if let Some((worker, (parent, _))) = meant.iter().find_map(|id| Some((id, id.as_worker()?)))
        && rm.purge
    {
        return Ok(Report::misuse(&format!(
            "error: {worker} works for {parent}, and goes with it\nhint: piton rm --purge {parent}"
        )));
    }
    let all = with_workers(&journal, &meant).await?;
    if let Some(refused) = at_work(&journal, &all, settings).await? {
        return Ok(refused);
    }
    let forks = if rm.purge { fork::attached(&journal, &all).await? } else { Vec::new() };
    if !forks.is_empty() && !rm.detach {
        return Ok(needed(&rm.ids, &forks));
    }
    if !rm.yes {
        let question = question(&journal, &meant, rm.purge).await?;
        let may_ask = settings.environment.value("PITON_NO_INPUT").is_none();
        let Some(terminal) = may_ask.then(Terminal::open).and_then(Result::ok) else {
            let purge = if rm.purge { " --purge" } else { "" };
            return Ok(Report::misuse(&format!(
                "error: nobody can be asked here\nhint: without a question: piton rm{purge} --yes {}",
                rm.ids.join(" ")
            )));
        };
        if !agrees(terminal, &question).await? {
            return Ok(Report::nothing("Nothing is removed."));
        }
    }
    if rm.purge {
        // Durable before anything is taken away.
        for fork in &forks {
            fork::detach(&journal, &SystemClock, fork).await.map_err(ForkFault::from)?;
            let (own, origin) = (fork.conversation.root(), &fork.origin.conversation);
            output.talk(&format!("Fork {own} has a copy of what it shared with {origin}."));
        }
        return purge(&journal, &all, settings, output).await;
    }
    drop(journal);
    shelve(&meant, Shelf::Removed, (rm.json, settings), output).await
}

async fn question(
    journal: &SqliteJournal,
    meant: &[ConversationId],
    purge: bool,
) -> Result<String, Fault> {
    let mut named = Vec::new();
    for id in meant {
        let title = journal.status(id).await?.map(|listed| listed.row.title).unwrap_or_default();
        named.push(format!("{id} \"{}\"", visible_name(&title)));
    }
    let named = named.join(", ");
    Ok(if purge {
        format!("Purge {named}? It cannot be brought back. [y/N] ")
    } else {
        format!("Remove {named}? [y/N] ")
    })
}

/// The conversations, and all workers of theirs.
pub(super) async fn with_workers(
    journal: &SqliteJournal,
    meant: &[ConversationId],
) -> Result<Vec<ConversationId>, Fault> {
    let mut all = BTreeSet::new();
    for id in meant {
        let below = journal.find(id.as_str(), usize::MAX).await?;
        all.extend(below.into_iter().filter(|found| found == id || is_below(found, id)));
    }
    Ok(all.into_iter().collect())
}

/// Whether a conversation is a worker of another one, or of its workers.
fn is_below(found: &ConversationId, id: &ConversationId) -> bool {
    let mut up = found.as_worker().map(|(parent, _)| parent);
    while let Some(parent) = up {
        if parent == *id {
            return true;
        }
        up = parent.as_worker().map(|(parent, _)| parent);
    }
    false
}

/// Who works on conversations, if anybody does.
pub(super) async fn at_work(
    journal: &SqliteJournal,
    all: &[ConversationId],
    settings: &Settings,
) -> Result<Option<Report>, Fault> {
    for id in all {
        let holder = journal.status(id).await?.and_then(|listed| listed.holder);
        if holder.is_some() {
            return Ok(Some(is_held(id, holder.as_ref())));
        }
    }
    let commands = Commands::new(settings.calls()).all();
    let running =
        commands.iter().find(|kept| kept.state.goes_on() && all.contains(&kept.conversation));
    Ok(running.map(|kept| {
        let name = Commands::name(kept);
        Report::held(&format!(
            "error: a command of conversation {} still runs\nhint: to stop it: piton kill {name}",
            kept.conversation
        ))
    }))
}

/// Forks need what would go.
fn needed(typed: &[String], forks: &[Fork]) -> Report {
    let origins: BTreeSet<_> = forks.iter().map(|fork| fork.origin.conversation.root()).collect();
    let forks: BTreeSet<_> = forks.iter().map(|fork| fork.conversation.root()).collect();
    let named = |names: &BTreeSet<ConversationId>, between: &str| {
        names.iter().map(ConversationId::as_str).collect::<Vec<_>>().join(between)
    };
    let (are, begin) = match forks.len() {
        1 => ("is a fork", "begins"),
        _ => ("are forks", "begin"),
    };
    Report::misuse(&format!(
        "error: {} {are} of {}, and {begin} with what was said there\n\
         hint: to copy that first, so that they lose nothing: piton rm --purge --detach {}\n\
         hint: to purge the forks: piton rm --purge {}",
        named(&forks, ", "),
        named(&origins, ", "),
        typed.join(" "),
        named(&forks, " "),
    ))
}

fn is_held(id: &ConversationId, holder: Option<&Holder>) -> Report {
    Report::held(&format!(
        "error: conversation {id} is held by {}\nhint: to stop its turn: piton stop {id}",
        holding(holder)
    ))
}

/// Takes conversations away for good, and says so.
async fn purge(
    journal: &SqliteJournal,
    all: &[ConversationId],
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if let Err(refused) = take_away(journal, all, settings, output).await? {
        return Ok(refused);
    }
    let names: Vec<_> = all.iter().map(ConversationId::as_str).collect();
    output.talk(&format!("Purged: {}", names.join(", ")));
    Ok(Report::ok("done"))
}

/// Takes conversations away for good, unless something stands against it, which is told.
pub(super) async fn take_away(
    journal: &SqliteJournal,
    all: &[ConversationId],
    settings: &Settings,
    output: &mut Output,
) -> Result<Result<(), Report>, Fault> {
    let mut leases: Vec<Lease> = Vec::new();
    for id in all {
        let host = "purge".to_owned();
        let holder = Holder { pid: std::process::id(), host, since: SystemClock.now() };
        match journal.lease(id, holder).await {
            Ok(lease) => leases.push(lease),
            Err(LeaseError::Held { holder, .. }) => return Ok(Err(is_held(id, holder.as_ref()))),
            Err(LeaseError::Store(error)) => return Err(error.into()),
        }
    }
    // Somebody may have made one meanwhile.
    let forks = fork::attached(journal, all).await?;
    if !forks.is_empty() {
        let typed: Vec<_> = all.iter().map(ToString::to_string).collect();
        return Ok(Err(needed(&typed, &forks)));
    }
    // What lies beside the journal goes first: without its conversation nobody would know whose it is.
    for id in all {
        remove_beside(&settings.home, id)
            .map_err(|(path, source)| Fault::Write { path, source })?;
    }
    match journal.purge(&leases).await {
        Ok(purged) if purged.log_is_read => {
            output.talk("warning: another process reads the database, so its log still has what was purged; it goes when that process has ended and piton has started again");
            Ok(Ok(()))
        }
        Ok(_) => Ok(Ok(())),
        Err(PurgeError::Writers) => Ok(Err(Report::held(
            "error: a process works on another conversation, and may need what would go\nhint: purge when nothing runs; piton ls --all --open shows what does",
        ))),
        Err(PurgeError::Store(error)) => Err(error.into()),
    }
}

/// Removes records of commands, old versions of files and drafts of a conversation.
fn remove_beside(home: &Path, id: &ConversationId) -> Result<(), (PathBuf, io::Error)> {
    let calls = home.join("calls").join(id.as_str());
    if calls.is_dir() {
        fs::remove_dir_all(&calls).map_err(|error| (calls.clone(), error))?;
    }
    remove_named(&home.join("scratch").join("undo"), &|name| {
        name.strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with('-'))
    })?;
    let typed = Drafts::of(home).file(id);
    match fs::remove_file(&typed) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err((typed, error)),
        _ => {}
    }
    drafts::forget_of(home, id)
}

fn remove_named(
    directory: &Path,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<(), (PathBuf, io::Error)> {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_ours) {
            fs::remove_file(entry.path()).map_err(|error| (entry.path(), error))?;
        }
    }
    Ok(())
}
