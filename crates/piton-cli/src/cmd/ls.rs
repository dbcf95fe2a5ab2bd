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
use crate::render::turn::said_in;
use crate::render::visible::visible;
use crate::report::{Fault, Report, fault};
use crate::store;

/// How many answers and messages lie in letters that no process has taken yet.
#[derive(Clone, Copy, Debug)]
struct Untaken {
    answers: usize,
    messages: usize,
}

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
            let answers = kept.iter().filter(|kept| kept.answer().is_some()).count();
            let says = |kept: &&Kept| said_in(&kept.envelope.command).is_some();
            let messages = kept.iter().filter(says).count();
            rows.push((listed, Untaken { answers, messages }));
        }
    }
    if ls.json {
        for (listed, Untaken { answers, messages }) in &rows {
            output.json(&Line::listed(listed, *answers, *messages));
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

/// How it stands with a conversation, and with what nobody has taken yet.
fn status(listed: &Listed, untaken: Untaken) -> String {
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
    let messages = match untaken.messages {
        0 => String::new(),
        1 => "1 message left, not taken yet".into(),
        messages => format!("{messages} messages left, not taken yet"),
    };
    let answers = match untaken.answers {
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

fn listing(rows: &[(Listed, Untaken)], now: Timestamp) -> String {
    let head = ["ID", "TOUCHED", "TURNS", "STATUS", "TITLE"].map(str::to_owned);
    let mut lines = vec![head];
    lines.extend(rows.iter().map(|(listed, untaken)| {
        [
            listed.conversation.to_string(),
            age(listed.row.touched, now),
            listed.row.turns.to_string(),
            status(listed, *untaken),
            // A table is for people, also in a pager; programs have --json.
            visible(&listed.row.title).into_owned(),
        ]
    }));
    table(&lines)
}
