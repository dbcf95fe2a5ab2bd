//! Kills a driver at every point of a turn, and again while it recovers.
//!
//! A *life* is one process: an engine that is told what the script says, by commands. It either ends
//! the turn or dies. Between two lives only the store and the world remain.

pub mod fault;
pub(crate) mod life;
mod play;
pub mod provider;
pub mod tally;
pub mod turns;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use piton::reader;
use piton_core::id::Seq;
use piton_core::state::State;
use piton_store::{Journal, MemoryJournal, Record};

use self::life::live;
use self::play::conversation;
pub use self::play::{Answers, Play};
use crate::crash::provider::Run;
use crate::crash::tally::Tally;
use crate::disk::Sabotage;
use crate::oracle::{self, Final, Records};
use crate::world::World;

/// Records read at once; a scripted turn is far shorter.
const RECORDS_MAX: usize = 100_000;

/// Kills nobody: what is wrong even so.
pub async fn never(play: Play<'_>) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let effects = tally::effects(&reference);
    Tally { runs: 1, effects, ..Tally::beginning(&reference, points) }
}

/// Kills once at every point.
pub async fn once_everywhere(play: Play<'_>) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    for point in 1..=points {
        tally.add(disturbed(play, &reference, &[point], None).await.tally);
    }
    tally
}

/// Kills at every point, and again at every `nth` point of the recovery; which ones depends on the
/// first, so that over all of them no place is left out.
pub async fn twice_at_every(play: Play<'_>, nth: u64) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    for first in 1..=points {
        let recovery = disturbed(play, &reference, &[first], None).await.points_of_last_life;
        let seconds = (1..=recovery).filter(|second| (first + second).is_multiple_of(nth));
        for second in seconds {
            tally.add(disturbed(play, &reference, &[first, second], None).await.tally);
        }
    }
    tally
}

/// Kills at every point, then ten times in a row while recovering, each time a little later.
pub async fn ten_in_a_row(play: Play<'_>) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    for first in 1..=points {
        let kills: Vec<u64> = std::iter::once(first).chain(1..=10).collect();
        tally.add(disturbed(play, &reference, &kills, None).await.tally);
    }
    tally
}

/// Kills once at every point, with a safety rule broken: there should be violations.
pub async fn sabotaged(play: Play<'_>, sabotage: Sabotage) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    for point in 1..=points {
        tally.add(disturbed(play, &reference, &[point], Some(sabotage)).await.tally);
    }
    tally
}

async fn undisturbed(play: Play<'_>) -> (Final, u64) {
    let world = play.world();
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let run = play.provider.begin(play.turn);
    world.begin_life(None);
    live(play, &*run, &journal, &world).await;
    let points = world.points();
    (end(&*run, &all_records(&journal).await, world), points)
}

/// The end of a run, with what the provider has to say about it.
fn end(run: &dyn Run, records: &Records, world: World) -> Final {
    for problem in run.problems() {
        world.complain(problem);
    }
    let mut states: BTreeMap<_, _> =
        records.iter().map(|(id, records)| (id.clone(), fold(records))).collect();
    let state = states.remove(&conversation()).unwrap_or_default();
    Final { state, workers: states, world, bodies: run.bodies() }
}

struct Disturbed {
    tally: Tally,
    points_of_last_life: u64,
}

async fn disturbed(
    play: Play<'_>,
    reference: &Final,
    kills: &[u64],
    sabotage: Option<Sabotage>,
) -> Disturbed {
    let world = play.world();
    let mut journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let mut found = Vec::new();
    let mut before = Records::new();
    let mut killed = 0;
    let run = play.provider.begin(play.turn);
    for kill_at in kills.iter().copied().map(Some).chain([None]) {
        world.begin_life(kill_at);
        let died = live(play, &*run, &journal, &world).await;
        let after = all_records(&journal).await;
        found.extend(oracle::lost_anywhere(&before, &after));
        found.extend(oracle::told(&*journal, &after).await);
        before = after;
        killed += u64::from(died);
        if let (true, Some(sabotage)) = (died, sabotage) {
            journal = sabotage.damage(&journal, &conversation()).await;
            before.clear();
        }
    }
    world.quiet().await;
    let end = end(&*run, &before, world);
    found.extend(oracle::judge(reference, &end));
    let name = format!("{} {:?}", play.turn.name, play.provider);
    let violations = found.into_iter().map(|what| format!("{name} {kills:?}: {what}")).collect();
    let effects = tally::effects(&end);
    let tally = Tally { runs: 1, kills: killed, effects, violations, ..Tally::default() };
    Disturbed { tally, points_of_last_life: end.world.points() }
}

pub(crate) async fn all_records(journal: &Arc<dyn Journal>) -> Records {
    let mut all = Records::new();
    for id in journal.find("", RECORDS_MAX).await.unwrap_or_default() {
        let records = journal.read(&id, Seq(0), RECORDS_MAX).await.unwrap_or_default();
        all.insert(id, records);
    }
    all
}

pub(crate) fn fold(records: &[Record]) -> State {
    let mut state = State::default();
    for record in records {
        state.apply(&reader::entry(record));
    }
    state
}
