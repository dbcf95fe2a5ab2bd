//! Settings of git with everything that they include.
//!
//! Which of the conditions of `includeIf` hold is not asked: another branch or another directory changes that. Nothing
//! is run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::git_config::{Setting, parse};
use super::reading::read;
use crate::contract::real_path::real;

/// Most of one file that is read, in bytes. No command writes to a file of settings.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most files that are read for one file with all that it includes.
const FILES_MAX: usize = 1_000;

/// What a file says, with all that it includes.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) all: Vec<Setting>,
    /// The files that are included, there or not.
    pub(super) included: Vec<PathBuf>,
}

impl Settings {
    /// Reads a file of settings. `user` is what `~` stands for.
    pub(super) fn read(file: &Path, user: Option<&Path>) -> Self {
        let mut settings = Self::default();
        let (mut waiting, mut seen) = (vec![file.to_owned()], BTreeSet::new());
        while let Some(file) = waiting.pop().filter(|_| seen.len() < FILES_MAX) {
            if !seen.insert(real(&file)) {
                continue;
            }
            let Some(text) = read(&file, FILE_BYTES_MAX) else { continue };
            let found = parse(&text);
            let is_include = |it: &&Setting| it.is("include", "path") || it.is("includeif", "path");
            let paths = found.iter().filter(is_include).filter_map(Setting::path);
            // A name is seen from the file that has it, by the name of that file.
            let beside = file.parent().unwrap_or(&file);
            let files = paths.map(|path| from(beside, &path, user)).collect::<Vec<_>>();
            settings.included.extend(files.iter().cloned());
            waiting.extend(files);
            settings.all.extend(found);
        }
        settings
    }

    /// The values of a key that are paths.
    pub(super) fn paths(&self, section: &str, key: &str) -> impl Iterator<Item = PathBuf> {
        self.all.iter().filter(move |it| it.is(section, key)).filter_map(Setting::path)
    }
}

/// A path of the settings, as seen from a directory.
pub(super) fn from(directory: &Path, path: &Path, user: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), user) {
        (Ok(rest), Some(user)) => user.join(rest),
        (Ok(_), None) | (Err(_), _) => directory.join(path),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn includes_are_followed_whatever_their_condition_and_once() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/deep")).unwrap();
        let comment = "# padding padding\n".repeat(40_000);
        let first = format!("{comment}[include] path = deep/b ; ours\n[include]\npath = ~/c\n");
        fs::write(root.join("work/a"), first).unwrap();
        fs::write(root.join("work/deep/b"), "[includeIf \"onbranch:x\"]\n\tpath = d\n").unwrap();
        fs::write(root.join("c"), "[include]\npath = work/a\n[core]\nhooksPath = own\n").unwrap();
        let settings = Settings::read(&root.join("work/a"), Some(&root));
        let mut included = settings.included.clone();
        included.sort();
        assert_eq!(included, ["c", "work/a", "work/deep/b", "work/deep/d"].map(|it| root.join(it)));
        assert_eq!(settings.paths("core", "hookspath").collect::<Vec<_>>(), [Path::new("own")]);
    }
}
