//! A directory that becomes a link and a directory again while tools work in it (F15). Nothing that
//! lies behind the link may be read, named or changed.
//!
//! `PITON_RACES=1000000 cargo nextest run -p piton-tools race` tries that often.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use piton_core::event::Handle;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::bench::Bench;

/// What lies behind the link, by name and by content.
const CANARY: &str = "canary";
/// Fewest swaps that must have happened for a race to count.
const SWAPS_MIN: u64 = 1_000;

/// How long to rest between swaps: less than a tool takes, more than a rename.
const PAUSE_SPINS: u32 = 2_000;

/// How often each tool tries.
fn tries(share: u64) -> u64 {
    let all = std::env::var("PITON_RACES").ok().and_then(|all| all.parse().ok()).unwrap_or(20_000);
    1.max(all / share)
}

/// Exchanges `dir` and `link` in a workspace, as fast as it can, until it is dropped.
struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    fn start(workspace: &Path) -> Self {
        let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (stop.clone(), swaps.clone());
        let workspace = workspace.to_owned();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                swap(&workspace);
                counted.fetch_add(1, Ordering::Relaxed);
                // Whoever renames without a pause keeps all readers of the directory waiting.
                (0..PAUSE_SPINS).for_each(|_| std::hint::spin_loop());
            }
        });
        Self { stop, swaps, thread: Some(thread) }
    }

    fn swaps(&self) -> u64 {
        self.swaps.load(Ordering::Relaxed)
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn swap(workspace: &Path) {
    let (one, other) = (workspace.join("dir"), workspace.join("link"));
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

/// A workspace with `dir/file`, and a link to a directory outside with the same names.
fn site(tool: &str) -> (Bench, PathBuf) {
    let bench = Bench::new(tool);
    bench.file("dir/file", "inside\n").file("dir/sub/other", "inside\n");
    let outside = bench.site.workspace.with_file_name("outside");
    fs::create_dir_all(outside.join("sub")).unwrap();
    fs::write(outside.join("file"), format!("{CANARY}\n")).unwrap();
    fs::write(outside.join(format!("{CANARY}-name")), format!("{CANARY}\n")).unwrap();
    fs::write(outside.join(format!("sub/{CANARY}-name")), format!("{CANARY}\n")).unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("link")).unwrap();
    (bench, outside)
}

/// Everything below a directory, with its content.
fn picture(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(picture(&path));
        }
        let content = fs::read_to_string(&path).unwrap_or_default();
        found.push((path, content));
    }
    found.sort();
    found
}

/// Calls a tool again and again while the directory is swapped; no answer may know of the canary,
/// which none of the arguments may name.
async fn race(tool: &str, share: u64, arguments: impl Fn(u64) -> Value) {
    let (bench, outside) = site(tool);
    let before = picture(&outside);
    let swapper = Swapper::start(&bench.site.workspace);
    let (tries, mut count) = (tries(share), 0);
    while count < tries || swapper.swaps() < SWAPS_MIN {
        count += 1;
        let arguments = arguments(count);
        let text = match bench.prepare(&arguments).await {
            Ok(prepared) => {
                let job = bench.job(&arguments, &prepared.handle, &CancellationToken::new());
                bench.tool.run(job).await.text
            }
            Err(refusal) => refusal.0,
        };
        assert!(!text.contains(CANARY), "after {count} tries: {text}");
        // Also without the look before.
        let job = bench.job(&arguments, &Handle::None, &CancellationToken::new());
        let text = bench.tool.run(job).await.text;
        assert!(!text.contains(CANARY), "after {count} tries: {text}");
    }
    drop(swapper);
    assert_eq!(picture(&outside), before, "something outside has changed");
}

#[tokio::test]
async fn f15_no_swapped_directory_is_read() {
    race("read_file", 4, |_| json!({"path": "dir/file"})).await;
}

#[tokio::test]
async fn f15_no_swapped_directory_is_listed() {
    race("list_dir", 4, |count| json!({"path": if count % 2 == 0 { "dir" } else { "dir/sub" }}))
        .await;
}

#[tokio::test]
async fn f15_no_swapped_directory_is_walked() {
    race(
        "glob",
        80,
        |count| json!({"pattern": "*", "path": if count % 2 == 0 { "." } else { "dir" }}),
    )
    .await;
}

#[tokio::test]
async fn f15_no_swapped_directory_is_searched() {
    race(
        "grep",
        160,
        |count| json!({"pattern": ".", "path": if count % 2 == 0 { "." } else { "dir/file" }}),
    )
    .await;
}

#[tokio::test]
async fn f15_no_swapped_directory_is_written_to() {
    race("write_file", 20, |count| {
        let path = ["dir/file", "dir/new", "dir/deep/new"][usize::try_from(count % 3).unwrap()];
        json!({"path": path, "content": format!("ours {count}\n")})
    })
    .await;
}

#[tokio::test]
async fn f15_no_swapped_directory_is_edited() {
    race("edit_file", 20, |_| json!({"path": "dir/file", "old": "i", "new": "ii"})).await;
}

#[tokio::test]
async fn f15_no_swapped_directory_is_suggested_from() {
    // Nearly the name of what is outside.
    race("read_file", 8, |_| json!({"path": "dir/canar-name"})).await;
}

// The check of the check: who looks at a path and then uses it is led outside by one swap.
#[test]
fn a_path_that_was_looked_at_leads_outside_all_the_same() {
    let (bench, outside) = site("read_file");
    let path = bench.path("dir/file");
    assert!(path.canonicalize().unwrap().starts_with(&bench.site.workspace));
    swap(&bench.site.workspace);
    assert_eq!(fs::read_to_string(&path).unwrap(), "canary\n");
    fs::write(&path, "changed\n").unwrap();
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "changed\n");
}
