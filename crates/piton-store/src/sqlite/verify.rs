//! Compares everything that is kept with its checksums: entries with theirs, blobs with their names.
//!
//! `SQLite`'s own check sees the frame of a database and not what is in it. This one reads as readers
//! do, one row or piece at a time, and changes nothing. What it knows of blobs is their names: which
//! conversations speak of one is found by looking for that name, and a blob is missing if an entry has
//! a name that no file has.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use piton_core::event::BlobRef;
use piton_core::id::{ConversationId, Digest, Seq};
use rusqlite::Connection;

use super::connect::connect;
use super::home::DATABASE;
use super::{blob as kept, column, failure, migrate, orphan, read, suspect};
use crate::{StoreError, blob};

/// Most damaged blobs that are looked for in conversations, and told; and most missing ones.
const BLOBS_MAX: usize = 20;
/// Most damaged conversations that are told.
const CONVERSATIONS_MAX: usize = 100;
/// Bytes of a blob that are read at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Conversations or blobs between two signs of life.
const STEP: u64 = 64;

/// What a look at everything found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many conversations were read.
    pub conversations: u64,
    /// How many blobs were read.
    pub blobs: u64,
    /// Conversations with an entry that cannot be read; the first ones, if there are very many.
    pub damaged: Vec<Decayed>,
    /// Blobs that are not what their names say; the first ones, if there are very many.
    pub damaged_blobs: Vec<DecayedBlob>,
    /// Blobs that entries speak of and that are not there; the first ones, if there are very many.
    pub missing_blobs: Vec<DecayedBlob>,
}

/// A conversation that cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decayed {
    /// Which one.
    pub conversation: ConversationId,
    /// The first entry that cannot be read.
    pub seq: Seq,
    /// What is wrong with it.
    pub detail: String,
}

/// A blob that is not what its name says, or not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecayedBlob {
    /// The file, or where it should be.
    pub path: PathBuf,
    /// Whose entries speak of it.
    pub used_by: Vec<ConversationId>,
}

/// Reads everything in the store of a directory; `None` if there is no database yet. What was read so
/// far is told now and then: it takes as long as reading all of it.
pub fn verify(
    home: &Path,
    progress: &mut dyn FnMut(&Verified),
) -> Result<Option<Verified>, StoreError> {
    let path = home.join(DATABASE);
    let is_there = path.try_exists().map_err(|error| StoreError::io("look at", &path, error))?;
    if !is_there && !orphan::is_left(&path)? {
        return Ok(None);
    }
    let mut found = Verified::default();
    let read = look_at_blobs(&home.join("blobs"), &mut found, progress)
        .and_then(|()| look_at_conversations(home, &mut found, progress));
    if let Err(error) = &read {
        suspect::note(&path, error);
    }
    read.map(|()| Some(found))
}

fn look_at_conversations(
    home: &Path,
    found: &mut Verified,
    progress: &mut dyn FnMut(&Verified),
) -> Result<(), StoreError> {
    let (path, blobs) = (&home.join(DATABASE), home.join("blobs"));
    let failed = |error| failure::database(path, &error);
    let db = connect(path)?;
    // A database that nobody has begun yet, or an older one, has not these tables.
    if migrate::format(&db, path)? != migrate::known() {
        return Ok(());
    }
    let names = names(&db).map_err(failed)?;
    let digests: Vec<String> = found.damaged_blobs.iter().map(DecayedBlob::name).collect();
    for conversation in names {
        let mut uses = vec![false; digests.len()];
        let mut missing = BTreeSet::new();
        let read = read::walk(&db, path, &conversation, |body| {
            for (uses, digest) in uses.iter_mut().zip(&digests) {
                *uses |= body.contains(digest.as_str());
            }
            let named = BlobRef::digests_in(body).filter_map(|it| kept::path(&blobs, &it).ok());
            missing.extend(named.filter(|path| matches!(path.try_exists(), Ok(false))));
        });
        match read {
            Err(StoreError::DamagedEntry { conversation, seq, detail, .. }) => {
                if found.damaged.len() < CONVERSATIONS_MAX {
                    found.damaged.push(Decayed { conversation, seq, detail });
                }
            }
            read => read?,
        }
        for (blob, _) in found.damaged_blobs.iter_mut().zip(&uses).filter(|(_, uses)| **uses) {
            blob.used_by.push(conversation.clone());
        }
        found.miss(missing, &conversation);
        found.conversations += 1;
        if found.conversations.is_multiple_of(STEP) {
            progress(found);
        }
    }
    Ok(())
}

fn names(db: &Connection) -> Result<Vec<ConversationId>, rusqlite::Error> {
    let mut ask = db.prepare("SELECT name FROM conversations ORDER BY key")?;
    let names = ask.query_map([], |row| Ok(ConversationId::new(column::text(row, 0)?)))?;
    names.collect()
}

/// Looks at every file that has a blob's name. Others are drafts, or nothing of ours.
fn look_at_blobs(
    blobs: &Path,
    found: &mut Verified,
    progress: &mut dyn FnMut(&Verified),
) -> Result<(), StoreError> {
    for directory in entries(blobs)? {
        if !directory.is_dir() {
            continue;
        }
        for path in entries(&directory)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !blob::is_digest(name) {
                continue;
            }
            let read = match digest(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => read.map_err(|error| StoreError::io("read", &path, error))?,
            };
            let is_whole = read.as_str() == name && kept::path(blobs, &read)? == path;
            if !is_whole && found.damaged_blobs.len() < BLOBS_MAX {
                found.damaged_blobs.push(DecayedBlob { path, used_by: Vec::new() });
            }
            found.blobs += 1;
            if found.blobs.is_multiple_of(STEP) {
                progress(found);
            }
        }
    }
    Ok(())
}

impl Verified {
    fn miss(&mut self, missing: BTreeSet<PathBuf>, conversation: &ConversationId) {
        for path in missing {
            let has_room = self.missing_blobs.len() < BLOBS_MAX;
            match self.missing_blobs.iter_mut().find(|blob| blob.path == path) {
                Some(blob) => blob.used_by.push(conversation.clone()),
                None if has_room => {
                    self.missing_blobs
                        .push(DecayedBlob { path, used_by: vec![conversation.clone()] });
                }
                None => {}
            }
        }
    }
}

impl DecayedBlob {
    fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// What lies in a directory, in order; nothing if it is not there.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let failed = |error| StoreError::io("read", directory, error);
    let listed = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The digest of a file, of which only a piece is in memory.
fn digest(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let mut sum = blob::Summing::default();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(sum.digest()),
            length => sum.add(piece.get(..length).unwrap_or_default()),
        }
    }
}
