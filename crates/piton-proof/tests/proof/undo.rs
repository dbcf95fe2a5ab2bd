//! A change that is taken back: killed at every point, here and by letter.

use piton_proof::undo::{self, Tally, Way};
use tempfile::TempDir;

/// Both die at every so manieth pair of points.
const NTH: u64 = 3;

async fn tried(way: Way) -> Tally {
    let base = TempDir::new().unwrap();
    let tally = undo::everywhere(way, NTH, base.path()).await;
    println!("a change taken back, {way:?}: {tally}");
    assert!(0 < tally.kills, "a suite that kills nobody shows nothing");
    tally
}

fn check(tally: &Tally) {
    let shown: Vec<_> = tally.violations.iter().take(5).collect();
    assert!(tally.violations.is_empty(), "{shown:#?}");
}

#[tokio::test(start_paused = true)]
async fn crash_at_every_point_of_an_undo() {
    check(&tried(Way::Here).await);
}

#[tokio::test(start_paused = true)]
async fn crash_at_every_point_of_an_undo_by_letter() {
    let tally = tried(Way::ByLetter).await;
    check(&tally);
    assert!(0 < tally.by_letter, "the command never travelled");
}

#[tokio::test(start_paused = true)]
async fn crash_oracle_notices_an_undo_that_nobody_recorded() {
    let tally = tried(Way::Unrecorded).await;
    let noticed = |what: &String| what.contains("without an intent");
    assert!(tally.violations.iter().any(noticed), "{:?}", tally.violations);
}
