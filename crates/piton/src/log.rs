//! The journal of one conversation in the hands of its writer.
//!
//! Events are folded as soon as they are known and committed together. Nothing is shown to faces
//! and no effect is started before its commit returned; a failed commit poisons the log, because
//! its state then knows things that the journal does not.

use std::sync::Arc;

use piton_core::event::{EVENT_FORMAT, Entry, Event};
use piton_core::id::Seq;
use piton_core::state::State;
use piton_core::view::{self, Status};
use piton_store::{
    AppendError, Batch, Durability, Journal, Lease, NewRecord, StatusRow, StoreError,
};

use crate::clock::Clock;
use crate::hub::Hub;

/// Records read at once when a journal is opened.
const READ_RECORDS: usize = 4_096;

/// A conversation's journal and what it means.
#[derive(Debug)]
pub(crate) struct Log {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    lease: Lease,
    hub: Hub,
    state: State,
    pending: Vec<Entry>,
    durability: Durability,
    poisoned: bool,
}

impl Log {
    /// Reads and folds the journal. Writes nothing.
    pub(crate) async fn open(
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        lease: Lease,
    ) -> Result<Self, StoreError> {
        let state = fold(&*journal, &lease).await?;
        let hub = Hub::new(journal.clone(), lease.conversation().clone(), state.end);
        Ok(Self {
            journal,
            clock,
            lease,
            hub,
            state,
            pending: Vec::new(),
            durability: Durability::Relaxed,
            poisoned: false,
        })
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Adds a fact to the next commit.
    pub(crate) fn push(&mut self, event: Event) {
        // Stream deltas may be lost with the power; nothing else may.
        if !matches!(event, Event::ModelPartial { .. }) {
            self.durability = Durability::Synced;
        }
        let entry = Entry { seq: self.state.end.next(), at: self.clock.now(), event };
        self.state.apply(&entry);
        self.pending.push(entry);
    }

    /// Whether the state is what the journal says. After a failed commit it is not, and nothing may
    /// be answered from it: the conversation has to be opened again.
    pub(crate) fn usable(&self) -> Result<(), AppendError> {
        if self.poisoned { Err(AppendError::Store(StoreError::Closed)) } else { Ok(()) }
    }

    /// Makes all facts durable, then shows them.
    pub(crate) async fn commit(&mut self) -> Result<(), AppendError> {
        self.usable()?;
        let Some(first) = self.pending.first() else { return Ok(()) };
        let batch = Batch {
            expected: Seq(first.seq.0 - 1),
            records: self.pending.iter().map(record).collect(),
            status: status_row(&self.state),
            durability: self.durability,
        };
        // A commit that is cut short by dropping this future may or may not have taken place.
        self.poisoned = true;
        self.journal.append(&self.lease, batch).await?;
        self.poisoned = false;
        self.durability = Durability::Relaxed;
        self.hub.publish(self.pending.drain(..));
        Ok(())
    }
}

async fn fold(journal: &dyn Journal, lease: &Lease) -> Result<State, StoreError> {
    let mut state = State::default();
    if journal.status(lease.conversation()).await?.is_none() {
        return Ok(state);
    }
    loop {
        let records = journal.read(lease.conversation(), state.end, READ_RECORDS).await?;
        for record in &records {
            let event = Event::from_stored(record.format, &record.body);
            state.apply(&Entry { seq: record.seq, at: record.at, event });
        }
        if records.len() < READ_RECORDS {
            return Ok(state);
        }
    }
}

fn record(entry: &Entry) -> NewRecord {
    NewRecord { at: entry.at, format: EVENT_FORMAT, body: entry.event.to_stored() }
}

fn status_row(state: &State) -> StatusRow {
    StatusRow {
        title: view::title(state),
        workspace: state.opened.as_ref().map_or_else(String::new, |it| it.workspace.clone()),
        turns: u32::try_from(state.turns.len()).unwrap_or(u32::MAX),
        status: Status::of(state).to_string(),
        touched: state.touched,
    }
}
