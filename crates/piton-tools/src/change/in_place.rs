//! Overwriting a file whose place nothing else can take: one with several names, one at which
//! something is mounted, one in a directory that we may not change.
//!
//! That cannot be done in one step. So the old content is kept first, durably, and whoever comes
//! later knows a file that begins with the new content and goes on with the old as our own work.
//! A foreign edit within the microseconds between the last look and the first write would be lost.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{AtFlags, FileType, statat};

use super::content::{content, read_bounded};
use super::{Change, Placed, Renew};
use crate::undo::{Undo, Version};
use crate::workspace::Entry;
use crate::{Refusal, Site, digest, fail};

/// Bytes per write.
const CHUNK_BYTES: usize = 64 * 1024;

/// Whether the file has other names, which must go on to mean the same file.
pub(super) fn is_needed(entry: &Entry) -> bool {
    statat(&entry.directory, entry.name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        1 < stat.st_nlink && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
    })
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

    fn old_of_torn(
        &self,
        site: &Site,
        entry: &Entry,
        found: &[u8],
        renew: &Renew<'_>,
    ) -> Option<Vec<u8>> {
        let old = Undo::new(&site.scratch).before_in_place(&self.version(site))?;
        let new = renew(Some(&old)).ok()?;
        if digest::of(&new) != self.after || !is_torn(found, &old, &new) {
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

/// Whether `found` begins with `new` and goes on with `old`, at the places where both belong.
fn is_torn(found: &[u8], old: &[u8], new: &[u8]) -> bool {
    let made = found.iter().zip(new).take_while(|(found, new)| found == new).count();
    let rest = found.get(made..).unwrap_or_default();
    rest == old.get(made..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_run_left_half_way_is_known() {
        for (old, new) in
            [("aaaa", "bbbbbb"), ("aaaaaa", "bbb"), ("abab", "aabb"), ("", "b"), ("a", "")]
        {
            for done in 0..=new.len() {
                let mut torn = new.as_bytes()[..done].to_vec();
                torn.extend(old.as_bytes().get(done..).unwrap_or_default());
                assert!(is_torn(&torn, old.as_bytes(), new.as_bytes()), "{old} {new} {done}");
            }
        }
        for foreign in ["xaaa", "bbxa", "bbaax", "bba", "aaaab"] {
            assert!(!is_torn(foreign.as_bytes(), b"aaaa", b"bbbbbb"), "{foreign}");
        }
    }
}
