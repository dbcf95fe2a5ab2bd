//! Blobs that come in pieces leave a file when they are whole, and nothing before.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use piton_store::Journal as _;

use crate::{home, open};

fn files(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            names.extend(files(&entry.path()));
        } else {
            names.push(entry.file_name().into_string().unwrap());
        }
    }
    names
}

#[tokio::test]
async fn an_upload_that_stops_leaves_nothing() {
    let home = home();
    let (store, blobs) = (open(home.path()), home.path().join("blobs"));
    let mut draft = store.begin_blob().await.unwrap();
    draft.add(b"half of a file").await.unwrap();
    assert_eq!(files(&blobs).len(), 1, "it does not wait in memory");
    drop(draft);
    assert_eq!(files(&blobs), [""; 0]);
    let mut draft = store.begin_blob().await.unwrap();
    draft.add(b"a whole ").await.unwrap();
    draft.add(b"file").await.unwrap();
    let kept = draft.keep().await.unwrap();
    assert_eq!(files(&blobs), [kept.digest.as_str()]);
}

#[tokio::test]
async fn what_a_dead_process_was_uploading_is_taken_away_later() {
    let home = home();
    let (store, blobs) = (open(home.path()), home.path().join("blobs"));
    fs::create_dir_all(&blobs).unwrap();
    let (old, new) = (blobs.join("upload.1.0.draft"), blobs.join("upload.2.0.draft"));
    for path in [&old, &new] {
        fs::write(path, "half").unwrap();
    }
    let file = File::options().write(true).open(&old).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_hours(2)).unwrap();
    drop(store.begin_blob().await.unwrap());
    assert_eq!(files(&blobs), ["upload.2.0.draft"]);
}
