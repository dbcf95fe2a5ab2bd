//! Files that instructions name, as in `@docs/style.md`: what they say follows the line that names them.
//!
//! Only files of the same tree are read, each once, so that there are no loops. What names no file is left
//! as it is: an `@` has other uses, too.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path};

use super::reading::{InstructionNote, Left, open, read};
use super::text;

/// How deep files may name each other.
const DEPTH_MAX: usize = 4;
/// Most files that one file of instructions brings along.
const NAMED_MAX: usize = 32;
/// What ends a sentence or a bracket, and no path.
const BEHIND: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*', '_', '>'];

/// Reads the files that a file of instructions names.
#[derive(Debug)]
pub(super) struct Naming<'a> {
    /// The directory that no file may lie out of.
    pub(super) tree: &'a Path,
    /// Device and number of all files that were read so far.
    pub(super) seen: &'a mut BTreeSet<(u64, u64)>,
    /// Files that do not count, or not whole.
    pub(super) notes: Vec<InstructionNote>,
    read: usize,
}

impl<'a> Naming<'a> {
    pub(super) fn new(tree: &'a Path, seen: &'a mut BTreeSet<(u64, u64)>) -> Self {
        Self { tree, seen, notes: Vec::new(), read: 0 }
    }

    /// A text with the files that it names. Their paths begin in `directory`.
    pub(super) fn expanded(&mut self, text: &str, directory: &Path) -> String {
        self.at_depth(text, directory, 0)
    }

    fn at_depth(&mut self, text: &str, directory: &Path, depth: usize) -> String {
        let (mut whole, mut is_code) = (String::new(), false);
        for line in text.lines() {
            whole.push_str(line);
            whole.push('\n');
            if ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence)) {
                is_code = !is_code;
            } else if !is_code && depth < DEPTH_MAX && line.contains('@') {
                for name in names(line) {
                    whole.extend(self.said(name, directory, depth));
                }
            }
        }
        whole.truncate(whole.trim_end().len());
        whole
    }

    /// What a file says, if the name is that of a file that may be read.
    fn said(&mut self, name: &str, directory: &Path, depth: usize) -> Option<String> {
        let path = directory.join(name);
        if is_hidden(name) || !fs::metadata(&path).is_ok_and(|found| found.is_file()) {
            return None;
        }
        let Ok((file, found)) = open(&path, &[self.tree]) else {
            return self.leave_out(&path, "it is named with @, and lies elsewhere".into());
        };
        if !self.seen.insert((found.dev(), found.ino())) {
            return None;
        }
        if self.read == NAMED_MAX {
            return self.leave_out(&path, "too many files are named with @".into());
        }
        self.read += 1;
        let (content, left) = match read(file, &found) {
            Ok(read) => read,
            Err(error) => return self.leave_out(&path, error.to_string()),
        };
        let content = text::cleaned(&content);
        let inner = path.parent().unwrap_or(directory);
        let said = self.at_depth(&content.text, inner, depth + 1);
        let rest = match left {
            Left::Nothing => String::new(),
            Left::Bytes(left) => {
                self.leave_out(&path, format!("its last {left} bytes are left out"));
                format!("[{left} bytes of it are left out here; read the file if you need them]\n")
            }
        };
        Some(format!("[what {name} says:]\n{said}\n{rest}[end of {name}]\n"))
    }

    fn leave_out(&mut self, path: &Path, why: String) -> Option<String> {
        self.notes.push(InstructionNote { path: path.to_owned(), why });
        None
    }
}

/// What a line names with an `@` at the beginning of a word, and not as code.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let prose = line.split('`').step_by(2);
    let words = prose.flat_map(str::split_whitespace);
    let words = words.map(|word| word.trim_start_matches(['(', '[', '*', '_', '"', '\'', '<']));
    let names = words.filter_map(|word| word.strip_prefix('@'));
    names.map(|name| name.trim_end_matches(BEHIND)).filter(|name| !name.is_empty())
}

/// Whether a path leads to a hidden file, such as `.env`. Hidden Markdown is meant to be read.
fn is_hidden(name: &str) -> bool {
    let is_hidden = |part: Component<'_>| match part {
        Component::Normal(part) => part.as_encoded_bytes().starts_with(b"."),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            false
        }
    };
    let path = Path::new(name);
    path.extension().is_none_or(|end| end != "md") && path.components().any(is_hidden)
}
