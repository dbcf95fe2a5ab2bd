//! Paths without links.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::refusal::Refusal;

/// A path as it is without links, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let resolved = resolve(path, "").map(|(real, rest)| real.join(rest));
    resolved.unwrap_or_else(|_| path.to_owned())
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
