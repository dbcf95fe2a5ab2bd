//! The directories that were opened to this server. It works in no other one.

use std::path::{Path, PathBuf};

use crate::fault::{Fault, Kind};

/// Directories in which conversations may be begun and gone on with. Below them is in them.
#[derive(Clone, Debug)]
pub struct Opened(Vec<PathBuf>);

impl Opened {
    /// Opens directories. The first one is meant where none is named. Links are followed once, now.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> std::io::Result<Self> {
        let canonical = directories.into_iter().map(|path| path.canonicalize());
        Ok(Self(canonical.collect::<Result<_, _>>()?))
    }

    /// All of them, the usual one first.
    pub(crate) fn all(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|path| path.display().to_string())
    }

    /// The directory of a new conversation: a named one that is open, or the first.
    pub(crate) fn place(&self, named: Option<&str>) -> Result<PathBuf, Fault> {
        match (named, self.0.first()) {
            (Some(named), _) => self.check(Path::new(named)),
            (None, Some(first)) => Ok(first.clone()),
            (None, None) => Err(Fault::bad("no directory is open; name one")),
        }
    }

    /// The directory behind all links, if it is open.
    pub(crate) fn check(&self, path: &Path) -> Result<PathBuf, Fault> {
        // What is not there is told like what is closed: nobody learns which directories there are.
        let found = self.found(path).filter(|found| found.is_dir());
        found.ok_or_else(|| closed(&path.display().to_string()))
    }

    /// What is behind all links of a whole path, if it is there and in an open directory.
    pub(crate) fn found(&self, path: &Path) -> Option<PathBuf> {
        let found = path.is_absolute().then(|| path.canonicalize().ok()).flatten()?;
        self.0.iter().any(|it| found.starts_with(it)).then_some(found)
    }

    /// Whether a conversation works in an open directory. Its path is as it was when it began.
    pub(crate) fn admits(&self, workspace: &str) -> Result<(), Fault> {
        if self.0.iter().any(|it| Path::new(workspace).starts_with(it)) {
            return Ok(());
        }
        Err(closed(workspace))
    }
}

fn closed(path: &str) -> Fault {
    Fault::new(Kind::ClosedDirectory, format!("{path} is not open to this server"))
        .hint("start it with --open DIRECTORY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_opened_is_open_whatever_leads_there() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("in/below"), root.join("out"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("in/link")).unwrap();
        let opened = Opened::new([root.join("in")]).unwrap();
        assert_eq!(opened.place(None).unwrap(), root.join("in"));
        assert_eq!(opened.check(&inside).unwrap(), inside);
        for closed in ["out", "in/link", "in/../out", "in/none", "inn"] {
            let fault = opened.check(&root.join(closed)).unwrap_err();
            assert_eq!(fault.kind, Kind::ClosedDirectory, "{closed}");
        }
        assert_eq!(opened.check(Path::new("in")).unwrap_err().kind, Kind::ClosedDirectory);
        assert!(opened.admits(inside.to_str().unwrap()).is_ok());
        assert!(opened.admits(outside.to_str().unwrap()).is_err());
    }
}
