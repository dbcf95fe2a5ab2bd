//! The journal of one conversation in the hands of its writer.
//!
//! Events are folded as soon as they are known and committed together. Nothing is shown to faces
//! and no effect is started before its commit returned; a failed commit poisons the log, because
//! its state then knows things that the journal does not.

use std::sync::Arc;

use piton_core::action::{Action, Wish};
use piton_core::decide::decide;
use piton_core::event::{EVENT_FORMAT, Entry, Event};
use piton_core::id::{Seq, TurnId};
use piton_core::state::State;
use piton_core::view::{self, Status};
use piton_store::{
    AppendError, Batch, CommitName, CommitOutcome, Durability, Journal, Lease, NewRecord,
    StatusRow, StoreError, Wants,
};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::live::{LiveWriter, Lives};
use crate::noted::note;
use crate::reader;

/// A conversation's journal and what it means.
#[derive(Debug)]
pub(crate) struct Log {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    lease: Lease,
    live: LiveWriter,
    /// Whether a question waits for a person.
    asking: watch::Sender<bool>,
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
        lives: &Lives,
    ) -> Result<Self, StoreError> {
        let known = journal.status(lease.conversation()).await?.is_some();
        let state = if known {
            reader::state(&*journal, lease.conversation()).await?
        } else {
            State::default()
        };
        let live = lives.write(lease.conversation(), state.end);
        let asking = watch::Sender::new(is_asking(&state));
        Ok(Self {
            journal,
            clock,
            lease,
            live,
            asking,
            state,
            pending: Vec::new(),
            durability: Durability::Relaxed,
            poisoned: false,
        })
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Begins with what another conversation had said. Only before the first entry.
    pub(crate) fn begin_from(&mut self, cut: State) {
        if self.state.end == Seq::default() {
            self.state = cut.forked();
        }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Where it is shown what no entry holds yet.
    pub(crate) fn live(&self) -> &LiveWriter {
        &self.live
    }

    /// Whether a question waits for a person, as it changes.
    pub(crate) fn asking(&self) -> watch::Receiver<bool> {
        self.asking.subscribe()
    }

    /// Adds a fact to the next commit.
    pub(crate) fn push(&mut self, event: Event) {
        // Stream deltas may be lost with the power; nothing else may.
        if !matches!(event, Event::ModelPartial { .. }) {
            self.durability = Durability::Synced;
        }
        let entry = Entry { seq: self.state.end.next(), at: self.clock.now(), event };
        self.state.apply(&entry);
        note(self.lease.conversation(), &entry.event, &self.state);
        self.pending.push(entry);
    }

    /// Facts that are not durable yet.
    pub(crate) fn pending(&self) -> &[Entry] {
        &self.pending
    }

    /// Whether the state is what the journal says. After a failed commit it is not, and nothing may
    /// be answered from it: the conversation has to be opened again.
    pub(crate) fn usable(&self) -> Result<(), AppendError> {
        if self.poisoned { Err(AppendError::Store(StoreError::Closed)) } else { Ok(()) }
    }

    /// Nothing more is written or answered: the conversation has to be opened again.
    pub(crate) fn close(&mut self) {
        self.poisoned = true;
    }

    /// Makes all facts durable, then shows them.
    pub(crate) async fn commit(&mut self) -> Result<(), AppendError> {
        self.usable()?;
        let Some(first) = self.pending.first() else { return Ok(()) };
        let batch = Batch {
            name: CommitName::fresh(),
            expected: Seq(first.seq.0 - 1),
            records: self.pending.iter().map(record).collect(),
            status: status_row(&self.state),
            durability: self.durability,
        };
        // A commit that is cut short by dropping this future may or may not have taken place.
        self.poisoned = true;
        match self.journal.append(&self.lease, batch).await {
            Err(AppendError::Unknown { conversation, name }) => {
                match self.journal.outcome(&conversation, &name).await? {
                    CommitOutcome::Committed(_) => {}
                    CommitOutcome::NotCommitted => {
                        return Err(AppendError::Unknown { conversation, name });
                    }
                }
            }
            appended => drop(appended?),
        }
        self.poisoned = false;
        self.durability = Durability::Relaxed;
        let turn = self.state.turns.last().map_or(TurnId(0), |turn| turn.id);
        self.live.publish(turn, self.pending.drain(..));
        let asks = is_asking(&self.state);
        self.asking.send_if_modified(|asking| std::mem::replace(asking, asks) != asks);
        Ok(())
    }
}

fn is_asking(state: &State) -> bool {
    state.open_turn().is_some_and(|turn| turn.pending_inquiries().next().is_some())
}

pub(crate) fn record(entry: &Entry) -> NewRecord {
    NewRecord { at: entry.at, format: EVENT_FORMAT, body: entry.event.to_stored() }
}

/// What lists show of a conversation.
pub(crate) fn status_row(state: &State) -> StatusRow {
    let status = Status::of(state);
    StatusRow {
        title: view::title(state),
        workspace: state.opened.as_ref().map_or_else(String::new, |it| it.workspace.clone()),
        turns: u32::try_from(state.turns.len()).unwrap_or(u32::MAX),
        wants: wants(state, &status),
        status,
        broke: state.open_turn().and_then(|turn| turn.broke.as_ref()).map(|broke| broke.reason),
        waiting: u32::try_from(state.queue.len()).unwrap_or(u32::MAX),
        touched: state.touched,
        shelf: state.shelf,
    }
}

/// Who can move the conversation on. Deciding takes longer than the rest of a commit's row, so it is
/// asked only where it can say something else: behind a failure it may name a time.
fn wants(state: &State, status: &Status) -> Wants {
    let Some(turn) = state.open_turn() else {
        let starts = !state.queue.is_empty()
            && matches!(decide(state, Wish::Proceed), Action::StartQueued(_));
        return if starts { Wants::Driver } else { Wants::Nobody };
    };
    if turn.broke.is_some() || matches!(status, Status::WaitingForInput { .. }) {
        return Wants::Person;
    }
    let failed = turn.steps().next_back().is_some_and(|step| step.failure.is_some());
    if failed && let Action::AskModel { not_before: Some(at), .. } = decide(state, Wish::Proceed) {
        return Wants::NotBefore(at);
    }
    Wants::Driver
}
