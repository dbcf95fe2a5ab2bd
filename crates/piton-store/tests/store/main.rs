//! Tests of both stores: the common contract, and what only a store on a disk can get wrong.

#![cfg(test)]

mod crash;
mod damage;
mod emptied;
mod format;
mod lock;
mod pages;
mod private;
mod purge;
mod salvage;
mod search;
mod shared;
mod space;
mod turns;
mod upload;
mod verify;
mod wake;

use std::path::Path;
use std::sync::Arc;

use piton_store::SqliteJournal;
use piton_store::contract::Store;
use tempfile::TempDir;

mod memory {
    piton_store::contract_tests!(|| async { (piton_store::MemoryJournal::new(), ()) });
    piton_store::several_handles_tests!(|| async {
        let one = piton_store::MemoryJournal::new();
        ([one.clone(), one], ())
    });
}

mod sqlite {
    piton_store::contract_tests!(|| async {
        let home = tempfile::tempdir().unwrap();
        (super::open(home.path()), home)
    });
    piton_store::several_handles_tests!(|| async {
        let home = tempfile::tempdir().unwrap();
        ([super::open(home.path()), super::open(home.path())], home)
    });
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Opens a store of which nothing is wrong.
fn open(home: &Path) -> SqliteJournal {
    let (journal, notice) = SqliteJournal::open(home).unwrap();
    assert_eq!(notice, None);
    journal
}

/// So many words that cannot be packed, the same at every run.
fn noise(seed: usize, words: usize) -> String {
    let mut state = seed as u64 + 1;
    let next = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:08x}", state >> 32)
    };
    (0..words).map(next).collect()
}

fn store(home: &Path) -> Store {
    Arc::new(open(home))
}

/// The database as anybody could open it.
fn database(home: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(home.join("piton.db")).unwrap()
}
