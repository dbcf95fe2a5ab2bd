//! A change of a real file is taken back: who wants it and who does it are killed at every operation of
//! their stores.
//!
//! The file is changed at most once, whoever dies, and never without an intent in the journal. In the
//! end file and journal agree, and the model was told once. Kills inside the change of the file itself
//! are tried with the real binary (`piton-cli/tests/cli/undo.rs`).

mod lives;

use std::fmt;
use std::path::Path;

use piton_core::event::{Event, UndoOutcome};
use piton_core::state::Turn;
use tokio::sync::watch;

use self::lives::Room;
pub use self::lives::Way;
use crate::crash::all_records;
use crate::oracle;

/// What a suite tried, and what it found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Operations of the stores in undisturbed runs: of the process that does it, then of the sender.
    pub points: (u64, u64),
    /// Runs.
    pub runs: u64,
    /// Kills in all of them.
    pub kills: u64,
    /// Runs in which a letter brought the command.
    pub by_letter: u64,
    /// What must not happen and did.
    pub violations: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.kills += other.kills;
        self.by_letter += other.by_letter;
        self.violations.extend(other.violations);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { points: (first, second), runs, kills, by_letter, violations } = self;
        write!(
            f,
            "{first} + {second} crash points, {runs} runs, {kills} kills, {by_letter} by letter, \
             {} violations",
            violations.len()
        )
    }
}

/// Where the processes die.
#[derive(Clone, Copy, Debug, Default)]
struct Kills {
    /// The process that does it.
    first: Option<u64>,
    /// The next process that does it, or the one that sends a letter.
    second: Option<u64>,
}

/// Kills nobody, then each process at every point, and both at every `nth` pair of points. `base` is a
/// directory for the files of all runs.
pub async fn everywhere(way: Way, nth: u64, base: &Path) -> Tally {
    let mut tally = one(way, Kills::default(), &base.join("0")).await;
    let (first_max, second_max) = match way {
        Way::ByLetter => tally.points,
        // The second life has as much to do as the first, at most.
        Way::Here | Way::Unrecorded => (tally.points.0, tally.points.0),
    };
    let some = |max| (1..=max).map(Some).chain([None]);
    for (first, second) in
        some(first_max).flat_map(|first| some(second_max).map(move |second| (first, second)))
    {
        let both = first.zip(second).is_none_or(|(a, b)| (a + b).is_multiple_of(nth));
        if both && (first.is_some() || second.is_some()) {
            let directory = base.join((tally.runs + 1).to_string());
            tally.add(one(way, Kills { first, second }, &directory).await);
        }
    }
    tally
}

async fn one(way: Way, kills: Kills, directory: &Path) -> Tally {
    let mut room = match Room::with_a_change(directory).await {
        Ok(room) => room,
        Err(problem) => return Tally { violations: vec![problem], ..Tally::default() },
    };
    let mut found = Vec::new();
    let mut deaths = 0;
    let points = if way == Way::ByLetter {
        let sender = room.world.beside();
        room.world.begin_life(kills.first);
        sender.begin_life(kills.second);
        let (over, seen) = watch::channel(false);
        let (sent, held) = tokio::join!(room.send(&sender, over), room.hold(seen));
        deaths += u64::from(sent) + u64::from(held);
        found.extend(look(&mut room).await);
        (room.world.points(), sender.points())
    } else {
        room.world.begin_life(kills.first);
        deaths += u64::from(room.live(way).await);
        found.extend(look(&mut room).await);
        let points = (room.world.points(), 0);
        room.world.begin_life(kills.second);
        deaths += u64::from(room.live(way).await);
        found.extend(look(&mut room).await);
        points
    };
    // The last process is killed by nobody, and finishes what the others left.
    let before = all_records(&room.journal).await;
    room.world.begin_life(None);
    room.live(way).await;
    found.extend(look(&mut room).await);
    found.extend(oracle::lost_anywhere(&before, &all_records(&room.journal).await));
    found.extend(judge(&room).await);
    let place = |what| format!("{way:?} {kills:?}: {what}");
    Tally {
        points,
        runs: 1,
        kills: deaths,
        by_letter: u64::from(by_letter(&room.events().await)),
        violations: found.into_iter().map(place).collect(),
    }
}

/// What is wrong between two processes: an effect without an intent, a file that journal and disk
/// describe otherwise, a file that was changed a second time.
async fn look(room: &mut Room) -> Vec<String> {
    let (content, events) = (room.content(), room.events().await);
    let meant = events.iter().any(|event| matches!(event, Event::UndoStarted { .. }));
    let done = events.iter().any(is_done);
    let mut found = Vec::new();
    match content.as_str() {
        "old\n" if !meant => found.push("the file was changed without an intent".into()),
        "new\n" if done => found.push("the journal says done, and the file is as before".into()),
        "old\n" | "new\n" => {}
        other => found.push(format!("the file has {other:?}")),
    }
    if content == "old\n" {
        let (now, seen) = (room.inode(), room.seen);
        if seen.is_some_and(|seen| seen != now) {
            found.push("the file was changed once more".into());
        }
        room.seen = Some(now);
    }
    found
}

fn is_done(event: &Event) -> bool {
    matches!(event, Event::UndoFinished { outcome: UndoOutcome::Done, .. })
}

fn by_letter(events: &[Event]) -> bool {
    let undo = events.iter().position(|event| matches!(event, Event::UndoStarted { .. }));
    let before = undo.and_then(|undo| events.get(undo.checked_sub(1)?));
    matches!(before, Some(Event::CommandTaken { letter: Some(_), .. }))
}

/// What is wrong in the end.
async fn judge(room: &Room) -> Vec<String> {
    let mut found = room.world.problems();
    let (events, state) = (room.events().await, room.state().await);
    if room.content() != "old\n" {
        found.push("the change is not taken back".into());
    }
    let count = |is: fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    let meant = count(|event| matches!(event, Event::UndoStarted { .. }));
    let ended = count(|event| matches!(event, Event::UndoFinished { .. }));
    if (meant, ended, count(is_done)) != (1, 1, 1) {
        found.push(format!("it was meant {meant} times, and ended {ended} times"));
    }
    let steps = state.turns.iter().flat_map(Turn::steps);
    let told = steps.flat_map(|step| &step.told).count();
    if told != 1 {
        found.push(format!("the model was told {told} times"));
    }
    if state.strays != 0 {
        found.push(format!("{} strays in the journal", state.strays));
    }
    if state.open_turn().is_some() || !state.queue.is_empty() {
        found.push("something is left to do".into());
    }
    let left = room.letters().await;
    if left != 0 {
        found.push(format!("{left} letters are left"));
    }
    found
}
