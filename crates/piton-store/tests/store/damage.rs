//! Damage: named, kept, and no reason for anything else to suffer.

use std::fs;
use std::path::Path;

use piton_core::id::Seq;
use piton_store::contract::append::store_error;
use piton_store::contract::{batch, begin, bodies, conversation, lease};
use piton_store::{Notice, Page, SqliteJournal, StoreError};

use crate::{database, home, open, store};

fn spoil(home: &Path, content: &[u8]) {
    fs::write(home.join("piton.db"), content).unwrap();
}

// J19: never an unreadable store, never anything thrown away.
#[tokio::test]
async fn what_is_no_database_is_set_aside_and_a_new_one_begins() {
    let home = home();
    for number in 1..=2 {
        let garbage = format!("garbage {number} ").repeat(100);
        spoil(home.path(), garbage.as_bytes());
        let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
        let kept = home.path().join(format!("piton.db.damaged-{number}"));
        match &notice {
            Some(Notice::SetAside { aside, .. }) => assert_eq!(*aside, kept),
            other => panic!("{other:?}"),
        }
        let sentence = notice.unwrap().to_string();
        assert!(sentence.contains(kept.to_str().unwrap()) && sentence.contains("doctor --salvage"));
        assert_eq!(fs::read(&kept).unwrap(), garbage.as_bytes());
        begin(&(std::sync::Arc::new(journal) as _), "a", &["one"]).await;
    }
    assert_eq!(bodies(&store(home.path()), "a").await, ["one"]);
}

#[tokio::test]
async fn a_destroyed_schema_is_set_aside() {
    let home = home();
    begin(&store(home.path()), "a", &["one"]).await;
    let mut content = fs::read(home.path().join("piton.db")).unwrap();
    content[100..512].fill(0x5a);
    spoil(home.path(), &content);
    let (_journal, notice) = SqliteJournal::open(home.path()).unwrap();
    assert!(matches!(notice, Some(Notice::SetAside { .. })), "{notice:?}");
    assert_eq!(fs::read(home.path().join("piton.db.damaged-1")).unwrap(), content);
}

/// A database that is readable without its log, the log under another name, and the note of a
/// process that died before it had moved the database as well.
async fn half_set_aside(home: &Path, note: &str) -> Vec<u8> {
    let whole = crate::home();
    let store = store(whole.path());
    begin(&store, "a", &["one"]).await;
    let copy = |from: &str, to: &str| fs::copy(whole.path().join(from), home.join(to)).unwrap();
    // Everything is in the log as yet, so the copied file holds nothing at all.
    copy("piton.db", "piton.db");
    copy("piton.db-wal", "piton.db.damaged-1-wal");
    fs::write(home.join("piton.db.moving"), note).unwrap();
    fs::read(home.join("piton.db")).unwrap()
}

// J19: what the log alone had would be missed by nobody.
#[tokio::test]
async fn a_database_that_was_half_set_aside_is_set_aside_before_anything_is_opened() {
    let home = home();
    let content = half_set_aside(home.path(), r#"{"number":1,"detail":"scratched"}"#).await;
    let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
    let aside = home.path().join("piton.db.damaged-1");
    let detail = "scratched".to_owned();
    assert_eq!(notice, Some(Notice::SetAside { aside: aside.clone(), detail }));
    drop(journal);
    assert_eq!(fs::read(&aside).unwrap(), content);
    assert!(!home.path().join("piton.db.moving").exists());
    // Its log beside it, so that what was committed can be read there.
    fs::create_dir(home.path().join("saved")).unwrap();
    for suffix in ["", "-wal"] {
        let from = home.path().join(format!("piton.db.damaged-1{suffix}"));
        fs::copy(from, home.path().join(format!("saved/piton.db{suffix}"))).unwrap();
    }
    assert_eq!(bodies(&store(&home.path().join("saved")), "a").await, ["one"]);
    open(home.path());
}

#[tokio::test]
async fn what_lies_under_the_name_already_is_not_overwritten() {
    let home = home();
    half_set_aside(home.path(), r#"{"number":1,"detail":"scratched"}"#).await;
    let log = fs::read(home.path().join("piton.db.damaged-1-wal")).unwrap();
    fs::write(home.path().join("piton.db-wal"), "another log").unwrap();
    SqliteJournal::open(home.path()).unwrap();
    assert_eq!(fs::read(home.path().join("piton.db.damaged-1-wal")).unwrap(), log);
    assert_eq!(fs::read(home.path().join("piton.db.damaged-2-wal")).unwrap(), b"another log");
}

#[tokio::test]
async fn half_a_note_means_that_nothing_was_moved() {
    let home = home();
    begin(&store(home.path()), "a", &["one"]).await;
    fs::write(home.path().join("piton.db.moving"), r#"{"number":1,"det"#).unwrap();
    assert_eq!(bodies(&store(home.path()), "a").await, ["one"]);
    assert!(!home.path().join("piton.db.moving").exists());
}

// J82: nothing is cleaned up under the feet of a living writer.
#[tokio::test]
async fn a_damaged_database_stays_while_somebody_holds_a_lease() {
    let home = home();
    // The lease outlives its store, so the log is closed and the damage is there to be seen.
    let held = lease(&store(home.path()), "a").await;
    let garbage = "garbage ".repeat(100);
    spoil(home.path(), garbage.as_bytes());
    let error = SqliteJournal::open(home.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("another process is using it"), "{error}");
    assert_eq!(fs::read(home.path().join("piton.db")).unwrap(), garbage.as_bytes());
    drop(held);
    let (_journal, notice) = SqliteJournal::open(home.path()).unwrap();
    assert!(matches!(notice, Some(Notice::SetAside { .. })), "{notice:?}");
}

// A commit into a file that has lost its name would be acknowledged and never seen again.
#[tokio::test]
async fn a_writer_whose_file_was_replaced_stops() {
    let home = home();
    let store = store(home.path());
    let held = lease(&store, "a").await;
    let file = home.path().join("piton.db");
    let moved = home.path().join("moved");
    fs::rename(&file, &moved).unwrap();
    fs::copy(&moved, &file).unwrap();
    let error = store_error(store.append(&held, batch(0, &["one"])).await);
    assert!(error.to_string().contains("moved or replaced"), "{error}");
    fs::rename(&moved, &file).unwrap();
    store.append(&held, batch(0, &["one"])).await.unwrap();
}

#[test]
fn a_disk_that_fails_for_a_moment_is_no_reason_to_set_anything_aside() {
    let home = home();
    // A directory in the file's place: cannot be opened, is not damaged.
    fs::create_dir(home.path().join("piton.db")).unwrap();
    let error = SqliteJournal::open(home.path()).unwrap_err();
    assert!(matches!(error, StoreError::Database { .. }), "{error:?}");
    assert!(home.path().join("piton.db").is_dir());
}

async fn spoiled(sql: &str) -> (String, Vec<String>) {
    let home = home();
    {
        let store = store(home.path());
        let writer = lease(&store, "a").await;
        for place in 0..4 {
            store.append(&writer, batch(place, &[&format!("entry {place}")])).await.unwrap();
        }
        begin(&store, "b", &["one"]).await;
    }
    database(home.path()).execute_batch(sql).unwrap();
    let store = store(home.path());
    let error = store.read(&conversation("a"), Seq(0), 10).await.unwrap_err();
    assert!(matches!(error, StoreError::DamagedEntry { .. }), "{error:?}");
    // Others stay readable, and the list shows them all.
    assert_eq!(bodies(&store, "b").await, ["one"]);
    assert_eq!(store.list(Page::first(10)).await.unwrap().rows.len(), 2);
    let before = store.read(&conversation("a"), Seq(0), 1).await.unwrap_or_default();
    let text = error.to_string();
    let detail = text.split_once("is damaged: ").unwrap().1.to_owned();
    (detail, before.into_iter().map(|record| record.body).collect())
}

// J19, M14: what was committed before the damage is readable, what is damaged has a name.
#[tokio::test]
async fn a_damaged_entry_is_named_and_those_before_it_are_readable() {
    let third = "place & 0xffffffff = 3 AND place >> 32 = 1";
    let cases = [
        (format!("DELETE FROM chunks WHERE {third}"), "entry 3: it is missing"),
        (
            format!("UPDATE chunks SET body = zeroblob(12) WHERE {third}"),
            "entry 3: its checksum is wrong",
        ),
        (format!("UPDATE chunks SET checksum = 1 WHERE {third}"), "entry 3: its checksum is wrong"),
        (format!("UPDATE chunks SET records = 2 WHERE {third}"), "entry 3: its checksum is wrong"),
        (
            format!("UPDATE chunks SET unpacked = 1 << 62 WHERE {third}"),
            "entry 3: its checksum is wrong",
        ),
    ];
    for (sql, detail) in cases {
        let expected = (format!("conversation a, {detail}"), vec!["entry 0".to_owned()]);
        assert_eq!(spoiled(&sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn a_journal_without_its_beginning_is_no_journal() {
    let missing = ("conversation a, entry 1: it is missing".to_owned(), vec![]);
    let first = "DELETE FROM chunks WHERE place & 0xffffffff = 1 AND place >> 32 = 1";
    assert_eq!(spoiled(first).await, missing);
    assert_eq!(spoiled("DELETE FROM chunks WHERE place >> 32 = 1").await, missing);
}

#[tokio::test]
async fn a_title_that_is_no_text_hides_nothing() {
    let home = home();
    begin(&store(home.path()), "a", &["one"]).await;
    let spoil = "UPDATE conversations SET title = CAST(x'ff41' AS TEXT)";
    database(home.path()).execute_batch(spoil).unwrap();
    let listing = store(home.path()).list(Page::first(10)).await.unwrap();
    assert_eq!(listing.rows[0].row.title, "\u{fffd}A");
}

#[tokio::test]
async fn a_decayed_blob_is_named_and_mended_by_keeping_it_again() {
    use piton_store::Journal as _;
    let home = home();
    let journal = open(home.path());
    let named = journal.put_blob(b"content").await.unwrap();
    let digest = named.digest.as_str();
    let file = home.path().join("blobs").join(&digest[..2]).join(digest);
    fs::write(&file, b"c0ntent").unwrap();
    let error = journal.blob(&named.digest).await.unwrap_err();
    assert!(matches!(error, StoreError::DamagedBlob { .. }), "{error:?}");
    journal.put_blob(b"content").await.unwrap();
    assert_eq!(journal.blob(&named.digest).await.unwrap(), b"content");
}
