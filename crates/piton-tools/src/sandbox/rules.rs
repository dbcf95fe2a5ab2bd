//! When commands are confined, and what that means in a workspace.

use std::path::{Path, PathBuf};

use super::kernel::Kernel;
use super::limits::Limits;
use super::looks;
use super::policy::{Granted, Policy};
use super::protect;
use crate::contract::real_path::Lead;
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

/// Places of the system. That a link leads there makes no secret of them.
const SYSTEM: [&str; 9] =
    ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"];
/// Most places that are closed because links in closed places lead there.
const BEHIND_CLOSED_MAX: usize = 100;

/// When commands are confined, and to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// When.
    pub when: When,
    /// Whether they may use the network.
    pub network: bool,
    /// Hosts that they reach although they have no network, as grants name them.
    pub hosts: Vec<String>,
    /// Whether no grant opens the network either.
    pub barred: bool,
    /// Whether they may use sockets of this machine.
    pub unix_sockets: bool,
    /// Where they may write beside the workspace and temporary directories.
    pub write: Vec<PathBuf>,
    /// What they may neither read nor write, wherever that lies.
    pub closed: Vec<PathBuf>,
    /// What no grant opens: our own settings and conversations. They are among `closed`.
    pub own: Vec<PathBuf>,
    /// The user's own directory, `~` in a grant.
    pub home: Option<PathBuf>,
    /// What they may write and not read.
    pub unread: Vec<PathBuf>,
    /// What they may not change in a workspace, beside what is known: names in it, or whole places.
    pub protect: Vec<PathBuf>,
    /// Variables that they see although their names are those of secrets or services.
    pub env: Vec<String>,
    /// How much they may use.
    pub limits: Limits,
}

/// When commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Never.
    Never,
    /// Unless somebody approved them word for word, as well as the kernel can.
    Unapproved,
    /// Always. A command that cannot be confined is not run.
    Always,
}

impl Rules {
    /// No sandbox.
    pub fn none() -> Self {
        Self {
            when: When::Never,
            network: true,
            hosts: Vec::new(),
            barred: false,
            unix_sockets: true,
            write: Vec::new(),
            closed: Vec::new(),
            own: Vec::new(),
            home: None,
            unread: Vec::new(),
            protect: Vec::new(),
            env: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Whether a command that runs on this word is confined.
    fn apply_to(&self, consent: Consent) -> bool {
        match self.when {
            When::Never => false,
            When::Unapproved => consent != Consent::WordForWord,
            When::Always => true,
        }
    }

    /// What the command of a call may do; `None` if it is not confined.
    pub(crate) fn policy(&self, job: &Job) -> Result<Option<Policy>, Lacking> {
        if job.consent == Consent::OnlyLooks {
            let policy = self
                .confines()
                .then(|| self.looking_at(&job.site.workspace, &job.site.permissions.directories));
            return policy.map(Some).ok_or(Lacking::Looks);
        }
        if !self.apply_to(job.consent) {
            return Ok(None);
        }
        let mut policy = self.with(&job.site.workspace, &job.site.permissions.directories);
        self.open(&job.grants, &mut policy);
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

    /// Where confined commands write: the workspace and the directories that were added to it, which come first, then
    /// temporary directories and what the settings say.
    pub fn written(&self, workspace: &Path, added: &[String]) -> Vec<PathBuf> {
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
        write
    }

    /// The same with directories that were added to the workspace.
    fn with(&self, workspace: &Path, added: &[String]) -> Policy {
        let write = self.written(workspace, added);
        let added = added.iter().filter(|added| Path::new(added).is_absolute()).count();
        let roots = write.get(..=added).unwrap_or(&write);
        let protect = protect::places(roots, &write, &self.protect, self.home.as_deref());
        let mut closed = Vec::new();
        for Lead { place, links } in self.closed.iter().map(|place| Lead::of(place)) {
            closed.push(place);
            // Who swaps a link on the way makes it lead elsewhere.
            let is_open = |link: &PathBuf| write.iter().any(|root| link.starts_with(root));
            closed.extend(links.into_iter().filter(is_open));
        }
        closed.extend(self.behind_closed(&write));
        // Who works in a place has opened it.
        closed.retain(|closed| !workspace.starts_with(closed));
        let Self { network, unix_sockets, limits, .. } = *self;
        let (unread, env, granted) = (self.unread.clone(), self.env.clone(), Granted::default());
        Policy {
            write,
            closed,
            unread,
            protect,
            network,
            unix_sockets,
            env,
            limits,
            granted,
            looks: None,
        }
    }

    /// What links in closed places lead to: a key is the same by its other name. Not, where commands write: who works
    /// there has opened it. And nothing that belongs to the system.
    fn behind_closed(&self, written: &[PathBuf]) -> Vec<PathBuf> {
        let is_own = |place: &&PathBuf| self.own.contains(place);
        let theirs = self.closed.iter().filter(|place| !is_own(place));
        let behind = theirs.flat_map(|place| protect::behind_links_near(place));
        let is_free = |place: &PathBuf| {
            let of_system = SYSTEM.iter().any(|system| place.starts_with(system));
            let is_written = |root: &PathBuf| place.starts_with(root) || root.starts_with(place);
            let is_around = self.home.as_ref().is_some_and(|home| home.starts_with(place));
            of_system || is_around || written.iter().any(is_written)
        };
        behind.filter(|place| !is_free(place)).take(BEHIND_CLOSED_MAX).collect()
    }

    /// What a program may do that is to stay behind the wall as long as it runs, whoever asked for it; `None` if
    /// nothing is confined. Without a wall it is not to be started: the end of a sentence says why.
    pub fn around(&self, workspace: &Path) -> Result<Option<Policy>, String> {
        if self.when == When::Never {
            return Ok(None);
        }
        let policy = self.at(workspace);
        let kernel = Kernel::ask();
        let lack = kernel.lacks(&policy).into_iter().next();
        match lack.filter(|_| !kernel.has_wall()) {
            Some(lack) => Err(lack),
            None => Ok(Some(policy)),
        }
    }

    /// Whether there are walls here, so that rules with a wildcard and commands that only look need no
    /// question.
    pub fn confines(&self) -> bool {
        self.when != When::Never && Kernel::ask().has_wall()
    }

    /// Whether a command that a person said yes to runs outside these walls.
    pub(crate) fn free_what_is_approved(&self) -> bool {
        self.confines() && self.when == When::Unapproved
    }

    /// What a command that only looks may do in a workspace, whatever else is open.
    fn looking_at(&self, workspace: &Path, added: &[String]) -> Policy {
        Policy {
            write: vec!["/dev/null".into()],
            network: false,
            unix_sockets: false,
            env: Vec::new(),
            // There is nowhere to write.
            protect: Vec::new(),
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
    fn what_nobody_approved_word_for_word_is_confined() {
        assert!(!rules(When::Unapproved).apply_to(Consent::WordForWord));
        assert!(rules(When::Unapproved).apply_to(Consent::Widely));
        assert!(rules(When::Always).apply_to(Consent::WordForWord));
        assert!(!rules(When::Never).apply_to(Consent::Widely));
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
    fn a_closed_link_closes_what_it_leads_to_and_the_links_on_the_way() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let work = root.join("work");
        std::fs::create_dir(&work).unwrap();
        std::os::unix::fs::symlink("none/settings", work.join("link")).unwrap();
        std::os::unix::fs::symlink(work.join("link"), root.join("own")).unwrap();
        let rules = Rules { closed: vec![root.join("own")], ..rules(When::Always) };
        let closed = rules.at(&work).closed;
        for place in [work.join("none/settings"), work.join("link")] {
            assert!(closed.contains(&place), "{closed:?}");
        }
    }

    #[test]
    fn what_links_in_a_closed_place_lead_to_is_closed() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work", "ssh/deep", "dotfiles"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let file = |name: &str| std::fs::write(root.join(name), "key").unwrap();
        ["dotfiles/id", "dotfiles/other", "work/mine"].into_iter().for_each(file);
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, root.join("ssh").join(name)).unwrap();
        };
        link("../dotfiles/id", "id");
        link("../../dotfiles/other", "deep/other");
        link("../work/mine", "mine");
        link("/etc/passwd", "system");
        link("..", "around");
        let rules = Rules {
            closed: vec![root.join("ssh")],
            home: Some(root.clone()),
            ..rules(When::Always)
        };
        let mut closed = rules.at(&root.join("work")).closed;
        closed.sort();
        assert_eq!(closed, ["dotfiles/id", "dotfiles/other", "ssh"].map(|name| root.join(name)));
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
