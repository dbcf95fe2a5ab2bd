//! Kills parent and workers together at every crash point of turns that delegate (M16, D76, D79).

use piton_proof::crash;
use piton_proof::crash::tally::Tally;
use piton_proof::crash::turns::{TurnScript, WORKER_TURNS};
use piton_proof::disk::Sabotage;

use crate::crash::{check, in_process};

/// Recoveries are killed again at every so manieth point; which ones depends on the first kill.
const NTH: u64 = 6;

#[tokio::test(start_paused = true)]
async fn workers_crash_once_at_every_point() {
    let mut tally = Tally::default();
    for turn in WORKER_TURNS {
        tally.add(crash::once_everywhere(in_process(turn)).await);
    }
    check("workers, killed once at every point", WORKER_TURNS.len(), &tally);
}

#[tokio::test(start_paused = true)]
async fn workers_crash_again_while_they_recover() {
    let mut tally = Tally::default();
    for turn in WORKER_TURNS {
        tally.add(crash::twice_at_every(in_process(turn), NTH).await);
    }
    check("workers, killed again while they recover", WORKER_TURNS.len(), &tally);
}

// M18
#[tokio::test(start_paused = true)]
async fn workers_crash_ten_times_in_a_row() {
    let mut tally = Tally::default();
    for turn in WORKER_TURNS {
        tally.add(crash::ten_in_a_row(in_process(turn)).await);
    }
    check("workers, killed, then ten times in a row", WORKER_TURNS.len(), &tally);
}

#[tokio::test(start_paused = true)]
async fn the_oracle_notices_workers_that_are_repeated() {
    for sabotage in [Sabotage::WorkersForgotten, Sabotage::FinishForgotten] {
        let mut tally = Tally::default();
        for turn in WORKER_TURNS {
            tally.add(crash::sabotaged(in_process(turn), sabotage).await);
        }
        let twice = |what: &&String| what.contains("took effect 2 times");
        let twice = tally.violations.iter().filter(twice).count();
        println!(
            "control {sabotage:?}: {} runs, {} violations, {twice} effects twice (some are wanted)",
            tally.runs,
            tally.violations.len()
        );
        assert!(0 < twice, "{sabotage:?} went unnoticed");
    }
}

/// A turn that needs no worker says so.
#[test]
fn every_turn_of_this_suite_has_workers() {
    let idle = |turn: &&TurnScript| turn.script().workers.is_empty();
    assert!(!WORKER_TURNS.iter().any(|turn| idle(&turn)), "a script that does not parse?");
}
