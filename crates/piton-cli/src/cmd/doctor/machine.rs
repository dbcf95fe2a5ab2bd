//! The kernel, the sandbox, the disk.

use std::fs;
use std::path::{Path, PathBuf};

use piton_agent::Settings;
use piton_tools::sandbox::{
    Attempt, Kernel, Looked, Tried, counted_together, try_looking, try_namespaces, try_out,
};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::finding::{Finding, Verdict};

/// From this release on the exit status of an orphan can be asked for.
const ORPHANS: (u32, u32) = (6, 15);
/// Below so much room the disk is called full, in bytes.
const ROOM_BYTES_MIN: u64 = 16 * 1024 * 1024;
/// Below so much it is called nearly full, in bytes.
const ROOM_BYTES_WISHED: u64 = 1024 * 1024 * 1024;

pub(super) fn look(settings: &Settings) -> Vec<Finding> {
    let mut found = vec![kernel(), pidfds()];
    found.extend(sandbox());
    found.push(looks());
    found.push(limits());
    found.extend([namespaces(), cgroups(), room(&settings.home)]);
    found
}

fn kernel() -> Finding {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if ORPHANS <= version {
        return Finding::ok("kernel", format!("Linux {release}"));
    }
    Finding::lacks(
        "kernel",
        format!(
            "Linux {release}: the exit status of a command is lost if both supervisors are killed"
        ),
        "nothing to do; Linux 6.15 or newer keeps it",
    )
}

fn pidfds() -> Finding {
    match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(_) => Finding::ok("pidfd", "commands are watched without a race"),
        Err(error) => Finding::broken(
            "pidfd",
            format!("processes cannot be watched: {error}"),
            "use Linux 5.3 or newer, or a container that allows pidfd_open",
        ),
    }
}

/// What a child of ours got through with.
fn sandbox() -> Vec<Finding> {
    let kernel = Kernel::ask();
    let tried = match try_out(Path::new("/proc/self/exe")) {
        Ok(tried) => tried,
        Err(error) => {
            return vec![Finding::broken(
                "sandbox",
                format!("it cannot be tried: {error}"),
                "commands are refused in the sandbox; --sandbox off runs them without",
            )];
        }
    };
    let landlock = match kernel.landlock {
        Some(version) => Finding::ok("landlock", format!("version {version}")),
        None => Finding::lacks(
            "landlock",
            "not there: commands can write anywhere",
            "boot with lsm=landlock,... (Linux 5.13 or newer); until then use --permissions ask",
        ),
    };
    let seccomp = if kernel.filters {
        Finding::ok("seccomp", "system calls are filtered")
    } else {
        Finding::lacks(
            "seccomp",
            "system calls are not filtered: `network = false` does not hold",
            "use a kernel, or a container, that allows seccomp filters",
        )
    };
    let mut found = vec![landlock, seccomp];
    found.extend(tried.into_iter().map(|tried| judge(tried, kernel)));
    found
}

/// The wall of commands that only look, and need no question therefore.
fn looks() -> Finding {
    let about = "looking";
    if !Kernel::ask().has_wall() {
        return Finding::lacks(
            about,
            "there is no wall for commands that only look, so they ask",
            "it takes Landlock 3 (Linux 6.2 or newer) and seccomp",
        );
    }
    match try_looking() {
        Ok(Looked { reads_inside: true, reads_outside: false, writes: false }) => Finding::ok(
            about,
            "a command that only looks could read its workspace, nothing beside it, and not write",
        ),
        Ok(Looked { reads_outside: false, writes: false, .. }) => Finding::lacks(
            about,
            "a command that only looks could not even read its workspace",
            "--sandbox off asks about such commands and runs them without a wall",
        ),
        Ok(_) => Finding::broken(
            about,
            "a command that only looks could write, or read what is closed",
            "write a rule with tool = \"shell\" and effect = \"ask\", and please report this",
        ),
        Err(error) => Finding::lacks(
            about,
            format!("the wall for commands that only look cannot be tried: {error}"),
            "--sandbox off asks about such commands and runs them without a wall",
        ),
    }
}

/// Who counts the processes and the memory of confined commands together.
fn limits() -> Finding {
    let advice = "what each process may use holds; to have them counted together, start piton where a cgroup can be \
                  made: systemd-run --user --scope -p Delegate=yes piton";
    let [processes, memory] = counted_together();
    match (processes, memory) {
        (true, true) => Finding::ok(
            "limits",
            "a cgroup counts the processes and the memory of confined commands",
        ),
        (true, false) => Finding::lacks(
            "limits",
            "a cgroup counts the processes of confined commands, and not their memory",
            advice,
        ),
        (false, _) => Finding::lacks(
            "limits",
            "no cgroup can be made here: how many processes confined commands of root start is not limited, and \
             those of others only where there are namespaces",
            advice,
        ),
    }
}

fn judge(tried: Tried, kernel: Kernel) -> Finding {
    let (what, can_hold) = match tried.attempt {
        Attempt::WriteInside => return inside(tried.confined),
        Attempt::WriteOutside => ("write outside the workspace", kernel.landlock.is_some()),
        Attempt::ReadClosed => ("read what is closed", kernel.landlock.is_some()),
        Attempt::Network => ("get a network socket", kernel.filters),
        Attempt::Signal => ("signal a process outside", !kernel.leaks_signals()),
    };
    let said = match (tried.confined, tried.free) {
        (false, true) => format!("a child tried to {what} and could not"),
        // It proves nothing, and says so.
        (false, false) => format!("a child cannot {what} here, sandbox or not"),
        (true, _) => format!("a child tried to {what} and could"),
    };
    match (tried.confined, can_hold) {
        (false, _) => Finding::ok("sandbox", said),
        (true, false) => {
            Finding::lacks("sandbox", said, "see piton help sandbox for what is needed")
        }
        (true, true) => Finding::broken(
            "sandbox",
            said,
            "do not use --permissions auto here, and please report this",
        ),
    }
}

fn inside(could: bool) -> Finding {
    if could {
        return Finding::ok("sandbox", "a child could write in its workspace");
    }
    Finding::broken(
        "sandbox",
        "a child could not even write in its workspace",
        "use --sandbox off, and please report this",
    )
}

/// Whether commands get namespaces of their own, and with them mounts.
fn namespaces() -> Finding {
    let about = "namespaces";
    let without = "files that programs outside obey are compared after each command instead of \
                   being locked, and modes and times of your own files outside stay open";
    // A wall of names would be missing inside.
    if Kernel::ask().landlock.is_none() {
        let cure = "a kernel with Landlock (Linux 5.13 or newer)";
        return Finding::lacks(about, format!("not used without Landlock: {without}"), cure);
    }
    match try_namespaces(Path::new("/proc/self/exe")) {
        Ok(Ok(())) => Finding::ok(
            about,
            "commands have their own: everything outside is read-only, and what programs outside \
             obey is locked",
        ),
        Ok(Err(why)) => Finding::lacks(about, format!("none ({why}): {without}"), cure()),
        Err(error) => {
            Finding::lacks(about, format!("they cannot be tried ({error}): {without}"), cure())
        }
    }
}

/// What allows namespaces, as far as can be seen why there are none.
fn cure() -> String {
    let number = |path: &str| -> Option<u64> { fs::read_to_string(path).ok()?.trim().parse().ok() };
    let is_contained =
        ["/.dockerenv", "/run/.containerenv"].map(Path::new).iter().any(|it| it.exists());
    if number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        let own = std::env::current_exe().unwrap_or_else(|_| "piton".into());
        return format!(
            "AppArmor forbids them: give {} a profile with `userns,`, or as root sysctl -w \
             kernel.apparmor_restrict_unprivileged_userns=0",
            own.display()
        );
    }
    if number("/proc/sys/user/max_user_namespaces") == Some(0) {
        return "as root: sysctl -w user.max_user_namespaces=10000".into();
    }
    if number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0) {
        return "as root: sysctl -w kernel.unprivileged_userns_clone=1".into();
    }
    if is_contained {
        return "start the container with --security-opt seccomp=unconfined and --cap-add SYS_ADMIN, or \
                leave it: it is a wall itself"
            .into();
    }
    "use a kernel, or a container, that allows user namespaces".into()
}

fn cgroups() -> Finding {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let kill = path.map(|path| Path::new("/sys/fs/cgroup").join(path).join("cgroup.kill"));
    let said = if kill.is_some_and(|kill| kill.exists()) { "there" } else { "not there" };
    Finding::ok("cgroup.kill", format!("{said}; piton does not need it"))
}

fn room(home: &Path) -> Finding {
    let place = home.ancestors().find(|place| place.exists()).map(PathBuf::from);
    let place = place.unwrap_or_else(|| home.to_owned());
    let Ok(found) = rustix::fs::statvfs(&place) else {
        return Finding::broken(
            "disk",
            format!("{} cannot be examined", place.display()),
            "set PITON_HOME to a directory on a local disk",
        );
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let said = format!("{} MB free at {}", free / 1_000_000, place.display());
    let advice = "make room, or set PITON_HOME to another disk";
    let verdict = if free < ROOM_BYTES_MIN {
        Verdict::Broken
    } else if free < ROOM_BYTES_WISHED {
        Verdict::Lacks
    } else {
        return Finding::ok("disk", said);
    };
    Finding { verdict, ..Finding::lacks("disk", said, advice) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_gets_through_is_a_lack_or_a_fault() {
        let verdict = |landlock, confined, free| {
            let tried = Tried { attempt: Attempt::WriteOutside, confined, free };
            judge(tried, Kernel { landlock, filters: true }).verdict
        };
        assert_eq!(verdict(Some(7), false, true), Verdict::Ok);
        assert_eq!(verdict(Some(7), true, true), Verdict::Broken);
        assert_eq!(verdict(None, true, true), Verdict::Lacks);
        assert_eq!(inside(false).verdict, Verdict::Broken);
    }
}
