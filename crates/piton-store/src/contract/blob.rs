//! Blobs: round trip, once, bounded.

use piton_core::id::Digest;
use tokio::task::JoinSet;

use super::fixture::Store;
use crate::{BLOB_BYTES_MAX, StoreError};

pub async fn a_blob_reads_back_and_is_kept_once(store: Store) {
    for content in [&b""[..], b"abc", b"\0\xff\xfe", &vec![7; 100_000]] {
        let first = store.put_blob(content).await.unwrap();
        let again = store.put_blob(content).await.unwrap();
        assert_eq!(first, again);
        assert_eq!(first.bytes, content.len() as u64);
        assert_eq!(store.blob(&first.digest).await.unwrap(), content);
    }
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        tasks.spawn(async move { store.put_blob(b"at the same time").await.unwrap() });
    }
    while let Some(named) = tasks.join_next().await {
        let digest = named.unwrap().digest;
        assert_eq!(store.blob(&digest).await.unwrap(), b"at the same time");
    }
}

pub async fn a_blob_that_comes_in_pieces_is_the_same_blob(store: Store) {
    let large = [vec![7; 40_000], vec![7; 60_000]];
    let large = large.each_ref().map(Vec::as_slice);
    for pieces in [&[&b"ab"[..], b"", b"c"][..], &[], &large] {
        let mut draft = store.begin_blob().await.unwrap();
        for piece in pieces {
            draft.add(piece).await.unwrap();
        }
        let kept = draft.keep().await.unwrap();
        let content = pieces.concat();
        assert_eq!(kept.bytes, content.len() as u64);
        assert_eq!(store.blob(&kept.digest).await.unwrap(), content);
        assert_eq!(store.put_blob(&content).await.unwrap(), kept);
    }
    let mut dropped = store.begin_blob().await.unwrap();
    dropped.add(b"never whole").await.unwrap();
    drop(dropped);
    let named = crate::blob::digest(b"never whole");
    let read = store.blob(&named).await;
    assert!(matches!(read, Err(StoreError::UnknownBlob(_))), "{read:?}");
}

pub async fn an_unknown_blob_is_an_error(store: Store) {
    for name in [&"0".repeat(64), "", "../../piton.db", "ab"] {
        let read = store.blob(&Digest::new(name)).await;
        assert!(matches!(read, Err(StoreError::UnknownBlob(_))), "{read:?}");
    }
}

pub async fn a_blob_larger_than_the_limit_is_refused(store: Store) {
    let refused = store.put_blob(&vec![0; BLOB_BYTES_MAX + 1]).await;
    assert!(matches!(refused, Err(StoreError::BlobSize { .. })), "{refused:?}");
    let mut draft = store.begin_blob().await.unwrap();
    draft.add(&vec![0; BLOB_BYTES_MAX]).await.unwrap();
    let refused = draft.add(b"0").await;
    assert!(matches!(refused, Err(StoreError::BlobSize { .. })), "{refused:?}");
}
