//! Starts programs behind walls.
//!
//! A wall is put around a thread, and what that thread starts is behind it too. So each start has a thread of
//! its own, which is gone before anybody hears of the start: whatever runs behind a wall may signal what is
//! behind the same one, and a thread of ours that stayed there would be a way to stop all of us. A warden needs no
//! such thread: it ends before what it has started may begin. Nothing runs between fork and exec, where a program
//! of ours may do next to nothing.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::process::{Child, Command};
use std::thread;

use super::kernel::Kernel;
use super::namespaces::Entered;
use super::network::Network;
use super::policy::Policy;
use super::{calls, powers, walls};

/// Starts a command behind all walls of a policy. `own` is the file that it prints into.
pub(crate) fn spawn(
    policy: &Policy,
    mut command: Command,
    own: Option<&File>,
) -> io::Result<Child> {
    let policy = policy.without_single_sockets();
    let enter = || {
        outer(&policy, Network::Shared)?;
        inner(&policy, Network::Shared, own)
    };
    start(enter, move || command.spawn())
}

/// Starts something behind all walls of a policy, in whatever way.
pub fn start_behind<T: Send>(
    policy: &Policy,
    spawn: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let policy = policy.without_single_sockets();
    let enter = || {
        outer(&policy, Network::Shared)?;
        inner(&policy, Network::Shared, None)
    };
    start(enter, spawn)
}

/// Starts a program behind the wall that all commands of a policy share. It has no wall of its own yet.
/// `entered` are the namespaces of this process.
pub(crate) fn spawn_outer(
    policy: &Policy,
    entered: Option<&Entered>,
    mut command: Command,
) -> io::Result<Child> {
    let network = entered.map_or(Network::Shared, |entered| entered.network);
    let policy = match entered {
        Some(_) => policy.clone(),
        None => policy.without_single_sockets(),
    };
    start(|| outer(&policy, network), move || command.spawn())
}

/// Starts a command behind a wall of its own. The caller is behind the shared one, and must end then: it stays
/// behind the wall of the command.
pub(crate) fn spawn_inner(
    policy: &Policy,
    network: Network,
    mut command: Command,
    own: &File,
) -> io::Result<Child> {
    inner(policy, network, Some(own))?;
    command.spawn()
}

/// Puts all walls of a policy around this process, which has one thread and namespaces of its own.
pub(crate) fn confine(policy: &Policy, network: Network) -> io::Result<()> {
    outer(policy, network)?;
    inner(policy, network, None)
}

fn start<T: Send>(
    enter: impl FnOnce() -> io::Result<()> + Send,
    spawn: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let starting = thread::Builder::new().spawn_scoped(scope, move || {
            enter()?;
            spawn()
        })?;
        let lost = |_| Err(io::Error::other("the thread that builds the sandbox is gone"));
        starting.join().unwrap_or_else(lost)
    })
}

/// Goes where there is no way back from.
fn outer(policy: &Policy, network: Network) -> io::Result<()> {
    let kernel = Kernel::ask();
    powers::give_up()?;
    if kernel.landlock.is_some() {
        walls::outer(policy)?;
    }
    if kernel.filters {
        calls::filter(policy, network, kernel.landlock.is_some())?;
    }
    Ok(())
}

fn inner(policy: &Policy, network: Network, own: Option<&File>) -> io::Result<()> {
    let kernel = Kernel::ask();
    if kernel.landlock.is_some() {
        walls::inner(policy, network, own.map(File::as_fd))?;
    }
    Ok(())
}
