//! Bringing conversations back from a damaged database.
//!
//! A conversation whose end may be missing never goes on by itself: its open turn is broken off, and every
//! call of it that has not ended is in doubt, also one whose start is not there.

use std::collections::BTreeMap;

use piton_core::event::{BreakReason, EffectClass, Entry, Event, Handle};
use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_core::state::{Progress, State, Turn};
use piton_store::{
    AppendError, Batch, CommitName, Durability, Holder, Journal, LeaseError, NewRecord, Record,
    StoreError,
};

use crate::fork::{Fork, forks};
use crate::log::{record, status_row};
use crate::reader;

/// What is said of a turn whose end may be missing.
const MAY_BE_MISSING: &str = "it was brought back from a damaged database, and entries may be missing at its \
    end: look at what was done before you go on";

/// What became of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// It is there, with so many entries.
    Now(usize),
    /// A conversation of this name is there already, and was left alone.
    Already,
    /// It has no entries.
    Nothing,
}

/// Why a conversation was not brought back.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process holds its place.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// It could not be written.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// The conversations without which an entry cannot be understood: the one that a fork was cut from, and the
/// one that a worker works for.
pub fn refers_to(record: &Record) -> Vec<ConversationId> {
    let Event::ConversationOpened { origin, parent, .. } = reader::entry(record).event else {
        return Vec::new();
    };
    let origin = origin.map(|origin| origin.conversation);
    origin.into_iter().chain(parent.map(|parent| parent.conversation)).collect()
}

/// The conversation that a fork was cut from, and the last entry that they share, by its first entry.
pub fn cut_from(record: &Record) -> Option<(ConversationId, Seq)> {
    let Event::ConversationOpened { origin, .. } = reader::entry(record).event else { return None };
    origin.map(|cut| (cut.conversation, cut.through))
}

/// A first entry of a fork that does not get back what it shares: it names nobody any more, so that what is said
/// later where it was cut from is not taken for its past.
#[must_use]
pub fn without_shared(record: Record) -> Record {
    let mut entry = reader::entry(&record);
    if let Event::ConversationOpened { origin: Some(origin), .. } = &mut entry.event {
        origin.conversation = origin.conversation.as_lost();
    }
    let NewRecord { at, format, body } = self::record(&entry);
    Record { at, format, body, ..record }
}

/// Conversations that are not there, each with the last entry that a fork which is there shares with it.
pub async fn missed(journal: &dyn Journal) -> Result<BTreeMap<ConversationId, Seq>, StoreError> {
    let mut missed = BTreeMap::new();
    for Fork { origin, .. } in forks(journal).await? {
        if journal.status(&origin.conversation).await?.is_none() {
            let through = missed.entry(origin.conversation).or_default();
            *through = origin.through.max(*through);
        }
    }
    Ok(missed)
}

/// Writes a conversation that was found in a damaged database, in one commit. `whole` says that its end is
/// there for certain. Those that it was cut from have to be there first, or are gone.
pub async fn restore(
    journal: &dyn Journal,
    conversation: &ConversationId,
    records: Vec<Record>,
    whole: bool,
    holder: Holder,
) -> Result<Restored, RestoreError> {
    if records.is_empty() {
        return Ok(Restored::Nothing);
    }
    let at = holder.since;
    let lease = journal.lease(conversation, holder).await?;
    if journal.status(conversation).await?.is_some() {
        journal.release(lease).await?;
        return Ok(Restored::Already);
    }
    let entries: Vec<_> = records.iter().map(reader::entry).collect();
    let first = entries.first().map(|entry| &entry.event);
    let shared = match first {
        Some(opened) => reader::beginning(journal, conversation, opened).await,
        None => Ok(None),
    };
    let mut state = shared?.unwrap_or_default();
    for entry in &entries {
        state.apply(entry);
    }
    let mut kept: Vec<NewRecord> = records.into_iter().map(as_new).collect();
    let entries = kept.len();
    // A copy of what a fork shares never goes on, and must not become longer.
    let is_copy = conversation.as_worker().is_some_and(|(of, _)| of.of_origin() == *conversation);
    if !whole && !is_copy {
        for event in doubts(&state) {
            let entry = Entry { seq: state.end.next(), at, event };
            state.apply(&entry);
            kept.push(record(&entry));
        }
    }
    let batch = Batch {
        name: CommitName::fresh(),
        expected: Seq(0),
        records: kept,
        status: status_row(&state),
        durability: Durability::Synced,
    };
    journal.append(&lease, batch).await?;
    journal.release(lease).await?;
    Ok(Restored::Now(entries))
}

/// What is known of an open turn whose end may be missing. A start without an end is what a call in doubt
/// is in a journal.
fn doubts(state: &State) -> Vec<Event> {
    let Some(turn) = state.open_turn() else { return Vec::new() };
    let calls = turn.steps().flat_map(|step| &step.calls);
    let waiting = calls.filter(|call| matches!(call.progress, Progress::Waiting));
    let started = waiting.map(|call| Event::ToolStarted {
        call: call.id,
        effect: EffectClass::Once,
        handle: Handle::None,
    });
    let Turn { id, .. } = turn;
    let (reason, message) = (BreakReason::Interrupted, MAY_BE_MISSING.to_owned());
    started.chain([Event::TurnBroke { turn: *id, reason, message }]).collect()
}

fn as_new(Record { at, format, body, .. }: Record) -> NewRecord {
    NewRecord { at, format, body }
}

/// Who brings conversations back.
pub fn rescuer(since: Timestamp) -> Holder {
    Holder { pid: std::process::id(), host: "localhost".into(), since }
}
