//! `piton ls`: conversations, the newest first. Reads status rows, of journals the first entry, which says what
//! they were forked from, and all of them only to say what was used.
//!
//! Those of a repository are the ones that work in it or below it: builds before repositories counted
//! began conversations in its subdirectories.

use std::path::Path;

use piton::clock::{Clock as _, SystemClock};
use piton::{Kept, Shelf, reader};
use piton_agent::Settings;
use piton_core::id::{ConversationId, Timestamp};
use piton_core::view::{Status, View};
use piton_store::{Directory, Filter, Journal, Listed, Page, TurnIs};

use super::retention::purge_old;
use crate::flags::Ls;
use crate::output::Output;
use crate::render::age::age;
use crate::render::cost::{self, InAll};
use crate::render::lines::Line;
use crate::render::paint;
use crate::render::table::table;
use crate::render::turn::said_in;
use crate::render::visible::visible;
use crate::report::{Fault, Report, fault};
use crate::store;

/// What is known of a conversation beside its row.
#[derive(Clone, Debug)]
struct Beside {
    /// Answers in letters that no process has taken yet.
    answers: usize,
    /// Messages in such letters.
    messages: usize,
    /// What it was forked from.
    origin: Option<ConversationId>,
    /// What it has used, if that is asked for.
    in_all: Option<InAll>,
}

/// The title of a conversation, told from that of its origin.
pub(super) fn titled(listed: &Listed, origin: Option<&ConversationId>) -> String {
    let title = visible(&listed.row.title);
    match origin {
        Some(origin) => format!("{title} (fork of {origin})"),
        None => title.into_owned(),
    }
}

/// What a conversation was forked from. Workers say so by their names.
pub(super) async fn forked_from(
    journal: &dyn Journal,
    id: &ConversationId,
) -> Option<ConversationId> {
    if id.as_worker().is_some() {
        return None;
    }
    // One that cannot be read is listed all the same.
    let origin = reader::origin_of(journal, id).await.ok().flatten();
    origin.map(|origin| origin.conversation)
}

/// Lists them. What the settings say is too old goes then.
pub(crate) async fn run(
    ls: &Ls,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let report = list(ls, settings, output).await?;
    if settings.has_database()? {
        purge_old(settings, output).await?;
    }
    Ok(report)
}

async fn list(ls: &Ls, settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    let aside = settings.set_aside();
    let (mut rows, mut total, mut goes_on) = (Vec::new(), 0, false);
    let is_emptied = store::emptied(settings).is_some();
    if settings.has_database()? {
        let journal = store::open(settings, output)?;
        let page = Page { filter: filter(ls, settings), ..Page::first(ls.rows_max()) };
        let listing = journal.list(page).await?;
        // Of all directories: a filtered list is not counted.
        (total, goes_on) = (listing.total, listing.next.is_some());
        for listed in listing.rows {
            let kept = Kept::of(&*journal, &listed.conversation).await?;
            let answers = kept.iter().filter(|kept| kept.answer().is_some()).count();
            let says = |kept: &&Kept| said_in(&kept.envelope.command).is_some();
            let messages = kept.iter().filter(says).count();
            let origin = forked_from(&*journal, &listed.conversation).await;
            let in_all = if ls.cost { used(&*journal, &listed.conversation).await } else { None };
            rows.push((listed, Beside { answers, messages, origin, in_all }));
        }
    } else {
        store::warn_if_emptied(settings, output);
    }
    if ls.json {
        for (listed, Beside { answers, messages, origin, in_all }) in &rows {
            let more = (origin.as_ref(), *in_all);
            output.json(&Line::listed(listed, (*answers, *messages), more));
        }
        return Ok(Report::ok("done"));
    }
    if total == 0 && is_emptied {
        return Ok(Report::ok("nothing"));
    }
    if total == 0 {
        output.talk("No conversations yet. Begin one: piton query \"list the files here\"");
        if let Some(hint) = fault::about(&aside) {
            output.talk(&format!("hint: {hint}"));
        }
        return Ok(Report::ok("nothing"));
    }
    if rows.is_empty() && ls.is_filtered() {
        output.talk("No conversation fits; without filters: piton ls");
        return Ok(Report::ok("nothing"));
    }
    if rows.is_empty() {
        output.talk("No conversations in this workspace; those of all directories: piton ls --all");
        return Ok(Report::ok("nothing"));
    }
    let workspace = settings.workspace().ok().filter(|_| !ls.all);
    let is_here = |(listed, _): &(Listed, Beside)| {
        workspace.is_some_and(|workspace| workspace == Path::new(&listed.row.workspace))
    };
    let directories =
        if rows.iter().all(is_here) { Directories::Hidden } else { Directories::Shown };
    output.data(&listing(&rows, SystemClock.now(), directories, output.page()));
    if goes_on {
        let all = if ls.all { " --all" } else { "" };
        output.talk(&format!("There are more: piton ls{all} --limit 0"));
    }
    Ok(Report::ok("done"))
}

/// Which conversations are listed. Nobody is in the workspace of a directory that is gone, so there all
/// of them are.
fn filter(ls: &Ls, settings: &Settings) -> Filter {
    let turn = match (ls.waiting, ls.open) {
        (true, _) => Some(TurnIs::Asking),
        (false, true) => Some(TurnIs::Open),
        (false, false) => None,
    };
    let since = ls.since.map(|ms| Timestamp(SystemClock.now().0.saturating_sub(ms)));
    let directory = if ls.all { None } else { here(settings) };
    let worker = (!ls.all && !ls.workers).then_some(false);
    let shelf = Some(match (ls.archived, ls.removed) {
        (true, _) => Shelf::Archived,
        (false, true) => Shelf::Removed,
        (false, false) => Shelf::Listed,
    });
    Filter { directory, turn, text: ls.text.clone(), worker, since, shelf }
}

/// Where the conversations of this workspace work; nowhere in particular in a directory that is gone.
pub(super) fn here(settings: &Settings) -> Option<Directory> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    match (&settings.repository, settings.workspace()) {
        (Some(root), _) => Some(Directory::Within(text(root))),
        (None, Ok(here)) => Some(Directory::Exactly(text(here))),
        (None, Err(_)) => None,
    }
}

/// Whether the directories of conversations are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directories {
    Shown,
    /// It is always the workspace.
    Hidden,
}

/// How it stands with a conversation, and with what nobody has taken yet.
fn status(listed: &Listed, beside: &Beside) -> String {
    let status = match &listed.holder {
        Some(holder) if is_asking(listed) => format!("running (pid {}), asks", holder.pid),
        Some(holder) => format!("running (pid {})", holder.pid),
        None => listed.row.status.to_string(),
    };
    let waiting = match listed.row.waiting {
        0 => String::new(),
        1 => "1 message waits".into(),
        waiting => format!("{waiting} messages wait"),
    };
    let messages = match beside.messages {
        0 => String::new(),
        1 => "1 message left, not taken yet".into(),
        messages => format!("{messages} messages left, not taken yet"),
    };
    let answers = match beside.answers {
        0 => String::new(),
        1 => "1 answer kept".into(),
        answers => format!("{answers} answers kept"),
    };
    let parts = [status, waiting, messages, answers];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Whether a person is asked. The row is as new as the journal.
fn is_asking(listed: &Listed) -> bool {
    matches!(listed.row.status, Status::WaitingForInput { .. })
}

fn listing(
    rows: &[(Listed, Beside)],
    now: Timestamp,
    directories: Directories,
    page: Option<paint::Page>,
) -> String {
    let head =
        ["ID", "TOUCHED", "TURNS", "STATUS", "USED", "DIRECTORY", "TITLE"].map(str::to_owned);
    let mut lines = vec![head];
    lines.extend(rows.iter().map(|(listed, beside)| {
        [
            listed.conversation.to_string(),
            age(listed.row.touched, now),
            listed.row.turns.to_string(),
            status(listed, beside),
            spent(beside.in_all),
            // A table is for people, also in a pager; programs have --json.
            visible(&listed.row.workspace).into_owned(),
            titled(listed, beside.origin.as_ref()),
        ]
    }));
    let is_used = rows.iter().any(|(_, beside)| beside.in_all.is_some());
    let lines = lines.into_iter();
    match (is_used, directories) {
        (true, Directories::Shown) => table(&lines.collect::<Vec<_>>(), page),
        (true, Directories::Hidden) => {
            let without = |[id, touched, turns, status, used, _, title]: [String; 7]| {
                [id, touched, turns, status, used, title]
            };
            table(&lines.map(without).collect::<Vec<_>>(), page)
        }
        (false, Directories::Shown) => {
            let without = |[id, touched, turns, status, _, directory, title]: [String; 7]| {
                [id, touched, turns, status, directory, title]
            };
            table(&lines.map(without).collect::<Vec<_>>(), page)
        }
        (false, Directories::Hidden) => {
            let without = |[id, touched, turns, status, _, _, title]: [String; 7]| {
                [id, touched, turns, status, title]
            };
            table(&lines.map(without).collect::<Vec<_>>(), page)
        }
    }
}

/// What a conversation has used, and what that cost.
fn spent(in_all: Option<InAll>) -> String {
    let Some(InAll { usage, cost_microdollars, .. }) = in_all else { return String::new() };
    let parts = [cost::used(usage), cost_microdollars.map(cost::dollars)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The same, from its journal. One that cannot be read must not hide the others.
async fn used(journal: &dyn Journal, conversation: &ConversationId) -> Option<InAll> {
    let state = reader::state(journal, conversation).await.ok()?;
    Some(InAll::of(&View::from(&state)))
}
