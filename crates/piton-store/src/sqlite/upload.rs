//! Blobs that come in pieces: a file beside the blobs, which gets its name when it is whole.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use piton_core::event::BlobRef;

use super::blob;
use super::blocking::work;
use super::private::{self, make_directory, sync_directory};
use crate::blob::{Summing, admit};
use crate::{BlobDraft, StoreError};

/// How the names of such files begin and end. No digest looks like this.
const BEGIN: &str = "upload.";
const END: &str = ".draft";
/// How old one is that a process left behind when it died.
const LEFT_BEHIND: Duration = Duration::from_hours(1);

/// Content of which more may come.
#[derive(Debug)]
pub(super) struct Upload {
    blobs: PathBuf,
    path: PathBuf,
    file: Arc<File>,
    sum: Summing,
    bytes: usize,
}

impl Upload {
    /// An empty one. Those that dead processes left behind are taken away first.
    pub(super) fn begin(blobs: &Path) -> Result<Self, StoreError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        make_directory(blobs)?;
        clear(blobs);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = blobs.join(format!("{BEGIN}{}.{number}{END}", std::process::id()));
        let file = private::create().truncate(true).open(&path);
        let file = Arc::new(file.map_err(|error| StoreError::io("create", &path, error))?);
        Ok(Self { blobs: blobs.to_owned(), path, file, sum: Summing::default(), bytes: 0 })
    }
}

/// Takes away what nobody can be writing any more. What cannot be taken away harms nobody.
fn clear(blobs: &Path) {
    let Ok(entries) = fs::read_dir(blobs) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|it| it.starts_with(BEGIN) && it.ends_with(END));
        let written = entry.metadata().and_then(|found| found.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
        if is_ours && LEFT_BEHIND < age {
            fs::remove_file(entry.path()).ok();
        }
    }
}

#[async_trait]
impl BlobDraft for Upload {
    async fn add(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        admit(self.bytes + piece.len())?;
        self.bytes += piece.len();
        self.sum.add(piece);
        let (file, path, piece) = (Arc::clone(&self.file), self.path.clone(), piece.to_owned());
        let failed = move |error| StoreError::io("write", &path, error);
        work(move || (&*file).write_all(&piece).map_err(failed)).await
    }

    async fn keep(self: Box<Self>) -> Result<BlobRef, StoreError> {
        let digest = self.sum.clone().digest();
        let bytes = u64::try_from(self.bytes).unwrap_or(u64::MAX);
        work(move || {
            let path = blob::path(&self.blobs, &digest)?;
            let directory = path.parent().unwrap_or(&self.blobs);
            make_directory(directory)?;
            // In place of one that is there: that one has the same content, or has decayed.
            let kept = self.file.sync_all().and_then(|()| fs::rename(&self.path, &path));
            kept.map_err(|error| StoreError::io("write", &path, error))?;
            sync_directory(directory)?;
            Ok(BlobRef { digest, bytes })
        })
        .await
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // One that was kept has another name by now.
        fs::remove_file(&self.path).ok();
    }
}
