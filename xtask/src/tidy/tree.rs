//! The files that rules look at.

use std::fs;
use std::io;
use std::path::Path;

/// What a rule may read. Data, pictures and lock files are nobody's prose.
const EXTENSIONS: [&str; 7] = ["rs", "md", "toml", "sh", "ratchet", "css", "js"];

/// Cargo marks its build directories with this file, wherever they are and however they are called.
const BUILD_DIRECTORY_MARK: &str = "CACHEDIR.TAG";
/// The usual one has no mark if a script of `dev/` made it before Cargo did.
const BUILD_DIRECTORY: &str = "target";

/// A file of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path from the root, with forward slashes.
    pub path: String,
    /// Its content.
    pub text: String,
}

impl Source {
    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.extension() == Some("rs")
    }

    /// Whether it is Markdown.
    pub fn is_markdown(&self) -> bool {
        self.extension() == Some("md")
    }

    fn extension(&self) -> Option<&str> {
        Some(self.name().rsplit_once('.')?.1)
    }
}

/// A source tree in memory, ordered by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    files: Vec<Source>,
}

impl Tree {
    /// Reads the tree below `root`, without build directories and the repository's own.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        // Names of directories still to read, from the root. A tree of directories ends, and
        // symbolic links are not followed.
        let mut waiting = vec![String::new()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(root.join(&directory))? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path =
                    if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
                let kind = entry.file_type()?;
                let is_left_out = name == ".git" || path == BUILD_DIRECTORY;
                if kind.is_dir() && !is_left_out && !is_build_directory(&entry.path()) {
                    waiting.push(path);
                } else if kind.is_file() && is_read(&name) {
                    let text = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
                    files.push(Source { path, text });
                }
            }
        }
        Ok(Self::ordered(files))
    }

    /// All files.
    pub fn files(&self) -> &[Source] {
        &self.files
    }

    /// One file, by its path from the root.
    pub fn file(&self, path: &str) -> Option<&Source> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The manifests of the members: every crate in `crates/`, and `xtask`.
    pub fn manifests(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.files.iter().filter_map(|file| {
            let directory = file.path.strip_suffix("/Cargo.toml")?;
            let member = directory.strip_prefix("crates/").unwrap_or(directory);
            (!member.contains('/')).then_some((member, file))
        })
    }

    fn ordered(mut files: Vec<Source>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// A tree for a test.
    #[cfg(test)]
    pub(super) fn invented(files: &[(&str, &str)]) -> Self {
        let source = |&(path, text): &(&str, &str)| Source { path: path.into(), text: text.into() };
        Self::ordered(files.iter().map(source).collect())
    }
}

fn is_read(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension))
}

fn is_build_directory(path: &Path) -> bool {
    path.join(BUILD_DIRECTORY_MARK).is_file()
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn finds_this_file_and_no_build_output() {
        let tree = Tree::read(crate::tidy::root()).unwrap();
        assert!(tree.file("xtask/src/tidy/tree.rs").is_some());
        assert!(!tree.files().iter().any(|file| file.path.starts_with("target/")));
    }

    #[test]
    fn members_are_the_crates_and_xtask() {
        let tree = Tree::invented(&[
            ("Cargo.toml", ""),
            ("crates/piton/Cargo.toml", ""),
            ("crates/piton/tests/fixture/Cargo.toml", ""),
            ("xtask/Cargo.toml", ""),
        ]);
        let members: Vec<&str> = tree.manifests().map(|(member, _)| member).collect();
        assert_eq!(members, ["piton", "xtask"]);
    }
}
