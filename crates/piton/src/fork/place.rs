//! Finds the entry that a fork is cut behind. Reads backwards from the end, as far as it has to.

use piton_core::event::{Event, ForkOrigin};
use piton_core::id::{ConversationId, MessageId, Seq, TurnId};
use piton_core::view::Status;
use piton_store::{Journal, Listed, StatusRow, StoreError};

use super::at::ForkAt;
use super::error::ForkError;
use crate::reader;

/// Entries read at once.
const WINDOW_RECORDS: u64 = 1_024;

/// Where a fork is cut.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) origin: ForkOrigin,
    /// The row of a conversation that ends there, if it is known without folding.
    pub(super) rest: Option<StatusRow>,
}

/// What places are told by.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mark {
    Began(TurnId),
    Ended(TurnId),
    Said(MessageId),
}

/// The marks at the end of a conversation, in order.
#[derive(Debug, Default)]
struct Marks(Vec<(Seq, Mark)>);

/// Finds the place. It may lie in a conversation that this one was forked from.
pub(super) async fn find(
    journal: &dyn Journal,
    listed: &Listed,
    at: &ForkAt,
) -> Result<Found, ForkError> {
    let (id, end) = (&listed.conversation, listed.end);
    let here = |through| ForkOrigin { conversation: id.clone(), through };
    match at {
        ForkAt::End => Ok(Found { origin: here(end), rest: Some(listed.row.clone()) }),
        ForkAt::Entry(entry) if *entry == end => {
            Ok(Found { origin: here(end), rest: Some(listed.row.clone()) })
        }
        ForkAt::Entry(entry) if Seq::default() < *entry && *entry < end => {
            Ok(Found { origin: here(*entry), rest: None })
        }
        ForkAt::Entry(entry) => {
            Err(ForkError::NoEntry { conversation: id.clone(), entry: *entry, end })
        }
        ForkAt::Turn(_) | ForkAt::BeforeTurn(_) | ForkAt::Before(_) | ForkAt::Behind(_) => {
            among_turns(journal, listed, at).await
        }
    }
}

/// Why there is no fork behind an entry at which a turn has begun and its message is not said yet.
pub(super) async fn within_beginning(
    journal: &dyn Journal,
    ForkOrigin { conversation, through }: &ForkOrigin,
) -> Result<ForkError, StoreError> {
    let window = usize::try_from(WINDOW_RECORDS).unwrap_or(usize::MAX);
    let records = journal.read(conversation, *through, window).await?;
    let mut entries = records.iter().map(reader::entry);
    let said = entries.find(|entry| matches!(mark(entry.event.clone()), Some(Mark::Said(_))));
    let next = said.map_or(Seq(through.0 + 1), |entry| entry.seq);
    Ok(ForkError::NoMessageYet { conversation: conversation.clone(), entry: *through, next })
}

async fn among_turns(
    journal: &dyn Journal,
    listed: &Listed,
    at: &ForkAt,
) -> Result<Found, ForkError> {
    let mut place =
        Some(ForkOrigin { conversation: listed.conversation.clone(), through: listed.end });
    let mut turns_behind = 0;
    for _ in 0..=reader::FORKS_MAX {
        let Some(ForkOrigin { conversation, through }) = place.take() else { break };
        let marks = match Marks::read(journal, &conversation, through, at).await {
            // What was said there is gone.
            Err(StoreError::UnknownConversation(_)) if conversation != listed.conversation => break,
            marks => marks?,
        };
        if let Some(cut) = marks.cut(at) {
            let is_end = cut.is_end && conversation == listed.conversation;
            let turns = turns_behind + marks.turns_behind(cut.through.unwrap_or(through));
            let through = cut.through.unwrap_or(through);
            let rest = StatusRow {
                turns: listed.row.turns.saturating_sub(turns),
                status: Status::Idle,
                broke: None,
                ..listed.row.clone()
            };
            let rest = if is_end { Some(listed.row.clone()) } else { cut.rests.then_some(rest) };
            return Ok(Found { origin: ForkOrigin { conversation, through }, rest });
        }
        turns_behind += marks.turns_behind(Seq::default());
        place = reader::origin_of(journal, &conversation).await?;
    }
    let conversation = listed.conversation.clone();
    Err(match at {
        ForkAt::Turn(turn) | ForkAt::BeforeTurn(turn) => {
            ForkError::NoTurn { conversation, turn: *turn }
        }
        ForkAt::Before(message) | ForkAt::Behind(message) => {
            ForkError::NoMessage { conversation, message: message.clone() }
        }
        ForkAt::End | ForkAt::Entry(_) => ForkError::Unknown(conversation),
    })
}

/// A place among marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// The last entry that is shared; none is the end of what was read.
    through: Option<Seq>,
    /// Whether no turn is open there.
    rests: bool,
    /// Whether everything is shared.
    is_end: bool,
}

impl Marks {
    /// Reads backwards until the place can be told, or to the beginning.
    async fn read(
        journal: &dyn Journal,
        conversation: &ConversationId,
        through: Seq,
        at: &ForkAt,
    ) -> Result<Self, StoreError> {
        let (mut marks, mut end) = (Self::default(), through.0);
        while 0 < end && !marks.tell(at) {
            let begin = end.saturating_sub(WINDOW_RECORDS);
            let limit = usize::try_from(end - begin).unwrap_or(usize::MAX);
            let records = journal.read(conversation, Seq(begin), limit).await?;
            let entries = records.iter().map(reader::entry);
            let found = entries.filter_map(|entry| Some((entry.seq, mark(entry.event)?)));
            let later = std::mem::take(&mut marks.0);
            marks.0 = found.chain(later).collect();
            end = begin;
        }
        Ok(marks)
    }

    /// Whether the place is among what was read, with the beginning of its turn.
    fn tell(&self, at: &ForkAt) -> bool {
        match at {
            ForkAt::Turn(wanted) | ForkAt::BeforeTurn(wanted) => {
                self.0.iter().any(|(_, mark)| matches!(mark, Mark::Began(turn) if turn <= wanted))
            }
            ForkAt::Before(message) | ForkAt::Behind(message) => {
                let said = self.0.iter().position(|(_, mark)| is_said(mark, message));
                let before = self.0.get(..said.unwrap_or(0)).unwrap_or_default();
                before.iter().any(|(_, mark)| matches!(mark, Mark::Began(_)))
            }
            ForkAt::End | ForkAt::Entry(_) => true,
        }
    }

    fn cut(&self, at: &ForkAt) -> Option<Cut> {
        let before = |seq: Seq, rests| {
            Some(Cut { through: Some(Seq(seq.0.saturating_sub(1))), rests, is_end: false })
        };
        match at {
            ForkAt::BeforeTurn(turn) => before(self.began(*turn)?.1, true),
            ForkAt::Turn(turn) => {
                let (place, _) = self.began(*turn)?;
                let own = self.0.iter().skip(place + 1);
                let next = own.clone().position(|(_, mark)| matches!(mark, Mark::Began(_)));
                let mut own = own.take(next.unwrap_or(usize::MAX));
                let ended = own.rfind(|(_, mark)| *mark == Mark::Ended(*turn));
                Some(match (ended, next) {
                    (Some((seq, _)), Some(_)) => {
                        Cut { through: Some(*seq), rests: true, is_end: false }
                    }
                    // It is the last one: whatever was done behind it belongs to it.
                    (_, None) => Cut { through: None, rests: false, is_end: true },
                    (None, Some(next)) => {
                        let (seq, _) = self.0.get(place + 1 + next)?;
                        return before(*seq, false);
                    }
                })
            }
            ForkAt::Before(message) => {
                let said = self.0.iter().position(|(_, mark)| is_said(mark, message))?;
                let earlier = self.0.get(..said)?.last();
                match (earlier, self.0.get(said)) {
                    // It begins its turn.
                    (Some((seq, Mark::Began(_))), _) => before(*seq, true),
                    (_, Some((seq, _))) => before(*seq, false),
                    (_, None) => None,
                }
            }
            ForkAt::Behind(message) => {
                let (seq, _) = self.0.iter().rfind(|(_, mark)| is_said(mark, message))?;
                Some(Cut { through: Some(*seq), rests: false, is_end: false })
            }
            ForkAt::End | ForkAt::Entry(_) => None,
        }
    }

    /// Where a turn began, among the marks and in the journal.
    fn began(&self, turn: TurnId) -> Option<(usize, Seq)> {
        let place = self.0.iter().rposition(|(_, mark)| *mark == Mark::Began(turn))?;
        self.0.get(place).map(|(seq, _)| (place, *seq))
    }

    /// How many turns began behind an entry.
    fn turns_behind(&self, through: Seq) -> u32 {
        let behind = self.0.iter().filter(|(seq, _)| through < *seq);
        let began = behind.filter(|(_, mark)| matches!(mark, Mark::Began(_)));
        u32::try_from(began.count()).unwrap_or(u32::MAX)
    }
}

fn is_said(mark: &Mark, message: &MessageId) -> bool {
    matches!(mark, Mark::Said(said) if said == message)
}

fn mark(event: Event) -> Option<Mark> {
    if let Event::TurnStarted { turn, .. } = event {
        Some(Mark::Began(turn))
    } else if let Event::TurnEnded { turn, .. } = event {
        Some(Mark::Ended(turn))
    } else if let Event::UserMessage { message, .. } | Event::MessageRetried { message, .. } = event
    {
        Some(Mark::Said(message))
    } else {
        None
    }
}
