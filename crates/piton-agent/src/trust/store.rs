//! The file that keeps what is trusted: whole or not at all, one writer at a time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::exact::Exact;
use super::place::real;
use crate::settings::make_private;
use crate::settings_edit::write_beside;

/// The name of the file.
const FILE: &str = "trust.json";
/// What earlier builds kept: `.mcp.json` of workspaces, and no other file.
const OLD_FILE: &str = "mcp-trusted.json";
/// The file that an entry of the old file is about.
const OLD_SUBJECT: &str = ".mcp.json";
/// The form of the file that this build knows.
const FORM: u32 = 1;

/// What is trusted of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Its real path.
    pub workspace: PathBuf,
    /// Who trusted it, if somebody did.
    #[serde(rename = "trusted", default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Given>,
    /// Digests of the files that start programs and were approved, by their paths from the workspace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub approved: BTreeMap<String, String>,
    /// Where approved MCP servers of the workspace run. Absent in what earlier builds kept.
    #[serde(default, skip_serializing_if = "ServersRun::is_confined")]
    pub servers: ServersRun,
    /// What a person did not want to trust, so that they are asked once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
}

/// Where MCP servers of a workspace run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServersRun {
    /// In the sandbox.
    #[default]
    Confined,
    /// Outside of it.
    Unconfined,
}

impl ServersRun {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_confined(&self) -> bool {
        *self == Self::Confined
    }
}

/// Who trusted a workspace, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The name of the account.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Trust that cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustFault {
    /// It cannot be read. Then nothing is trusted.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be kept.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nobody knows where to keep it.
    #[error("there is no home directory to keep it in")]
    NoHome,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    version: u32,
    workspaces: Vec<Trust>,
}

/// An approval as earlier builds kept it.
#[derive(Debug, Deserialize)]
struct OldApproval {
    workspace: PathBuf,
    digest: String,
}

impl Trust {
    /// Of a workspace that nobody has said anything about.
    pub(crate) fn nothing(workspace: PathBuf) -> Self {
        let (approved, servers) = (BTreeMap::new(), ServersRun::Confined);
        Self { workspace, given: None, approved, servers, declined: None }
    }

    /// Whether somebody trusts the workspace.
    pub fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// Whether a file was approved as it is.
    pub fn holds(&self, exact: &Exact) -> bool {
        exact.digest.is_some() && self.approved.get(&exact.path) == exact.digest.as_ref()
    }

    /// Whether a file was approved, as it is or otherwise.
    pub fn knew(&self, exact: &Exact) -> bool {
        self.approved.contains_key(&exact.path)
    }

    pub(super) fn approve(&mut self, exact: &[Exact]) {
        for Exact { path, digest } in exact {
            if let Some(digest) = digest {
                self.approved.insert(path.clone(), digest.clone());
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.given.is_none() && self.approved.is_empty() && self.declined.is_none()
    }
}

/// Reads all that is kept in a directory; no file trusts nothing.
pub(super) fn read(directory: &Path) -> Result<Vec<Trust>, TrustFault> {
    let path = directory.join(FILE);
    let fault = |source| TrustFault::Read { path: path.clone(), source };
    let Some(bytes) = bytes_of(&path).map_err(fault)? else { return read_old(directory) };
    let document: Document = serde_json::from_slice(&bytes).map_err(|error| fault(error.into()))?;
    if document.version != FORM {
        let why = format!("its form is {}, and this build knows {FORM}", document.version);
        return Err(fault(io::Error::new(io::ErrorKind::Unsupported, why)));
    }
    Ok(document.workspaces)
}

/// Approvals of an earlier build. They go into the new file with the first change.
fn read_old(directory: &Path) -> Result<Vec<Trust>, TrustFault> {
    let path = directory.join(OLD_FILE);
    let fault = |source| TrustFault::Read { path: path.clone(), source };
    let Some(bytes) = bytes_of(&path).map_err(fault)? else { return Ok(Vec::new()) };
    let old: Vec<OldApproval> =
        serde_json::from_slice(&bytes).map_err(|error| fault(error.into()))?;
    let taken = old.into_iter().map(|OldApproval { workspace, digest }| Trust {
        approved: [(OLD_SUBJECT.to_owned(), digest)].into(),
        ..Trust::nothing(real(&workspace))
    });
    Ok(taken.collect())
}

fn bytes_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        // A home that is no directory is reported elsewhere.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Changes what is kept of a workspace. Durable when this returns.
pub(super) fn change(
    directory: &Path,
    workspace: PathBuf,
    change: impl FnOnce(&mut Trust),
) -> Result<(), TrustFault> {
    let path = directory.join(FILE);
    let fault = |source| TrustFault::Write { path: path.clone(), source };
    make_private(directory).map_err(fault)?;
    // Two of us would each write what the other has not seen.
    let one_writer = File::open(directory).map_err(fault)?;
    one_writer.lock().map_err(fault)?;
    let mut workspaces = read(directory)?;
    let place = workspaces.iter().position(|trust| trust.workspace == workspace);
    let mut trust = match place {
        Some(place) => workspaces.swap_remove(place),
        None => Trust::nothing(workspace),
    };
    change(&mut trust);
    if !trust.is_empty() {
        workspaces.push(trust);
    }
    workspaces.sort_by(|a, b| a.workspace.cmp(&b.workspace));
    let document = Document { version: FORM, workspaces };
    let text = serde_json::to_string_pretty(&document).map_err(|error| fault(error.into()))?;
    let draft = write_beside(&path, &text).map_err(fault)?;
    fs::rename(&draft, &path).map_err(fault)?;
    // It is in the new file, and what is revoked there must not come back from here.
    fs::remove_file(directory.join(OLD_FILE)).or_else(absent).map_err(fault)?;
    one_writer.sync_all().map_err(fault)
}

fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::settings::Settings;

    fn settings(home: &Path) -> Settings {
        let variables = [("PITON_HOME".into(), home.into())];
        Settings::resolve(Environment::new("/".into(), variables)).unwrap()
    }

    fn given() -> Given {
        Given { by: "ada".into(), at_ms: 1 }
    }

    // Found in other agents as CVE-2025-59536: a repository that starts programs.
    #[test]
    fn an_approval_is_good_for_one_workspace_and_one_content() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings(home.path());
        let (here, there) = (Path::new("/no/here"), Path::new("/no/there"));
        let exact = |bytes: &[u8]| Exact::of_bytes(".mcp.json", bytes);
        let holds = |workspace, bytes| settings.trust_in(workspace).unwrap().holds(&exact(bytes));
        assert!(!holds(here, b"a"));
        settings.approve_exactly(here, &[exact(b"a")]).unwrap();
        assert!(holds(here, b"a") && !holds(here, b"b") && !holds(there, b"a"));
        assert!(!settings.trust_in(here).unwrap().is_given(), "and nothing else is trusted");
        settings.give_trust(here, given(), &[exact(b"b")]).unwrap();
        assert!(holds(here, b"b") && !holds(here, b"a"));
        assert!(settings.trust_in(here).unwrap().is_given());
        assert!(settings.disapprove(here, |path| path == ".mcp.json").unwrap());
        assert!(!holds(here, b"b") && settings.trust_in(here).unwrap().is_given());
        assert!(settings.revoke_trust(here).unwrap() && !settings.revoke_trust(here).unwrap());
        assert!(!settings.trust_in(here).unwrap().is_given());
    }

    #[test]
    fn what_cannot_be_read_cannot_be_approved() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings(home.path());
        let exact = Exact { path: "a".into(), digest: None };
        settings.give_trust(Path::new("/no"), given(), std::slice::from_ref(&exact)).unwrap();
        assert!(!settings.trust_in(Path::new("/no")).unwrap().holds(&exact));
    }

    #[test]
    fn a_file_that_makes_no_sense_trusts_nothing_and_stays() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings(home.path());
        for text in ["[", "{\"version\": 2, \"workspaces\": []}"] {
            fs::write(home.path().join(FILE), text).unwrap();
            assert!(matches!(settings.trust_in(Path::new("/no")), Err(TrustFault::Read { .. })));
            assert!(settings.give_trust(Path::new("/no"), given(), &[]).is_err());
            assert_eq!(fs::read_to_string(home.path().join(FILE)).unwrap(), text);
        }
    }

    #[test]
    fn approvals_of_an_earlier_build_count_and_move_with_the_first_change() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings(home.path());
        let exact = Exact::of_bytes(".mcp.json", b"a");
        let digest = exact.digest.as_deref().unwrap();
        let old = format!("[{{\"workspace\": \"/no/here\", \"digest\": {digest:?}}}]");
        fs::write(home.path().join(OLD_FILE), old).unwrap();
        let here = |settings: &Settings| settings.trust_in(Path::new("/no/here")).unwrap();
        assert!(here(&settings).holds(&exact) && !here(&settings).is_given());
        settings.decline_trust(Path::new("/no/there"), "it").unwrap();
        assert!(here(&settings).holds(&exact));
        assert!(!home.path().join(OLD_FILE).exists());
        settings.revoke_trust(Path::new("/no/here")).unwrap();
        assert!(!here(&settings).holds(&exact));
    }

    #[test]
    fn a_link_to_a_trusted_workspace_is_the_same_one_and_another_directory_is_not() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().canonicalize().unwrap();
        let settings = settings(&at.join("home"));
        for name in ["one", "two"] {
            fs::create_dir(at.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("one", at.join("link")).unwrap();
        settings.give_trust(&at.join("link"), given(), &[]).unwrap();
        assert!(settings.trust_in(&at.join("one")).unwrap().is_given());
        fs::remove_file(at.join("link")).unwrap();
        std::os::unix::fs::symlink("two", at.join("link")).unwrap();
        assert!(!settings.trust_in(&at.join("link")).unwrap().is_given());
    }
}
