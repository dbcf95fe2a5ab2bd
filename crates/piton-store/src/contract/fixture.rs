//! The store under test, and small things to put into it.

use std::sync::Arc;

use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_core::view::Status;

use crate::{
    Batch, CommitName, Durability, Holder, Journal, Lease, NewRecord, Record, StatusRow, Wants,
};

/// A store under test.
pub type Store = Arc<dyn Journal>;

pub fn conversation(name: &str) -> ConversationId {
    ConversationId::new(name)
}

pub fn holder(pid: u32) -> Holder {
    Holder { pid, host: "here".to_owned(), since: Timestamp(1) }
}

pub fn row(status: Status, touched: u64) -> StatusRow {
    StatusRow {
        title: "a title".to_owned(),
        workspace: "/a/directory".to_owned(),
        turns: 1,
        status,
        wants: Wants::Driver,
        waiting: 0,
        touched: Timestamp(touched),
        ..StatusRow::default()
    }
}

pub fn batch(expected: u64, bodies: &[&str]) -> Batch {
    let record =
        |body: &&str| NewRecord { at: Timestamp(1000), format: 1, body: (*body).to_owned() };
    Batch {
        name: CommitName::fresh(),
        expected: Seq(expected),
        records: bodies.iter().map(record).collect(),
        status: row(Status::PendingTools, 1),
        durability: Durability::Synced,
    }
}

pub async fn lease(store: &Store, name: &str) -> Lease {
    store.lease(&conversation(name), holder(1)).await.expect("the place is free")
}

/// Begins a conversation with these entries, and lets go of it.
pub async fn begin(store: &Store, name: &str, bodies: &[&str]) {
    let lease = lease(store, name).await;
    store.append(&lease, batch(0, bodies)).await.expect("an append that fits");
}

pub async fn bodies(store: &Store, name: &str) -> Vec<String> {
    let records = store.read(&conversation(name), Seq(0), usize::MAX).await.expect("readable");
    texts(&records)
}

pub fn texts(records: &[Record]) -> Vec<String> {
    for pair in records.windows(2) {
        assert_eq!(pair[1].seq, pair[0].seq.next(), "entries are in order and without a gap");
    }
    records.iter().map(|record| record.body.clone()).collect()
}
