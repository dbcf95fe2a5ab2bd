//! What a suite tried, counted.

use std::collections::BTreeMap;
use std::fmt;

use piton_core::event::EffectClass;

use crate::oracle::Final;

/// Every effect class there is; each has turns in which it is disturbed.
pub const CLASSES: [EffectClass; 6] = [
    EffectClass::ReadOnly,
    EffectClass::Idempotent,
    EffectClass::Digested,
    EffectClass::Supervised,
    EffectClass::Child,
    EffectClass::Once,
];

/// What a suite tried, and what it found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Crash points of the undisturbed run.
    pub points: u64,
    /// Disturbed runs.
    pub runs: u64,
    /// Kills in all of them.
    pub kills: u64,
    /// Effects that were really done in them, by the name of their class. Those of class `child` are
    /// conversations of workers.
    pub effects: BTreeMap<&'static str, u64>,
    /// Undisturbed runs that end under a summary.
    pub summed_up: u64,
    /// Parts of those summaries that a model wrote.
    pub pieces: u64,
    /// What must not happen and did.
    pub violations: Vec<String>,
}

impl Tally {
    /// Before the first disturbed run; nothing may be wrong with the undisturbed one either.
    pub(super) fn beginning(reference: &Final, points: u64) -> Self {
        let overlay = reference.state.overlay.as_ref();
        let (summed_up, pieces) = (u64::from(overlay.is_some()), overlay.map_or(0, |it| it.pieces));
        let (pieces, violations) = (u64::from(pieces), reference.world.problems());
        Self { points, summed_up, pieces, violations, ..Self::default() }
    }

    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        self.points += other.points;
        self.runs += other.runs;
        self.kills += other.kills;
        self.summed_up += other.summed_up;
        self.pieces += other.pieces;
        for (class, count) in other.effects {
            *self.effects.entry(class).or_default() += count;
        }
        self.violations.extend(other.violations);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { points, runs, kills, effects, violations, .. } = self;
        let effects: Vec<_> =
            effects.iter().map(|(class, count)| format!("{class} {count}")).collect();
        let (effects, violations) = (effects.join(", "), violations.len());
        write!(
            f,
            "{points} crash points, {runs} runs, {kills} kills, {violations} violations; effects: {effects}"
        )
    }
}

/// What was really done in a run, by the name of its class.
pub(super) fn effects(end: &Final) -> BTreeMap<&'static str, u64> {
    let done = end.world.ledger().into_iter().map(|effect| effect.class);
    let workers = end.workers.keys().map(|_| EffectClass::Child);
    let mut counts = BTreeMap::new();
    for class in done.chain(workers) {
        *counts.entry(class_name(class)).or_default() += 1;
    }
    counts
}

/// The name of a class, as the settings write it.
pub fn class_name(class: EffectClass) -> &'static str {
    match class {
        EffectClass::ReadOnly => "read_only",
        EffectClass::Idempotent => "idempotent",
        EffectClass::Digested => "digested",
        EffectClass::Supervised => "supervised",
        EffectClass::Child => "child",
        EffectClass::Once => "once",
    }
}
