//! `piton ls`: conversations, the newest first. Reads status rows, never a journal.

use piton::Kept;
use piton::clock::{Clock as _, SystemClock};
use piton_agent::Settings;
use piton_core::id::Timestamp;
use piton_core::view::Status;
use piton_store::{Filter, Listed, Page};

use crate::flags::Ls;
use crate::output::Output;
use crate::render::age::age;
use crate::render::lines::Line;
use crate::render::table::table;
use crate::render::visible::visible;
use crate::report::{Fault, Report, fault};
use crate::store;

/// Lists them.
pub(crate) async fn run(
    ls: &Ls,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let aside = settings.set_aside();
    let (mut rows, mut total) = (Vec::new(), 0);
    if settings.has_database()? {
        let journal = store::open(settings, output)?;
        let page = if ls.all {
            Page::first(usize::MAX)
        } else {
            let filter = Filter { worker: Some(false), ..Filter::default() };
            Page { filter, ..Page::first(ls.limit) }
        };
        let listing = journal.list(page).await?;
        total = listing.total;
        for listed in listing.rows {
            let kept = Kept::of(&*journal, &listed.conversation).await?;
            let kept = kept.iter().filter(|kept| kept.answer().is_some()).count();
            rows.push((listed, kept));
        }
    }
    if ls.json {
        for (listed, kept) in &rows {
            output.json(&Line::listed(listed, *kept));
        }
        return Ok(Report::ok("done"));
    }
    if total == 0 {
        output.talk("No conversations yet. Begin one: piton query \"list the files here\"");
        if let Some(hint) = fault::about(&aside) {
            output.talk(&format!("hint: {hint}"));
        }
        return Ok(Report::ok("nothing"));
    }
    output.data(&listing(&rows, SystemClock.now()));
    let more = total.saturating_sub(rows.len());
    if 0 < more {
        output.talk(&format!("{more} more: piton ls --all"));
    }
    Ok(Report::ok("done"))
}

/// How it stands with a conversation, and with answers that nobody has taken yet.
fn status(listed: &Listed, kept: usize) -> String {
    let status = match &listed.holder {
        Some(holder) if is_asking(listed) => format!("running (pid {}), asks", holder.pid),
        Some(holder) => format!("running (pid {})", holder.pid),
        None => listed.row.status.to_string(),
    };
    let comma = if status.is_empty() { "" } else { ", " };
    let status = match listed.row.waiting {
        0 => status,
        1 => format!("{status}{comma}1 message waits"),
        waiting => format!("{status}{comma}{waiting} messages wait"),
    };
    match kept {
        0 => status,
        1 => format!("{status}, 1 answer kept"),
        kept => format!("{status}, {kept} answers kept"),
    }
}

/// Whether a person is asked. The row is as new as the journal.
fn is_asking(listed: &Listed) -> bool {
    matches!(listed.row.status, Status::WaitingForInput { .. })
}

fn listing(rows: &[(Listed, usize)], now: Timestamp) -> String {
    let head = ["ID", "TOUCHED", "TURNS", "STATUS", "TITLE"].map(str::to_owned);
    let mut lines = vec![head];
    lines.extend(rows.iter().map(|(listed, kept)| {
        [
            listed.conversation.to_string(),
            age(listed.row.touched, now),
            listed.row.turns.to_string(),
            status(listed, *kept),
            // A table is for people, also in a pager; programs have --json.
            visible(&listed.row.title).into_owned(),
        ]
    }));
    table(&lines)
}
