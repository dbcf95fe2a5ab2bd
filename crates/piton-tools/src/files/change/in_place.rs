//! Overwriting a file whose place nothing else can take: one with several names, one at which
//! something is mounted, one in a directory that we may not change, one of somebody else.
//!
//! That cannot be done in one step. So the old content is kept first, durably, and a later
//! process knows a file that is made of both contents, each in its place, as our own work.
//! A foreign edit within the microseconds between the last look and the first write would be lost.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{Access, AtFlags, FileType, accessat, statat};
use rustix::io::Errno;

use super::content::{content, read_bounded};
use super::placed::{Placed, Renew};
use super::plan::Change;
use super::versions::{Undo, Version};
use crate::contract::{Refusal, Site};
use crate::fail;
use crate::files::digest;
use crate::files::workspace::Entry;

/// Bytes per write.
const CHUNK_BYTES: usize = 64 * 1024;
/// Bytes that are written whole or not at all: the kernel looks for signals between two pages, and
/// no page is smaller.
const PAGE_BYTES: usize = 4096;

/// Whether the file has other names, which must go on to mean the same file.
pub(super) fn is_needed(entry: &Entry) -> bool {
    statat(&entry.directory, entry.name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        1 < stat.st_nlink && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
    })
}

/// Refuses a file that may not be written. To put another one in its place would be a way round
/// that.
pub(super) fn check_writable(entry: &Entry) -> Result<(), Refusal> {
    match accessat(&entry.directory, entry.name.as_str(), Access::WRITE_OK, AtFlags::EACCESS) {
        Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Err(Refusal(format!(
            "`{}` is write-protected ({errno}) and unchanged: make it writable first, if it is \
             meant to be changed",
            entry.shown
        ))),
        // Whatever else is the matter shows when it is written.
        Err(_) | Ok(()) => Ok(()),
    }
}

impl Change {
    /// Overwrites the file.
    pub(super) fn overwrite(
        &self,
        site: &Site,
        entry: &Entry,
        old: &[u8],
        new: &[u8],
    ) -> Result<Placed, Refusal> {
        let shown = &entry.shown;
        if let Some(obeyed) = site.obeyed_as(&self.place.absolute(site)) {
            return Err(Refusal(format!(
                "`{shown}` has become another name of `{}`: use that. It is unchanged",
                obeyed.display()
            )));
        }
        let undo = Undo::new(&site.scratch);
        let version = Version { in_place: true, ..self.version(site) };
        let unchanged = |error: io::Error| {
            undo.drop(&version);
            Refusal(format!(
                "`{shown}` can only be overwritten, which failed: {error}; it is unchanged"
            ))
        };
        undo.keep(&version, Some(old), true).map_err(unchanged)?;
        let file = entry.open_to_overwrite().map_err(|errno| unchanged(errno.into()))?;
        // The same file, and nobody was faster.
        let found = read_bounded(&file).map_err(unchanged)?;
        if Some(digest::of(&found)) != self.before {
            undo.drop(&version);
            return Err(self.conflict(true));
        }
        let Err(error) = write(&file, new) else { return Ok(Placed::Now) };
        if write(&file, old).is_ok() {
            return Err(unchanged(error));
        }
        Err(Refusal(format!(
            "`{shown}` could only be overwritten, which failed half way: {error}. Its old content \
             is kept: piton undo --list"
        )))
    }

    /// The content as it is, or as it was before a dead run of ours began to overwrite it; then it
    /// is put back.
    pub(super) fn mended(
        &self,
        site: &Site,
        entry: &Entry,
        current: Option<Vec<u8>>,
        renew: &Renew<'_>,
    ) -> Option<Vec<u8>> {
        let found = current?;
        if self.known().contains(&Some(&digest::of(&found))) {
            return Some(found);
        }
        Some(self.old_of_torn(site, entry, &found, renew).unwrap_or(found))
    }

    /// A conflict; names the old content if it is kept because the file was to be overwritten.
    pub(super) fn conflict_or_torn(&self, site: &Site, exists: bool) -> Refusal {
        let conflict = self.conflict(exists);
        match Undo::new(&site.scratch).before_in_place(&self.version(site)) {
            Some(_) => Refusal(format!(
                "{}. A power cut may have destroyed it while it was overwritten: its old content \
                 is kept (piton undo --list)",
                conflict.0
            )),
            None => conflict,
        }
    }

    fn old_of_torn(
        &self,
        site: &Site,
        entry: &Entry,
        found: &[u8],
        renew: &Renew<'_>,
    ) -> Option<Vec<u8>> {
        let old = Undo::new(&site.scratch).before_in_place(&self.version(site))?;
        let new = renew(Some(&old)).ok()?;
        if Some(digest::of(&new)) != self.after || !is_torn(found, &old, &new) {
            return None;
        }
        let file = entry.open_to_overwrite().ok()?;
        write(&file, &old).ok()?;
        // Read again: somebody may have been there at the same time.
        content(entry).ok()?.filter(|now| *now == old)
    }
}

/// Writes over what is there, from the front to the end, and makes it durable.
fn write(file: &File, bytes: &[u8]) -> io::Result<()> {
    let mut at = 0;
    for chunk in bytes.chunks(CHUNK_BYTES) {
        file.write_all_at(chunk, at)?;
        at += chunk.len() as u64;
        fail::here("edit-torn");
    }
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Whether `found` is made of pieces of `old` and `new`, each in its place.
///
/// A run that dies leaves new content in front of old. One that dies while it puts the old content
/// back leaves old in front of that, and so on; a power cut leaves any pages of both. All of them
/// meet between two pages, or where one of the contents ends. Elsewhere it was somebody else, who
/// took back one of several small changes, say.
pub(in crate::files) fn is_torn(found: &[u8], old: &[u8], new: &[u8]) -> bool {
    let is_cut = found.len() < old.len().min(new.len());
    let mut at = 0;
    while at < found.len() {
        let next_page = (at / PAGE_BYTES + 1) * PAGE_BYTES;
        let ends = [next_page, old.len(), new.len()];
        let end = ends.into_iter().filter(|end| at < *end).min().unwrap_or(next_page);
        let piece = found.get(at..end);
        if piece.is_none() || (piece != old.get(at..end) && piece != new.get(at..end)) {
            return false;
        }
        at = end;
    }
    !is_cut
}

#[cfg(test)]
mod tests;
