//! The end of what a command prints, shown while it runs.

use std::convert::Infallible;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::contract::{Progress, Refusal, blocking};
use crate::supervise::Attached;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Longest end that is shown, in bytes.
const TAIL_BYTES_MAX: u64 = 4 * 1024;

/// Shows it until this is dropped.
pub(super) async fn show(directory: PathBuf, progress: Progress) -> Infallible {
    let mut known = 0;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        // A command that cannot be looked at shows nothing; its result says why.
        let Ok((tail, bytes)) = looked(&directory).await else { continue };
        if bytes != known {
            known = bytes;
            progress.print(&tail, bytes);
        }
    }
}

async fn looked(directory: &Path) -> Result<(String, u64), Refusal> {
    let directory = directory.to_owned();
    blocking::whole(move || look(&directory).map_err(|error| Refusal(error.to_string()))).await
}

fn look(directory: &Path) -> io::Result<(String, u64)> {
    let attached = Attached::open(directory)?;
    let printed = attached.printed()?;
    let length = printed.length.min(TAIL_BYTES_MAX);
    let mut tail = vec![0; usize::try_from(length).unwrap_or_default()];
    let from = printed.start + printed.length - length;
    attached.out.read_exact_at(&mut tail, from)?;
    let text = String::from_utf8_lossy(&tail);
    // The first letter may be cut in two.
    Ok((text.trim_start_matches('\u{fffd}').to_owned(), printed.length))
}
