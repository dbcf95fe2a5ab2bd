//! How long a durable entry takes to a follower: in the same process, and in another one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton::model::OneModel;
use piton::{Accepted, Engine, Follow, LeaseWait, News};
use piton_core::event::Event;
use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_sim::demo::DemoModel;
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, Lease, NewRecord, SqliteJournal, StatusRow,
};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::mpsc;

use crate::measure::Bench;
use crate::measure::{Outcome, median, percentile, ratio, runtime, shown};
use crate::report::{Row, Target};

const ROUNDS: usize = 2_000;
/// Makes this program follow a conversation and measure nothing.
pub(crate) const FOLLOW_ONLY: &str = "follow-only";
const CONVERSATION: &str = "followed";

/// Both rows.
pub(crate) fn both(bench: &Bench) -> Outcome<Vec<Row>> {
    let (append, lag) = here(&bench.dir.path().join("follow-here"))?;
    let near = Row {
        what: "a durable entry to a follower in the process, 99 of 100",
        value: shown(lag),
        floor: format!("a durable append {}", shown(append)),
        figure: ratio(lag, append),
        unit: "x",
        target: Target::AtMost(1.0),
    };
    let (append, lag) = elsewhere(&bench.dir.path().join("follow-elsewhere"))?;
    let far = Row {
        what: "a durable entry to a follower in another process",
        value: shown(lag),
        floor: format!("a durable append {}", shown(append)),
        figure: ratio(lag, append),
        unit: "x",
        target: Target::AtMost(20.0),
    };
    Ok(vec![near, far])
}

/// Follows in a task of its own, and tells when each entry came. The entries are those of an engine: each
/// counts from the moment in which the sender of its command knows that it is durable.
fn here(home: &Path) -> Outcome<(Duration, Duration)> {
    let (journal, _) = SqliteJournal::open(home)?;
    let journal = Arc::new(journal);
    let engine = engine(journal.clone());
    runtime()?.block_on(async {
        let mut writer = Writer::begin(&journal).await?;
        let mut appends = Vec::new();
        for _ in 0..ROUNDS {
            appends.push(writer.append().await?.0);
        }
        drop(writer);
        let conversation = engine.begin_as(ConversationId::new("named"), "/".as_ref())?;
        let _hold = conversation.hold(LeaseWait::NONE).await?;
        conversation.send(rename()).await?;
        let mut follow = engine.follow(conversation.id(), None).await?;
        let (sender, mut came) = mpsc::unbounded_channel();
        let following = tokio::spawn(async move {
            while let Some(seq) = next(&mut follow).await {
                if sender.send((seq, Instant::now())).is_err() {
                    return;
                }
            }
        });
        let mut lags = Vec::new();
        for _ in 0..ROUNDS {
            let accepted = conversation.send(rename()).await?;
            let durable = Instant::now();
            let Accepted::Entry(receipt) = accepted else { return Err("a letter".into()) };
            while let Some((seq, at)) = came.recv().await {
                // Behind the entry of the command comes the one that it caused.
                if seq == receipt.seq.next() {
                    lags.push(at.saturating_duration_since(durable));
                    break;
                }
            }
        }
        following.abort();
        Ok((median(appends), percentile(lags, 99)))
    })
}

/// A command whose entry has about 200 B.
fn rename() -> piton::Command {
    piton::Command::Rename { title: "x".repeat(180) }
}

/// Follows in another process, which prints what the clock of the machine says.
fn elsewhere(home: &Path) -> Outcome<(Duration, Duration)> {
    let (journal, _) = SqliteJournal::open(home)?;
    let runtime = runtime()?;
    let mut writer = runtime.block_on(Writer::begin(&journal))?;
    let mut child = Command::new(std::env::current_exe()?)
        .args([FOLLOW_ONLY, &home.to_string_lossy(), &ROUNDS.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut told = BufReader::new(child.stdout.take().ok_or("no pipe")?).lines();
    if told.next().transpose()?.as_deref() != Some("ready") {
        return Err("the follower did not begin".into());
    }
    let (mut appends, mut lags) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (took, _) = runtime.block_on(writer.append())?;
        let durable = nanoseconds();
        appends.push(took);
        let came: u64 = told.next().transpose()?.ok_or("the follower ended")?.parse()?;
        lags.push(Duration::from_nanos(came.saturating_sub(durable)));
    }
    child.wait()?;
    Ok((median(appends), median(lags)))
}

/// The other process.
pub(crate) fn follow_only(home: &Path, count: usize) -> Outcome<()> {
    let (journal, _) = SqliteJournal::open(home)?;
    let engine = engine(Arc::new(journal));
    let mut out = std::io::stdout().lock();
    runtime()?.block_on(async {
        let mut follow = engine.follow(&ConversationId::new(CONVERSATION), None).await?;
        follow.next().await?;
        writeln!(out, "ready")?;
        for _ in 0..count {
            next(&mut follow).await.ok_or("the journal ended")?;
            writeln!(out, "{}", nanoseconds())?;
        }
        Ok(())
    })
}

/// The place of the next change.
async fn next(follow: &mut Follow) -> Option<Seq> {
    loop {
        if let News::Change(change) = follow.next().await.ok()? {
            return Some(change.cursor);
        }
    }
}

/// What the clock says that all processes share.
fn nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let of = |part| u64::try_from(part).unwrap_or_default();
    of(now.tv_sec) * 1_000_000_000 + of(now.tv_nsec)
}

fn engine(journal: Arc<SqliteJournal>) -> Engine {
    Engine::builder(journal, Arc::new(OneModel(Arc::new(DemoModel)))).build()
}

/// Writes entries of about 200 B.
struct Writer<'a> {
    journal: &'a SqliteJournal,
    lease: Lease,
    end: Seq,
}

impl<'a> Writer<'a> {
    async fn begin(journal: &'a SqliteJournal) -> Outcome<Self> {
        let holder = Holder { pid: std::process::id(), host: "bench".into(), since: Timestamp(0) };
        let lease = journal.lease(&ConversationId::new(CONVERSATION), holder).await?;
        let mut writer = Self { journal, lease, end: Seq(0) };
        let workspace = "/".to_owned();
        let opened =
            Event::ConversationOpened { workspace, title: None, origin: None, parent: None };
        writer.write(&opened).await?;
        Ok(writer)
    }

    /// Appends an entry. How long that took, and when it was done.
    async fn append(&mut self) -> Outcome<(Duration, Instant)> {
        let event = Event::TitleGiven { title: "x".repeat(180) };
        let start = Instant::now();
        self.write(&event).await?;
        let durable = Instant::now();
        Ok((durable - start, durable))
    }

    async fn write(&mut self, event: &Event) -> Outcome<()> {
        let record = NewRecord { at: Timestamp(1), format: 1, body: event.to_stored() };
        let (name, status) = (CommitName::fresh(), StatusRow::default());
        let batch = Batch {
            name,
            expected: self.end,
            records: vec![record],
            status,
            durability: Durability::Synced,
        };
        self.end = self.journal.append(&self.lease, batch).await?;
        Ok(())
    }
}
