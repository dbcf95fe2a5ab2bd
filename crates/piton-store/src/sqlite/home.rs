//! The directory of a store.

use std::path::{Path, PathBuf};

use super::private::{self, make_directory};
use crate::StoreError;

/// The name of the database in a home.
pub(super) const DATABASE: &str = "piton.db";

/// Where everything of one store lives.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) database: PathBuf,
    pub(super) locks: PathBuf,
    pub(super) blobs: PathBuf,
    /// Made with the first letter.
    pub(super) inbox: PathBuf,
}

impl Home {
    pub(super) fn prepare(home: &Path) -> Result<Self, StoreError> {
        let (locks, blobs) = (home.join("locks"), home.join("blobs"));
        for directory in [&locks, &blobs] {
            make_directory(directory)?;
            private::tighten(directory);
        }
        private::tighten_home(home);
        let (database, inbox) = (home.join(DATABASE), home.join("inbox"));
        Ok(Self { database, locks, blobs, inbox })
    }
}
