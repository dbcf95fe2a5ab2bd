//! What no tool of ours touches, though it may lie in the workspace: piton's own settings and
//! conversations. A tool that could change those could give itself rights, or lose everybody's work.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::real_path::real;

/// Places that are closed, with all that is in them. They need not exist.
#[derive(Clone, Debug, Default)]
pub struct Closed(Arc<[PathBuf]>);

impl Closed {
    /// Closes these.
    pub fn new(places: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(places.into_iter().collect())
    }

    /// Whether a path without links is closed.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        // Asked anew: a link on the way to a place may have appeared since.
        self.0.iter().any(|place| path.starts_with(real(place)))
    }

    /// What is closed beneath a directory, as seen from there.
    pub(crate) fn beneath(&self, directory: &Path) -> Vec<String> {
        let inside = |place: &PathBuf| {
            let beneath = real(place).strip_prefix(directory).ok()?.to_str()?.to_owned();
            (!beneath.is_empty()).then_some(beneath)
        };
        self.0.iter().filter_map(inside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_closed_link_leads_to_is_closed_before_it_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("work")).unwrap();
        std::os::unix::fs::symlink("work/settings", root.join("own")).unwrap();
        let closed = Closed::new([root.join("own")]);
        assert!(closed.holds(&root.join("work/settings")));
        assert!(!closed.holds(&root.join("work/other")));
        assert_eq!(closed.beneath(&root.join("work")), ["settings"]);
    }
}
