//! A cgroup (version 2) for all commands of a policy, which counts their processes and their memory together.
//!
//! One can be made where the kernel hands the counting on to a directory that we may write to: below a user's own
//! service manager, in most containers, or for root. Nothing here says why there is none: then a limit on processes
//! is not held.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};

use super::limits::Limits;

/// What our cgroups are called; the number of the process that made it follows, and one of its own.
const PREFIX: &str = "piton-";
/// Where the kernel says what is mounted, and which cgroup a process is in.
const MOUNTS: &str = "/proc/self/mountinfo";
const OWN: &str = "/proc/self/cgroup";
/// Most cgroups that one process makes.
const CGROUPS_MAX: u32 = 64;

/// A cgroup of ours. It goes when it is dropped, unless commands are still in it: then the next maker takes it away.
#[derive(Debug)]
pub(crate) struct Cgroup {
    place: PathBuf,
}

impl Cgroup {
    /// Makes one that holds these limits, as far as that is possible here.
    pub(crate) fn make(limits: &Limits) -> Option<Self> {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        if limits.processes.is_none() && limits.memory_bytes.is_none() {
            return None;
        }
        let own = own_place(&text(MOUNTS), &text(OWN))?;
        Self::make_near(&own, limits)
    }

    /// Makes one beside `own` or further up, wherever the kernel counts.
    fn make_near((mount, own): &(PathBuf, PathBuf), limits: &Limits) -> Option<Self> {
        let places: Vec<&Path> = own.ancestors().take_while(|at| at.starts_with(mount)).collect();
        // One that counts all of it, else one that counts something.
        let all = places.iter().filter(|at| counted(at, limits) == wanted(limits).count());
        let some = places.iter().filter(|at| 0 < counted(at, limits));
        all.chain(some).find_map(|at| Self::make_in(at, limits))
    }

    fn make_in(parent: &Path, limits: &Limits) -> Option<Self> {
        sweep(parent);
        let name = |number| format!("{PREFIX}{}-{number}", std::process::id());
        let mut places = (0..CGROUPS_MAX).map(|number| parent.join(name(number)));
        let place = places.find_map(|place| match fs::create_dir(&place) {
            Ok(()) => Some(Some(place)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            Err(_) => Some(None),
        })??;
        let made = Self { place };
        for (controller, file, limit) in wanted(limits) {
            if counts(parent, controller)
                && fs::write(made.place.join(file), limit.to_string()).is_err()
            {
                return None;
            }
        }
        Some(made)
    }

    /// Puts a process in, with all that it starts from now on.
    pub(crate) fn add(&self, pid: Pid) -> io::Result<()> {
        fs::write(self.place.join("cgroup.procs"), pid.as_raw_nonzero().to_string())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        fs::remove_dir(&self.place).ok();
    }
}

/// Whether a cgroup can be made here that counts processes, and one that counts memory.
pub fn counted_together() -> [bool; 2] {
    let one = Limits { processes: Some(1), ..Limits::default() };
    let other = Limits { memory_bytes: Some(1 << 30), ..Limits::default() };
    [one, other].map(|limits| Cgroup::make(&limits).is_some())
}

/// Controllers, their files and what is to be in them.
fn wanted(limits: &Limits) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    let processes = limits.processes.map(|most| ("pids", "pids.max", most));
    let memory = limits.memory_bytes.map(|most| ("memory", "memory.max", most));
    processes.into_iter().chain(memory)
}

/// How many of the limits are counted below a directory.
fn counted(parent: &Path, limits: &Limits) -> usize {
    wanted(limits).filter(|(controller, ..)| counts(parent, controller)).count()
}

fn counts(parent: &Path, controller: &str) -> bool {
    let handed_on = fs::read_to_string(parent.join("cgroup.subtree_control"));
    handed_on.is_ok_and(|handed_on| handed_on.split_whitespace().any(|it| it == controller))
}

/// Takes away what makers left that are gone. One with processes in it stays.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if maker(&entry.file_name()).is_some_and(|maker| test_kill_process(maker).is_err()) {
            fs::remove_dir(entry.path()).ok();
        }
    }
}

fn maker(name: &OsStr) -> Option<Pid> {
    let (maker, _) = name.to_str()?.strip_prefix(PREFIX)?.split_once('-')?;
    Pid::from_raw(maker.parse().ok()?)
}

/// Where cgroups are mounted, and the directory of our own one there.
fn own_place(mounts: &str, own: &str) -> Option<(PathBuf, PathBuf)> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let (root, mount) = mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let is_ours = right.split(' ').next() == Some("cgroup2");
        let mut fields = left.split(' ').skip(3);
        is_ours.then_some((fields.next()?, fields.next()?))
    })?;
    // In a container a part of the hierarchy is mounted.
    let below = Path::new("/").join(own);
    let below = below.strip_prefix(root).ok()?.to_owned();
    let mount = PathBuf::from(mount);
    let own = mount.join(below);
    Some((mount, own))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { processes: Some(7), memory_bytes: Some(4096), file_bytes: None, open_files: None };

    /// A hierarchy as the kernel shows it, of ordinary files: `a` hands on what is named, `a/b` is our own.
    fn hierarchy(handed_on: &str) -> (tempfile::TempDir, (PathBuf, PathBuf)) {
        let mount = tempfile::tempdir().unwrap();
        let own = mount.path().join("a/b");
        fs::create_dir_all(&own).unwrap();
        fs::write(mount.path().join("cgroup.subtree_control"), "").unwrap();
        fs::write(mount.path().join("a/cgroup.subtree_control"), handed_on).unwrap();
        fs::write(own.join("cgroup.subtree_control"), "").unwrap();
        let place = (mount.path().to_owned(), own);
        (mount, place)
    }

    fn limit(made: &Cgroup, file: &str) -> String {
        fs::read_to_string(made.place.join(file)).unwrap_or_default()
    }

    #[test]
    fn it_is_made_where_the_kernel_counts() {
        let (mount, place) = hierarchy("cpu memory pids\n");
        let made = Cgroup::make_near(&place, &LIMITS).unwrap();
        assert_eq!(made.place.parent(), Some(mount.path().join("a").as_path()));
        assert_eq!(
            (limit(&made, "pids.max"), limit(&made, "memory.max")),
            ("7".into(), "4096".into())
        );
        let other = Cgroup::make_near(&place, &LIMITS).unwrap();
        assert_ne!(other.place, made.place);
        made.add(Pid::INIT).unwrap();
        assert_eq!(limit(&made, "cgroup.procs"), "1");
    }

    #[test]
    fn a_limit_that_is_not_counted_is_left_out() {
        let (_mount, place) = hierarchy("pids\n");
        let made = Cgroup::make_near(&place, &LIMITS).unwrap();
        assert_eq!(
            (limit(&made, "pids.max"), limit(&made, "memory.max")),
            ("7".into(), String::new())
        );
        let (_mount, place) = hierarchy("cpu io\n");
        assert!(Cgroup::make_near(&place, &LIMITS).is_none());
    }

    #[test]
    fn what_a_maker_left_that_is_gone_is_taken_away() {
        let (mount, place) = hierarchy("pids\n");
        let directory = |name: String| mount.path().join("a").join(name);
        // No process has this number: it is above the largest that there can be.
        let (left, ours) =
            (directory(format!("{PREFIX}{}-0", 1 << 23)), directory(format!("{PREFIX}1-0")));
        let foreign = directory("piton.service".into());
        for place in [&left, &ours, &foreign] {
            fs::create_dir(place).unwrap();
        }
        Cgroup::make_near(&place, &LIMITS).unwrap();
        assert!(!left.exists() && foreign.exists());
        assert!(ours.exists(), "its maker may come back to it");
    }

    #[test]
    fn our_own_place_is_found_in_a_machine_and_in_a_container() {
        let mounts = "25 30 0:22 / /sys rw - sysfs sysfs rw\n\
                      35 25 0:29 /box /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let found = own_place(mounts, "1:name=systemd:/x\n0::/box/a/b\n");
        assert_eq!(found, Some(("/sys/fs/cgroup".into(), "/sys/fs/cgroup/a/b".into())));
        assert_eq!(own_place(mounts, "0::/elsewhere\n"), None);
        assert_eq!(own_place("", "0::/a\n"), None);
        assert_eq!(own_place(mounts, "4:pids:/a\n"), None);
    }
}
