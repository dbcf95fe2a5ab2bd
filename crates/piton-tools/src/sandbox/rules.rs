//! When commands are confined, and what that means in a workspace.

use std::path::{Path, PathBuf};

use piton_core::event::PermissionMode;

use super::kernel::Kernel;
use super::looks;
use super::policy::Policy;
use crate::contract::{Consent, Job};

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
        if job.consent == Consent::OnlyLooks {
            let policy = self
                .confines_looks()
                .then(|| self.looking_at(&job.site.workspace, &job.site.permissions.directories));
            return policy.map(Some).ok_or(Lacking::Looks);
        }
        if !self.apply_to(job.site.permissions.mode, job.consent == Consent::ByPolicy) {
            return Ok(None);
        }
        let policy = self.with(&job.site.workspace, &job.site.permissions.directories);
        if self.when == When::Always
            && let Some(lack) = Kernel::ask().lacks(&policy).into_iter().next()
        {
            return Err(Lacking::Wanted(lack));
        }
        Ok(Some(policy))
    }

    /// What these rules mean in a workspace.
    pub fn at(&self, workspace: &Path) -> Policy {
        self.with(workspace, &[])
    }

    /// The same with directories that were added to the workspace.
    fn with(&self, workspace: &Path, added: &[String]) -> Policy {
        let temporary = std::env::temp_dir();
        let mut write = vec![workspace.to_owned()];
        // Recorded without links: what is one by now opens nothing when the wall is built.
        write.extend(added.iter().map(PathBuf::from).filter(|added| added.is_absolute()));
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
        let Self { network, unix_sockets, .. } = *self;
        Policy { write, closed, network, unix_sockets, looks: None }
    }

    /// Whether commands that only look have a wall here, so that they need no question.
    pub fn confines_looks(&self) -> bool {
        self.when != When::Never && Kernel::ask().holds_looks()
    }

    /// What a command that only looks may do in a workspace, whatever else is open.
    fn looking_at(&self, workspace: &Path, added: &[String]) -> Policy {
        Policy {
            write: vec!["/dev/null".into()],
            network: false,
            unix_sockets: false,
            looks: Some(looks::reading(workspace, added)),
            ..self.with(workspace, added)
        }
    }
}

/// What the kernel cannot hold although it must.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Lacking {
    /// For the settings.
    #[error("the settings ask for a sandbox (mode \"on\"), and {0}; `piton doctor` says more")]
    Wanted(String),
    /// For a command that nobody was asked about.
    #[error(
        "nobody was asked about this command, because it only looks, and there is no sandbox for it \
         any more; to ask the user, put `env` in front of it"
    )]
    Looks,
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
}
