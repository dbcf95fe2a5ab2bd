//! Taking changes back as data: intended, performed, settled.

use std::fs;

use piton_tools::undo::{Undo, UndoDone, UndoIntent, UndoSettled};
use serde_json::json;

use crate::bench::Bench;

fn undo(bench: &Bench) -> Undo {
    Undo::new(&bench.site.scratch)
}

/// What taking back the newest change would do, read again as a journal would.
fn intended(bench: &Bench) -> UndoIntent {
    let (name, _) = undo(bench).of(&bench.site.workspace).swap_remove(0);
    let intent = undo(bench).intend(&name).unwrap();
    let text = serde_json::to_string(&intent).unwrap();
    let read: UndoIntent = serde_json::from_str(&text).unwrap();
    assert_eq!(read, intent);
    read
}

async fn edited() -> Bench {
    let bench = Bench::new("edit_file");
    bench.file("f", "a b c");
    bench.ok(json!({"path": "f", "old": "b", "new": "B"})).await;
    bench
}

async fn made() -> Bench {
    let bench = Bench::new("write_file");
    bench.ok(json!({"path": "new/f", "content": "x"})).await;
    bench
}

#[tokio::test]
async fn an_intent_says_what_goes_and_what_comes_back_and_touches_nothing() {
    let bench = edited().await;
    let intent = intended(&bench);
    assert_eq!((intent.path.as_str(), intent.again), ("f", false));
    assert!(intent.before.is_some() && intent.after.is_some() && intent.before != intent.after);
    assert_eq!(bench.content("f"), "a B c");
    assert_eq!(undo(&bench).settle(&intent), UndoSettled::NotDone);
    let removal = intended(&made().await);
    assert!(removal.before.is_some() && removal.after.is_none(), "{removal:?}");
}

#[tokio::test]
async fn an_intent_is_performed_once_however_often_it_is_tried() {
    let bench = edited().await;
    let intent = intended(&bench);
    let done = undo(&bench).perform(&intent).unwrap();
    assert_eq!(done, UndoDone::Now("`f`: taken back".into()));
    assert_eq!(bench.content("f"), "a b c");
    for _ in 0..2 {
        assert_eq!(undo(&bench).settle(&intent), UndoSettled::Done);
        assert_eq!(undo(&bench).perform(&intent).unwrap(), UndoDone::Earlier);
    }
    let again = intended(&bench);
    assert!(again.again && again.before == intent.after && again.after == intent.before);
    undo(&bench).perform(&again).unwrap();
    assert_eq!((bench.content("f"), bench.names("")), ("a B c".into(), vec!["f".into()]));
}

#[tokio::test]
async fn a_file_that_was_made_is_removed_once_and_made_again() {
    let bench = made().await;
    let intent = intended(&bench);
    assert_eq!(undo(&bench).settle(&intent), UndoSettled::NotDone);
    assert!(matches!(undo(&bench).perform(&intent).unwrap(), UndoDone::Now(_)));
    assert_eq!(undo(&bench).settle(&intent), UndoSettled::Done);
    assert_eq!(undo(&bench).perform(&intent).unwrap(), UndoDone::Earlier);
    let again = intended(&bench);
    fs::remove_dir(bench.path("new")).unwrap();
    assert_eq!(undo(&bench).settle(&intent), UndoSettled::Done, "its directory went too");
    assert_eq!(undo(&bench).settle(&again), UndoSettled::NotDone);
    undo(&bench).perform(&again).unwrap();
    assert_eq!(bench.content("new/f"), "x");
}

// Every state that a dead process can leave between the intent and the end of its work.
#[tokio::test]
async fn a_process_that_died_half_way_is_settled_by_digests() {
    let bench = edited().await;
    let intent = intended(&bench);
    let old = bench.site.scratch.join("undo").join(&intent.change);
    let version = fs::read(&old).unwrap();
    undo(&bench).perform(&intent).unwrap();
    // It had put the content back, and died before it removed the old version.
    fs::write(&old, &version).unwrap();
    assert_eq!(undo(&bench).settle(&intent), UndoSettled::Done);
    assert!(!old.exists(), "the work is ended");
    // It had kept what goes, and died before it touched the file.
    fs::write(&old, &version).unwrap();
    bench.file("f", "a B c");
    assert_eq!(undo(&bench).settle(&intent), UndoSettled::NotDone);
    assert!(matches!(undo(&bench).perform(&intent).unwrap(), UndoDone::Now(_)));
    assert_eq!((bench.content("f"), bench.names("")), ("a b c".into(), vec!["f".into()]));
}

#[tokio::test]
async fn what_somebody_else_wrote_is_a_conflict_and_stays() {
    let bench = edited().await;
    let intent = intended(&bench);
    bench.file("f", "mine");
    assert!(matches!(undo(&bench).settle(&intent), UndoSettled::Conflict(_)));
    assert!(undo(&bench).perform(&intent).is_err());
    assert_eq!(bench.content("f"), "mine");
    assert!(undo(&bench).intend(&intent.change).is_err());
    let bench = made().await;
    let intent = intended(&bench);
    bench.file("new/f", "mine");
    assert!(matches!(undo(&bench).settle(&intent), UndoSettled::Conflict(_)));
    assert!(undo(&bench).perform(&intent).is_err());
    assert_eq!(bench.content("new/f"), "mine");
}

#[tokio::test]
async fn an_intent_for_another_version_is_not_performed() {
    let bench = edited().await;
    let intent = UndoIntent { path: "g".into(), ..intended(&bench) };
    let refusal = undo(&bench).perform(&intent).unwrap_err().0;
    assert!(refusal.contains("not the one that was meant"), "{refusal}");
    assert_eq!(bench.content("f"), "a B c");
}

#[tokio::test]
async fn without_its_old_version_an_intent_is_settled_and_not_performed() {
    let bench = edited().await;
    let intent = intended(&bench);
    fs::remove_file(bench.site.scratch.join("undo").join(&intent.change)).unwrap();
    assert_eq!(undo(&bench).settle(&intent), UndoSettled::NotDone);
    assert!(undo(&bench).perform(&intent).is_err());
    bench.file("f", "a b c");
    assert_eq!(undo(&bench).settle(&intent), UndoSettled::Done);
    assert_eq!(undo(&bench).perform(&intent).unwrap(), UndoDone::Earlier);
}
