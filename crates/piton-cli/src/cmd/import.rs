//! `piton import`: sessions of other agents become conversations. Their files are only read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use piton::Shelf;
use piton::clock::{Clock as _, SystemClock};
use piton::import::{self, TakeOver, Written};
use piton_agent::{Settings, workspace_around};
use piton_core::history::{History, PastEnd};
use piton_core::id::{ConversationId, Timestamp};
use piton_import::{
    Candidate, FILE_BYTES_MAX, Found, Homes, ImportError, candidates, candidates_below, digests,
    read, read_bytes,
};
use piton_store::Journal;

use super::query::stdin;
use crate::flags::Import;
use crate::output::Output;
use crate::render::age::age;
use crate::render::imported;
use crate::render::lines::Line;
use crate::render::paint::Page;
use crate::render::table::table;
use crate::render::visible::visible;
use crate::report::{Fault, ImportFault, Report};
use crate::store;

/// How standard input is written where a file is named, and what it is called.
const SIGN: &str = "-";
const STDIN: &str = "standard input";

/// Takes sessions over, or lists them.
pub(crate) async fn run(
    flags: &Import,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if flags.list {
        return list(flags, settings, output).await;
    }
    let wanted = wanted(flags, settings, output)?;
    let (mut failed, mut last) = (0, None);
    let mut journal = None;
    for (path, session) in &wanted {
        let found = if path.as_os_str() == SIGN {
            let bytes = stdin::read_alone(FILE_BYTES_MAX, output).await?;
            read_bytes(Path::new(STDIN), bytes, session.as_deref())
        } else {
            read(path, session.as_deref())
        };
        let found = match found {
            Ok(found) => found,
            Err(error) if wanted.len() == 1 => return Err(ImportFault::from(error).into()),
            Err(error) => {
                output.talk(&format!("not imported: {error}"));
                // A file in which nobody said anything lacks nothing.
                failed += usize::from(!matches!(error, ImportError::Nothing { .. }));
                continue;
            }
        };
        // Nothing is made for a file that cannot be read.
        let journal = match &mut journal {
            Some(journal) => journal,
            none => none.insert(store::open(settings, output)?),
        };
        for found in found {
            let workspace = workspace(&found.history, flags, settings)?;
            last = Some(take_over(&**journal, &found, &workspace, flags, output).await?);
        }
    }
    if last.is_none() {
        return Err(ImportFault::None { all: wanted.len() }.into());
    }
    if 0 < failed {
        return Err(ImportFault::Some { failed, all: wanted.len() }.into());
    }
    Ok(Report::ok("done").in_conversation(last.filter(|_| wanted.len() == 1)))
}

/// The files that are meant, each with a session of it if only that is.
fn wanted(
    flags: &Import,
    settings: &Settings,
    output: &mut Output,
) -> Result<Vec<(PathBuf, Option<String>)>, Fault> {
    let mut wanted = Vec::new();
    let mut listed = None;
    for path in &flags.paths {
        // A file that is called like a number is a file.
        let number = path.to_str().and_then(|typed| typed.parse::<usize>().ok());
        if let Some(number) = number.filter(|_| !path.exists()) {
            let listed = listed.get_or_insert_with(|| in_usual_places(settings));
            let found = number.checked_sub(1).and_then(|place| listed.get(place));
            let count = listed.len();
            let found = found.ok_or(ImportFault::NoSuchNumber { number, count })?;
            output.talk(&format!("{number}: {}", visible(&found.title)));
            wanted.push((found.path.clone(), found.session.clone()));
            continue;
        }
        if !path.is_dir() {
            wanted.push((path.clone(), flags.session.clone()));
            continue;
        }
        let mut below = candidates_below(path);
        if let Some(session) = &flags.session {
            below.retain(|it| it.session.as_ref().is_none_or(|name| name == session));
        }
        if below.is_empty() {
            return Err(ImportFault::NothingBelow { path: path.clone() }.into());
        }
        wanted.extend(below.into_iter().map(|it| (it.path, it.session)));
    }
    Ok(wanted)
}

/// The directory that the conversation works in from now on: where the session worked, if that is here. A
/// file of strangers must not open a whole system to tools, nor everything of a person.
fn workspace(history: &History, flags: &Import, settings: &Settings) -> Result<PathBuf, Fault> {
    let home = settings.environment.user_directory();
    let there = history.workspace.as_ref().filter(|_| !flags.here).map(PathBuf::from);
    let there = there.filter(|it| it.is_absolute()).and_then(|it| it.canonicalize().ok());
    let is_too_wide = |it: &Path| {
        let home = home.and_then(|home| home.canonicalize().ok());
        it.parent().is_none() || home.is_some_and(|home| home.starts_with(it))
    };
    let usable = |it: &PathBuf| it.is_dir() && it.to_str().is_some() && !is_too_wide(it);
    match there.filter(usable) {
        Some(there) => Ok(workspace_around(&there, home)),
        None => Ok(settings.workspace()?.to_owned()),
    }
}

async fn take_over(
    journal: &dyn Journal,
    found: &Found,
    workspace: &Path,
    flags: &Import,
    output: &mut Output,
) -> Result<ConversationId, Fault> {
    let Found { history, original } = found;
    let take = TakeOver { history, original, workspace };
    let written = import::write(journal, &SystemClock, take).await.map_err(ImportFault::from)?;
    let (conversation, known) = match written {
        Written::New(conversation) => (conversation, false),
        Written::Known(conversation) => (conversation, true),
    };
    let complete = history.turns.last().is_none_or(|turn| turn.end == PastEnd::Completed);
    if flags.json {
        let mut counts = BTreeMap::new();
        for remark in &history.remarks {
            *counts.entry(remark.kind.as_str()).or_default() += 1;
        }
        output.json(&Line::Imported {
            conversation: conversation.as_str(),
            known,
            source: &history.source,
            workspace: &workspace.to_string_lossy(),
            turns: history.turns.len(),
            complete,
            counts,
            remarks: &history.remarks,
        });
        return Ok(conversation);
    }
    output.talk(&imported::source(&history.source));
    if known {
        output.talk("it was imported before; nothing was changed");
        let shelf = journal.status(&conversation).await?.map(|listed| listed.row.shelf);
        let away = match shelf {
            Some(Shelf::Archived) => Some("archived"),
            Some(Shelf::Removed) => Some("removed"),
            Some(Shelf::Listed) | None => None,
        };
        if let Some(away) = away {
            output.talk(&format!(
                "it was {away} since; to bring it back: piton archive --back {conversation}"
            ));
        }
    } else {
        let turns = history.turns.len();
        let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
        let end = if complete { "" } else { ", the last one is incomplete" };
        output.talk(&format!("{turns}{end}; works in {}", workspace.display()));
        for line in imported::remarks(&history.remarks, 0) {
            output.talk(&line);
        }
    }
    output.data(&format!("{conversation}\n"));
    if output.is_watched() {
        output.talk(&format!("hint: to read it: piton print {conversation}"));
        output.talk(&format!("hint: to go on: piton query -c --id {conversation}"));
    }
    Ok(conversation)
}

/// The sessions in the usual places, the newest first.
fn in_usual_places(settings: &Settings) -> Vec<Candidate> {
    let environment = &settings.environment;
    let variable = |name: &str| environment.value(name).map(PathBuf::from);
    candidates(&Homes::new(environment.user_directory(), variable))
}

/// Shows the sessions in the usual places.
async fn list(flags: &Import, settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    let mut found = in_usual_places(settings);
    let total = found.len();
    found.truncate(flags.rows_max());
    let journal =
        if settings.has_database()? { Some(store::open(settings, output)?) } else { None };
    let mut rows = Vec::new();
    for (candidate, digest) in found.iter().zip(digests(&found)) {
        let known = match (&journal, digest) {
            (Some(journal), Some(digest)) => import::known(&**journal, &digest).await?,
            _ => None,
        };
        rows.push((candidate, known));
    }
    if flags.json {
        for (number, (candidate, known)) in (1..).zip(&rows) {
            output.json(&line(number, candidate, known.as_ref()));
        }
        return Ok(Report::ok("done"));
    }
    if rows.is_empty() {
        output.talk("No sessions of other agents are in their usual places.");
        output.talk("hint: piton import FILE takes one from anywhere; piton help import");
        return Ok(Report::ok("nothing"));
    }
    output.data(&listing(&rows, SystemClock.now(), output.page()));
    output.talk("hint: to take one over: piton import N");
    if rows.len() < total {
        output.talk(&format!("There are {total}: piton import --list --all"));
    }
    Ok(Report::ok("done"))
}

fn line<'a>(
    number: usize,
    candidate: &'a Candidate,
    known: Option<&'a ConversationId>,
) -> Line<'a> {
    Line::Importable {
        number,
        path: candidate.path.to_string_lossy().into_owned(),
        tool: candidate.format.tool(),
        format: candidate.format.name(),
        session: candidate.session.as_deref(),
        title: &candidate.title,
        workspace: candidate.workspace.as_deref(),
        touched: candidate.touched.0,
        conversation: known.map(ConversationId::as_str),
    }
}

fn listing(
    rows: &[(&Candidate, Option<ConversationId>)],
    now: Timestamp,
    page: Option<Page>,
) -> String {
    let cells = |(number, (candidate, known)): (usize, &(&Candidate, Option<ConversationId>))| {
        let known = known.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        let (touched, tool) = (age(candidate.touched, now), candidate.format.tool().to_owned());
        [number.to_string(), touched, tool, known, visible(&candidate.title).into_owned()]
    };
    let rows = (1..).zip(rows);
    let head = ["N", "TOUCHED", "TOOL", "IMPORTED", "TITLE"].map(str::to_owned);
    if page.is_some() {
        // A path would take most of the room, and nobody has to type it.
        let lines: Vec<_> = [head].into_iter().chain(rows.map(cells)).collect();
        return table(&lines, page);
    }
    let with_file = |[number, touched, tool, known, title]: [String; 5], file| {
        [number, touched, tool, known, title, file]
    };
    let mut lines = vec![with_file(head, "FILE".to_owned())];
    lines.extend(rows.map(|row| {
        let candidate = row.1.0;
        let session = candidate.session.as_ref().map(|it| format!(" --session {it}"));
        let path = candidate.path.to_string_lossy();
        let file = format!("{path}{}", session.unwrap_or_default());
        with_file(cells(row), visible(&file).into_owned())
    }));
    table(&lines, page)
}
