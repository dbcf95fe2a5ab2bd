//! A store that dies on command, fails on command, and forgets on command.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use piton_core::event::Event;
use piton_core::id::{ConversationId, Seq};
use piton_store::{
    AppendError, Batch, CommitName, Durability, Holder, Journal, Lease, MemoryJournal, NewRecord,
    Record, StatusRow, StoreError,
};
use serde_json::json;

use crate::passing::{Onlooker, Passing};
use crate::world::{SECRET, World};

/// Records copied at once; a scripted turn is far shorter.
const COPY_RECORDS_MAX: usize = 100_000;

/// A store with a point before and behind every append and every change of a letter.
pub type MortalJournal = Passing<Mortal>;

/// Where a store dies, and what it does wrong.
#[derive(Debug)]
pub struct Mortal {
    world: World,
    appends: AtomicU64,
    fail_append: Option<(u64, DiskFault)>,
    points: Points,
    flaw: Option<Flaw>,
}

/// Where a process can die in its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    /// Before and behind every operation that changes something.
    Changes,
    /// There, and before every operation that reads.
    Everything,
}

/// A store that breaks its contract about letters, to see whether the oracle notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Letters are accepted and not kept.
    LettersLost,
    /// That a command was taken cannot be read back.
    TakenForgotten,
}

/// What an append meets instead of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// No space is left.
    Full,
    /// The sync failed; the commit was rolled back.
    Sync,
}

impl MortalJournal {
    /// Wraps a store.
    pub fn mortal(inner: Arc<dyn Journal>, world: World) -> Self {
        let (appends, points) = (AtomicU64::new(0), Points::Changes);
        Self::new(inner, Mortal { world, appends, fail_append: None, points, flaw: None })
    }

    /// With a point at every operation, also at those that only read.
    #[must_use]
    pub fn everywhere(mut self) -> Self {
        self.onlooker.points = Points::Everything;
        self
    }

    /// With a flaw.
    #[must_use]
    pub fn flawed(mut self, flaw: Option<Flaw>) -> Self {
        self.onlooker.flaw = flaw;
        self
    }

    /// The `number`th append, from 1, fails.
    #[must_use]
    pub fn failing(mut self, number: u64, fault: DiskFault) -> Self {
        self.onlooker.fail_append = Some((number, fault));
        self
    }
}

impl Mortal {
    /// How many appends were tried.
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::Relaxed)
    }

    fn fault(&self) -> Option<StoreError> {
        let number = self.appends.fetch_add(1, Ordering::Relaxed) + 1;
        let (_, fault) = self.fail_append.filter(|(chosen, _)| *chosen == number)?;
        let path = "simulated".into();
        Some(match fault {
            DiskFault::Full => StoreError::Full { path },
            DiskFault::Sync => StoreError::Io {
                action: "sync",
                path,
                source: std::io::Error::other("simulated sync failure"),
            },
        })
    }
}

#[async_trait]
impl Onlooker for Mortal {
    async fn reading(&self) {
        if self.points == Points::Everything {
            self.world.point().await;
        }
    }

    async fn append(
        &self,
        store: &dyn Journal,
        lease: &Lease,
        batch: Batch,
    ) -> Result<Seq, AppendError> {
        self.world.point().await;
        if let Some(error) = self.fault() {
            return Err(error.into());
        }
        let end = store.append(lease, batch).await?;
        self.world.point().await;
        Ok(end)
    }

    fn have_read(&self, mut records: Vec<Record>) -> Vec<Record> {
        if self.flaw == Some(Flaw::TakenForgotten) {
            for record in &mut records {
                let event = Event::from_stored(record.format, &record.body);
                if matches!(event, Event::CommandTaken { .. }) {
                    record.body = json!({ "type": "Forgotten" }).to_string();
                }
            }
        }
        records
    }

    async fn changing_letters(&self) {
        self.world.point().await;
    }

    fn keeps_letters(&self) -> bool {
        self.flaw != Some(Flaw::LettersLost)
    }
}

/// A safety rule that is broken on purpose, to see whether the oracle notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The last commit is lost with the power when it holds a start: as if it was never synced.
    StartNotSynced,
    /// Finished calls are forgotten: as if results were kept in memory only.
    FinishForgotten,
    /// Answers are forgotten with everything behind them.
    AnswerForgotten,
    /// What a tool was told in secret is written down.
    SecretKept,
    /// The journals of workers are forgotten: as if they were kept in memory only.
    WorkersForgotten,
}

impl Sabotage {
    /// All that concern a conversation alone.
    pub const ALL: [Self; 4] =
        [Self::StartNotSynced, Self::FinishForgotten, Self::AnswerForgotten, Self::SecretKept];

    /// What is left of a journal after a crash under this sabotage.
    pub async fn damage(self, journal: &Arc<dyn Journal>, id: &ConversationId) -> Arc<dyn Journal> {
        let records = journal.read(id, Seq(0), COPY_RECORDS_MAX).await.unwrap_or_default();
        let kept = self.keep(records);
        let copy = MemoryJournal::default();
        let records: Vec<_> = kept
            .into_iter()
            .map(|Record { at, format, body, .. }| NewRecord { at, format, body })
            .collect();
        if !records.is_empty()
            && let Ok(lease) = copy.lease(id, nobody()).await
        {
            let status = StatusRow::default();
            let (name, durability) = (CommitName::fresh(), Durability::Synced);
            let batch = Batch { name, expected: Seq(0), records, status, durability };
            // The copy is fresh, so nothing can stand against it.
            copy.append(&lease, batch).await.unwrap_or_default();
        }
        Arc::new(copy)
    }

    fn keep(self, mut records: Vec<Record>) -> Vec<Record> {
        let event = |record: &Record| Event::from_stored(record.format, &record.body);
        match self {
            // Only the conversation itself is copied.
            Self::WorkersForgotten => {}
            Self::StartNotSynced => {
                while records
                    .last()
                    .is_some_and(|record| matches!(event(record), Event::ToolStarted { .. }))
                {
                    records.pop();
                }
            }
            Self::FinishForgotten => {
                records.retain(|record| !matches!(event(record), Event::ToolFinished { .. }));
            }
            Self::SecretKept => {
                // In an entry of a kind that nobody knows: it changes nothing but what is kept.
                let body = json!({ "type": "Told", "secret": SECRET }).to_string();
                records.extend(records.last().cloned().map(|last| Record { body, ..last }));
            }
            Self::AnswerForgotten => {
                let answer = |record: &Record| matches!(event(record), Event::ModelAnswered { .. });
                let first = records.iter().position(answer).unwrap_or(records.len());
                records.truncate(first);
            }
        }
        records
    }
}

fn nobody() -> Holder {
    Holder { pid: 0, host: String::new(), since: piton_core::id::Timestamp(0) }
}
