//! A turn is killed at every point, forked, and gone on with in both conversations. Whoever forks it, and
//! goes on in the fork, is killed at every point, too.
//!
//! A call that was started before the cut has its effect once, in the conversation that started it. It is
//! never started in the fork, and in the end both turns are over.

mod lives;

use std::collections::BTreeSet;
use std::fmt;

use piton_core::event::Event;
use piton_core::id::CallId;
use piton_core::state::State;

use self::lives::Room;
pub use self::lives::Way;
use crate::crash::all_records;
use crate::oracle;

/// What a suite tried, and what it found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Points of undisturbed runs: of the conversation that is forked, then the most of a fork.
    pub points: (u64, u64),
    /// Runs.
    pub runs: u64,
    /// Kills in all of them.
    pub kills: u64,
    /// Calls that had been started where a fork was cut, and had not ended.
    pub left: u64,
    /// Ends that forks took over.
    pub taken_over: u64,
    /// What must not happen and did.
    pub violations: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.kills += other.kills;
        self.left += other.left;
        self.taken_over += other.taken_over;
        self.violations.extend(other.violations);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { points: (first, second), runs, kills, left, taken_over, violations } = self;
        write!(
            f,
            "{first} + {second} crash points, {runs} runs, {kills} kills, {left} calls left to the \
             origin, {taken_over} ends taken over, {} violations",
            violations.len()
        )
    }
}

/// Kills the conversation that is forked at every point, and its fork nowhere and at every `nth` point.
pub async fn everywhere(way: Way, nth: u64) -> Tally {
    let mut tally = one(way, None, None).await;
    for first in (1..=tally.points.0).map(Some).chain([None]) {
        let alone = one(way, first, None).await;
        // A fork has more to do the more was left to it.
        for second in 1..=alone.points.1 {
            if (first.unwrap_or(0) + second).is_multiple_of(nth) {
                tally.add(one(way, first, Some(second)).await);
            }
        }
        tally.points.1 = tally.points.1.max(alone.points.1);
        tally.add(alone);
    }
    tally
}

async fn one(way: Way, first: Option<u64>, second: Option<u64>) -> Tally {
    let mut room = Room::default();
    let mut kills = 0;
    room.world.begin_life(first);
    kills += u64::from(room.begin().await);
    let mut points = (room.world.points(), 0);
    let before = all_records(&room.journal).await;
    if way != Way::ForkFirst {
        room.world.begin_life(None);
        // The cut is where the first process died; what comes behind it is done by then.
        room.cut = room.end().await;
        room.finish_origin().await;
    }
    room.world.begin_life(second);
    kills += u64::from(room.fork_and_finish(way).await);
    points.1 = room.world.points();
    room.world.begin_life(None);
    room.fork_and_finish(way).await;
    room.finish_origin().await;
    let mut found = oracle::lost_anywhere(&before, &all_records(&room.journal).await);
    let (left, taken_over, wrong) = judge(&room).await;
    found.extend(wrong);
    let place = |what| format!("{way:?} {first:?} {second:?}: {what}");
    let violations = found.into_iter().map(place).collect();
    Tally { points, runs: 1, kills, left, taken_over, violations }
}

/// How many calls stayed with the origin, how many ends were taken over, and what is wrong in the end.
async fn judge(room: &Room) -> (u64, u64, Vec<String>) {
    let mut found = room.world.problems();
    let (mut left, mut taken_over) = (0, 0);
    let origin = room.entries(&lives::conversation()).await;
    let ledger = room.world.ledger();
    for (fork, through) in room.forks().await {
        let cut = origin.iter().take_while(|entry| entry.seq <= through);
        let events: Vec<&Event> = cut.map(|entry| &entry.event).collect();
        let begun: BTreeSet<CallId> = events.iter().filter_map(|event| started(event)).collect();
        let ended: BTreeSet<CallId> = events.iter().filter_map(|event| finished(event)).collect();
        left += begun.difference(&ended).count() as u64;
        for entry in room.entries(&fork).await {
            if let Some(call) = started(&entry.event).filter(|call| begun.contains(call)) {
                found.push(format!("{call} was started in the fork once more"));
            }
            taken_over += u64::from(finished(&entry.event).is_some_and(|it| begun.contains(&it)));
        }
        for effect in ledger.iter().filter(|effect| effect.conversation == fork) {
            if begun.contains(&effect.call) {
                found.push(format!("{} {} took effect in the fork", effect.tool, effect.call));
            }
        }
        found.extend(rests(&room.state(&fork).await, "the fork"));
    }
    for effect in &ledger {
        let again = ledger.iter().filter(|other| *other == effect).count();
        if 1 < again && effect.tool != "look" && effect.tool != "set" {
            found.push(format!("{} {} took effect {again} times", effect.tool, effect.call));
        }
    }
    found.extend(rests(&room.state(&lives::conversation()).await, "the origin"));
    (left, taken_over, found)
}

/// What is wrong with a conversation that has come to an end.
fn rests(state: &State, who: &str) -> Vec<String> {
    let mut found = Vec::new();
    if state.open_turn().is_some() {
        found.push(format!("the turn of {who} is open"));
    }
    if state.turns.is_empty() {
        found.push(format!("{who} has no turn"));
    }
    if state.strays != 0 {
        found.push(format!("{} strays in the journal of {who}", state.strays));
    }
    found
}

fn started(event: &Event) -> Option<CallId> {
    let Event::ToolStarted { call, .. } = event else { return None };
    Some(*call)
}

fn finished(event: &Event) -> Option<CallId> {
    let Event::ToolFinished { call, .. } = event else { return None };
    Some(*call)
}
