//! The outer supervisor: passes commands on to the inner one, and inherits them when that is killed.
//!
//! It holds the files of every command too. So there is always somebody with the lock who can record
//! the end, unless both are killed.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::process::{getpid, set_child_subreaper, setsid};

use super::courier::{self, Arrival, Parcel};
use super::keeper::Keeper;
use super::record::Witness;
use super::{Role, limit};
use crate::fail;

/// How long to rest when the kernel has no memory to wait with.
const NAP: Duration = Duration::from_millis(100);

/// Lives until the agent is gone and all commands have ended.
pub(super) fn run() -> io::Result<()> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(io::Error::other("not started by piton"));
    }
    // Away from the agent's terminal: what interrupts the agent does not reach the commands.
    setsid().ok();
    set_child_subreaper(Some(getpid()))?;
    let agent = stdin.as_fd().try_clone_to_owned()?;
    let (inner, theirs) = courier::wires()?;
    let mut child = spawn_inner(theirs)?;
    // Behind the start of the inner one, which has to know what was before.
    let files = limit::raise();
    let held = pass_on(&agent, &inner);
    // Whoever sends more is told that nobody takes it.
    shutdown(&agent, Shutdown::Both).ok();
    // Its children are ours as soon as it has ended, not as soon as it is silent.
    child.wait()?;
    let mut keeper = Keeper::new(Witness::Outer, files);
    for parcel in held.into_values() {
        keeper.inherit(parcel);
    }
    while keeper.is_busy() {
        keeper.wait([]);
        keeper.tend();
    }
    Ok(())
}

fn spawn_inner(socket: OwnedFd) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0("piton")
        .args(Role::Inner.arguments())
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Hands over what the agent sends until the inner one is gone; gives back what was not done.
fn pass_on(agent: &OwnedFd, inner: &OwnedFd) -> BTreeMap<u64, Parcel> {
    let mut held: BTreeMap<u64, Parcel> = BTreeMap::new();
    let mut listens = true;
    loop {
        let [from_inner, from_agent] = ready(inner, listens.then_some(agent));
        if from_agent {
            match courier::receive(agent) {
                Ok(Arrival::Parcel(parcel)) => {
                    fail::here("taken");
                    // What cannot be passed on is dropped, which its agent notices; that the inner
                    // one is gone is heard below.
                    if courier::send(inner, &parcel).is_ok() {
                        held.insert(parcel.id, parcel);
                    }
                    fail::here("passed-on");
                }
                Ok(Arrival::Done(_) | Arrival::Shut(_)) => {}
                Ok(Arrival::End) | Err(_) => {
                    listens = false;
                    // The inner one ends when it has nothing left to do.
                    shutdown(inner, Shutdown::Write).ok();
                }
            }
        }
        if from_inner {
            match courier::receive(inner) {
                Ok(Arrival::Done(id)) => drop(held.remove(&id)),
                // The command reads to the end only when nobody holds its input.
                Ok(Arrival::Shut(id)) => {
                    if let Some(parcel) = held.get_mut(&id) {
                        parcel.input = None;
                    }
                }
                Ok(Arrival::Parcel(_)) => {}
                Ok(Arrival::End) | Err(_) => return held,
            }
        }
    }
}

/// Sleeps until one of the two has something to say; says which.
fn ready(inner: &OwnedFd, agent: Option<&OwnedFd>) -> [bool; 2] {
    let mut waits: Vec<_> = [Some(inner), agent]
        .into_iter()
        .flatten()
        .map(|socket| PollFd::new(socket, PollFlags::IN))
        .collect();
    if !matches!(poll(&mut waits, None), Ok(_) | Err(Errno::INTR)) {
        // Out of kernel memory: it may have some later.
        std::thread::sleep(NAP);
    }
    let is_ready = |at: usize| waits.get(at).is_some_and(|wait| !wait.revents().is_empty());
    [is_ready(0), is_ready(1)]
}
