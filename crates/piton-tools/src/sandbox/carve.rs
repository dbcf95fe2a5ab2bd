//! A hierarchy with holes.
//!
//! Landlock knows what is allowed, and below what; it cannot take anything out again. So "all of
//! this but not that" is every neighbour of *that*, all the way down.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Most places that one hierarchy is carved into. Beyond that the hole is in no sensible place.
const PLACES_MAX: usize = 100_000;

/// The largest hierarchies at and below `root` that hold nothing closed. Links are left out: what
/// they lead to is in a hierarchy of its own, or closed.
pub(super) fn carve(root: &Path, closed: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(place) = open.pop() {
        if PLACES_MAX < found.len() {
            let told = format!("{} has too many entries beside what is closed", root.display());
            return Err(io::Error::other(told));
        }
        if closed.iter().any(|closed| place.starts_with(closed)) {
            continue;
        }
        if !closed.iter().any(|closed| closed.starts_with(&place)) {
            found.push(place);
            continue;
        }
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            // What is not there, or not for us to see, needs no hole.
            Err(error) if is_nothing(&error) => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            // Gone meanwhile: nothing to allow.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_nothing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hierarchy_is_carved_around_what_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["a/deep", "b/secret/x", "b/open", "c"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("b/secret", root.join("link")).unwrap();
        let names = |closed: &[&str]| {
            let closed: Vec<_> = closed.iter().map(|name| root.join(name)).collect();
            let found = carve(root, &closed).unwrap();
            let name = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
            found.iter().map(name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&[]), "");
        assert_eq!(carve(root, &[]).unwrap(), [root]);
        assert_eq!(names(&["b/secret"]), "a b/open c file");
        assert_eq!(names(&["b/secret/x", "file"]), "a b/open c");
        assert_eq!(names(&["not/there"]), "a b c file");
        assert!(carve(root, &[root.to_owned()]).unwrap().is_empty());
        assert!(carve(&root.join("b/secret/x"), &[root.join("b")]).unwrap().is_empty());
    }
}
