//! The last turns of a conversation, read from its end: as many entries as those turns have, whatever lies
//! before them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use piton_core::event::{Entry, Event, ForkOrigin, TurnEnd};
use piton_core::id::{ConversationId, MessageId, Seq, TurnId};
use piton_core::state::State;
use piton_store::{Journal, StoreError};

use crate::reader;

/// Entries that are read first; each further look back takes twice as many.
const FIRST_RECORDS: u64 = 64;
/// Most entries of one look back.
const LOOK_RECORDS_MAX: u64 = 4_096;

/// What the last turns mean, discarded ones not counted. None if that cannot be told from them alone: then
/// the whole conversation has to be read.
///
/// Of what lies before, nothing is known: neither what was configured nor what it cost.
pub async fn last_turns(
    journal: &dyn Journal,
    conversation: &ConversationId,
    turns: usize,
) -> Result<Option<State>, StoreError> {
    let Some(listed) = journal.status(conversation).await? else {
        return Err(StoreError::UnknownConversation(conversation.clone()));
    };
    let mut tail = Tail::default();
    if 0 < turns {
        each_back(journal, conversation, listed.end, |entry| {
            tail.take(entry);
            if tail.begun < turns { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .await?;
    }
    Ok(tail.state())
}

/// Hands the conversation's own entries to `take`, the one at `end` first and then backwards, until it has enough.
async fn each_back(
    journal: &dyn Journal,
    conversation: &ConversationId,
    end: Seq,
    mut take: impl FnMut(Entry) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let (mut end, mut look) = (end.0, FIRST_RECORDS);
    while 0 < end {
        let first = end.saturating_sub(look);
        let wanted = usize::try_from(end - first).unwrap_or(usize::MAX);
        let records = journal.read(conversation, Seq(first), wanted).await?;
        for record in records.iter().rev() {
            if take(reader::entry(record)).is_break() {
                return Ok(());
            }
        }
        (end, look) = (first, (look * 2).min(LOOK_RECORDS_MAX));
    }
    Ok(())
}

/// What was read of a conversation.
#[derive(Debug)]
pub struct Read {
    /// What it means.
    pub state: State,
    /// Whether it was read from its beginning.
    pub is_whole: bool,
    /// What is wrong behind it.
    pub damage: Option<StoreError>,
}

/// Reads a conversation; if only its last turns are wanted, from its end, where that is enough. Of a damaged
/// one, what lies before the damage is read.
pub async fn read(
    journal: &dyn Journal,
    conversation: &ConversationId,
    last: Option<usize>,
) -> Result<Read, StoreError> {
    if let Some(turns) = last {
        match last_turns(journal, conversation, turns).await {
            Ok(None) | Err(StoreError::DamagedEntry { .. }) => {}
            Ok(Some(state)) => return Ok(Read { state, is_whole: false, damage: None }),
            Err(error) => return Err(error),
        }
    }
    let (state, damage) = reader::readable(journal, conversation).await?;
    Ok(Read { state, is_whole: true, damage })
}

/// The turn that was the last one at some place, and what was said in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastTurn {
    /// Zero if none had begun.
    pub(crate) turn: TurnId,
    pub(crate) messages: BTreeSet<MessageId>,
}

/// The last turn where a conversation was cut, also if that began in one that it was cut from itself. What
/// is gone or damaged counts as nothing.
pub(crate) async fn turn_at(
    journal: &dyn Journal,
    cut: &ForkOrigin,
) -> Result<LastTurn, StoreError> {
    let mut found = LastTurn::default();
    let mut place = Some(cut.clone());
    for _ in 0..reader::FORKS_MAX {
        let Some(ForkOrigin { conversation, through }) = place.take() else { break };
        let looked = each_back(journal, &conversation, through, |entry| {
            if let Event::TurnStarted { turn, .. } = entry.event {
                found.turn = turn;
                return ControlFlow::Break(());
            } else if let Event::UserMessage { message, .. } = entry.event {
                found.messages.insert(message);
            } else if let Event::ConversationOpened { origin, .. } = entry.event {
                place = origin;
            }
            ControlFlow::Continue(())
        });
        match looked.await {
            Err(StoreError::UnknownConversation(_) | StoreError::DamagedEntry { .. }) => break,
            looked => looked?,
        }
    }
    Ok(found)
}

/// Entries in reverse, up to the beginning of a turn.
#[derive(Default)]
struct Tail {
    entries: Vec<Entry>,
    /// Turns that began in them and are not discarded.
    begun: usize,
    discarded: BTreeSet<TurnId>,
}

impl Tail {
    fn take(&mut self, entry: Entry) {
        if let Event::TurnEnded { turn, end: TurnEnd::Discarded } = &entry.event {
            self.discarded.insert(*turn);
        }
        if let Event::TurnStarted { turn, .. } = &entry.event {
            self.begun += usize::from(!self.discarded.contains(turn));
        }
        self.entries.push(entry);
    }

    fn state(mut self) -> Option<State> {
        self.entries.reverse();
        let said: BTreeSet<&MessageId> = self.entries.iter().filter_map(said).collect();
        let is_known = |entry: &Entry| match retried(entry) {
            Some(message) => said.contains(message),
            None => reader::origin(entry).is_none(),
        };
        self.entries.iter().all(is_known).then(|| State::from_entries(&self.entries))
    }
}

fn said(entry: &Entry) -> Option<&MessageId> {
    let Event::UserMessage { message, .. } = &entry.event else { return None };
    Some(message)
}

/// A message that is tried again may be of a turn further back, which is then the last one.
fn retried(entry: &Entry) -> Option<&MessageId> {
    let Event::MessageRetried { message, .. } = &entry.event else { return None };
    Some(message)
}
