//! Hands a call over to another process: its open files, over a socket, in one message.
//!
//! The files travel as they are, lock included. While they are on their way the kernel holds them.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// Most files of a call.
const FILES: usize = 4;

/// A call on its way.
#[derive(Debug)]
pub(super) struct Parcel {
    /// Its number among those of the sender.
    pub(super) id: u64,
    /// The record, locked.
    pub(super) log: File,
    /// Where the command prints.
    pub(super) out: File,
    /// Tells whoever waits: a byte for the end, the end of the wire for the end of everything.
    pub(super) wire: OwnedFd,
    /// What the command reads.
    pub(super) input: Option<File>,
}

/// What arrives.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A call to take over.
    Parcel(Parcel),
    /// A call of that number is over.
    Done(u64),
    /// The other end is gone, or says no more.
    End,
}

/// Two ends of a wire for parcels.
pub(super) fn wires() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Hands over copies of the files.
pub(super) fn send(socket: impl AsFd, parcel: &Parcel) -> io::Result<()> {
    let mut files = vec![parcel.log.as_fd(), parcel.out.as_fd(), parcel.wire.as_fd()];
    files.extend(parcel.input.as_ref().map(AsFd::as_fd));
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(Errno::NOBUFS.into());
    }
    post(socket, parcel.id, &mut control)
}

/// Says that a call is over.
pub(super) fn done(socket: impl AsFd, id: u64) -> io::Result<()> {
    post(socket, id, &mut SendAncillaryBuffer::default())
}

fn post(
    socket: impl AsFd,
    id: u64,
    control: &mut SendAncillaryBuffer<'_, '_, '_>,
) -> io::Result<()> {
    let id = id.to_le_bytes();
    loop {
        match sendmsg(&socket, &[IoSlice::new(&id)], control, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for the next message.
pub(super) fn receive(socket: impl AsFd) -> io::Result<Arrival> {
    let mut id = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let mut text = [IoSliceMut::new(&mut id)];
        match recvmsg(&socket, &mut text, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(got) => break got.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Ok(Arrival::End),
            Err(error) => return Err(error.into()),
        }
    };
    if got < id.len() {
        return Ok(Arrival::End);
    }
    let id = u64::from_le_bytes(id);
    let mut files = control.drain().flat_map(|message| {
        let RecvAncillaryMessage::ScmRights(files) = message else { return Vec::new() };
        files.collect()
    });
    let (log, out, wire) = (files.next(), files.next(), files.next());
    let input = files.next().map(File::from);
    Ok(match (log, out, wire) {
        (Some(log), Some(out), Some(wire)) => {
            Arrival::Parcel(Parcel { id, log: log.into(), out: out.into(), wire, input })
        }
        _ => Arrival::Done(id),
    })
}
