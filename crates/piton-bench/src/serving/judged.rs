//! What readers got, held against the journals.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use piton::{ConversationId, View, reader};
use piton_core::id::Seq;
use piton_core::state::State;
use piton_store::{Journal, SqliteJournal};

use crate::measure::Outcome;

/// What one reader got.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Which conversation, by its place among all of them.
    pub(super) conversation: usize,
    /// Entries, and when each came, in microseconds since 1970.
    pub(super) came: Vec<(Seq, u64)>,
    /// The view at the end.
    pub(super) view: View,
}

/// What is to be said of all of them.
pub(super) struct Judged {
    /// From an entry's own time to each reader. An entry gets its time before it is committed, in whole
    /// milliseconds, so a delay is up to one millisecond too long.
    pub(super) delays: Vec<Duration>,
    /// Readers whose view is not the fold.
    pub(super) wrong: usize,
    /// Entries of all journals.
    pub(super) entries: usize,
}

/// Reads the journals, which nobody writes any more.
pub(super) async fn judge(
    home: &Path,
    names: &[String],
    readings: Vec<Reading>,
) -> Outcome<Judged> {
    let (journal, _) = SqliteJournal::open(home)?;
    let mut judged = Judged { delays: Vec::new(), wrong: 0, entries: 0 };
    for (place, name) in names.iter().enumerate() {
        let (times, view) = fold(&journal, name).await?;
        judged.entries += times.len();
        for reading in readings.iter().filter(|reading| reading.conversation == place) {
            judged.wrong += usize::from(reading.view != view);
            let delay = |(seq, came): &(Seq, u64)| {
                let at = times.get(usize::try_from(seq.0).ok()?.checked_sub(1)?)?;
                Some(Duration::from_micros(came.saturating_sub(at * 1_000)))
            };
            judged.delays.extend(reading.came.iter().filter_map(delay));
        }
    }
    Ok(judged)
}

/// The times of all entries of a journal, in milliseconds, and the view that they make.
async fn fold(journal: &dyn Journal, name: &str) -> Outcome<(Vec<u64>, View)> {
    let (mut times, mut state) = (Vec::new(), State::default());
    reader::each_record(journal, &ConversationId::new(name), Seq::default(), |record| {
        times.push(record.at.0);
        state.apply(&reader::entry(&record));
        ControlFlow::Continue(())
    })
    .await?;
    Ok((times, View::from(&state)))
}

/// The present moment, in microseconds since 1970.
pub(super) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
