//! Every command by letter: who holds the conversation and who sends are killed at every operation of
//! their stores (J96, M8, M15).
//!
//! A command is taken once or refused once, whichever process dies. If its sender died before it was told that the
//! command is durable, the command may never have existed; the sender sends it again under the same
//! name, and it counts once.

pub mod dispatch;
mod lives;

use std::fmt;

use piton_core::event::Event;
use tokio::sync::watch;

use self::dispatch::Dispatch;
use self::lives::{Run, Sent, conversation, name};
use crate::crash::all_records;
use crate::disk::Flaw;
use crate::oracle;

/// What a suite tried, and what it found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Operations of the holder's store in undisturbed runs, at each of which it is killed.
    pub holder_points: u64,
    /// The same of the sender's.
    pub sender_points: u64,
    /// Disturbed runs.
    pub runs: u64,
    /// Runs whose command a letter brought.
    pub by_letter: u64,
    /// Runs whose command was refused.
    pub refused: u64,
    /// What must not happen and did.
    pub violations: Vec<String>,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        self.holder_points += other.holder_points;
        self.sender_points += other.sender_points;
        self.runs += other.runs;
        self.by_letter += other.by_letter;
        self.refused += other.refused;
        self.violations.extend(other.violations);
    }

    /// Adds a disturbed run, whose points are those of the undisturbed one.
    fn add_run(&mut self, run: Self) {
        self.add(Self { holder_points: 0, sender_points: 0, ..run });
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { holder_points, sender_points, runs, by_letter, refused, violations } = self;
        let violations = violations.len();
        write!(
            f,
            "{holder_points} + {sender_points} crash points, {runs} runs, {by_letter} by letter, \
             {refused} refused, {violations} violations"
        )
    }
}

/// Where the two processes die.
#[derive(Clone, Copy, Debug, Default)]
struct Kills {
    holder: Option<u64>,
    sender: Option<u64>,
}

/// Kills nobody.
pub async fn never(dispatch: &Dispatch, flaw: Option<Flaw>) -> Tally {
    one(dispatch, Kills::default(), flaw).await
}

/// Kills the holder at every point.
pub async fn holder_everywhere(dispatch: &Dispatch, flaw: Option<Flaw>) -> Tally {
    let mut tally = one(dispatch, Kills::default(), flaw).await;
    for holder in 1..=tally.holder_points {
        tally.add_run(one(dispatch, Kills { holder: Some(holder), sender: None }, flaw).await);
    }
    tally
}

/// Kills the holder at every point, the sender at every point, and both at every `nth` pair of points.
pub async fn everywhere(dispatch: &Dispatch, nth: u64) -> Tally {
    let mut tally = holder_everywhere(dispatch, None).await;
    for sender in 1..=tally.sender_points {
        tally.add_run(one(dispatch, Kills { holder: None, sender: Some(sender) }, None).await);
    }
    for holder in 1..=tally.holder_points {
        let senders = 1..=tally.sender_points;
        for sender in senders.filter(|sender| (holder + sender).is_multiple_of(nth)) {
            let kills = Kills { holder: Some(holder), sender: Some(sender) };
            tally.add_run(one(dispatch, kills, None).await);
        }
    }
    tally
}

async fn one(dispatch: &Dispatch, kills: Kills, flaw: Option<Flaw>) -> Tally {
    let run = Run::new(dispatch, flaw);
    let sender = run.world.beside();
    run.world.begin_life(kills.holder);
    sender.begin_life(kills.sender);
    let (over, seen) = watch::channel(false);
    let (sent, ()) = tokio::join!(run.send(&sender, over), run.hold(seen));
    let before = all_records(&run.journal).await;
    let known = verdicts(&run).await;
    let mut found = Vec::new();
    if 1 < known.len() {
        found.push(format!("it was judged {} times", known.len()));
    }
    run.finish(sent).await;
    let after = all_records(&run.journal).await;
    found.extend(oracle::lost_anywhere(&before, &after));
    let verdicts = judge(&run, sent, &mut found).await;
    let place = |what| format!("{} {kills:?} {sent:?}: {what}", dispatch.name);
    Tally {
        holder_points: run.world.points(),
        sender_points: sender.points(),
        runs: 1,
        by_letter: u64::from(verdicts.iter().any(|verdict| verdict.by_letter)),
        refused: u64::from(verdicts.iter().any(|verdict| !verdict.taken)),
        violations: found.into_iter().map(place).collect(),
    }
}

/// What the journal says of the command.
struct Judged {
    taken: bool,
    by_letter: bool,
}

async fn verdicts(run: &Run<'_>) -> Vec<Judged> {
    let wanted = name();
    let events = events(run).await;
    let judged = events.into_iter().filter_map(|event| {
        let (command, taken, letter) = if let Event::CommandTaken { command, letter } = event {
            (command, true, letter)
        } else if let Event::CommandRefused { command, letter, .. } = event {
            (command, false, letter)
        } else {
            return None;
        };
        (command == wanted).then_some(Judged { taken, by_letter: letter.is_some() })
    });
    judged.collect()
}

async fn events(run: &Run<'_>) -> Vec<Event> {
    let records = all_records(&run.journal).await.remove(&conversation()).unwrap_or_default();
    records.iter().map(|record| Event::from_stored(record.format, &record.body)).collect()
}

/// What is wrong at the end of a run.
async fn judge(run: &Run<'_>, sent: Sent, found: &mut Vec<String>) -> Vec<Judged> {
    found.extend(run.world.problems());
    found.extend(oracle::done_twice(&run.world.ledger()));
    let verdicts = verdicts(run).await;
    match verdicts.as_slice() {
        [] => found.push(format!("it is lost, and its sender knows: {sent:?}")),
        [judged] => {
            let traces = run.dispatch.traces(&events(run).await);
            let expected = usize::from(judged.taken || run.dispatch.is_anybodys());
            if traces.is_some_and(|traces| traces != expected) {
                found.push(format!("it left {traces:?} traces, not {expected}"));
            }
        }
        _ => found.push(format!("it was judged {} times", verdicts.len())),
    }
    let left = run.journal.letters(&conversation()).await.unwrap_or_default();
    if !left.is_empty() {
        found.push(format!("letters are left: {left:?}"));
    }
    let state = run.state().await;
    if state.strays != 0 {
        found.push(format!("{} strays in the journal", state.strays));
    }
    if state.open_turn().is_some() || !state.queue.is_empty() {
        found.push("something is left to do".into());
    }
    verdicts
}
