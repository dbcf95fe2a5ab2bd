//! Reading a conversation without its lease: a writer may be at work, and is not disturbed.
//!
//! The only place that turns records into entries, and the only one that follows a fork to where it
//! was cut. What a conversation means begins with what was said there; its own entries, as they are
//! copied or shown one by one, do not.

use std::ops::ControlFlow;

use futures_util::future::select_all;
use piton_core::event::{Entry, Event, ForkOrigin, Outcome, QueueChange, ToolOutput, UserPart};
use piton_core::id::{CallId, ConversationId, Digest, MessageId, Seq};
use piton_core::state::State;
use piton_store::{Journal, Record, StoreError};

/// Records read at once.
const READ_RECORDS: usize = 4_096;
/// Most conversations that one is cut from, each from the next.
pub const FORKS_MAX: usize = 64;

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
/// Returns the place of the last one that was read. Where one is damaged, those before it are handed
/// out all the same.
pub async fn each_record(
    journal: &dyn Journal,
    conversation: &ConversationId,
    mut after: Seq,
    mut take: impl FnMut(Record) -> ControlFlow<()>,
) -> Result<Seq, StoreError> {
    loop {
        let Page { records, end } = page(journal, conversation, after, Seq(u64::MAX)).await?;
        for record in records {
            after = record.seq;
            if take(record).is_break() {
                return Ok(after);
            }
        }
        match end {
            End::More => {}
            End::Reached => return Ok(after),
            End::Damaged(error) => return Err(error),
        }
    }
}

/// Hands out everything that a conversation means: what it shares with those that it was cut from, each
/// record with whose it is, then its own. Says if one of them is gone, and so all before it.
pub async fn each_with_shared(
    journal: &dyn Journal,
    conversation: &ConversationId,
    mut take: impl FnMut(&ConversationId, Record),
) -> Result<Option<ConversationId>, StoreError> {
    let Lineage { stretches, gone } = lineage(journal, conversation).await?;
    for ForkOrigin { conversation, through } in &stretches {
        each_record(journal, conversation, Seq::default(), |record| {
            if *through < record.seq {
                return ControlFlow::Break(());
            }
            let is_last = record.seq == *through;
            take(conversation, record);
            if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .await?;
    }
    Ok(gone)
}

/// What a conversation is put together from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    /// The conversations, each with its last entry that counts; the one that was asked for is the last.
    pub stretches: Vec<ForkOrigin>,
    /// One that is not there any more, or ends before it was cut; what was said in it and before it is missing.
    pub gone: Option<ConversationId>,
}

/// The conversations that one is put together from, the first one first. Reads their first entries.
pub async fn lineage(
    journal: &dyn Journal,
    conversation: &ConversationId,
) -> Result<Lineage, StoreError> {
    let mut lineage = Lineage::default();
    let mut place = Some(ForkOrigin { conversation: conversation.clone(), through: Seq(u64::MAX) });
    while let Some(here) = place {
        if FORKS_MAX < lineage.stretches.len() {
            return Err(StoreError::ForksTooDeep {
                conversation: here.conversation,
                most: FORKS_MAX,
            });
        }
        if is_short(journal, &here).await? {
            lineage.gone = Some(here.conversation);
            break;
        }
        place = match origin_of(journal, &here.conversation).await {
            Err(StoreError::UnknownConversation(_)) if !lineage.stretches.is_empty() => {
                lineage.gone = Some(here.conversation);
                break;
            }
            // Its first entry is damaged: whoever reads it is told.
            Err(StoreError::DamagedEntry { .. }) => None,
            origin => origin?,
        };
        lineage.stretches.push(here);
    }
    lineage.stretches.reverse();
    Ok(lineage)
}

/// Whether a conversation ends before the place where another one was cut from it: it came back from a damaged
/// database without its end. What it says is not what they share then.
async fn is_short(journal: &dyn Journal, cut: &ForkOrigin) -> Result<bool, StoreError> {
    if cut.through == Seq(u64::MAX) {
        return Ok(false);
    }
    let listed = journal.status(&cut.conversation).await?;
    Ok(listed.is_some_and(|listed| listed.end < cut.through))
}

/// Some records, and what follows them.
struct Page {
    records: Vec<Record>,
    end: End,
}

enum End {
    More,
    Reached,
    /// The next one cannot be read.
    Damaged(StoreError),
}

/// Reads the next records, none behind `through`. Of a page with a damaged entry those before it.
async fn page(
    journal: &dyn Journal,
    conversation: &ConversationId,
    after: Seq,
    through: Seq,
) -> Result<Page, StoreError> {
    let count = |through: Seq| usize::try_from(through.0.saturating_sub(after.0));
    let limit = count(through).unwrap_or(usize::MAX).min(READ_RECORDS);
    let read = journal.read(conversation, after, limit).await;
    let (records, end) = match read {
        Err(StoreError::DamagedEntry { path, conversation, seq, detail }) => {
            let before = count(Seq(seq.0.saturating_sub(1))).unwrap_or(0).min(limit);
            let records = journal.read(&conversation, after, before).await?;
            (records, End::Damaged(StoreError::DamagedEntry { path, conversation, seq, detail }))
        }
        read => {
            let records = read?;
            let is_last = limit < READ_RECORDS || records.len() < limit;
            (records, if is_last { End::Reached } else { End::More })
        }
    };
    Ok(Page { records, end })
}

/// How a call ended, as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallEnd {
    pub(crate) outcome: Outcome,
    pub(crate) output: ToolOutput,
}

/// How a call ended in the conversation that it belongs to: the one that a fork was cut from, or one that
/// that one was cut from. The nearest that knows more than "unknown" has the word.
pub(crate) async fn end_of_call(
    journal: &dyn Journal,
    fork: &ConversationId,
    origin: &ForkOrigin,
    call: CallId,
) -> Result<Option<CallEnd>, StoreError> {
    let (mut place, mut found) = (Some(at_hand(journal, fork, origin.clone()).await?), None);
    for _ in 0..=FORKS_MAX {
        let Some(ForkOrigin { conversation, through }) = place.take() else { break };
        let mut end = None;
        let looked = each_record(journal, &conversation, through, |record| {
            if let Event::ToolFinished { call: ended, outcome, output } = entry(&record).event
                && ended == call
            {
                end = Some(CallEnd { outcome, output });
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        match looked.await {
            Ok(_) => {}
            // It was purged behind a fork of it.
            Err(StoreError::UnknownConversation(_)) if found.is_some() => break,
            Err(error) => return Err(error),
        }
        match end {
            Some(end) if end.outcome != Outcome::Unknown => return Ok(Some(end)),
            end => found = end.or(found),
        }
        place = origin_of(journal, &conversation).await?;
    }
    Ok(found)
}

/// Waits until a conversation that a call belongs to, or had it from another one, tells how it ended.
pub(crate) async fn until_end_of_call(
    journal: &dyn Journal,
    fork: &ConversationId,
    origin: &ForkOrigin,
    call: CallId,
) -> Result<CallEnd, StoreError> {
    let mut origins = Vec::new();
    let mut next = Some(at_hand(journal, fork, origin.clone()).await?);
    while let Some(origin) = next.take_if(|_| origins.len() <= FORKS_MAX) {
        next = origin_of(journal, &origin.conversation).await?;
        origins.push(origin);
    }
    loop {
        if let Some(end) = end_of_call(journal, fork, origin, call).await? {
            return Ok(end);
        }
        let ended = origins.iter().map(|origin| Box::pin(until_end_in(journal, origin, call)));
        let (ended, _, _) = select_all(ended).await;
        ended?;
    }
}

/// Waits until one conversation tells how a call ended.
async fn until_end_in(
    journal: &dyn Journal,
    ForkOrigin { conversation, through }: &ForkOrigin,
    call: CallId,
) -> Result<(), StoreError> {
    let (mut seen, mut ended) = (*through, false);
    while !ended {
        journal.wait_past(conversation, seen).await?;
        let looked = each_record(journal, conversation, seen, |record| {
            let event = entry(&record).event;
            ended |= matches!(event, Event::ToolFinished { call: it, .. } if it == call);
            ControlFlow::Continue(())
        });
        seen = looked.await?;
    }
    Ok(())
}

/// Where to read what a fork was cut from: there, or in the copy that it keeps if that was purged.
async fn at_hand(
    journal: &dyn Journal,
    fork: &ConversationId,
    origin: ForkOrigin,
) -> Result<ForkOrigin, StoreError> {
    let copy = fork.of_origin();
    if journal.status(&origin.conversation).await?.is_none()
        && journal.status(&copy).await?.is_some()
    {
        return Ok(ForkOrigin { conversation: copy, ..origin });
    }
    Ok(origin)
}

/// Where a conversation was cut from another one, as it can be read now. Reads its first entry alone.
pub async fn origin_of(
    journal: &dyn Journal,
    conversation: &ConversationId,
) -> Result<Option<ForkOrigin>, StoreError> {
    let first = journal.read(conversation, Seq::default(), 1).await?;
    let opened = first.first().map(|record| entry(record).event);
    let Some(Event::ConversationOpened { origin: Some(origin), .. }) = opened else {
        return Ok(None);
    };
    at_hand(journal, conversation, origin).await.map(Some)
}

/// What a conversation means. One that was cut from another begins with what was said there.
pub async fn state(
    journal: &dyn Journal,
    conversation: &ConversationId,
) -> Result<State, StoreError> {
    fold(journal, conversation, &mut |_, _| ()).await
}

/// What can be read of a conversation, and what is wrong behind that. Where something that it shares is
/// damaged, all of it is behind the damage, and what lies before it is given.
pub async fn readable(
    journal: &dyn Journal,
    conversation: &ConversationId,
) -> Result<(State, Option<StoreError>), StoreError> {
    match state(journal, conversation).await {
        Err(StoreError::DamagedEntry { path, conversation, seq, detail }) => {
            let last = Seq(seq.0.saturating_sub(1));
            let before = state_through(journal, &conversation, last).await?;
            let damage = StoreError::DamagedEntry { path, conversation, seq, detail };
            Ok((before, Some(damage)))
        }
        read => read.map(|state| (state, None)),
    }
}

/// The same as of one of its own entries.
pub(crate) async fn state_through(
    journal: &dyn Journal,
    conversation: &ConversationId,
    through: Seq,
) -> Result<State, StoreError> {
    Box::pin(fold_through(journal, conversation, through, None, &mut |_, _| ())).await
}

/// Shown what a journal means before each of its own entries, and the entry.
pub(crate) type Look<'a> = &'a mut (dyn FnMut(&State, &Entry) + Send);

/// As [`state`], and shows the way there.
pub(crate) async fn fold(
    journal: &dyn Journal,
    conversation: &ConversationId,
    look: Look<'_>,
) -> Result<State, StoreError> {
    // What is meant is large: whoever waits for it need not be.
    Box::pin(fold_through(journal, conversation, Seq(u64::MAX), None, look)).await
}

/// What a conversation begins with by its first entry, if it was cut from another one.
pub(crate) async fn beginning(
    journal: &dyn Journal,
    conversation: &ConversationId,
    opened: &Event,
) -> Result<Option<State>, StoreError> {
    shared(journal, conversation, opened).await
}

async fn shared(
    journal: &dyn Journal,
    conversation: &ConversationId,
    opened: &Event,
) -> Result<Option<State>, StoreError> {
    let Event::ConversationOpened { origin: Some(origin), .. } = opened else {
        return Ok(None);
    };
    let place = at_hand(journal, conversation, origin.clone()).await?;
    match Box::pin(cut(journal, conversation, place)).await {
        Ok(cut) => Ok(Some(begun(cut, opened))),
        // What it was cut from is gone, or its end is; its own entries still mean something.
        Err(StoreError::UnknownConversation(_)) => Ok(Some(State::orphaned())),
        Err(error) => Err(error),
    }
}

/// What a conversation meant where a fork was cut from it. Conversations are folded one behind the other, the first
/// one first: a call for each of many forks would need a deep stack.
async fn cut(
    journal: &dyn Journal,
    fork: &ConversationId,
    place: ForkOrigin,
) -> Result<State, StoreError> {
    if is_short(journal, &place).await? {
        return Err(StoreError::UnknownConversation(place.conversation));
    }
    let ForkOrigin { conversation, through } = place;
    let Lineage { mut stretches, gone } = lineage(journal, &conversation).await?;
    if FORKS_MAX < stretches.len() {
        return Err(StoreError::ForksTooDeep { conversation: fork.clone(), most: FORKS_MAX });
    }
    if let Some(last) = stretches.last_mut() {
        last.through = through;
    }
    let mut before = gone.map(|_| State::orphaned());
    for ForkOrigin { conversation, through } in stretches {
        let meant = fold_through(journal, &conversation, through, before, &mut |_, _| ()).await?;
        before = Some(meant);
    }
    Ok(before.unwrap_or_default())
}

/// What a conversation begins with that was cut from another one, by what that one meant there.
fn begun(before: State, opened: &Event) -> State {
    if before.opened.is_none() {
        // Nothing is known of it.
        return before;
    }
    let Event::ConversationOpened { origin: Some(origin), parent, .. } = opened else {
        return State::default();
    };
    if parent.is_some() { before.forked() } else { before.branched(origin) }
}

/// What a conversation means through one of its entries. `before` is what it begins with, if that is known.
async fn fold_through(
    journal: &dyn Journal,
    conversation: &ConversationId,
    through: Seq,
    mut before: Option<State>,
    look: Look<'_>,
) -> Result<State, StoreError> {
    let mut state = State::default();
    loop {
        let Page { records, end } = page(journal, conversation, state.end, through).await?;
        for record in &records {
            let entry = entry(record);
            if state.opened.is_none() {
                state = match before.take() {
                    Some(before) => begun(before, &entry.event),
                    None => shared(journal, conversation, &entry.event).await?.unwrap_or(state),
                };
            }
            look(&state, &entry);
            state.apply(&entry);
        }
        match end {
            End::More => {}
            End::Reached => return Ok(state),
            End::Damaged(error) => return Err(error),
        }
    }
}
