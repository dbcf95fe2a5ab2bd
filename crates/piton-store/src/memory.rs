//! A store in memory: for tests, simulations and conversations that must leave no trace.
//!
//! Keeps the whole contract except durability. Clones share their content, as two processes share a
//! file.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use piton_core::event::BlobRef;
use piton_core::id::{ConversationId, Digest, Epoch, Seq};

use crate::list::{self, RowPlace, Rows};
use crate::record::Place;
use crate::wake::{LIST, Wakers};
use crate::{
    AppendError, Arrival, Batch, BlobDraft, Changes, CommitName, CommitOutcome, Filter, Holder,
    Journal, LETTERS_MAX, Lease, LeaseError, Letter, ListPosition, Listed, Listing, Page, Record,
    StatusRow, StoreError, blob,
};

/// Journals in memory. A clone is another handle on the same journals.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    content: Arc<Mutex<Content>>,
    wakers: Arc<Wakers>,
}

#[derive(Debug, Default)]
struct Content {
    // Ordered, so that finding by prefix needs no second table.
    journals: BTreeMap<ConversationId, Kept>,
    holders: HashMap<ConversationId, Holder>,
    // The epoch of the last lease given, also of those that never wrote.
    epochs: HashMap<ConversationId, Epoch>,
    blobs: HashMap<Digest, Arc<[u8]>>,
    letters: HashMap<ConversationId, BTreeMap<Arrival, Letter>>,
    arrived: Arrival,
    // Counts appends to all conversations.
    position: ListPosition,
}

#[derive(Debug)]
struct Kept {
    // Order of creation: decides between conversations that were touched at the same moment.
    number: u64,
    changed: ListPosition,
    epoch: Epoch,
    records: Vec<Record>,
    row: StatusRow,
    commits: HashMap<CommitName, Seq>,
}

impl Kept {
    fn place(&self) -> RowPlace {
        RowPlace { touched: self.row.touched, number: self.number }
    }

    fn end(&self) -> Seq {
        self.records.last().map_or_else(Seq::default, |record| record.seq)
    }
}

impl MemoryJournal {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, conversation: &ConversationId) -> Result<Seq, StoreError> {
        match self.lock().journals.get(conversation) {
            Some(kept) => Ok(kept.end()),
            None => Err(StoreError::UnknownConversation(conversation.clone())),
        }
    }
}

/// Content of which more may come.
#[derive(Debug)]
struct Draft {
    journal: MemoryJournal,
    content: Vec<u8>,
}

#[async_trait]
impl BlobDraft for Draft {
    async fn add(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        blob::admit(self.content.len() + piece.len())?;
        self.content.extend_from_slice(piece);
        Ok(())
    }

    async fn keep(self: Box<Self>) -> Result<BlobRef, StoreError> {
        self.journal.put_blob(&self.content).await
    }
}

/// Frees the place when it goes.
struct Held {
    journal: MemoryJournal,
    conversation: ConversationId,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.journal.lock().holders.remove(&self.conversation);
    }
}

impl Content {
    fn append(&mut self, lease: &Lease, batch: Batch) -> Result<Seq, AppendError> {
        let conversation = lease.conversation();
        let kept = self.journals.get(conversation);
        let stored =
            kept.map_or_else(Place::default, |kept| Place { epoch: kept.epoch, end: kept.end() });
        batch.check_size()?;
        stored.admit(conversation, lease.epoch(), batch.expected)?;
        let number = self.journals.len() as u64;
        let kept = self.journals.entry(conversation.clone()).or_insert_with(|| Kept {
            number,
            changed: ListPosition::default(),
            epoch: lease.epoch(),
            records: Vec::new(),
            row: StatusRow::default(),
            commits: HashMap::new(),
        });
        kept.epoch = lease.epoch();
        kept.row = batch.status;
        let mut seq = stored.end;
        for record in batch.records {
            seq = seq.next();
            let (at, format, body) = (record.at, record.format, record.body);
            kept.records.push(Record { seq, at, format, body });
        }
        kept.commits.insert(batch.name, seq);
        self.position.0 += 1;
        kept.changed = self.position;
        Ok(seq)
    }

    fn newest_letter(&self, conversation: &ConversationId) -> Arrival {
        let lying = self.letters.get(conversation);
        lying.and_then(BTreeMap::last_key_value).map_or_else(Arrival::default, |(last, _)| *last)
    }

    fn listed(&self, conversation: &ConversationId, kept: &Kept) -> Listed {
        Listed {
            conversation: conversation.clone(),
            end: kept.end(),
            row: kept.row.clone(),
            holder: self.holders.get(conversation).cloned(),
        }
    }
}

/// The rows that a filter admits.
struct Wanted<'a> {
    content: &'a Content,
    filter: &'a Filter,
}

impl Rows for Wanted<'_> {
    type Error = Infallible;

    fn below(
        &mut self,
        place: Option<RowPlace>,
        take: &mut dyn FnMut(RowPlace, Listed) -> bool,
    ) -> Result<(), Infallible> {
        let mut all: Vec<_> = self.content.journals.iter().collect();
        all.retain(|(_, kept)| place.is_none_or(|place| kept.place() < place));
        all.sort_by_key(|(_, kept)| Reverse(kept.place()));
        let mut listed = all.iter().map(|(id, kept)| (kept.place(), self.content.listed(id, kept)));
        let _more = listed.all(|(place, row)| !self.filter.admits(&row) || take(place, row));
        Ok(())
    }

    fn changed(
        &mut self,
        after: ListPosition,
        take: &mut dyn FnMut(ListPosition, RowPlace, Listed) -> bool,
    ) -> Result<(), Infallible> {
        let mut all: Vec<_> = self.content.journals.iter().collect();
        all.retain(|(_, kept)| after < kept.changed);
        all.sort_by_key(|(_, kept)| kept.changed);
        let mut listed = all.iter().map(|(id, kept)| (kept, self.content.listed(id, kept)));
        let _more = listed.all(|(kept, row)| take(kept.changed, kept.place(), row));
        Ok(())
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn lease(
        &self,
        conversation: &ConversationId,
        holder: Holder,
    ) -> Result<Lease, LeaseError> {
        let mut content = self.lock();
        if let Some(held) = content.holders.get(conversation) {
            let (conversation, holder) = (conversation.clone(), Some(held.clone()));
            return Err(LeaseError::Held { conversation, holder });
        }
        content.holders.insert(conversation.clone(), holder);
        let epoch = content.epochs.entry(conversation.clone()).or_default();
        epoch.0 += 1;
        let held = Held { journal: self.clone(), conversation: conversation.clone() };
        Ok(Lease::new(conversation.clone(), *epoch, Box::new(held)))
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Seq, AppendError> {
        let mut content = self.lock();
        let end = content.append(lease, batch)?;
        let position = content.position;
        drop(content);
        self.wakers.entries.announce(lease.conversation().as_str(), end.0);
        self.wakers.list.announce(LIST, position.0);
        Ok(end)
    }

    async fn outcome(
        &self,
        conversation: &ConversationId,
        name: &CommitName,
    ) -> Result<CommitOutcome, StoreError> {
        let content = self.lock();
        let end = content.journals.get(conversation).and_then(|kept| kept.commits.get(name));
        Ok(end.map_or(CommitOutcome::NotCommitted, |end| CommitOutcome::Committed(*end)))
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        drop(lease);
        Ok(())
    }

    async fn read(
        &self,
        conversation: &ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let skip = usize::try_from(after.0).unwrap_or(usize::MAX);
        match self.lock().journals.get(conversation) {
            Some(kept) => Ok(kept.records.iter().skip(skip).take(limit).cloned().collect()),
            None => Err(StoreError::UnknownConversation(conversation.clone())),
        }
    }

    async fn wait_past(&self, conversation: &ConversationId, seq: Seq) -> Result<Seq, StoreError> {
        let mut waiter = self.wakers.entries.listen(conversation.as_str());
        loop {
            let end = self.end(conversation)?;
            if end > seq {
                return Ok(end);
            }
            if let Some(number) = waiter.past(seq.0).await {
                return Ok(Seq(number));
            }
        }
    }

    async fn wait_letters(
        &self,
        conversation: &ConversationId,
        seen: Arrival,
    ) -> Result<Arrival, StoreError> {
        let mut waiter = self.wakers.letters.listen(conversation.as_str());
        loop {
            let newest = self.lock().newest_letter(conversation);
            if newest > seen {
                return Ok(newest);
            }
            if let Some(number) = waiter.past(seen.0).await {
                return Ok(Arrival(number));
            }
        }
    }

    async fn wait_list(&self, after: ListPosition) -> Result<ListPosition, StoreError> {
        let mut waiter = self.wakers.list.listen(LIST);
        loop {
            let position = self.lock().position;
            if position != after {
                return Ok(position);
            }
            if let Some(number) = waiter.past(after.0).await {
                return Ok(ListPosition(number));
            }
        }
    }

    async fn list(&self, page: Page) -> Result<Listing, StoreError> {
        let content = self.lock();
        let (newest, total) = (content.position, content.journals.len());
        let mut rows = Wanted { content: &content, filter: &page.filter };
        let Ok(listing) = list::page(&mut rows, &page, newest, total);
        Ok(listing)
    }

    async fn changes(&self, after: ListPosition, limit: usize) -> Result<Changes, StoreError> {
        let content = self.lock();
        let mut rows = Wanted { content: &content, filter: &Filter::default() };
        let Ok(changes) = list::changes(&mut rows, after, limit, content.position);
        Ok(changes)
    }

    async fn status(&self, conversation: &ConversationId) -> Result<Option<Listed>, StoreError> {
        let content = self.lock();
        Ok(content.journals.get(conversation).map(|kept| content.listed(conversation, kept)))
    }

    async fn find(&self, prefix: &str, limit: usize) -> Result<Vec<ConversationId>, StoreError> {
        let content = self.lock();
        let from = content.journals.range(ConversationId::new(prefix)..).map(|(id, _)| id);
        let found = from.take_while(|id| id.as_str().starts_with(prefix));
        Ok(found.take(limit).cloned().collect())
    }

    async fn post(&self, conversation: &ConversationId, letter: Letter) -> Result<(), StoreError> {
        letter.check()?;
        let mut content = self.lock();
        let next = Arrival(content.arrived.0 + 1);
        let lying = content.letters.entry(conversation.clone()).or_default();
        let same = lying.iter().find(|(_, other)| other.id == letter.id).map(|(same, _)| *same);
        let arrival = same.unwrap_or(next);
        lying.insert(arrival, letter);
        content.arrived = content.arrived.max(arrival);
        drop(content);
        self.wakers.letters.announce(conversation.as_str(), arrival.0);
        Ok(())
    }

    async fn letters(&self, conversation: &ConversationId) -> Result<Vec<Letter>, StoreError> {
        let content = self.lock();
        let left = content.letters.get(conversation).into_iter().flatten().take(LETTERS_MAX);
        Ok(left.map(|(_, letter)| letter.clone()).collect())
    }

    async fn discard_letter(
        &self,
        conversation: &ConversationId,
        id: &str,
    ) -> Result<(), StoreError> {
        if let Some(letters) = self.lock().letters.get_mut(conversation) {
            letters.retain(|_, letter| letter.id != id);
        }
        Ok(())
    }

    async fn put_blob(&self, content: &[u8]) -> Result<BlobRef, StoreError> {
        let named = blob::name(content)?;
        self.lock().blobs.entry(named.digest.clone()).or_insert_with(|| content.into());
        Ok(named)
    }

    async fn begin_blob(&self) -> Result<Box<dyn BlobDraft>, StoreError> {
        Ok(Box::new(Draft { journal: self.clone(), content: Vec::new() }))
    }

    async fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        match self.lock().blobs.get(digest) {
            Some(content) => Ok(content.to_vec()),
            None => Err(StoreError::UnknownBlob(digest.clone())),
        }
    }
}
