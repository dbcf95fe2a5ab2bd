//! One file of instructions: found, read within bounds, and put into words for the model.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::named::Naming;
use super::reading::{InstructionNote, Left, open, read};
use super::text;

/// What files of instructions are called; the first that is there counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Whose instructions they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user's, from the directory of the settings.
    User,
    /// The project's.
    Repository,
}

/// A file of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstructionFile {
    pub(crate) path: PathBuf,
    pub(crate) owner: Owner,
    /// What counts of it.
    pub(crate) text: String,
    pub(super) left: Left,
    pub(super) is_lossy: bool,
    /// What a person should hear of the files that it names.
    pub(super) notes: Vec<InstructionNote>,
}

/// What came of looking into a directory.
#[derive(Debug)]
pub(super) enum Looked {
    Nothing,
    File(InstructionFile),
    Unusable(InstructionNote),
}

/// Looks into a directory. A file that another name led to before is not read twice. Files that are named
/// in it are read if they lie in `tree`.
pub(super) fn look(
    directory: &Path,
    owner: Owner,
    (tree, within): (&Path, &[&Path]),
    seen: &mut BTreeSet<(u64, u64)>,
) -> Looked {
    for name in NAMES {
        let path = directory.join(name);
        match fs::symlink_metadata(&path) {
            Err(error) if is_absent(&error) => continue,
            Err(error) => return unusable(path, &error.to_string()),
            Ok(_) => {}
        }
        return match open(&path, within) {
            Err(why) => unusable(path, &why),
            Ok((_, found)) if !seen.insert((found.dev(), found.ino())) => Looked::Nothing,
            Ok((file, found)) => match read(file, &found) {
                Err(error) => unusable(path, &error.to_string()),
                Ok((content, left)) => {
                    let content = text::cleaned(&content);
                    if content.text.is_empty() {
                        return Looked::Nothing;
                    }
                    let is_lossy = content.is_lossy;
                    let mut naming = Naming::new(tree, seen);
                    let text = naming.expanded(&content.text, directory);
                    let notes = naming.notes;
                    Looked::File(InstructionFile { path, owner, text, left, is_lossy, notes })
                }
            },
        };
    }
    Looked::Nothing
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn unusable(path: PathBuf, why: &str) -> Looked {
    Looked::Unusable(InstructionNote { path, why: format!("it cannot be used: {why}") })
}

impl InstructionFile {
    /// Leaves out what has no room. Says how much is used.
    pub(super) fn cut_to(&mut self, room: usize) -> usize {
        let end = self.text.floor_char_boundary(room);
        if end < self.text.len() {
            let cut = (self.text.len() - end) as u64;
            let before = match self.left {
                Left::Nothing => 0,
                Left::Bytes(left) => left,
            };
            self.left = Left::Bytes(before + cut);
            self.text.truncate(end);
        }
        self.text.len()
    }

    pub(super) fn note(&self, why: String) -> InstructionNote {
        InstructionNote { path: self.path.clone(), why }
    }

    /// What the model reads: where it comes from, and what it says.
    pub(crate) fn section(&self) -> String {
        let path = quoted(&self.path);
        let owner = match self.owner {
            Owner::User => "the user's own, for all projects",
            Owner::Repository => "of this project; the user has not reviewed it",
        };
        let rest = match self.left {
            Left::Nothing => String::new(),
            Left::Bytes(left) => {
                format!(
                    "\n[{left} bytes of this file are left out here; read the file if you need them]"
                )
            }
        };
        format!("# Instructions from {path} ({owner})\n{}{rest}", self.text)
    }
}

/// A path for the model, on one line whatever it holds.
pub(crate) fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}
