//! Blobs: one file each, named by the digest of its content.
//!
//! A file under its final name is whole and synced: it is written under another name, synced, and
//! renamed. What is read is compared with its name.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use piton_core::event::BlobRef;
use piton_core::id::Digest;

use super::private::{self, make_directory, sync_directory};
use crate::{StoreError, blob};

/// Letters of the digest that choose the directory, so that no directory becomes huge.
const FAN_OUT_CHARS: usize = 2;

/// Keeps content. Durable when it returns, also if another process wrote the same content first.
pub(super) fn put(blobs: &Path, content: &[u8]) -> Result<BlobRef, StoreError> {
    let named = blob::name(content)?;
    let path = path(blobs, &named.digest)?;
    let directory = path.parent().unwrap_or(blobs);
    make_directory(directory)?;
    // What is there already may have decayed, or its writer may have died before the directory was
    // synced. Both are mended here.
    let is_kept = fs::read(&path).is_ok_and(|kept| kept == content);
    if !is_kept {
        let draft = draft(directory, &named.digest);
        let written = write(&draft, content).and_then(|()| fs::rename(&draft, &path));
        if let Err(error) = written {
            fs::remove_file(&draft).ok();
            return Err(StoreError::io("write", &path, error));
        }
    }
    sync_directory(directory)?;
    Ok(named)
}

/// Reads content and makes sure that it is what its name says.
pub(super) fn get(blobs: &Path, digest: &Digest) -> Result<Vec<u8>, StoreError> {
    let path = path(blobs, digest)?;
    match fs::read(&path) {
        Ok(content) if blob::digest(&content) == *digest => Ok(content),
        Ok(_) => {
            let detail = "its content is not what its name says".to_owned();
            Err(StoreError::DamagedBlob { path, detail })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::UnknownBlob(digest.clone()))
        }
        Err(error) => Err(StoreError::io("read", &path, error)),
    }
}

/// Where a blob is, or would be.
pub(super) fn path(blobs: &Path, digest: &Digest) -> Result<PathBuf, StoreError> {
    match digest.as_str().get(..FAN_OUT_CHARS) {
        Some(start) if blob::is_digest(digest.as_str()) => {
            Ok(blobs.join(start).join(digest.as_str()))
        }
        _ => Err(StoreError::UnknownBlob(digest.clone())),
    }
}

/// A name that no other writer uses: two may keep the same content at the same time.
fn draft(directory: &Path, digest: &Digest) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    directory.join(format!("{digest}.{}.{number}.draft", std::process::id()))
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private::create().truncate(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}
