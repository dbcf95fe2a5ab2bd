//! What a damaged database gives back: every page in turn is overwritten. J86

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use piton_core::id::ConversationId;
use piton_store::contract::{batch, conversation, lease};
use piton_store::{Extent, Journal, SqliteJournal, salvage};

use crate::{database, home, noise, store};

/// Size of a page, in bytes.
const PAGE_BYTES: usize = 512;
const CONVERSATIONS: usize = 6;
/// Words of a text that fills several pages.
const WORDS: usize = 150;
const ROUNDS: usize = 4;

fn name(number: usize) -> ConversationId {
    conversation(&format!("conversation-{number}"))
}

/// Conversations that write by turns; the records of each.
async fn filled(path: &Path) -> Vec<Vec<String>> {
    let store = store(path);
    let mut all = vec![Vec::new(); CONVERSATIONS];
    for round in 0..ROUNDS {
        for (number, said) in all.iter_mut().enumerate() {
            let writer = lease(&store, name(number).as_str()).await;
            let text = noise(round * CONVERSATIONS + number, WORDS);
            store.append(&writer, batch(said.len() as u64, &["short", &text])).await.unwrap();
            said.extend(["short".to_owned(), text]);
            store.release(writer).await.unwrap();
        }
    }
    all
}

/// A conversation: its name, how much of it there is, and its records.
type Back = (Option<ConversationId>, Extent, Vec<String>);

fn found(path: &Path) -> (Vec<Back>, u64) {
    let found = salvage(&path.join("piton.db"), &mut |_, _| ()).unwrap();
    let read = |of| found.records(of).unwrap().into_iter().map(|record| record.body).collect();
    let each = found.conversations.iter();
    (each.map(|of| (of.conversation.clone(), of.extent, read(of))).collect(), found.chunks_lost)
}

#[tokio::test]
async fn a_whole_database_gives_everything_back_as_it_was() {
    let home = home();
    let all = filled(home.path()).await;
    let (found, lost) = found(home.path());
    assert_eq!(lost, 0);
    let wanted: Vec<_> = all
        .into_iter()
        .enumerate()
        .map(|(number, said)| (Some(name(number)), Extent::Whole, said))
        .collect();
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn whatever_page_is_lost_nothing_false_is_given_and_what_is_called_whole_is_whole() {
    let source = home();
    let all = filled(source.path()).await;
    let content = fs::read(source.path().join("piton.db")).unwrap();
    let (mut whole, mut doubted, mut cut, mut nameless) = (0, 0, 0, 0);
    for page in 0..content.len() / PAGE_BYTES {
        let home = home();
        fs::write(home.path().join("piton.db"), &content).unwrap();
        let file = fs::OpenOptions::new().write(true).open(home.path().join("piton.db")).unwrap();
        file.write_all_at(&[0xff; PAGE_BYTES], (page * PAGE_BYTES) as u64).unwrap();
        let (found, _) = found(home.path());
        for (conversation, extent, said) in found {
            let known = match &conversation {
                Some(id) => (0..CONVERSATIONS).find(|number| name(*number) == *id),
                None => all.iter().position(|all| all.get(1) == said.get(1)),
            };
            let Some(known) = known else {
                assert!(said.len() < 2, "page {page}: {conversation:?} is none of ours");
                continue;
            };
            let all = &all[known];
            assert!(all.starts_with(&said), "page {page}: {conversation:?} has other words");
            nameless += usize::from(conversation.is_none());
            match extent {
                Extent::Whole => {
                    assert_eq!(*all, said, "page {page}: {conversation:?} is called whole");
                    whole += 1;
                }
                Extent::EndInDoubt => doubted += 1,
                Extent::Cut => cut += 1,
            }
        }
    }
    println!("whole {whole}, in doubt {doubted}, cut {cut}, without a name {nameless}");
    assert!(0 < whole && 0 < doubted && 0 < cut && 0 < nameless);
    // Most pages belong to one conversation; the others come back.
    assert!(cut + doubted < whole, "{whole} {doubted} {cut}");
}

// A process that was killed leaves its newest commits in the log.
#[tokio::test]
async fn commits_that_are_only_in_the_log_come_back() {
    let source = home();
    let store = store(source.path());
    let writer = lease(&store, "in-the-log").await;
    store.append(&writer, batch(0, &["short", &noise(1, WORDS)])).await.unwrap();
    let copy = home();
    for file in ["piton.db", "piton.db-wal"] {
        fs::copy(source.path().join(file), copy.path().join(file)).unwrap();
    }
    assert!(fs::metadata(copy.path().join("piton.db-wal")).unwrap().len() > 0);
    let (found, lost) = found(copy.path());
    let said = vec!["short".to_owned(), noise(1, WORDS)];
    assert_eq!(found, [(Some(conversation("in-the-log")), Extent::Whole, said)]);
    assert_eq!(lost, 0);
}

// A purge takes commits away on purpose: the others are whole all the same.
#[tokio::test]
async fn what_was_purged_is_not_missing() {
    let home = home();
    let all = filled(home.path()).await;
    let (opened, _) = SqliteJournal::open(home.path()).unwrap();
    let opened = Arc::new(opened);
    let store = Arc::clone(&opened) as Arc<dyn Journal>;
    // The one that wrote last, whose number must not be given twice, and one in the middle.
    for number in [CONVERSATIONS - 1, 2] {
        let going = [lease(&store, name(number).as_str()).await];
        assert_eq!(opened.purge(&going).await.unwrap().conversations, 1);
    }
    let writer = lease(&store, name(0).as_str()).await;
    store.append(&writer, batch(all[0].len() as u64, &["more"])).await.unwrap();
    store.release(writer).await.unwrap();
    drop((store, opened));
    let found = salvage(&home.path().join("piton.db"), &mut |_, _| ()).unwrap();
    assert_eq!((found.chunks_lost, found.end_is_certain, found.lost.len()), (0, true, 0));
    let names: Vec<_> = found.conversations.iter().map(|it| it.conversation.clone()).collect();
    assert_eq!(names, [0, 1, 3, 4].map(|number| Some(name(number))));
    assert!(found.conversations.iter().all(|it| it.extent == Extent::Whole));
}

#[tokio::test]
async fn a_file_of_somebody_else_is_not_ours() {
    let home = home();
    drop(store(home.path()));
    let is_ours = |name: &str| salvage(&home.path().join(name), &mut |_, _| ()).unwrap().is_ours;
    assert!(is_ours("piton.db"), "an empty one of ours");
    fs::write(home.path().join("text"), noise(1, WORDS)).unwrap();
    assert!(!is_ours("text"));
    let other = rusqlite::Connection::open(home.path().join("other.db")).unwrap();
    other.execute_batch("CREATE TABLE a (b TEXT); INSERT INTO a VALUES ('c')").unwrap();
    assert!(!is_ours("other.db"));
}

#[tokio::test]
async fn a_conversation_without_an_entry_is_known_by_its_name() {
    let home = home();
    filled(home.path()).await;
    let sql = "DELETE FROM chunks WHERE place >> 32 = 3";
    assert_eq!(database(home.path()).execute(sql, []).unwrap(), ROUNDS);
    let found = salvage(&home.path().join("piton.db"), &mut |_, _| ()).unwrap();
    assert_eq!((found.lost.as_slice(), found.chunks_lost), (&[name(2)][..], ROUNDS as u64));
}
