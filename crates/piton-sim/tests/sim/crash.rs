//! Kills the driver at every crash point of every scripted turn (M1-M9, M11-M13, M15, M18).

use piton_sim::crash::provider::InProcess;
use piton_sim::crash::turns::{TURNS, TurnScript};
use piton_sim::crash::{self, Play, Tally};
use piton_sim::disk::Sabotage;

pub(crate) fn in_process(turn: &TurnScript) -> Play<'_> {
    Play { turn, provider: &InProcess }
}

fn check(suite: &str, tally: Tally) {
    let Tally { points, runs, kills, violations } = tally;
    println!(
        "{suite}: {} turns, {points} crash points, {runs} runs, {kills} kills, {} violations",
        TURNS.len(),
        violations.len()
    );
    let shown: Vec<_> = violations.iter().take(5).collect();
    assert!(violations.is_empty(), "{shown:#?}");
    assert!(0 < kills, "a suite that kills nobody shows nothing");
}

#[tokio::test(start_paused = true)]
async fn crash_once_at_every_point() {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    for turn in TURNS {
        tally.add(crash::once_everywhere(in_process(turn)).await);
    }
    check("killed once at every point", tally);
}

#[tokio::test(start_paused = true)]
async fn crash_twice_at_every_pair_of_points() {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    for turn in TURNS {
        tally.add(crash::twice_everywhere(in_process(turn)).await);
    }
    check("killed again at every point of the recovery", tally);
}

// M18
#[tokio::test(start_paused = true)]
async fn crash_ten_times_in_a_row() {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    for turn in TURNS {
        tally.add(crash::ten_in_a_row(in_process(turn)).await);
    }
    check("killed, then ten times in a row", tally);
}

#[tokio::test(start_paused = true)]
async fn crash_oracle_notices_each_broken_safety_rule() {
    crate::hush_scripted_panics();
    for sabotage in Sabotage::ALL {
        let mut tally = Tally::default();
        for turn in TURNS {
            tally.add(crash::sabotaged(in_process(turn), sabotage).await);
        }
        println!(
            "control {sabotage:?}: {} runs, {} violations (some are wanted)",
            tally.runs,
            tally.violations.len()
        );
        assert!(!tally.violations.is_empty(), "{sabotage:?} went unnoticed");
    }
}
