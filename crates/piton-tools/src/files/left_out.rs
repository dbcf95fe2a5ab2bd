//! What tools that look around do not show: paths that permission rules keep from them.

use piton_core::permit;

use super::workspace::Place;
use crate::contract::{Site, excerpt};

/// The patterns that count for one look, and how often they did.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    patterns: Vec<String>,
    count: usize,
    /// Paths of piton's own files, as they are named.
    own: Vec<String>,
    has_own: bool,
}

impl LeftOut {
    /// For a look around by `tool` that begins at `place`. Whether it may begin there was decided
    /// before: a person who was asked about a directory has opened it.
    pub(crate) fn new(site: &Site, tool: &str, place: &Place) -> Self {
        let patterns = permit::left_out(&site.permissions, tool).into_iter();
        let patterns = patterns.filter(|pattern| !permit::path::matches(pattern, place.shown()));
        let patterns = patterns.map(ToOwned::to_owned).collect();
        let own = site.closed.beneath(place.root(site));
        let own = own.iter().map(|own| place.named(own).into_owned()).collect();
        Self { patterns, count: 0, own, has_own: false }
    }

    /// Whether a path from the workspace is not to be seen; counts it then.
    pub(crate) fn hides(&mut self, path: &str) -> bool {
        if self.own.iter().any(|own| own == path) {
            self.has_own = true;
            return true;
        }
        let hides = self.patterns.iter().any(|pattern| permit::path::matches(pattern, path));
        self.count += usize::from(hides);
        hides
    }

    /// Says at the end of a result that it is not the whole truth.
    pub(crate) fn note(&self, text: &mut String) {
        if self.has_own {
            excerpt::note(text, format_args!("[piton's own files are left out]\n"));
        }
        match self.count {
            0 => {}
            1 => excerpt::note(text, format_args!("[1 path left out by a permission rule]\n")),
            more => {
                excerpt::note(text, format_args!("[{more} paths left out by permission rules]\n"));
            }
        }
    }
}
