//! Opening a conversation of 100,000 entries, and looking at it.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use piton::model::OneModel;
use piton::{Engine, reader};
use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_sim::demo::DemoModel;
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, NewRecord, SqliteJournal, StatusRow,
};

use crate::entries::{self, ENTRIES};
use crate::measure::Bench;
use crate::measure::{Outcome, interleaved, median, ratio, runtime, shown};
use crate::report::{Row, Target};

const ROUNDS: usize = 5;

/// Time from `open` to a folded state.
pub(crate) fn open(bench: &Bench) -> Outcome<Vec<Row>> {
    let (engine, id) = long(bench, "fold")?;
    let runtime = runtime()?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let session = runtime.block_on(engine.open(&id))?;
        times.push(start.elapsed());
        if session.state().end != Seq(ENTRIES as u64) || session.state().strays != 0 {
            return Err(format!("folded to {}", session.state().end).into());
        }
    }
    let value = median(times);
    Ok(vec![Row {
        what: "open and fold 100,000 entries",
        value: shown(value),
        floor: "one second".into(),
        figure: value.as_secs_f64(),
        unit: " s",
        target: Target::AtMost(1.0),
    }])
}

/// What a view costs beyond the fold that it is a picture of.
pub(crate) fn view(bench: &Bench) -> Outcome<Vec<Row>> {
    let (engine, id) = long(bench, "view")?;
    let runtime = runtime()?;
    let (value, floor) = interleaved(
        ROUNDS,
        || {
            let start = Instant::now();
            let view = runtime.block_on(engine.view(&id))?;
            let took = start.elapsed();
            if view.cursor == Seq(ENTRIES as u64) { Ok(took) } else { Err("not all".into()) }
        },
        || {
            let start = Instant::now();
            let state = runtime.block_on(reader::state(&**engine.journal(), &id))?;
            let took = start.elapsed();
            drop(state);
            Ok(took)
        },
    )?;
    // Counted in a process of its own: counting slows every allocation down.
    let counted = Command::new(bench.bin.join("piton-allocations")).arg("view").output()?;
    let counted = String::from_utf8(counted.stdout)?;
    let (state, view) = counted.trim().split_once(' ').ok_or("piton-allocations said nothing")?;
    let (state, view) = (state.parse::<f64>()?, view.parse::<f64>()?);
    Ok(vec![
        Row {
            what: "read the view of 100,000 entries",
            value: shown(value),
            floor: format!("read and fold them {}", shown(floor)),
            figure: ratio(value, floor),
            unit: "x",
            target: Target::AtMost(2.0),
        },
        Row {
            what: "memory of that view and its fold",
            value: format!("{:.1} MB", (state + view) / 1e6),
            floor: format!("of the fold {:.1} MB", state / 1e6),
            figure: (state + view) / state,
            unit: "x",
            target: Target::AtMost(2.0),
        },
    ])
}

/// An engine that knows a long conversation.
fn long(bench: &Bench, name: &str) -> Outcome<(Engine, ConversationId)> {
    let (journal, _) = SqliteJournal::open(&bench.dir.path().join(name))?;
    let id = ConversationId::new("long");
    runtime()?.block_on(fill(&journal, &id, bench))?;
    let models = Arc::new(OneModel(Arc::new(DemoModel)));
    Ok((Engine::builder(Arc::new(journal), models).build(), id))
}

async fn fill(journal: &SqliteJournal, id: &ConversationId, bench: &Bench) -> Outcome<()> {
    let holder = Holder { pid: 1, host: "bench".into(), since: Timestamp(0) };
    let lease = journal.lease(id, holder).await?;
    let events = entries::long(bench.dir.path().to_string_lossy().into_owned());
    let mut end = Seq(0);
    for events in events.chunks(1_000) {
        let records = events
            .iter()
            .map(|event| NewRecord { at: Timestamp(1), format: 1, body: event.to_stored() })
            .collect();
        let (name, status) = (CommitName::fresh(), StatusRow::default());
        let batch = Batch { name, expected: end, records, status, durability: Durability::Relaxed };
        end = journal.append(&lease, batch).await?;
    }
    Ok(())
}
