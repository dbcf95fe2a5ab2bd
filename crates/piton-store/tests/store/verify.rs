//! A look at everything: what decayed is found and named, and nothing else suffers or changes.

use std::fs;

use piton_core::id::Seq;
use piton_store::contract::{batch, begin, conversation, lease};
use piton_store::{Decayed, DecayedBlob, Journal as _, Verified, verify};
use tempfile::TempDir;

use crate::{database, home, open, store};

/// Three conversations, each with entries in several commits, and one blob of which two speak.
async fn filled() -> (TempDir, String) {
    let home = home();
    let blob = open(home.path()).put_blob(b"content").await.unwrap().digest.to_string();
    let store = store(home.path());
    for name in ["a", "b", "c"] {
        let writer = lease(&store, name).await;
        for place in 0..4 {
            let body = if place == 2 && name != "b" { &blob[..] } else { "an entry" };
            store.append(&writer, batch(place, &[body])).await.unwrap();
        }
    }
    (home, blob)
}

fn verified(home: &TempDir) -> Verified {
    verify(home.path(), &mut |_| {}).unwrap().unwrap()
}

fn named(name: &str, seq: u64, detail: &str) -> Decayed {
    Decayed { conversation: conversation(name), seq: Seq(seq), detail: detail.to_owned() }
}

#[tokio::test]
async fn what_is_whole_is_found_whole() {
    let (home, _) = filled().await;
    let whole = Verified { conversations: 3, blobs: 1, ..Verified::default() };
    assert_eq!(verified(&home), whole);
    // While somebody writes, too.
    let store = store(home.path());
    let _writer = lease(&store, "a").await;
    assert_eq!(verified(&home), whole);
}

#[test]
fn where_nothing_is_nothing_is_made() {
    let home = home();
    assert_eq!(verify(home.path(), &mut |_| {}).unwrap(), None);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

// J19: a flipped bit within a row, a lost row, a lost end: the check of the database sees none of them.
#[tokio::test]
async fn every_conversation_that_cannot_be_read_is_named() {
    let third = |name: u8| format!("place & 0xffffffff = 3 AND place >> 32 = {name}");
    for (sql, expected) in [
        (
            format!("UPDATE chunks SET body = zeroblob(12) WHERE {}", third(1)),
            vec![named("a", 3, "its checksum is wrong")],
        ),
        (format!("DELETE FROM chunks WHERE {}", third(2)), vec![named("b", 3, "it is missing")]),
        (
            "DELETE FROM chunks WHERE place >> 32 = 3".to_owned(),
            vec![named("c", 1, "it is missing")],
        ),
        (
            "UPDATE chunks SET checksum = checksum + 1 WHERE place >> 32 <> 2".to_owned(),
            vec![named("a", 1, "its checksum is wrong"), named("c", 1, "its checksum is wrong")],
        ),
    ] {
        let (home, _) = filled().await;
        database(home.path()).execute_batch(&sql).unwrap();
        let content = fs::read(home.path().join("piton.db")).unwrap();
        let found = verified(&home);
        assert_eq!((found.conversations, found.damaged), (3, expected), "{sql}");
        assert_eq!(
            fs::read(home.path().join("piton.db")).unwrap(),
            content,
            "looking is not mending"
        );
        assert!(!home.path().join("piton.db.suspect").exists(), "the database is well");
    }
}

#[tokio::test]
async fn a_blob_that_is_not_what_its_name_says_is_told_with_who_speaks_of_it() {
    let (home, blob) = filled().await;
    let path = home.path().join("blobs").join(&blob[..2]).join(&blob);
    fs::write(&path, "c0ntent").unwrap();
    // Drafts and foreign files are nobody's.
    fs::write(path.with_extension("1.0.draft"), "half").unwrap();
    let found = verified(&home);
    assert_eq!((found.blobs, found.damaged.len(), found.damaged_blobs.len()), (1, 0, 1));
    assert_eq!(found.damaged_blobs[0].path, path);
    assert_eq!(found.damaged_blobs[0].used_by, ["a", "c"].map(conversation));
}

#[tokio::test]
async fn a_blob_that_is_not_there_is_told_with_who_speaks_of_it() {
    let home = home();
    let blob = open(home.path()).put_blob(b"content").await.unwrap();
    let spoken = format!(r#"{{"type":"X","blob":{}}}"#, serde_json::to_string(&blob).unwrap());
    // A text that looks the same is a text, and whatever is no name of a blob leads nowhere.
    let text = serde_json::json!({ "text": spoken.replace("content", "other") }).to_string();
    let odd = r#"{"blob":{"digest":"../../piton.db","bytes":1}}"#;
    {
        let store = store(home.path());
        begin(&store, "a", &[spoken.as_str(), spoken.as_str()]).await;
        begin(&store, "b", &[text.as_str(), odd]).await;
        begin(&store, "c", &[odd, spoken.as_str()]).await;
    }
    assert_eq!(verified(&home).missing_blobs, []);
    let name = blob.digest.to_string();
    let path = home.path().join("blobs").join(&name[..2]).join(&name);
    fs::remove_file(&path).unwrap();
    let found = verified(&home);
    let used_by = ["a", "c"].map(conversation).to_vec();
    assert_eq!(found.missing_blobs, [DecayedBlob { path, used_by }]);
    assert!(found.damaged.is_empty() && found.damaged_blobs.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_long_look_gives_signs_of_life() {
    let home = home();
    {
        let store = store(home.path());
        for number in 0..130 {
            begin(&store, &format!("c{number}"), &["one"]).await;
        }
    }
    let mut told = Vec::new();
    verify(home.path(), &mut |so_far| told.push(so_far.conversations)).unwrap();
    assert_eq!(told, [64, 128]);
}

// More than an entry: the next start looks at all of it.
#[tokio::test]
async fn a_table_that_cannot_be_read_leaves_the_note() {
    let (home, _) = filled().await;
    let path = home.path().join("piton.db");
    let mut content = fs::read(&path).unwrap();
    let page = content.windows(8).rposition(|here| here == b"an entry").unwrap() / 512 * 512;
    content[page..page + 512].fill(0xff);
    fs::write(&path, content).unwrap();
    verify(home.path(), &mut |_| {}).unwrap_err();
    assert!(home.path().join("piton.db.suspect").exists());
}
