//! Who a process is: a number alone is reused within a minute on a busy machine.

use std::fs;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

use super::status::Status;

/// Where the kernel says which boot this is.
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";
/// The places of what we need in `/proc/PID/stat`, counted behind the name: state is 0.
const STAT_PARENT: usize = 1;
const STAT_GROUP: usize = 2;
const STAT_START: usize = 19;
const STAT_EXIT: usize = 49;

/// Whether the process of a start is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// It is, alive or not yet reaped.
    There,
    /// It is not; another process may have its number.
    Gone,
}

/// A process, for good: which boot, which number, started when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) boot: String,
    pub(crate) pid: i32,
    /// In clock ticks since the boot.
    pub(crate) start: u64,
}

impl Identity {
    /// Of a process that cannot vanish now, such as a child that was not waited for.
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        let stat = Stat::read(pid)?;
        Some(Self { boot: boot().to_owned(), pid: pid.as_raw_nonzero().get(), start: stat.start })
    }

    /// The number as the system takes it.
    pub(crate) fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.pid)
    }

    /// A handle on the process, if it is still the same one. First the handle, then the look: so
    /// the number cannot change hands in between.
    pub(crate) fn open(&self) -> Option<OwnedFd> {
        let pid = self.pid().filter(|_| self.boot == boot())?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        (Stat::read(pid)?.start == self.start).then_some(handle)
    }

    /// Whether it is there, alive or not yet reaped.
    pub(crate) fn sight(&self) -> Sight {
        if self.open().is_some() { Sight::There } else { Sight::Gone }
    }

    /// How it ended, if it has and was not yet reaped.
    pub(crate) fn zombie_status(&self) -> Option<Status> {
        let stat = Stat::read(self.pid()?)?;
        (stat.start == self.start && stat.is_zombie).then(|| Status::from_wait(stat.exit))
    }
}

/// What `/proc` says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) start: u64,
    pub(crate) is_zombie: bool,
    pub(crate) is_stopped: bool,
    exit: i32,
}

impl Stat {
    pub(crate) fn read(pid: Pid) -> Option<Self> {
        let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Option<Self> {
        // The name is in brackets and may have brackets and blanks in it.
        let (_, rest) = text.trim_end().rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
        Some(Self {
            parent: i32::try_from(number(STAT_PARENT)?).ok()?,
            group: i32::try_from(number(STAT_GROUP)?).ok()?,
            start: u64::try_from(number(STAT_START)?).ok()?,
            is_zombie: matches!(fields.first(), Some(&("Z" | "X"))),
            is_stopped: fields.first() == Some(&"T"),
            exit: number(STAT_EXIT).and_then(|exit| i32::try_from(exit).ok()).unwrap_or(0),
        })
    }
}

/// The present boot; empty where the kernel does not say.
pub(crate) fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| fs::read_to_string(BOOT_FILE).unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_itself_and_nobody_else() {
        let me = Identity::of(rustix::process::getpid()).unwrap();
        assert_eq!(me.sight(), Sight::There);
        let other = Identity { start: me.start + 1, ..me.clone() };
        assert_eq!(other.sight(), Sight::Gone, "the number was reused");
        let before = Identity { boot: "another".into(), ..me.clone() };
        assert_eq!(before.sight(), Sight::Gone);
        assert_eq!(me.zombie_status(), None);
    }

    #[test]
    fn names_with_brackets_and_blanks_do_not_confuse() {
        let rest = "S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1234 0 0 18446744073709551615 \
                    0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 256\n";
        let stat = Stat::parse(&format!("42 (a) Z (b) {rest}")).unwrap();
        assert_eq!((stat.parent, stat.group, stat.start, stat.is_zombie), (7, 8, 1234, false));
        assert_eq!(Status::from_wait(stat.exit), Status::Exit(1));
    }

    #[test]
    fn the_status_of_a_zombie_is_known_to_everybody() {
        let mut child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let who = Identity::of(Pid::from_child(&child)).unwrap();
        let pid = who.pid().unwrap();
        let options =
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        assert_eq!(who.zombie_status(), Some(Status::Exit(7)));
        child.wait().unwrap();
        assert_eq!(who.zombie_status(), None);
    }
}
