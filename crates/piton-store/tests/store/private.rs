//! What is said in a conversation is nobody else's business.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use piton_store::contract::{begin, lease};

use crate::{home, open, store};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Everything in a directory, and in those within it.
fn all(directory: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let within = |path: PathBuf| {
        let mut found = if path.is_dir() { all(&path) } else { Vec::new() };
        found.push(path);
        found
    };
    found.flat_map(within).collect()
}

#[tokio::test]
async fn nobody_else_can_read_what_is_kept() {
    let parent = home();
    let home = parent.path().join("share/piton");
    let store = store(&home);
    begin(&store, "a", &["one"]).await;
    let _held = lease(&store, "b").await;
    store.put_blob(b"content").await.unwrap();
    let found = all(&home);
    let has = |name: &str| found.iter().any(|path| path.ends_with(name));
    assert!(["piton.db-wal", "piton.db-shm", "b.lock"].into_iter().all(has), "{found:?}");
    for path in found {
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    assert_eq!(mode(&home), 0o700);
}

#[tokio::test]
async fn a_home_that_others_could_read_is_closed_to_them() {
    let home = home();
    begin(&store(home.path()), "a", &["one"]).await;
    let loose = ["", "locks", "blobs", "piton.db"].map(|name| home.path().join(name));
    for path in &loose {
        set_mode(path, if path.is_dir() { 0o755 } else { 0o644 });
    }
    open(home.path());
    assert_eq!(loose.map(|path| mode(&path)), [0o700, 0o700, 0o700, 0o600]);
}

#[test]
fn a_directory_that_holds_other_things_stays_open_to_others() {
    let home = home();
    set_mode(home.path(), 0o755);
    fs::write(home.path().join("index.html"), "for everybody").unwrap();
    open(home.path());
    assert_eq!(mode(home.path()), 0o755);
    assert_eq!(mode(&home.path().join("piton.db")), 0o600);
}
