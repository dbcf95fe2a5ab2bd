//! Conversations that are too old to be kept, where the settings say so (`keep_days`). Without that, every
//! conversation is kept.
//!
//! Looked for behind `piton ls`, when a person has what was asked for. Only what is complete goes, and only as
//! far as nothing stands against it: what is held, needed by a fork, or has a command that runs stays, and so
//! does everything while somebody writes.

use std::time::Duration;

use piton::clock::{Clock as _, SystemClock};
use piton::{Kept, fork};
use piton_agent::{Agent, Settings};
use piton_core::id::{ConversationId, Timestamp};
use piton_store::{Filter, Journal, Listed, Page, SqliteJournal, TurnIs};

use super::rm::{at_work, take_away, with_workers};
use crate::output::Output;
use crate::report::Fault;

/// Seconds of a day.
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Purges what is too old, and says so. What cannot go now can go another time.
pub(super) async fn purge_old(settings: &Settings, output: &mut Output) -> Result<(), Fault> {
    // Settings that make no sense are told by whoever needs them.
    let Some(days) = Agent::load(settings.clone()).ok().and_then(|agent| agent.keep_days()) else {
        return Ok(());
    };
    let age = Duration::from_secs(u64::from(days).saturating_mul(DAY_SECONDS));
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    let before = Timestamp(SystemClock.now().0.saturating_sub(age_ms));
    let (journal, _) = SqliteJournal::open(&settings.home)?;
    let old = old(&journal, before, settings).await?;
    if old.is_empty() {
        return Ok(());
    }
    let all = with_workers(&journal, &old).await?;
    if take_away(&journal, &all, settings, output).await?.is_ok() {
        let names: Vec<_> = old.iter().map(ConversationId::as_str).collect();
        let days = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
        output.talk(&format!(
            "Purged, because nothing was said in them for {days} (keep_days): {}",
            names.join(", ")
        ));
    }
    Ok(())
}

/// The conversations that are complete, in which nothing happened since, and that nobody needs.
async fn old(
    journal: &SqliteJournal,
    before: Timestamp,
    settings: &Settings,
) -> Result<Vec<ConversationId>, Fault> {
    let filter = Filter { turn: Some(TurnIs::Ended), worker: Some(false), ..Filter::default() };
    let rows = journal.list(Page { filter, ..Page::first(usize::MAX) }).await?.rows;
    let is_old = |listed: &Listed| {
        listed.row.touched < before && listed.row.waiting == 0 && listed.holder.is_none()
    };
    let mut old = Vec::new();
    for id in rows.into_iter().filter(is_old).map(|listed| listed.conversation) {
        // Somebody left something for it.
        let is_free = Kept::of(journal, &id).await?.is_empty()
            && at_work(journal, &with_workers(journal, std::slice::from_ref(&id)).await?, settings)
                .await?
                .is_none();
        old.extend(is_free.then_some(id));
    }
    loop {
        let needed = fork::attached(journal, &with_workers(journal, &old).await?).await?;
        let before = old.len();
        old.retain(|id| !needed.iter().any(|fork| fork.origin.conversation.root() == *id));
        if old.len() == before {
            return Ok(old);
        }
    }
}
