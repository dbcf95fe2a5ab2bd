//! X19: conversations that are taken away for good.

use std::fs;

use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, Lease, Letter, ListPosition, NewRecord, Page,
    PurgeError, SqliteJournal, StatusRow, StoreError,
};
use tempfile::TempDir;

fn id(name: &str) -> ConversationId {
    ConversationId::new(name)
}

async fn lease(journal: &SqliteJournal, name: &str) -> Lease {
    let holder = Holder { pid: 1, host: "test".into(), since: Timestamp(0) };
    journal.lease(&id(name), holder).await.unwrap()
}

async fn write(journal: &SqliteJournal, name: &str, bodies: &[String]) {
    let lease = lease(journal, name).await;
    let mut end = Seq(0);
    for body in bodies {
        let records = vec![NewRecord { at: Timestamp(1), format: 1, body: body.clone() }];
        let status = StatusRow { title: format!("title of {name}"), ..StatusRow::default() };
        let (name, durability) = (CommitName::fresh(), Durability::Synced);
        let batch = Batch { name, expected: end, records, status, durability };
        end = journal.append(&lease, batch).await.unwrap();
    }
}

async fn names(journal: &SqliteJournal) -> Vec<String> {
    let rows = journal.list(Page::first(100)).await.unwrap().rows;
    let mut names: Vec<_> = rows.iter().map(|row| row.conversation.to_string()).collect();
    names.sort();
    names
}

async fn position(journal: &SqliteJournal) -> ListPosition {
    journal.list(Page::first(1)).await.unwrap().position
}

#[tokio::test]
async fn the_others_stay_and_the_position_of_the_list_is_never_given_twice() {
    let home = TempDir::new().unwrap();
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    // So many that some are entered in the index, and some are not.
    let bodies: Vec<_> = (0..600).map(|number| format!("entry {number}")).collect();
    write(&journal, "a", &bodies[..20]).await;
    write(&journal, "b", &bodies).await;
    write(&journal, "c", &bodies[..20]).await;
    let before = position(&journal).await;
    let leases = [lease(&journal, "b").await, lease(&journal, "c").await];
    let purged = journal.purge(&leases).await.unwrap();
    assert_eq!((purged.conversations, purged.log_is_read), (2, false));
    drop(leases);
    assert_eq!(names(&journal).await, ["a"]);
    assert!(matches!(
        journal.read(&id("b"), Seq(0), 1).await,
        Err(StoreError::UnknownConversation(_))
    ));
    assert_eq!(position(&journal).await, before);
    assert!(journal.changes(before, 10).await.unwrap().rows.is_empty());
    write(&journal, "d", &bodies[..600]).await;
    let changes = journal.changes(before, 10).await.unwrap();
    assert_eq!(changes.rows.len(), 1, "{changes:?}");
    assert!(before < changes.position);
    // A second one, and another process.
    let again = [lease(&journal, "d").await];
    journal.purge(&again).await.unwrap();
    drop((again, journal));
    let (journal, notice) = SqliteJournal::open(home.path()).unwrap();
    assert!(notice.is_none());
    assert_eq!(names(&journal).await, ["a"]);
    assert_eq!(journal.read(&id("a"), Seq(0), 100).await.unwrap().len(), 20);
    write(&journal, "b", &bodies[..2]).await;
    assert_eq!(journal.read(&id("b"), Seq(0), 100).await.unwrap().len(), 2);
    drop(journal);
    let verified = piton_store::verify(home.path(), &mut |_| ()).unwrap().unwrap();
    assert_eq!((verified.conversations, verified.damaged.len()), (2, 0));
}

#[tokio::test]
async fn nothing_goes_while_somebody_writes_elsewhere() {
    let home = TempDir::new().unwrap();
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    write(&journal, "a", &["one".into()]).await;
    let leases = [lease(&journal, "a").await];
    let other = lease(&journal, "b").await;
    assert!(matches!(journal.purge(&leases).await, Err(PurgeError::Writers)));
    assert_eq!(names(&journal).await, ["a"]);
    journal.release(other).await.unwrap();
    journal.purge(&leases).await.unwrap();
    assert!(names(&journal).await.is_empty());
}

#[tokio::test]
async fn blobs_that_nobody_else_has_and_letters_go_too() {
    let home = TempDir::new().unwrap();
    let (journal, _) = SqliteJournal::open(home.path()).unwrap();
    let own = journal.put_blob(b"own").await.unwrap();
    let shared = journal.put_blob(b"shared").await.unwrap();
    let posted = journal.put_blob(b"posted").await.unwrap();
    let entry = |digest: &str| format!(r#"{{"blob":{{"digest":"{digest}","bytes":3}}}}"#);
    let all = [&own, &shared, &posted].map(|blob| entry(blob.digest.as_str()));
    write(&journal, "a", &all).await;
    write(&journal, "b", &[entry(shared.digest.as_str())]).await;
    let letter = |body: &str| Letter { id: "l1".into(), body: body.to_owned() };
    journal.post(&id("a"), letter("for a")).await.unwrap();
    journal.post(&id("b"), letter(posted.digest.as_str())).await.unwrap();
    let leases = [lease(&journal, "a").await];
    let purged = journal.purge(&leases).await.unwrap();
    assert_eq!((purged.blobs, purged.letters), (1, 1));
    assert!(matches!(journal.blob(&own.digest).await, Err(StoreError::UnknownBlob(_))));
    for blob in [shared, posted] {
        journal.blob(&blob.digest).await.unwrap();
    }
    assert_eq!(journal.letters(&id("a")).await.unwrap().len(), 0);
    assert_eq!(journal.letters(&id("b")).await.unwrap().len(), 1);
    let left = fs::read_dir(home.path().join("inbox")).unwrap().count();
    assert_eq!(left, 1);
}
