//! Which project files a person has approved: workspace and digest, kept in the user's own directory.
//!
//! A repository must not start programs by being looked at, so an approval is good for one workspace
//! and for exactly the bytes that were approved.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The name of the file.
const FILE: &str = "mcp-trusted.json";

/// The approvals of a user.
#[derive(Clone, Debug)]
pub struct Approvals {
    path: PathBuf,
    approved: Vec<Approval>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Approval {
    workspace: PathBuf,
    digest: String,
}

/// Approvals that cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustFault {
    /// They cannot be read. Then nothing counts as approved.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// They cannot be kept.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Approvals {
    /// Reads the approvals that are kept in `directory`; no file approves nothing.
    pub fn read(directory: &Path) -> Result<Self, TrustFault> {
        let path = directory.join(FILE);
        let approved = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            // A home that is no directory is reported elsewhere.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        match approved {
            Ok(approved) => Ok(Self { path, approved }),
            Err(source) => Err(TrustFault::Read { path, source }),
        }
    }

    /// Whether exactly this content is approved for this workspace.
    pub fn has(&self, workspace: &Path, digest: &str) -> bool {
        self.approved.iter().any(|it| it.workspace == workspace && it.digest == digest)
    }

    /// Approves this content, and no other one, for this workspace.
    pub fn approve(&mut self, workspace: &Path, digest: &str) -> Result<(), TrustFault> {
        self.approved.retain(|it| it.workspace != workspace);
        let digest = digest.to_owned();
        self.approved.push(Approval { workspace: workspace.to_owned(), digest });
        self.write()
    }

    /// Takes the approval of a workspace back; says whether there was one.
    pub fn revoke(&mut self, workspace: &Path) -> Result<bool, TrustFault> {
        let before = self.approved.len();
        self.approved.retain(|it| it.workspace != workspace);
        self.write()?;
        Ok(self.approved.len() < before)
    }

    fn write(&self) -> Result<(), TrustFault> {
        let path = &self.path;
        let write = || -> io::Result<()> {
            let directory = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&serde_json::to_vec_pretty(&self.approved)?)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(|source| TrustFault::Write { path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Found in other agents as CVE-2025-59536: a repository that starts programs.
    #[test]
    fn an_approval_is_good_for_one_workspace_and_one_content() {
        let directory = tempfile::tempdir().unwrap();
        let (here, there) = (Path::new("/here"), Path::new("/there"));
        let mut approvals = Approvals::read(directory.path()).unwrap();
        assert!(!approvals.has(here, "a"));
        approvals.approve(here, "a").unwrap();
        let read = Approvals::read(directory.path()).unwrap();
        assert!(read.has(here, "a") && !read.has(here, "b") && !read.has(there, "a"));
        approvals.approve(here, "b").unwrap();
        assert!(approvals.has(here, "b") && !approvals.has(here, "a"));
        assert!(approvals.revoke(here).unwrap() && !approvals.revoke(here).unwrap());
        assert!(!Approvals::read(directory.path()).unwrap().has(here, "b"));
    }

    #[test]
    fn approvals_that_make_no_sense_approve_nothing() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(FILE), "[").unwrap();
        assert!(matches!(Approvals::read(directory.path()), Err(TrustFault::Read { .. })));
    }
}
