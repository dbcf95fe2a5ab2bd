//! Namespaces of its own for everything behind a wall: mounts, System V memory, and the network if there is to
//! be none.
//!
//! Landlock knows names and contents of files. Here everything outside becomes read-only as a whole, with modes,
//! owners and times; shared memory, semaphores and queues of others cannot be reached; and an empty network has
//! nobody in it but the commands themselves.
//!
//! A process with one thread enters them, once for a policy, before it is confined: the filter refuses mounts.
//! Whatever it starts stays in there.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{Resource, Rlimit, getegid, geteuid, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};

use super::mounts::{self, Pins};
use super::network::Network;
use super::policy::Policy;
use super::{loopback, sockets};
use crate::fail;

/// What was entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entered {
    /// Whose network it is now.
    pub(crate) network: Network,
    /// What is held by mounts.
    pub(crate) pins: Pins,
}

/// Why there are no namespaces here. Ends a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Hindrance(String);

/// Goes into namespaces of its own, for good. After an error this process is in some of them.
pub(crate) fn enter(policy: &Policy) -> Result<Entered, Hindrance> {
    if fail::wanted("no-namespaces") {
        return Err(Hindrance("a test wants none".into()));
    }
    let network = Network::of(policy);
    // A network of its own does not know of the sockets of others.
    let sockets = sockets::others(policy).map_err(|error| hindrance("sockets", &error))?;
    if split(network)? == Users::Own {
        bound_processes(policy).map_err(|error| hindrance("the limit of processes", &error))?;
    }
    let pins = mounts::arrange(policy, sockets).map_err(|error| hindrance("mounts", &error))?;
    if network == Network::Own {
        furnish().map_err(|error| hindrance("the loopback interface", &error))?;
    }
    // A working directory from before leads around the mounts.
    std::env::set_current_dir("/").map_err(|error| hindrance("the root directory", &error))?;
    Ok(Entered { network, pins })
}

/// Sets up a network that was made empty. What listens in there for those outside is made here.
fn furnish() -> io::Result<()> {
    loopback::raise()
}

/// Who counts as a user here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    /// Everybody on this machine.
    Shared,
    /// Those of a namespace, and what they run is counted apart.
    Own,
}

/// Bounds how many processes run in here. Outside a namespace of users the kernel would count all that the user
/// runs, and it bounds root nowhere.
fn bound_processes(policy: &Policy) -> io::Result<()> {
    let Some(most) = policy.limits.processes else { return Ok(()) };
    let most = getrlimit(Resource::Nproc).maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(Resource::Nproc, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}

/// Leaves the namespaces of everybody else, and sees to it that no mount travels.
fn split(network: Network) -> Result<Users, Hindrance> {
    let mut wanted = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    if network == Network::Own {
        wanted |= CloneFlags::CLONE_NEWNET;
    }
    let keep_apart =
        || mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC);
    let is_mighty =
        capabilities(None).is_ok_and(|had| had.effective.contains(CapabilitySet::SYS_ADMIN));
    // Without a user namespace root stays root for its own files. In a container that may be refused.
    if is_mighty && unshare(wanted).is_ok() && keep_apart().is_ok() {
        return Ok(Users::Shared);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | wanted)
        .map_err(|error| hindrance("namespaces", &io::Error::from(error)))?;
    // Only who can give up no group may say which group it is.
    let mapped = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")));
    mapped.map_err(|error| hindrance("the user of a namespace", &error))?;
    keep_apart().map_err(|error| hindrance("mounts", &error.into()))?;
    Ok(Users::Own)
}

fn hindrance(what: &str, error: &io::Error) -> Hindrance {
    Hindrance(format!("{what}: {error}"))
}
