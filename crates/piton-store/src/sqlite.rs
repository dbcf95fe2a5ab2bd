//! The embedded store: one `SQLite` database, one directory of locks, one of blobs.
//!
//! Writes go through one thread that commits together what waits (`writer`, `append`); reads have
//! connections of their own (`read`); a writer's place is an OS lock (`lock`). Any number of
//! processes may have the same home open.

mod append;
mod aside;
mod bare;
mod bell;
mod beside;
mod blob;
mod blocking;
mod chunk;
mod column;
mod connect;
mod failure;
mod gone;
mod head;
mod home;
mod inspect;
mod letter;
mod list;
mod lock;
mod log_pages;
mod migrate;
mod notice;
mod open;
mod orphan;
mod place;
mod private;
mod purge;
mod read;
mod room;
mod salvage;
mod search;
mod suspect;
mod upload;
mod verify;
mod watch;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use piton_core::event::BlobRef;
use piton_core::id::{ConversationId, Digest, Epoch, Seq};

use self::append::Append;
use self::blocking::{Lanes, work};
use self::head::Head;
use self::home::Home;
use self::read::Readers;
use self::watch::Watcher;
use self::writer::{News, Writer};
use crate::wake::{LIST, Wakers};
use crate::{
    AppendError, Arrival, Batch, BlobDraft, Changes, CommitName, CommitOutcome, Holder, Journal,
    Lease, LeaseError, Letter, ListPosition, Listed, Listing, Page, Record, StoreError,
};

pub use self::bare::is_emptied;
pub use self::inspect::{Health, inspect};
pub use self::notice::Notice;
pub use self::purge::{PurgeError, Purged};
pub use self::salvage::{Extent, Salvage, Salvaged, salvage};
pub use self::search::{
    Addition, FoundText, Indexed, IndexedText, SearchIndex, Sought, TextChange,
};
pub use self::verify::{Decayed, DecayedBlob, Verified, verify};

/// Journals in an `SQLite` database.
///
/// Layout of its home: `piton.db`, `locks/<conversation>.lock`, `blobs/ab/<digest>`,
/// `inbox/<conversation>~<arrival>~<letter>`, `piton.db-bell` by which processes wake each other, and
/// `search.db`, which can be made again.
#[derive(Debug)]
pub struct SqliteJournal {
    home: Home,
    readers: Arc<Readers>,
    wakers: Arc<Wakers>,
    watcher: Watcher,
    writer: Writer,
    /// How many leases this process holds here.
    leases: Arc<AtomicUsize>,
    file_work: Lanes,
}

/// Threads that lock files and handle letters at the same time. More of them only wait for each other: a
/// directory takes one change at a time.
const FILE_THREADS_MAX: usize = 2;

/// A writer's place, counted.
#[derive(Debug)]
struct Held {
    _lock: lock::Lock,
    leases: Arc<AtomicUsize>,
}

impl Held {
    fn new(lock: lock::Lock, leases: Arc<AtomicUsize>) -> Self {
        leases.fetch_add(1, Ordering::Relaxed);
        Self { _lock: lock, leases }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.leases.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SqliteJournal {
    /// Opens the store in a directory, which is made if need be. May take a moment after a crash.
    ///
    /// The notice, if there is one, belongs in front of a person.
    pub fn open(home: &Path) -> Result<(Self, Option<Notice>), StoreError> {
        let home = Home::prepare(home)?;
        let (db, notice) = open::open(&home)?;
        let wakers = Arc::<Wakers>::default();
        let news = News { wakers: Arc::clone(&wakers), bell: bell::Bell::of(&home.database) };
        let writer = Writer::start(db, home.database.clone(), news)?;
        let readers = Arc::new(Readers::new(home.database.clone()));
        let watcher = Watcher::new(home.clone(), Arc::clone(&wakers));
        let (leases, file_work) = (Arc::default(), Lanes::new(FILE_THREADS_MAX));
        Ok((Self { home, readers, wakers, watcher, writer, leases, file_work }, notice))
    }

    /// Lets the database grow to so many pages only, so that tests can fill the disk.
    #[doc(hidden)]
    pub async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        self.writer.limit_pages(pages).await
    }

    /// Takes conversations away for good. The caller has the writer's place of each of them, and nobody
    /// writes to any other one.
    pub async fn purge(&self, leases: &[Lease]) -> Result<Purged, PurgeError> {
        let names: Vec<_> = leases.iter().map(|lease| lease.conversation().clone()).collect();
        let home = self.home.clone();
        self.writer.settle().await;
        let purged = tokio::task::spawn_blocking(move || purge::purge(&home, &names)).await;
        purged.map_err(|_| StoreError::Closed)?
    }

    /// Does something with locks or letters, on a thread that may wait for a disk.
    async fn with_files<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Home) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let home = self.home.clone();
        self.file_work.work(move || work(&home)).await
    }
}

/// Says of each row who writes at this moment.
fn name_holders(rows: &mut [Listed], locks: &Path) {
    for row in rows {
        row.holder = lock::holder(&lock::path(locks, &row.conversation));
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        self.readers.close();
        self.watcher.stop();
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn lease(
        &self,
        conversation: &ConversationId,
        holder: Holder,
    ) -> Result<Lease, LeaseError> {
        let id = conversation.clone();
        let taken = self.with_files(move |home| {
            let path = lock::path(&home.locks, &id);
            match lock::take(&path)? {
                Some(mut lock) => {
                    lock.describe(&holder)?;
                    Ok(Ok(lock))
                }
                None => Ok(Err(lock::holder(&path))),
            }
        });
        let lock = taken
            .await?
            .map_err(|holder| LeaseError::Held { conversation: conversation.clone(), holder })?;
        // Asked with the lock in hand: no driver before us can write between this and our first
        // append without having lost its lock, and then its epoch is the lower one.
        let id = conversation.clone();
        let stored = self.readers.with(move |db, path| read::epoch(db, path, &id)).await?;
        let epoch = Epoch(stored.unwrap_or(0).saturating_add(1));
        let held = Held::new(lock, self.leases.clone());
        Ok(Lease::new(conversation.clone(), epoch, Box::new(held)))
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Seq, AppendError> {
        batch.check_size()?;
        let Batch { name, expected, records, status: mut row, durability } = batch;
        let (status, wants) = (std::mem::take(&mut row.status), std::mem::take(&mut row.wants));
        let (waiting, shelf) = (std::mem::take(&mut row.waiting), std::mem::take(&mut row.shelf));
        let broke = row.broke.take();
        let head = Head { name: name.clone(), status, wants, broke, waiting, shelf };
        // Encoded by the caller, so that the one writer has less to do.
        let append = Append {
            name,
            conversation: lease.conversation().clone(),
            epoch: lease.epoch(),
            expected,
            chunks: chunk::encode(expected, &records, head.encode()),
            row,
            durability,
        };
        // The only writer of this process has nobody to share a commit with.
        if self.leases.load(Ordering::Relaxed) <= 1
            && let Some(done) = self.writer.append_here(&append)
        {
            return done;
        }
        self.writer.append(append).await
    }

    async fn outcome(
        &self,
        conversation: &ConversationId,
        name: &CommitName,
    ) -> Result<CommitOutcome, StoreError> {
        self.writer.settle().await;
        let (id, name) = (conversation.clone(), name.clone());
        self.readers.with(move |db, path| read::outcome(db, path, &id, &name)).await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.with_files(move |_| {
            drop(lease);
            Ok(())
        })
        .await
    }

    async fn read(
        &self,
        conversation: &ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let id = conversation.clone();
        self.readers.with(move |db, path| read::records(db, path, &id, after, limit)).await
    }

    async fn wait_past(&self, conversation: &ConversationId, seq: Seq) -> Result<Seq, StoreError> {
        let mut waiter = self.wakers.entries.listen(conversation.as_str());
        self.watcher.start()?;
        loop {
            let id = conversation.clone();
            let end = self.readers.with(move |db, path| read::end(db, path, &id)).await?;
            if end > seq {
                return Ok(end);
            }
            if let Some(end) = waiter.past(seq.0).await {
                return Ok(Seq(end));
            }
        }
    }

    async fn wait_letters(
        &self,
        conversation: &ConversationId,
        seen: Arrival,
    ) -> Result<Arrival, StoreError> {
        let mut waiter = self.wakers.letters.listen(&lock::plain_name(conversation));
        self.watcher.start()?;
        loop {
            let id = conversation.clone();
            let newest = self.with_files(move |home| letter::newest(&home.inbox, &id)).await?;
            if newest > seen {
                return Ok(newest);
            }
            if let Some(newest) = waiter.past(seen.0).await {
                return Ok(Arrival(newest));
            }
        }
    }

    async fn wait_list(&self, after: ListPosition) -> Result<ListPosition, StoreError> {
        let mut waiter = self.wakers.list.listen(LIST);
        self.watcher.start()?;
        loop {
            let position = self.readers.with(read::position).await?;
            if position != after {
                return Ok(position);
            }
            if let Some(position) = waiter.past(after.0).await {
                return Ok(ListPosition(position));
            }
        }
    }

    async fn list(&self, page: Page) -> Result<Listing, StoreError> {
        let locks = self.home.locks.clone();
        let listed = self.readers.with(move |db, path| {
            let mut listing = list::list(db, path, &page)?;
            name_holders(&mut listing.rows, &locks);
            Ok(listing)
        });
        listed.await
    }

    async fn changes(&self, after: ListPosition, limit: usize) -> Result<Changes, StoreError> {
        let locks = self.home.locks.clone();
        let changed = self.readers.with(move |db, path| {
            let mut changes = list::changes(db, path, after, limit)?;
            name_holders(&mut changes.rows, &locks);
            Ok(changes)
        });
        changed.await
    }

    async fn status(&self, conversation: &ConversationId) -> Result<Option<Listed>, StoreError> {
        let (id, locks) = (conversation.clone(), self.home.locks.clone());
        let status = self.readers.with(move |db, path| {
            let mut status = read::status(db, path, &id)?;
            if let Some(row) = &mut status {
                row.holder = lock::holder(&lock::path(&locks, &id));
            }
            Ok(status)
        });
        status.await
    }

    async fn find(&self, prefix: &str, limit: usize) -> Result<Vec<ConversationId>, StoreError> {
        let prefix = prefix.to_owned();
        self.readers.with(move |db, path| read::find(db, path, &prefix, limit)).await
    }

    async fn post(&self, conversation: &ConversationId, letter: Letter) -> Result<(), StoreError> {
        let id = conversation.clone();
        let arrival = self.with_files(move |home| letter::post(home, &id, &letter)).await?;
        self.wakers.letters.announce(&lock::plain_name(conversation), arrival.0);
        Ok(())
    }

    async fn letters(&self, conversation: &ConversationId) -> Result<Vec<Letter>, StoreError> {
        let id = conversation.clone();
        self.with_files(move |home| letter::read(&home.inbox, &id)).await
    }

    async fn discard_letter(
        &self,
        conversation: &ConversationId,
        id: &str,
    ) -> Result<(), StoreError> {
        let (conversation, id) = (conversation.clone(), id.to_owned());
        self.with_files(move |home| letter::discard(&home.inbox, &conversation, &id)).await
    }

    async fn put_blob(&self, content: &[u8]) -> Result<BlobRef, StoreError> {
        let content = content.to_owned();
        let blobs = self.home.blobs.clone();
        work(move || blob::put(&blobs, &content)).await
    }

    async fn begin_blob(&self) -> Result<Box<dyn BlobDraft>, StoreError> {
        let blobs = self.home.blobs.clone();
        Ok(Box::new(work(move || upload::Upload::begin(&blobs)).await?))
    }

    async fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let digest = digest.clone();
        let blobs = self.home.blobs.clone();
        work(move || blob::get(&blobs, &digest)).await
    }
}
