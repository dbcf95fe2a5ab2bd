//! A database that is empty or gone beside its log: `SQLite` would remove the log and begin anew.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};

use piton_store::contract::{Store, batch, begin, bodies, conversation, lease};
use piton_store::{Notice, Page, SqliteJournal, StoreError, inspect};
use tempfile::TempDir;

use crate::{home, store};

/// What happened to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Empty,
    Gone,
}

const CUTS: [Cut; 2] = [Cut::Empty, Cut::Gone];

/// A home with this log, and without what was in the database.
fn emptied(log: &[u8], cut: Cut) -> TempDir {
    let home = home();
    fs::write(home.path().join("piton.db-wal"), log).unwrap();
    if cut == Cut::Empty {
        fs::write(home.path().join("piton.db"), "").unwrap();
    }
    home
}

/// The log of a store that a killed process left, from its first commit on.
async fn young_log() -> Vec<u8> {
    let home = home();
    let store = store(home.path());
    begin(&store, "a", &["one", "two"]).await;
    begin(&store, "b", &["three"]).await;
    fs::read(home.path().join("piton.db-wal")).unwrap()
}

/// The log of a store that was closed before, and so holds what came after that only.
async fn old_log() -> Vec<u8> {
    let home = home();
    begin(&store(home.path()), "a", &["one ".repeat(1000).as_str()]).await;
    let store = store(home.path());
    let writer = lease(&store, "b").await;
    store.append(&writer, batch(0, &["three"])).await.unwrap();
    fs::read(home.path().join("piton.db-wal")).unwrap()
}

fn kept(home: &TempDir, name: &str) -> Vec<u8> {
    fs::read(home.path().join(name)).unwrap()
}

async fn works(journal: SqliteJournal) {
    let store: Store = Arc::new(journal);
    begin(&store, "new", &["goes on"]).await;
    assert_eq!(bodies(&store, "new").await, ["goes on"]);
}

// J19: what was acknowledged is there, although the file that a person sees is empty.
#[tokio::test]
async fn a_log_that_has_all_of_the_database_is_used() {
    let log = young_log().await;
    for cut in CUTS {
        let home = emptied(&log, cut);
        let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
        let path = home.path().join("piton.db");
        assert_eq!(notice, Some(Notice::FromLog { path }), "{cut:?}");
        let found: Store = Arc::new(journal);
        assert_eq!(bodies(&found, "a").await, ["one", "two"]);
        assert_eq!(bodies(&found, "b").await, ["three"]);
        drop(found);
        assert_eq!(bodies(&store(home.path()), "a").await, ["one", "two"]);
        works(crate::open(home.path())).await;
    }
}

/// The log with the salts of another one in its frames.
fn salted(log: &[u8]) -> Vec<u8> {
    let mut log = log.to_vec();
    log[16..24].copy_from_slice(&[7; 8]);
    log
}

// J19: a part is not taken for the whole. Nothing is removed, however little it says, and nobody who
// looks at what is kept removes it.
#[tokio::test]
async fn a_log_that_has_a_part_or_nothing_is_kept_under_a_name_that_nobody_removes() {
    let log = young_log().await;
    let (part, salted) = (old_log().await, salted(&log));
    let cut = [&log[..1], &log[..31], &log[..32], &log[..400]];
    for content in cut.into_iter().chain([&part[..], &salted[..], &[0; 4096]]) {
        for cut in CUTS {
            let home = emptied(content, cut);
            let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
            let aside = home.path().join("piton.db.damaged-1-log");
            assert_eq!(notice, Some(Notice::LogAside { log: aside }), "{cut:?}");
            works(journal).await;
            assert_eq!(kept(&home, "piton.db.damaged-1-log"), content);
            let other = rusqlite::Connection::open(home.path().join("piton.db.damaged-1"));
            other.unwrap().query_row("PRAGMA user_version", [], |_| Ok(())).unwrap();
            assert_eq!(kept(&home, "piton.db.damaged-1-log"), content);
        }
    }
}

// M14: wherever the log is torn, there is a prefix of whole commits or everything is kept.
#[tokio::test]
async fn a_torn_log_is_used_up_to_its_last_commit_or_kept() {
    let mut log = young_log().await;
    // Behind its last frame is room for more.
    let frames = log.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    log.truncate(frames);
    let mut seen = Vec::new();
    for length in (1..=log.len()).rev().step_by(173) {
        let home = emptied(&log[..length], Cut::Empty);
        let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
        match notice.unwrap() {
            Notice::FromLog { .. } => {
                let store: Store = Arc::new(journal);
                let rows = store.list(Page::first(10)).await.unwrap().rows;
                for row in &rows {
                    let read = bodies(&store, row.conversation.as_str()).await;
                    assert_eq!(read.len() as u64, row.end.0);
                }
                seen.push(rows.len());
            }
            Notice::LogAside { .. } => {
                assert_eq!(kept(&home, "piton.db.damaged-1-log"), &log[..length]);
            }
            other @ (Notice::SetAside { .. } | Notice::NoLog { .. }) => {
                panic!("{length}: {other:?}")
            }
        }
    }
    assert!(seen.is_sorted_by(|longer, shorter| longer >= shorter), "{seen:?}");
    assert_eq!((seen.first(), seen.last()), (Some(&2), Some(&0)));
}

// What only looks changes nothing, and says that something is there.
#[tokio::test]
async fn an_inspection_of_an_emptied_database_leaves_its_log() {
    let log = young_log().await;
    for cut in CUTS {
        let home = emptied(&log, cut);
        let error = inspect(home.path()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        assert_eq!(kept(&home, "piton.db-wal"), log);
        assert_eq!(home.path().join("piton.db").exists(), cut == Cut::Empty);
        let (_journal, notice) = SqliteJournal::open(home.path()).unwrap();
        assert!(matches!(notice, Some(Notice::FromLog { .. })), "{notice:?}");
        assert!(!home.path().join("piton.db.suspect").exists());
    }
}

/// Opens a home several times at once; the notices, and one of the stores.
fn opened_at_once(home: &Path) -> (Vec<Notice>, Vec<SqliteJournal>) {
    let start = Barrier::new(4);
    let open = || {
        start.wait();
        SqliteJournal::open(home).unwrap()
    };
    let opened: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (journals, notices): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
    (notices.into_iter().flatten().collect(), journals)
}

// J82: one of them decides, and all of them find the same.
#[tokio::test]
async fn several_that_start_at_once_find_the_same() {
    let (young, old) = (young_log().await, old_log().await);
    for cut in CUTS {
        let home = emptied(&young, cut);
        let (notices, journals) = opened_at_once(home.path());
        assert!(matches!(notices[..], [Notice::FromLog { .. }]), "{notices:?}");
        for journal in journals {
            let store: Store = Arc::new(journal);
            assert_eq!(bodies(&store, "a").await, ["one", "two"]);
        }
        let home = emptied(&old, cut);
        let (notices, journals) = opened_at_once(home.path());
        assert!(matches!(notices[..], [Notice::LogAside { .. }]), "{notices:?}");
        let mut stores = journals.into_iter().map(|journal| Arc::new(journal) as Store);
        begin(&stores.next().unwrap(), "new", &["one"]).await;
        for store in stores {
            assert_eq!(bodies(&store, "new").await, ["one"]);
        }
        assert_eq!(kept(&home, "piton.db.damaged-1-log"), old);
    }
}

// J82: not under the feet of a living writer.
#[tokio::test]
async fn an_emptied_database_stays_while_somebody_holds_a_lease() {
    let log = young_log().await;
    let home = home();
    let held = lease(&store(home.path()), "a").await;
    fs::write(home.path().join("piton.db"), "").unwrap();
    fs::write(home.path().join("piton.db-wal"), &log).unwrap();
    let error = SqliteJournal::open(home.path()).unwrap_err();
    assert!(error.to_string().contains("another process is using it"), "{error}");
    assert_eq!(kept(&home, "piton.db-wal"), log);
    drop(held);
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    let store: Store = Arc::new(journal);
    assert!(store.status(&conversation("b")).await.unwrap().is_some());
}

// A process died between the note and the end of the move.
#[tokio::test]
async fn a_half_moved_empty_database_keeps_its_log() {
    let log = old_log().await;
    let home = emptied(&log, Cut::Empty);
    let note = r#"{"number":1,"detail":"emptied"}"#;
    fs::write(home.path().join("piton.db.moving"), note).unwrap();
    let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
    assert!(matches!(notice, Some(Notice::LogAside { .. })), "{notice:?}");
    assert_eq!(kept(&home, "piton.db.damaged-1-log"), log);
    works(journal).await;
}

// Only the first commits may be in a database that nobody could open before: no false alarm.
#[tokio::test]
async fn an_empty_database_without_a_log_is_a_new_one() {
    let home = emptied(b"", Cut::Empty);
    works(crate::open(home.path())).await;
}

// The last one out removes the log, after having moved it into a file that nobody sees any more.
#[tokio::test]
async fn a_database_that_is_emptied_while_it_is_open_keeps_its_log() {
    for cut in CUTS {
        let home = home();
        let path = home.path().join("piton.db");
        {
            let store = store(home.path());
            begin(&store, "a", &["one"]).await;
            let writer = lease(&store, "a").await;
            match cut {
                Cut::Empty => fs::write(&path, "").unwrap(),
                Cut::Gone => fs::remove_file(&path).unwrap(),
            }
            let refused = store.append(&writer, batch(1, &["two"])).await.unwrap_err();
            assert!(refused.to_string().contains("emptied, moved or replaced"), "{refused}");
        }
        let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
        assert_eq!(notice, Some(Notice::FromLog { path }), "{cut:?}");
        let found: Store = Arc::new(journal);
        assert_eq!(bodies(&found, "a").await, ["one"]);
        let writer = lease(&found, "a").await;
        found.append(&writer, batch(1, &["two"])).await.unwrap();
    }
}

// People keep their files where they like; the log lies where the link leads.
#[tokio::test]
async fn a_database_behind_a_link_is_no_new_one_either() {
    let log = young_log().await;
    for cut in CUTS {
        let (home, elsewhere) = (home(), emptied(&log, cut));
        std::os::unix::fs::symlink(elsewhere.path().join("piton.db"), home.path().join("piton.db"))
            .unwrap();
        let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
        assert!(matches!(notice, Some(Notice::FromLog { .. })), "{cut:?}: {notice:?}");
        let found: Store = Arc::new(journal);
        assert_eq!(bodies(&found, "b").await, ["three"]);
    }
}
