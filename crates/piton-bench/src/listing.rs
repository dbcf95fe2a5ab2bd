//! `piton ls` over many conversations against few.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, NewRecord, SqliteJournal, StatusRow,
};

use crate::measure::Bench;
use crate::measure::{Outcome, interleaved, ratio, runtime, shown};
use crate::report::{Row, Target};

const FEW: u32 = 100;
const MANY: u32 = 10_000;
const ENTRIES_EACH: usize = 20;
const ROUNDS: usize = 30;
/// Where all of them work: `ls` lists those of its directory.
const WORKSPACE: &str = "/";
/// Conversations written at once.
const WIDTH: u32 = 250;

/// Time of the whole command.
pub(crate) fn ls(bench: &Bench) -> Outcome<Vec<Row>> {
    let few = bench.dir.path().join("ls-few");
    let many = bench.dir.path().join("ls-many");
    fill(&few, FEW)?;
    fill(&many, MANY)?;
    let list = |home: &Path| -> Outcome<Duration> {
        let start = Instant::now();
        let mut command = Command::new(bench.bin.join("piton"));
        command.arg("ls").current_dir(WORKSPACE).env("PITON_HOME", home);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status()?;
        if !status.success() {
            return Err("piton ls failed".into());
        }
        Ok(start.elapsed())
    };
    let (value, floor) = interleaved(ROUNDS, || list(&many), || list(&few))?;
    Ok(vec![Row {
        what: "`ls` over 10,000 conversations",
        value: shown(value),
        floor: format!("over 100 {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target: Target::AtMost(2.0),
    }])
}

fn fill(home: &Path, count: u32) -> Outcome<()> {
    let (journal, _) = SqliteJournal::open(home)?;
    let journal = &journal;
    runtime()?.block_on(async {
        for first in (0..count).step_by(usize::try_from(WIDTH)?) {
            let last = count.min(first + WIDTH);
            try_join_all((first..last).map(|number| write(journal, number))).await?;
        }
        Ok(())
    })
}

async fn write(journal: &SqliteJournal, number: u32) -> Outcome<()> {
    let id = ConversationId::from_chance(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let since = Timestamp(u64::from(number));
    let lease = journal.lease(&id, Holder { pid: 1, host: "bench".into(), since }).await?;
    let record = NewRecord { at: since, format: 1, body: "x".repeat(200) };
    let status = StatusRow {
        title: format!("conversation {number}"),
        workspace: WORKSPACE.into(),
        turns: 1,
        touched: since,
        ..StatusRow::default()
    };
    let records = vec![record; ENTRIES_EACH];
    let name = CommitName::fresh();
    let batch = Batch { name, expected: Seq(0), records, status, durability: Durability::Relaxed };
    journal.append(&lease, batch).await?;
    Ok(())
}
