//! A disk that is full or cannot sync, at every append of every scripted turn (M14, J20).

use piton_sim::crash::fault::disk_fails_everywhere;
use piton_sim::crash::tally::Tally;
use piton_sim::crash::turns::TURNS;
use piton_sim::disk::DiskFault;

async fn check(fault: DiskFault) {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    for turn in TURNS {
        tally.add(disk_fails_everywhere(crate::crash::in_process(turn), fault).await);
    }
    let Tally { runs, violations, .. } = tally;
    println!("{fault:?}: {} turns, {runs} appends failed, {violations:?}", TURNS.len());
    let shown: Vec<_> = violations.iter().take(5).collect();
    assert!(violations.is_empty(), "{shown:#?}");
    assert!(TURNS.len() < usize::try_from(runs).unwrap(), "every turn has several appends");
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_at_every_append() {
    check(DiskFault::Full).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_sync_at_every_append() {
    check(DiskFault::Sync).await;
}
