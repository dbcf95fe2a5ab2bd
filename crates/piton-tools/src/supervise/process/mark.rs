//! What processes of a command are known by, wherever they go.
//!
//! Two marks, both inherited by whatever a process starts. One is a variable, which a program may
//! clear. The other is a limit that the kernel has not looked at since 2.4, the one on the number of
//! file locks: it is a number of our choice, and nobody has a reason to change it.

use std::fs;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use sha2::{Digest as _, Sha256};

/// The variable.
pub(crate) const VARIABLE: &str = "PITON_CALL";
/// How the kernel calls the limit.
const LIMIT: &str = "Max file locks";
/// Numbers of ours have this bit and no higher one, so no limit that anybody sets is among them.
const OURS: u64 = 1 << 61;

/// The number of those who start commands: they belong to none. A digest is never so even.
const WARDEN: u64 = OURS;

/// The mark of a command.
#[derive(Debug)]
pub(crate) struct Mark {
    text: String,
    number: u64,
}

/// The marks that a process carries.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    text: Option<Vec<u8>>,
    number: Option<u64>,
}

impl Mark {
    /// The one with this text.
    pub(crate) fn new(text: &str) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let number = digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        Self { text: text.to_owned(), number: (number % OURS) | OURS | 1 }
    }

    /// The one of a process that starts commands.
    pub(crate) fn of_warden() -> Self {
        Self { text: String::new(), number: WARDEN }
    }

    /// Puts the number on a child that has started nothing yet. Where that is refused, the text has
    /// to do.
    pub(crate) fn put_on(&self, pid: Pid) {
        let Rlimit { maximum, .. } = getrlimit(Resource::Locks);
        let limit = Rlimit { current: Some(self.number), maximum };
        prlimit(Some(pid), Resource::Locks, limit).ok();
    }
}

impl Marks {
    /// Of a process, as far as we may look.
    pub(crate) fn of(pid: Pid) -> Self {
        let pid = pid.as_raw_nonzero();
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environ.split(|byte| *byte == 0);
        let prefix = format!("{VARIABLE}=");
        let text = variables.find_map(|variable| variable.strip_prefix(prefix.as_bytes()));
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let number = limits.lines().find_map(|line| {
            let words = line.strip_prefix(LIMIT)?;
            words.split_whitespace().next()?.parse().ok()
        });
        let number = number.filter(|number| (OURS..2 * OURS).contains(number));
        Self { text: text.map(<[u8]>::to_vec), number }
    }

    /// Whether this one is among them.
    pub(crate) fn have(&self, mark: &Mark) -> bool {
        self.text.as_deref() == Some(mark.text.as_bytes()) || self.number == Some(mark.number)
    }

    /// Whether they are those of a process that starts commands, and not of a command.
    pub(crate) fn are_of_warden(&self) -> bool {
        self.number == Some(WARDEN)
    }

    /// Whether there are any.
    pub(crate) fn are_any(&self) -> bool {
        self.text.is_some() || self.number.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_number_is_inherited_where_nothing_else_is() {
        let mark = Mark::new("c/1.1.0-abcdef");
        let mut child = Command::new("sh")
            .args(["-c", "read -r go; exec env -i setsid sh -c 'echo; read -r go'"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        assert!(!Marks::of(pid).have(&mark));
        mark.put_on(pid);
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, b"\n").unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let marks = Marks::of(pid);
        assert!(marks.have(&mark) && marks.text.is_none(), "{marks:?}");
        assert!(!marks.have(&Mark::new("c/1.1.1-abcdef")));
        drop(stdin);
        child.wait().unwrap();
    }
}
