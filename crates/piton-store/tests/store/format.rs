//! Formats: older builds refuse newer databases, first starts may race.

use std::sync::Barrier;

use piton_core::view::Status;
use piton_store::contract::append::store_error;
use piton_store::contract::{batch, begin, bodies, conversation, lease};
use piton_store::{SqliteJournal, StoreError, Wants};

use crate::{database, home, open, store};

#[tokio::test]
async fn a_newer_database_is_refused_in_a_sentence_and_left_alone() {
    let home = home();
    begin(&store(home.path()), "a", &["one"]).await;
    database(home.path()).pragma_update(None, "user_version", 7).unwrap();
    let before = std::fs::read(home.path().join("piton.db")).unwrap();

    let error = SqliteJournal::open(home.path()).unwrap_err();
    assert!(matches!(error, StoreError::NewerFormat { found: 7, known: 3, .. }), "{error:?}");
    assert!(error.to_string().ends_with("piton.db has format 7, this piton knows up to 3"));
    assert_eq!(std::fs::read(home.path().join("piton.db")).unwrap(), before);
}

#[tokio::test]
async fn a_writer_stops_when_a_newer_build_takes_over() {
    let home = home();
    let store = store(home.path());
    begin(&store, "a", &["one"]).await;
    database(home.path()).pragma_update(None, "user_version", 7).unwrap();
    let lease = lease(&store, "a").await;
    let refused = store.append(&lease, batch(1, &["two"])).await;
    let error = store_error(refused);
    assert!(matches!(error, StoreError::NewerFormat { .. }), "{error:?}");
    assert_eq!(bodies(&store, "a").await, ["one"]);
}

#[tokio::test]
async fn a_database_of_the_first_format_is_brought_up_to_date() {
    let home = home();
    for name in ["a", "b"] {
        begin(&store(home.path()), name, &["one", "two"]).await;
    }
    database(home.path())
        .execute_batch(
            "CREATE TABLE old (
                 key INTEGER PRIMARY KEY, records INTEGER NOT NULL, unpacked INTEGER NOT NULL,
                 checksum INTEGER NOT NULL, status TEXT, body BLOB NOT NULL
             ) STRICT;
             INSERT INTO old SELECT place, records, unpacked, checksum, status, body FROM chunks;
             DROP TABLE chunks; DROP TABLE places; DROP TABLE placed;
             ALTER TABLE old RENAME TO chunks;
             PRAGMA user_version = 1;",
        )
        .unwrap();

    let store = store(home.path());
    for name in ["a", "b"] {
        assert_eq!(bodies(&store, name).await, ["one", "two"]);
        let lease = lease(&store, name).await;
        store.append(&lease, batch(2, &["three"])).await.unwrap();
        assert_eq!(bodies(&store, name).await, ["one", "two", "three"]);
    }
}

// Up to format 2 a commit carried the words that lists showed.
#[tokio::test]
async fn a_list_of_the_second_format_is_read_as_it_is() {
    let home = home();
    begin(&store(home.path()), "a", &["one"]).await;
    database(home.path())
        .execute_batch(
            "UPDATE chunks SET status = 'waiting-for-input (pay)'; PRAGMA user_version = 2;",
        )
        .unwrap();
    let store = store(home.path());
    let row = store.status(&conversation("a")).await.unwrap().unwrap().row;
    assert_eq!(row.status, Status::WaitingForInput { tool: "pay".to_owned() });
    assert_eq!(row.wants, Wants::Person);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let home = home();
    database(home.path())
        .execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .unwrap();
    let error = SqliteJournal::open(home.path()).unwrap_err();
    assert!(error.to_string().contains("belongs to another program"), "{error}");
    let kept: i64 =
        database(home.path()).query_row("SELECT x FROM theirs", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
}

#[test]
fn first_starts_may_race() {
    const STARTS: usize = 8;
    let home = home();
    let start = Barrier::new(STARTS);
    std::thread::scope(|scope| {
        let open = || {
            start.wait();
            open(home.path())
        };
        let opened: Vec<_> = (0..STARTS).map(|_| scope.spawn(open)).collect();
        for thread in opened {
            thread.join().unwrap();
        }
    });
    let verdict: String =
        database(home.path()).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}

#[test]
fn the_database_is_set_up_as_promised() {
    let home = home();
    let _journal = open(home.path());
    let ask = |name: &str| -> String {
        let db = database(home.path());
        db.pragma_query_value(None, name, |row| {
            row.get::<_, rusqlite::types::Value>(0).map(|value| format!("{value:?}"))
        })
        .unwrap()
    };
    assert_eq!(ask("journal_mode"), "Text(\"wal\")");
    assert_eq!(ask("page_size"), "Integer(512)");
}
