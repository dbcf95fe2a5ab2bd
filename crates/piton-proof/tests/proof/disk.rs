//! A disk that is full or cannot sync, at every append of every scripted turn, also of those whose
//! workers append as well (M14, M16, J20).

use piton_proof::crash::fault::disk_fails_everywhere;
use piton_proof::crash::tally::Tally;
use piton_proof::crash::turns::{TURNS, TurnScript, WORKER_TURNS};
use piton_proof::disk::DiskFault;

async fn check(turns: &[TurnScript], fault: DiskFault) {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    for turn in turns {
        tally.add(disk_fails_everywhere(crate::crash::in_process(turn), fault).await);
    }
    let Tally { runs, violations, .. } = tally;
    println!(
        "{fault:?}: {} turns, {runs} appends failed, {} violations",
        turns.len(),
        violations.len()
    );
    let shown: Vec<_> = violations.iter().take(5).collect();
    assert!(violations.is_empty(), "{shown:#?}");
    assert!(turns.len() < usize::try_from(runs).unwrap(), "every turn has several appends");
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_at_every_append() {
    check(TURNS, DiskFault::Full).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_sync_at_every_append() {
    check(TURNS, DiskFault::Sync).await;
}

// A parent that went on would tell the model that its worker failed, and hand the task out again.
#[tokio::test(start_paused = true)]
async fn a_full_disk_at_every_append_of_parent_and_workers() {
    check(WORKER_TURNS, DiskFault::Full).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_sync_at_every_append_of_parent_and_workers() {
    check(WORKER_TURNS, DiskFault::Sync).await;
}
