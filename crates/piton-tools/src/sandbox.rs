//! What a command may touch: a policy, and the walls that hold it.
//!
//! Files are held by Landlock (`walls`), system calls by a filter (`calls`), and root gives up most
//! of what makes it root (`powers`). All of that is put on a
//! thread of a supervisor that does nothing but start commands (`warden`): whatever a thread starts
//! inherits its walls, so nothing runs between fork and exec, and the rest of the supervisor stays
//! free. No wall can be taken down again, by nobody.
//!
//! This room does not know why a command runs. [`Rules`] say when there is a sandbox at all; a
//! [`Policy`] is what they mean at one place, and is recorded with the command.

mod calls;
mod carve;
mod kernel;
mod powers;
pub(crate) mod probe;
mod walls;
mod warden;

use std::path::{Path, PathBuf};

use piton_core::event::PermissionMode;
use serde::{Deserialize, Serialize};

pub use self::kernel::Kernel;
pub use self::probe::{Attempt, Tried, try_out};
pub(crate) use self::warden::{Wardens, spawn};
use crate::{Job, excerpt};

/// Places that every command may write to, beside the workspace and the temporary directory.
/// Shared memory is a directory too.
const WRITABLE: [&str; 8] = [
    "/tmp",
    "/dev/shm",
    "/dev/tty",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// What programs print when they are refused something, in small letters.
const SIGNS: [&str; 6] =
    ["permission denied", "not permitted", "eacces", "eperm", "read-only", "bad system call"];
/// What they print when there is no network.
const NETWORK_SIGNS: [&str; 4] = ["resolv", "network", "socket", "connect"];
/// Most places that are told.
const PLACES_TOLD_MAX: usize = 4;
/// Longest note about a sandbox, in bytes.
const TOLD_BYTES_MAX: usize = 256;

/// When commands are confined, and to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// When.
    pub when: When,
    /// Whether they may use the network.
    pub network: bool,
    /// Whether they may use sockets of this machine.
    pub unix_sockets: bool,
    /// Where they may write beside the workspace and temporary directories.
    pub write: Vec<PathBuf>,
    /// What they may neither read nor write, wherever that lies.
    pub closed: Vec<PathBuf>,
}

/// When commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Never.
    Never,
    /// When they run without anybody having been asked, as well as the kernel can.
    Unasked,
    /// Always. A command that cannot be confined is not run.
    Always,
}

impl Rules {
    /// No sandbox.
    pub fn none() -> Self {
        let (write, closed) = (Vec::new(), Vec::new());
        Self { when: When::Never, network: true, unix_sockets: true, write, closed }
    }

    /// Whether commands of a conversation with this mode are confined. They are `unasked` too if a
    /// policy answers in place of a person.
    pub fn apply_to(&self, mode: PermissionMode, unasked: bool) -> bool {
        match self.when {
            When::Never => false,
            When::Unasked => unasked || mode == PermissionMode::Auto,
            When::Always => true,
        }
    }

    /// What the command of a call may do; `None` if it is not confined.
    pub(crate) fn policy(&self, job: &Job) -> Result<Option<Policy>, Lacking> {
        if !self.apply_to(job.site.permissions.mode, job.unasked) {
            return Ok(None);
        }
        let policy = self.at(&job.site.workspace);
        if self.when == When::Always
            && let Some(lack) = Kernel::ask().lacks(&policy).into_iter().next()
        {
            return Err(Lacking(lack));
        }
        Ok(Some(policy))
    }

    /// What these rules mean in a workspace.
    pub fn at(&self, workspace: &Path) -> Policy {
        let temporary = std::env::temp_dir();
        let mut write = vec![workspace.to_owned()];
        for place in WRITABLE.map(PathBuf::from).iter().chain([&temporary]).chain(&self.write) {
            // What lies in another such place is open already, and may have become a link to
            // anywhere since.
            let is_covered = |place: &Path| write.iter().any(|root| place.starts_with(root));
            if is_covered(place) {
                continue;
            }
            // As it is behind its links: no link is followed when the wall is built.
            let place = place.canonicalize().unwrap_or_else(|_| place.clone());
            if !is_covered(&place) {
                write.push(place);
            }
        }
        let closed = self.closed.iter();
        let mut closed: Vec<_> =
            closed.map(|place| place.canonicalize().unwrap_or_else(|_| place.clone())).collect();
        // Who works in a place has opened it.
        closed.retain(|closed| !workspace.starts_with(closed));
        Policy { write, closed, network: self.network, unix_sockets: self.unix_sockets }
    }
}

/// What the kernel cannot hold although it must.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the settings ask for a sandbox (mode \"on\"), and {0}; `piton doctor` says more")]
pub(crate) struct Lacking(String);

/// What one command may do. Recorded, so it never changes meaning: new fields are optional.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Where it may write; the workspace comes first.
    pub write: Vec<PathBuf>,
    /// What it may neither read nor write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
    /// Whether it may use sockets of this machine.
    pub unix_sockets: bool,
}

impl Policy {
    /// Adds to what a failed command printed that it ran in a sandbox, if something in there looks
    /// as if that were the reason. Nobody can know, so nothing more is claimed.
    pub(crate) fn explain(&self, text: &mut String) {
        let printed = text.to_ascii_lowercase();
        let refused = SIGNS.iter().any(|sign| printed.contains(sign));
        let unreached = !self.network && NETWORK_SIGNS.iter().any(|sign| printed.contains(sign));
        if refused || unreached {
            excerpt::note(text, excerpt::head(&self.told(), TOLD_BYTES_MAX));
        }
    }

    fn told(&self) -> String {
        let places = self.write.iter().skip(1).filter(|place| !place.starts_with("/dev"));
        let mut places: Vec<_> = places.map(|place| place.display().to_string()).collect();
        places.insert(0, "the workspace".into());
        if PLACES_TOLD_MAX < places.len() {
            places.truncate(PLACES_TOLD_MAX);
            places.push("and more".into());
        }
        let sockets = match (self.network, self.unix_sockets) {
            (true, true) => "",
            (true, false) => "; no Unix sockets",
            (false, true) => "; no network",
            (false, false) => "; no network, no Unix sockets",
        };
        let places = places.join(", ");
        let closed = if self.closed.is_empty() { "" } else { "; some places cannot be read" };
        format!(
            "[it ran in a sandbox: writes only in {places}{closed}{sockets}; the user can change \
             that]"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(when: When) -> Rules {
        Rules { when, ..Rules::none() }
    }

    #[test]
    fn what_nobody_was_asked_about_is_confined() {
        use PermissionMode::{AcceptEdits, Ask, Auto, ReadOnly};
        for mode in [Ask, AcceptEdits, ReadOnly] {
            assert!(!rules(When::Unasked).apply_to(mode, false), "{mode:?}");
            assert!(rules(When::Unasked).apply_to(mode, true), "{mode:?}");
            assert!(rules(When::Always).apply_to(mode, false), "{mode:?}");
        }
        assert!(rules(When::Unasked).apply_to(Auto, false));
        assert!(!rules(When::Never).apply_to(Auto, true));
    }

    #[test]
    fn who_works_in_a_closed_place_has_opened_it() {
        let closed = vec!["/no/such/home".into(), "/no/such/settings".into()];
        let rules = Rules { closed, ..rules(When::Always) };
        let policy = rules.at(Path::new("/no/such/settings/here"));
        assert_eq!(policy.closed, [PathBuf::from("/no/such/home")]);
        assert_eq!(policy.write.first(), Some(&PathBuf::from("/no/such/settings/here")));
    }

    #[test]
    fn a_link_in_a_place_that_commands_write_to_opens_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (workspace, link) = (root.join("work"), root.join("work/link"));
        std::fs::create_dir(&workspace).unwrap();
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        let away = root.join("away");
        std::os::unix::fs::symlink("/usr", &away).unwrap();
        let rules = Rules { write: vec![link], ..rules(When::Always) };
        assert!(!rules.at(&workspace).write.contains(&PathBuf::from("/etc")));
        // The temporary directory is such a place.
        let rules = Rules { write: vec![away], ..rules };
        assert_eq!(
            rules.at(Path::new("/no/such/place")).write.contains(&PathBuf::from("/usr")),
            !root.starts_with("/tmp")
        );
    }

    #[test]
    fn a_failure_is_told_what_stood_in_its_way() {
        let write = vec!["/w".into(), "/tmp".into(), "/dev/null".into(), "/cache".into()];
        let policy = Policy { write, closed: Vec::new(), network: false, unix_sockets: true };
        let explained = |text: &str| {
            let mut text = text.to_owned();
            policy.explain(&mut text);
            text
        };
        assert_eq!(
            explained("f: Permission denied"),
            "f: Permission denied\n[it ran in a sandbox: writes only in the workspace, /tmp, /cache; \
             no network; the user can change that]"
        );
        assert!(explained("Could not resolve host").contains("no network"));
        assert_eq!(explained("3 tests failed"), "3 tests failed");
        let closed = Policy { closed: vec!["/secret".into()], ..policy.clone() };
        let mut text = "cat: Permission denied".to_owned();
        closed.explain(&mut text);
        assert!(text.contains("; some places cannot be read; no network;"), "{text}");
    }

    #[test]
    fn a_policy_is_read_as_it_was_written() {
        let text = r#"{"write":["/w"],"network":true,"unix_sockets":false}"#;
        let policy: Policy = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&policy).unwrap(), text);
    }
}
