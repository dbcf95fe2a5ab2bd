//! Forks that outlive what they were cut from: before that is purged, they get a copy of what they share.
//!
//! The copy has the same entries at the same places, under a name that follows from the fork's, so a fork
//! means the same before and after, and nothing in it has to be changed. It is read only where the origin is
//! gone. A process that dies here leaves a copy that is not whole, and the next one goes on with it; nothing
//! is taken away before all copies are durable.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use piton_core::event::{Event, ForkOrigin};
use piton_core::id::{CallId, ConversationId, Seq};
use piton_core::state::{Progress, Turn};
use piton_core::view::Status;
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, LIST_ROWS, Lease, Listed, NewRecord, Page,
    Record, StatusRow, StoreError, Wants,
};

use super::{Fork, ForkError};
use crate::clock::Clock;
use crate::reader;

/// Records that are copied with one commit.
const COPIED_RECORDS: usize = 64;

/// All conversations that were cut from another one. Reads the first entry of every conversation.
pub async fn forks(journal: &dyn Journal) -> Result<Vec<Fork>, StoreError> {
    let mut forks = Vec::new();
    let mut page = Page::first(LIST_ROWS);
    loop {
        let listing = journal.list(page.clone()).await?;
        for Listed { conversation, .. } in listing.rows {
            // One that cannot be read needs nobody any more.
            let first = journal.read(&conversation, Seq::default(), 1).await.unwrap_or_default();
            let opened = first.first().map(|record| reader::entry(record).event);
            if let Some(Event::ConversationOpened { origin: Some(origin), .. }) = opened {
                forks.push(Fork { conversation, origin });
            }
        }
        match listing.next {
            Some(next) => page.after = Some(next),
            None => return Ok(forks),
        }
    }
}

/// The conversations that were cut from one of these, are none of them, and have no copy of what they share.
/// Reads the first entry of every conversation.
pub async fn attached(
    journal: &dyn Journal,
    all: &[ConversationId],
) -> Result<Vec<Fork>, StoreError> {
    let mut attached = Vec::new();
    for fork in forks(journal).await? {
        // A row that moved while the list was read comes twice.
        if needs(journal, &fork, all).await? && !attached.contains(&fork) {
            attached.push(fork);
        }
    }
    Ok(attached)
}

/// Whether a fork lacks a copy of what it shares with one of these.
async fn needs(
    journal: &dyn Journal,
    Fork { conversation, origin }: &Fork,
    all: &[ConversationId],
) -> Result<bool, StoreError> {
    if all.contains(conversation) || !all.contains(&origin.conversation) {
        return Ok(false);
    }
    let Some(end) = journal.status(&origin.conversation).await?.map(|listed| listed.end) else {
        return Ok(false);
    };
    let copied = journal.status(&conversation.of_origin()).await?.map(|listed| listed.end);
    Ok(copied.unwrap_or_default() < origin.through.min(end))
}

/// Copies what a fork shares, so that the conversation that it was cut from can go. The copy is durable when
/// this returns.
pub async fn detach(
    journal: &dyn Journal,
    clock: &dyn Clock,
    fork: &Fork,
) -> Result<(), ForkError> {
    let copy = fork.conversation.of_origin();
    let host = "localhost".to_owned();
    let holder = Holder { pid: std::process::id(), host, since: clock.now() };
    let lease = journal.lease(&copy, holder).await?;
    let done = copy_entries(journal, &lease, &copy, fork).await;
    journal.release(lease).await?;
    done
}

async fn copy_entries(
    journal: &dyn Journal,
    lease: &Lease,
    copy: &ConversationId,
    fork: &Fork,
) -> Result<(), ForkError> {
    let ForkOrigin { conversation: from, through } = &fork.origin;
    let mut end = journal.status(copy).await?.map_or(Seq::default(), |listed| listed.end);
    let listed = journal.status(from).await?.ok_or_else(|| ForkError::Unknown(from.clone()))?;
    let through = *through.min(&listed.end);
    let status = StatusRow {
        title: format!("what {} begins with", fork.conversation),
        status: Status::Idle,
        wants: Wants::Nobody,
        broke: None,
        waiting: 0,
        ..listed.row
    };
    while end < through {
        let records = journal.read(from, end, COPIED_RECORDS).await?;
        let mut records: Vec<_> = records.into_iter().filter(|it| it.seq <= through).collect();
        let Some(last) = records.last().map(|last| last.seq) else { return Ok(()) };
        let is_last = last == through;
        if is_last {
            // With the last ones, so that a copy that is whole has these.
            records.extend(ends_behind(journal, &fork.origin).await?);
        }
        let batch = Batch {
            name: CommitName::fresh(),
            expected: end,
            records: records.into_iter().map(copied).collect(),
            status: status.clone(),
            durability: if is_last { Durability::Synced } else { Durability::Relaxed },
        };
        journal.append(lease, batch).await?;
        end = last;
    }
    Ok(())
}

/// How calls ended that were under way where the fork was cut: it takes that over from the origin.
async fn ends_behind(
    journal: &dyn Journal,
    ForkOrigin { conversation, through }: &ForkOrigin,
) -> Result<Vec<Record>, StoreError> {
    let state = reader::state_through(journal, conversation, *through).await?;
    let steps = state.open_turn().into_iter().flat_map(Turn::steps);
    let calls = steps.flat_map(|step| &step.calls);
    let open = calls.filter(|call| !matches!(call.progress, Progress::Done(_)));
    let open: BTreeSet<CallId> = open.map(|call| call.id).collect();
    let mut ends = Vec::new();
    if open.is_empty() {
        return Ok(ends);
    }
    reader::each_record(journal, conversation, *through, |record| {
        if let Event::ToolFinished { call, .. } = reader::entry(&record).event
            && open.contains(&call)
        {
            ends.push(record);
        }
        ControlFlow::Continue(())
    })
    .await?;
    Ok(ends)
}

fn copied(Record { at, format, body, .. }: Record) -> NewRecord {
    NewRecord { at, format, body }
}
