//! Paths without links.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::refusal::Refusal;

/// Most links on the way to a place, as for the kernel.
const LINKS_MAX: usize = 40;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    /// The place behind all links. Nothing needs to be there.
    pub(crate) place: PathBuf,
    /// The links on the way, each by its own path without links.
    pub(crate) links: Vec<PathBuf>,
}

impl Lead {
    /// Follows a path as far as its links lead, also where they lead to nothing.
    pub(crate) fn of(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (mut place, mut links) = (PathBuf::new(), Vec::new());
        // What is still to be gone, the next part last.
        let mut parts = parts(&path);
        while let Some(part) = parts.pop() {
            if part == ".." {
                place.pop();
                continue;
            }
            place.push(part);
            if let Ok(target) = fs::read_link(&place)
                && links.len() < LINKS_MAX
            {
                links.push(place.clone());
                place.pop();
                parts.extend(self::parts(&target));
            }
        }
        Self { place, links }
    }
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// A path without links, as far as they lead.
pub(crate) fn real(path: &Path) -> PathBuf {
    Lead::of(path).place
}

/// The real path of the deepest part of `full` that exists, and the rest that does not.
pub(crate) fn resolve(full: &Path, path: &str) -> Result<(PathBuf, PathBuf), Refusal> {
    let mut existing = full;
    loop {
        match fs::canonicalize(existing) {
            Ok(real) => {
                let rest = full.strip_prefix(existing).unwrap_or(Path::new(""));
                return Ok((real, rest.to_owned()));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Refusal(format!("`{path}` cannot be used: {error}"))),
        }
        // It does not exist, yet something is there: a link to nothing. Whatever is created
        // behind it would appear at a place that nobody named.
        if fs::symlink_metadata(existing).is_ok() {
            return Err(Refusal(format!(
                "`{path}` is or goes through a symbolic link whose target does not exist: name \
                 the target itself"
            )));
        }
        match (existing.file_name(), existing.parent()) {
            (Some(_), Some(parent)) => existing = parent,
            // `..` behind a directory that does not exist: nobody can say where it leads.
            (None, _) | (_, None) => {
                return Err(Refusal(format!("write `{path}` without `..`")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_followed_also_to_where_nothing_is() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/deep")).unwrap();
        fs::write(root.join("work/file"), "").unwrap();
        symlink("../work/deep/../none/at/all", root.join("work/second")).unwrap();
        symlink(root.join("work/second"), root.join("first")).unwrap();
        symlink("work", root.join("way")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let check = |path: &str, place: &str, links: &[&str]| {
            let links = links.iter().map(|link| root.join(link)).collect();
            assert_eq!(Lead::of(&root.join(path)), Lead { place: root.join(place), links });
        };
        check("work/file", "work/file", &[]);
        check("way/./file", "work/file", &["way"]);
        check("none/x", "none/x", &[]);
        check("first", "work/none/at/all", &["first", "work/second"]);
        check("first/more", "work/none/at/all/more", &["first", "work/second"]);
        assert_eq!(Lead::of(&root.join("round")).place, root.join("round"));
        assert_eq!(Lead::of(&root.join("round")).links.len(), LINKS_MAX);
    }
}
