//! What this kernel can hold, found out by trying.

use std::sync::OnceLock;
use std::thread;

use landlock::{AccessFs, LandlockStatus, Ruleset, RulesetAttr as _};

use super::calls;
use super::network::Network;
use super::policy::Policy;
use crate::fail;

/// What the kernel offers to build walls with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The version of Landlock.
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered.
    pub filters: bool,
}

/// From this version on no file outside can be emptied.
const TRUNCATES: u32 = 3;
/// From this version on nobody outside can be sent a signal.
const SCOPES: u32 = 6;

impl Kernel {
    /// Asks once; a kernel does not change under a process.
    pub fn ask() -> Self {
        static ASKED: OnceLock<Kernel> = OnceLock::new();
        *ASKED.get_or_init(|| Self { landlock: landlock(), filters: filters() })
    }

    /// What it cannot hold of a policy, each as the end of a sentence; the worst first.
    pub fn lacks(self, policy: &Policy) -> Vec<String> {
        let mut lacks = Vec::new();
        match self.landlock {
            None => lacks.push(
                "this kernel has no Landlock: files outside can be written, and all be read, keys \
                 too"
                .into(),
            ),
            Some(version) if version < TRUNCATES => lacks.push(format!(
                "this kernel has version {version} of Landlock: files outside can be emptied \
                 (Linux 6.2 is needed)"
            )),
            Some(_) => {}
        }
        match (self.filters, policy.network && policy.unix_sockets) {
            (true, _) => {}
            (false, true) => lacks.push("this kernel does not filter system calls".into()),
            (false, false) => {
                lacks.push("this kernel does not filter system calls: there is network".into());
            }
        }
        lacks
    }

    /// Whether it holds what a command does to files and by system calls, so that nobody has to be asked.
    pub fn has_wall(self) -> bool {
        self.filters && self.landlock.is_some_and(|version| TRUNCATES <= version)
    }

    /// What a command can do to others although it is confined.
    pub fn leaks_signals(self) -> bool {
        self.landlock.is_none_or(|version| version < SCOPES)
    }
}

/// Only a thread that is confined is told the version; this one is thrown away.
fn landlock() -> Option<u32> {
    if fail::wanted("no-landlock") {
        return None;
    }
    let tried = thread::spawn(|| {
        let created = Ruleset::default().handle_access(AccessFs::MakeBlock)?.create()?;
        created.restrict_self()
    });
    match tried.join().ok()?.ok()?.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            kernel_abi.map_or(Some(effective_abi as u32), |version| u32::try_from(version).ok())
        }
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    }
}

fn filters() -> bool {
    let tried = thread::spawn(|| calls::filter(&Policy::default(), Network::Shared, false));
    !fail::wanted("no-filters") && tried.join().is_ok_and(|tried| tried.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_lacks_is_said_plainly() {
        let policy = |network| Policy { network, unix_sockets: true, ..Policy::default() };
        let lacks = |landlock, filters, network| {
            Kernel { landlock, filters }.lacks(&policy(network)).join("; ")
        };
        assert_eq!(lacks(Some(7), true, false), "");
        let open = "no Landlock: files outside can be written, and all be read, keys too";
        assert!(lacks(None, true, true).contains(open));
        assert!(lacks(Some(2), true, true).contains("can be emptied"));
        assert!(lacks(Some(7), false, false).contains("there is network"));
        assert!(!lacks(Some(7), false, true).contains("there is network"));
        assert!(Kernel { landlock: Some(5), filters: true }.leaks_signals());
        assert!(!Kernel { landlock: Some(6), filters: true }.leaks_signals());
    }
}
