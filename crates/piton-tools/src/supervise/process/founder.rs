//! Founds the place in which the commands of a policy run: namespaces and mounts, then the first warden in them.
//!
//! Only a process with one thread can go into namespaces, and none that is confined may mount. So our own binary
//! is executed once more, outside the wall, for as long as that takes. It makes namespaces, starts the warden
//! behind the wall that all commands share, says which process that is, and ends. The supervisor inherits the
//! warden.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::Command;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::Pid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::role::{self, Role};
use super::way_out;
use crate::sandbox::{self, Entered, Policy};

/// Longest order and longest answer, in bytes: a few thousand places. Sockets of this kind take 200 KiB at once.
const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// What a founder says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Founded {
    /// The warden, and where it is.
    Yes { warden: i32, entered: Entered, proxy: Option<i32> },
    /// Why there are no namespaces here.
    No(String),
}

/// Our own binary, as a founder that hears its order from there.
pub(super) fn founder(socket: OwnedFd, policy: &Policy) -> Command {
    let mut command = Role::Founder.command(socket);
    policy.set_variables(&mut command);
    command
}

/// Says for which policy a place is to be founded. Of what it protects only what is there is told: a repository may
/// name more places than a message holds.
pub(super) fn order(socket: &OwnedFd, policy: &Policy) -> io::Result<()> {
    let protect = sandbox::found(&policy.protect);
    say(socket, &Policy { protect, ..policy.clone() }, None)
}

/// A place that was founded.
pub(super) struct Place {
    pub(super) warden: Pid,
    pub(super) entered: Entered,
    /// The proxy that leads out of it, and the wire to that.
    pub(super) way_out: Option<(Pid, OwnedFd)>,
}

/// What the founder says. It has said it, or is gone.
pub(super) fn hear(socket: &OwnedFd) -> io::Result<Place> {
    let (founded, wire) = heard(socket, RecvFlags::DONTWAIT)?;
    match founded {
        Founded::Yes { warden, entered, proxy } => {
            let warden = Pid::from_raw(warden);
            let warden = warden.ok_or_else(|| io::Error::other("a warden without a number"))?;
            let way_out = proxy.and_then(Pid::from_raw).zip(wire);
            Ok(Place { warden, entered, way_out })
        }
        Founded::No(why) => Err(io::Error::other(why)),
    }
}

/// Founds what is ordered.
pub(crate) fn run() -> io::Result<()> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let (policy, _): (Policy, _) = heard(&socket, RecvFlags::empty())?;
    // From outside, which this process leaves for good.
    let way_out = match way_out::begin(&policy) {
        Ok(way_out) => way_out,
        Err(error) => return say(&socket, &Founded::No(format!("the proxy: {error}")), None),
    };
    let founded = match sandbox::enter(&policy) {
        Err(hindrance) => Founded::No(hindrance.to_string()),
        Ok(entered) => {
            if let Some(way_out) = &way_out {
                way_out.open(&policy)?;
            }
            let command = role::warden(socket.try_clone()?, entered.network);
            let child = sandbox::spawn_outer(&policy, Some(&entered), command)?;
            let warden = Pid::from_child(&child).as_raw_nonzero().get();
            let proxy = way_out.as_ref().and_then(|it| i32::try_from(it.pid).ok());
            Founded::Yes { warden, entered, proxy }
        }
    };
    let wire = way_out.as_ref().map(|way_out| way_out.wire.as_fd());
    say(&socket, &founded, wire)
}

fn say(socket: &OwnedFd, what: &impl Serialize, wire: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    let text = [IoSlice::new(&text)];
    let files: Vec<_> = wire.into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::Error::other("no room for a file"));
    }
    sendmsg(socket, &text, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn heard<T: DeserializeOwned>(
    socket: &OwnedFd,
    flags: RecvFlags,
) -> io::Result<(T, Option<OwnedFd>)> {
    let mut bytes = vec![0; MESSAGE_BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut text = [IoSliceMut::new(&mut bytes)];
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let got = rustix::io::retry_on_intr(|| recvmsg(socket, &mut text, &mut control, flags))?.bytes;
    let mut files = control.drain().flat_map(|message| {
        let RecvAncillaryMessage::ScmRights(files) = message else { return Vec::new() };
        files.collect()
    });
    let wire = files.next();
    drop(files);
    Ok((serde_json::from_slice(bytes.get(..got).unwrap_or_default())?, wire))
}
