//! Instructions of the user and of the project: `AGENTS.md`, else `CLAUDE.md`, in each directory.
//!
//! The user's own come first, then those of the directories from the workspace down to where the user
//! is: the nearest stands last, and counts most. What a file names with `@path` follows the line that names
//! it. Everything is bounded. A file that cannot be used is
//! named to the person and never stops a turn.

mod file;
mod named;
mod reading;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) use self::file::{InstructionFile, Owner, quoted};
use self::file::{Looked, look};
pub use self::reading::InstructionNote;
use self::reading::Left;

/// Most files that are read.
const FILES_MAX: usize = 32;
/// Most bytes of all files together.
const BYTES_MAX: usize = 64 * 1024;

/// The instructions that count in a directory, the nearest last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    pub(crate) files: Vec<InstructionFile>,
    /// What a person should hear: a file, and why it does not count, or not all of it.
    pub(crate) notes: Vec<InstructionNote>,
}

/// Where instructions are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    /// The directory of the user's settings.
    pub(crate) own: Option<&'a Path>,
    /// The user's own directory.
    pub(crate) home: Option<&'a Path>,
    /// Where the conversation works.
    pub(crate) workspace: &'a Path,
    /// Where the user is.
    pub(crate) directory: Option<&'a Path>,
}

impl Instructions {
    /// Reads what counts.
    pub(crate) fn find(places: Places<'_>) -> Self {
        let own = places.own.into_iter().map(|directory| (Owner::User, directory.to_owned()));
        let down = down_to(places.workspace, places.directory);
        let all = own.chain(down.into_iter().map(|directory| (Owner::Repository, directory)));
        let mut found = Self::default();
        let (mut seen, mut room) = (BTreeSet::new(), BYTES_MAX);
        // The nearest first: if there is not enough room, it is for them.
        for (owner, directory) in all.collect::<Vec<_>>().into_iter().rev() {
            // A link of a project that leads out of it would bring whatever its author likes to the model.
            let (tree, within) = match owner {
                Owner::User => {
                    (directory.as_path(), [places.own, places.home, Some(places.workspace)])
                }
                Owner::Repository => (places.workspace, [Some(places.workspace), None, None]),
            };
            let within: Vec<&Path> = within.into_iter().flatten().collect();
            match look(&directory, owner, (tree, &within), &mut seen) {
                Looked::Nothing => {}
                Looked::Unusable(note) => found.notes.push(note),
                Looked::File(file) if found.files.len() == FILES_MAX || room == 0 => {
                    found.notes.push(file.note("there are too many instructions".into()));
                }
                Looked::File(mut file) => {
                    room -= file.cut_to(room);
                    found.notes.append(&mut file.notes);
                    let cut = match file.left {
                        Left::Nothing => None,
                        Left::Bytes(left) => Some(format!("its last {left} bytes are left out")),
                    };
                    found.notes.extend(cut.map(|why| file.note(why)));
                    found.notes.extend(file.is_lossy.then(|| {
                        file.note("it is not UTF-8; what cannot be read is replaced".into())
                    }));
                    found.files.push(file);
                }
            }
        }
        found.files.reverse();
        found
    }
}

/// The directories from one down to another below it, the upper one first.
fn down_to(upper: &Path, lower: Option<&Path>) -> Vec<PathBuf> {
    let below = lower.and_then(|lower| lower.strip_prefix(upper).ok());
    let mut at = upper.to_owned();
    let mut directories = vec![at.clone()];
    for part in below.into_iter().flat_map(Path::components) {
        at.push(part);
        directories.push(at.clone());
    }
    directories
}

#[cfg(test)]
mod tests;
