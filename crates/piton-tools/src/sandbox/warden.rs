//! Threads that start commands behind walls.
//!
//! A wall is put around a thread, and what that thread starts is behind it too. So a warden goes
//! behind the outer wall once, and for each command sends a thread of its own behind the inner one.
//! All of this happens in the process that is the command's parent; nothing runs between fork and
//! exec, where a program of ours may do next to nothing.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::kernel::Kernel;
use super::policy::Policy;
use super::{calls, powers, walls};

/// Most wardens that are kept; policies hardly differ within a process.
const WARDENS_MAX: usize = 16;

/// The wardens of a process, one for each policy.
#[derive(Debug, Default)]
pub(crate) struct Wardens {
    kept: Vec<Warden>,
}

#[derive(Debug)]
struct Warden {
    policy: Policy,
    orders: SyncSender<Order>,
}

#[derive(Debug)]
struct Order {
    command: Command,
    /// What the command prints into, if that is a file.
    out: Option<File>,
    reply: SyncSender<io::Result<Child>>,
}

/// Starts one command behind the walls of a policy.
pub(crate) fn spawn(policy: &Policy, command: Command) -> io::Result<Child> {
    Warden::appoint(policy.clone())?.spawn(command, None)
}

impl Wardens {
    /// The same, behind the outer wall of all commands with this policy.
    pub(crate) fn spawn(
        &mut self,
        policy: &Policy,
        command: Command,
        out: &File,
    ) -> io::Result<Child> {
        let out = Some(out.try_clone()?);
        if let Some(warden) = self.kept.iter().find(|warden| warden.policy == *policy) {
            return warden.spawn(command, out);
        }
        if WARDENS_MAX <= self.kept.len() {
            self.kept.remove(0);
        }
        let warden = Warden::appoint(policy.clone())?;
        let child = warden.spawn(command, out);
        self.kept.push(warden);
        child
    }
}

impl Warden {
    fn appoint(policy: Policy) -> io::Result<Self> {
        let (orders, taken) = sync_channel(1);
        let (ready, is_ready) = sync_channel(1);
        let theirs = policy.clone();
        let named = thread::Builder::new().name("warden".into());
        named.spawn(move || {
            let entered = enter(&theirs);
            let is_behind = entered.is_ok();
            if ready.send(entered).is_ok() && is_behind {
                serve(&theirs, &taken);
            }
        })?;
        is_ready.recv().map_err(gone)??;
        Ok(Self { policy, orders })
    }

    fn spawn(&self, command: Command, out: Option<File>) -> io::Result<Child> {
        let (reply, replied) = sync_channel(1);
        self.orders.send(Order { command, out, reply }).map_err(gone)?;
        replied.recv().map_err(gone)?
    }
}

/// Goes where there is no way back from.
fn enter(policy: &Policy) -> io::Result<()> {
    let kernel = Kernel::ask();
    powers::give_up()?;
    if kernel.landlock.is_some() {
        walls::outer(policy)?;
    }
    if kernel.filters {
        calls::filter(policy, kernel.landlock.is_some())?;
    }
    Ok(())
}

fn serve(policy: &Policy, orders: &Receiver<Order>) {
    while let Ok(Order { command, out, reply }) = orders.recv() {
        let policy = policy.clone();
        let started = thread::Builder::new().spawn(move || start(&policy, command, out));
        let started = started.and_then(|thread| thread.join().unwrap_or_else(|_| Err(lost())));
        if reply.send(started).is_err() {
            return;
        }
    }
}

fn start(policy: &Policy, mut command: Command, out: Option<File>) -> io::Result<Child> {
    if Kernel::ask().landlock.is_some() {
        walls::inner(policy, out.as_ref().map(File::as_fd))?;
    }
    command.spawn()
}

fn gone<T>(_: T) -> io::Error {
    lost()
}

fn lost() -> io::Error {
    io::Error::other("the thread that builds the sandbox is gone")
}
