//! Reading a conversation without its lease: a writer may be at work, and is not disturbed.
//!
//! The only place that turns records into entries, and the only one that follows a fork to where it
//! was cut. What a conversation means begins with what was said there; its own entries, as they are
//! copied or shown one by one, do not.

use std::ops::ControlFlow;

use piton_core::event::{Entry, Event, ForkOrigin, QueueChange, UserPart};
use piton_core::id::{ConversationId, Digest, MessageId, Seq};
use piton_core::state::State;
use piton_store::{Journal, Record, StoreError};

/// Records read at once.
const READ_RECORDS: usize = 4_096;
/// Most conversations that one is cut from, each from the next.
const FORKS_MAX: usize = 16;

/// What a record says.
pub fn entry(record: &Record) -> Entry {
    let event = Event::from_stored(record.format, &record.body);
    Entry { seq: record.seq, at: record.at, event }
}

/// Whether an entry makes a message durable.
pub fn brings(entry: &Entry, wanted: &MessageId) -> bool {
    let (Event::UserMessage { message, .. } | Event::MessageQueued { message, .. }) = &entry.event
    else {
        return false;
    };
    message == wanted
}

/// The conversation that an entry says its own was cut from.
pub fn origin(entry: &Entry) -> Option<&ConversationId> {
    let Event::ConversationOpened { origin, .. } = &entry.event else { return None };
    origin.as_ref().map(|cut| &cut.conversation)
}

/// The files beside the journal that the message of an entry has, or the result of a call.
pub fn files(entry: &Entry) -> Vec<Digest> {
    if let Event::ToolFinished { output, .. } = &entry.event {
        return output.files.iter().map(|file| file.blob.digest.clone()).collect();
    }
    let (Event::UserMessage { parts, .. }
    | Event::MessageQueued { parts, .. }
    | Event::MessageRequeued { change: QueueChange::Parts { parts }, .. }) = &entry.event
    else {
        return Vec::new();
    };
    let digest = |part: &UserPart| match part {
        UserPart::File { blob, .. } => Some(blob.digest.clone()),
        UserPart::Text { .. } | UserPart::InlinedFile { .. } => None,
    };
    parts.iter().filter_map(digest).collect()
}

/// Hands the conversation's own records behind `after` to `take`, in order, until it has enough.
/// Returns the place of the last one that was read.
pub async fn each_record(
    journal: &dyn Journal,
    conversation: &ConversationId,
    mut after: Seq,
    mut take: impl FnMut(Record) -> ControlFlow<()>,
) -> Result<Seq, StoreError> {
    loop {
        let records = journal.read(conversation, after, READ_RECORDS).await?;
        let is_last = records.len() < READ_RECORDS;
        for record in records {
            after = record.seq;
            if take(record).is_break() {
                return Ok(after);
            }
        }
        if is_last {
            return Ok(after);
        }
    }
}

/// What a conversation means. One that was cut from another begins with what was said there.
pub async fn state(
    journal: &dyn Journal,
    conversation: &ConversationId,
) -> Result<State, StoreError> {
    fold(journal, conversation, &mut |_, _| ()).await
}

/// The same as of one of its own entries.
pub(crate) async fn state_through(
    journal: &dyn Journal,
    conversation: &ConversationId,
    through: Seq,
) -> Result<State, StoreError> {
    fold_through(journal, conversation, through, FORKS_MAX, &mut |_, _| ()).await
}

/// Shown what a journal means before each of its own entries, and the entry.
pub(crate) type Look<'a> = &'a mut (dyn FnMut(&State, &Entry) + Send);

/// As [`state`], and shows the way there.
pub(crate) async fn fold(
    journal: &dyn Journal,
    conversation: &ConversationId,
    look: Look<'_>,
) -> Result<State, StoreError> {
    fold_through(journal, conversation, Seq(u64::MAX), FORKS_MAX, look).await
}

async fn fold_through(
    journal: &dyn Journal,
    conversation: &ConversationId,
    through: Seq,
    forks_left: usize,
    look: Look<'_>,
) -> Result<State, StoreError> {
    let mut state = State::default();
    loop {
        let records = journal.read(conversation, state.end, READ_RECORDS).await?;
        for record in &records {
            if through < record.seq {
                return Ok(state);
            }
            let entry = entry(record);
            if let Event::ConversationOpened { origin: Some(origin), .. } = &entry.event
                && state.opened.is_none()
                && 0 < forks_left
            {
                let ForkOrigin { conversation, through } = origin;
                let left = forks_left - 1;
                let mut blind = |_: &State, _: &Entry| ();
                let cut = fold_through(journal, conversation, *through, left, &mut blind);
                state = match Box::pin(cut).await {
                    Ok(cut) => cut.forked(),
                    // What it was cut from is gone; its own entries still mean something.
                    Err(StoreError::UnknownConversation(_)) => state,
                    Err(error) => return Err(error),
                };
            }
            look(&state, &entry);
            state.apply(&entry);
        }
        if records.len() < READ_RECORDS {
            return Ok(state);
        }
    }
}
