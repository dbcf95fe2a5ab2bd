//! Reading a conversation without its lease: a writer may be at work, and is not disturbed.

use piton_core::event::{Entry, Event};
use piton_core::id::{ConversationId, Seq};
use piton_store::{Journal, Record, StoreError};

/// Records read at once.
const READ_RECORDS: usize = 1_024;

/// Hands every record of a conversation to `take`, in order.
pub(crate) async fn for_each_record(
    journal: &dyn Journal,
    conversation: &ConversationId,
    mut take: impl FnMut(Record),
) -> Result<(), StoreError> {
    let mut after = Seq::default();
    loop {
        let records = journal.read(conversation, after, READ_RECORDS).await?;
        let Some(last) = records.last() else { return Ok(()) };
        after = last.seq;
        records.into_iter().for_each(&mut take);
    }
}

/// What a record says.
pub(crate) fn entry(record: &Record) -> Entry {
    let event = Event::from_stored(record.format, &record.body);
    Entry { seq: record.seq, at: record.at, event }
}
