//! Every page of a database in turn is overwritten. Nobody is told "done" of what cannot be read,
//! and nobody is stuck: whoever meets damage leaves a note, and the next start sets the database aside.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use piton_core::id::Seq;
use piton_store::contract::{batch, begin, bodies, conversation, lease};
use piton_store::{Notice, Page, SqliteJournal, inspect};
use tempfile::TempDir;

use crate::{home, noise, open, store};

/// Size of a page, in bytes.
const PAGE_BYTES: usize = 512;
const CONVERSATIONS: usize = 12;
/// Words of a text that fills several pages.
const WORDS: usize = 250;

/// A home with conversations whose rows fill several pages each.
async fn filled() -> (TempDir, Vec<u8>) {
    let home = home();
    {
        let store = store(home.path());
        for number in 0..CONVERSATIONS {
            let name = format!("conversation-with-a-long-name-{number}");
            begin(&store, &name, &["short", &noise(number, WORDS)]).await;
        }
    }
    let content = fs::read(home.path().join("piton.db")).unwrap();
    assert!(content.len() > 40 * PAGE_BYTES, "{}", content.len());
    (home, content)
}

fn damage(home: &Path, page: usize) {
    let file = fs::OpenOptions::new().write(true).open(home.join("piton.db")).unwrap();
    file.write_all_at(&[0xff; PAGE_BYTES], (page * PAGE_BYTES) as u64).unwrap();
}

/// The database with one page overwritten, in a home of its own.
fn spoiled(content: &[u8], page: usize) -> TempDir {
    let home = home();
    fs::write(home.path().join("piton.db"), content).unwrap();
    damage(home.path(), page);
    home
}

fn is_noted(home: &Path) -> bool {
    home.join("piton.db.suspect").exists()
}

/// Does what a person does: lists, begins, reads. Says whether all of it worked.
async fn works(journal: SqliteJournal) -> bool {
    let store = std::sync::Arc::new(journal) as piton_store::contract::Store;
    let listed = store.list(Page::first(100)).await;
    let Ok(writer) = store.lease(&conversation("new"), piton_store::contract::holder(1)).await
    else {
        return false;
    };
    let begun = store.append(&writer, batch(0, &["first"])).await;
    if begun.is_ok() {
        assert_eq!(bodies(&store, "new").await, ["first"], "what is done can be read");
        assert_eq!(store.find("new", 10).await.unwrap(), [conversation("new")]);
        store.append(&writer, batch(1, &["second"])).await.unwrap();
        let newest = store.list(Page::first(8)).await.unwrap();
        assert!(newest.rows.iter().any(|row| row.conversation == conversation("new")));
    }
    listed.is_ok() && begun.is_ok()
}

// J19, J86: never an unreadable store, never anything thrown away.
#[tokio::test]
async fn whatever_page_is_damaged_the_second_start_works() {
    let (_whole, content) = filled().await;
    let mut kept_aside = 0;
    for page in 0..content.len() / PAGE_BYTES {
        let home = spoiled(&content, page);
        let damaged = fs::read(home.path().join("piton.db")).unwrap();
        let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
        let worked = works(journal).await;
        assert!(worked || notice.is_none(), "page {page}: a new one works");
        if worked {
            kept_aside += usize::from(notice.is_some());
            continue;
        }
        assert!(is_noted(home.path()), "page {page}");
        let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
        let Some(Notice::SetAside { aside, detail }) = notice else {
            panic!("page {page}: {notice:?}")
        };
        assert!(!detail.contains('\n'), "{detail}");
        assert_eq!(fs::read(&aside).unwrap(), damaged, "page {page}");
        assert!(!is_noted(home.path()), "page {page}");
        assert!(works(journal).await, "page {page}");
        kept_aside += 1;
    }
    assert!(kept_aside > 10, "{kept_aside}");
}

/// A page whose damage a list meets: the last one of the kind that a leaf of a table is.
fn leaf(content: &[u8]) -> usize {
    let is_leaf = |page: &&[u8]| page[0] == 0x0d;
    content.chunks(PAGE_BYTES).collect::<Vec<_>>().iter().rposition(is_leaf).unwrap()
}

// J82: nothing is moved under the feet of a living writer; whoever comes then works as before.
#[tokio::test]
async fn a_suspected_database_stays_while_somebody_holds_a_lease() {
    let (_whole, content) = filled().await;
    let home = spoiled(&content, leaf(&content));
    let journal = open(home.path());
    assert!(!works(journal).await);
    assert!(is_noted(home.path()));
    fs::remove_file(home.path().join("piton.db.suspect")).unwrap();
    let working = store(home.path());
    let held = lease(&working, "conversation-with-a-long-name-0").await;
    working.list(Page::first(100)).await.unwrap_err();
    let journal = open(home.path());
    assert!(is_noted(home.path()));
    drop((journal, held, working));
    let (_journal, notice) = SqliteJournal::open(home.path()).unwrap();
    assert!(matches!(notice, Some(Notice::SetAside { .. })), "{notice:?}");
}

// A false alarm, or a page that was mended in between.
#[tokio::test]
async fn a_note_beside_a_whole_database_goes_and_nothing_else_happens() {
    let (home, _) = filled().await;
    fs::write(home.path().join("piton.db.suspect"), "it looked bad").unwrap();
    let store = store(home.path());
    assert!(!is_noted(home.path()));
    let listed = store.list(Page::first(100)).await.unwrap();
    assert_eq!(listed.rows.len(), CONVERSATIONS);
}

// A checksum that is wrong concerns one entry: the database is well, and is not checked.
#[tokio::test]
async fn a_damaged_entry_alone_leaves_no_note() {
    let (home, _) = filled().await;
    let spoil = "UPDATE chunks SET checksum = 1";
    crate::database(home.path()).execute_batch(spoil).unwrap();
    let name = conversation("conversation-with-a-long-name-0");
    store(home.path()).read(&name, Seq(0), 10).await.unwrap_err();
    assert!(!is_noted(home.path()));
}

// What doctor says of the next start is true.
#[tokio::test]
async fn damage_that_an_inspection_finds_is_set_aside_by_the_next_start() {
    let (_whole, content) = filled().await;
    let home = spoiled(&content, leaf(&content));
    let faults = inspect(home.path()).map(|health| health.unwrap().faults);
    assert!(faults.is_err() || !faults.unwrap().is_empty());
    let (_journal, notice) = SqliteJournal::open(home.path()).unwrap();
    assert!(matches!(notice, Some(Notice::SetAside { .. })), "{notice:?}");
}
