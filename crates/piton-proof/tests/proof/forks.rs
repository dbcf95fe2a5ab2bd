//! A turn that is forked where it died: killed at every point, and its fork too.

use piton_proof::forks::{self, Tally, Way};

/// The fork dies at every so manieth point of every death of its origin.
const NTH: u64 = 13;

async fn tried(way: Way) -> Tally {
    let tally = forks::everywhere(way, NTH).await;
    println!("a turn that is forked, {way:?}: {tally}");
    assert!(0 < tally.kills, "a suite that kills nobody shows nothing");
    assert!(0 < tally.left, "no fork was cut behind a call that had not ended");
    tally
}

fn check(tally: &Tally) {
    let shown: Vec<_> = tally.violations.iter().take(5).collect();
    assert!(tally.violations.is_empty(), "{shown:#?}");
}

// J74, X7, X26
#[tokio::test(start_paused = true)]
async fn crash_at_every_point_of_a_turn_that_is_forked_and_left() {
    check(&tried(Way::ForkFirst).await);
}

// J74, X7, X26
#[tokio::test(start_paused = true)]
async fn crash_at_every_point_of_a_turn_whose_ends_a_fork_takes_over() {
    let tally = tried(Way::OriginFirst).await;
    check(&tally);
    assert!(0 < tally.taken_over, "no end was taken over");
}

#[tokio::test(start_paused = true)]
async fn crash_oracle_notices_a_fork_that_copies() {
    let tally = tried(Way::Copied).await;
    let noticed = |what: &String| what.contains("in the fork once more");
    assert!(tally.violations.iter().any(noticed), "{:?}", tally.violations.first());
}
