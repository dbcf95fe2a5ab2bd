//! Hands a call over to another process: its open files, over a socket, in one message.
//!
//! The files travel as they are, lock included. While they are on their way the kernel holds them.
//! Two who send to each other over one wire must not both wait for room: neither would read, and
//! room comes from reading. So the supervisors only [`offer`] and [`report`]; the agent, to whom
//! nobody sends, may wait.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
    sockopt,
};

use super::feed::Feed;

/// Most files of a call.
const FILES: usize = 6;
/// What a message without files says, behind the number of a call.
const DONE: u8 = 0;
const SHUT: u8 = 1;
/// Room for messages on their way. The kernel gives its least, which is a few: it counts files on
/// their way for all processes of a user, and refuses more than one process may have open.
const ROOM: usize = 1;
/// How long to rest when too many files are on their way.
const NAP: Duration = Duration::from_millis(5);

/// A call on its way.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// Its number among those of the sender.
    pub(crate) id: u64,
    /// The record, locked.
    pub(crate) log: File,
    /// Where the command prints.
    pub(crate) out: File,
    /// Tells the waiting agent: a byte for the end, the end of the wire for the end of everything.
    pub(crate) wire: OwnedFd,
    /// What the command reads.
    pub(crate) input: Option<Source>,
}

/// What a command reads.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file, to its end.
    File(File),
    /// What it is fed.
    Feed(Feed),
}

/// What arrives.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A call to take over.
    Parcel(Parcel),
    /// A call of that number is over.
    Done(u64),
    /// The command of a call of that number is not fed any more.
    Shut(u64),
    /// The other end is gone, or says no more.
    End,
}

/// What the inner supervisor tells the outer one of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// It is over.
    Done(u64),
    /// Its command is not fed any more.
    Shut(u64),
}

/// Whether a message went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    Yes,
    /// There is no room. There will be when the other end has read.
    Full,
}

/// Two ends of a wire for parcels.
pub(crate) fn wires() -> io::Result<(OwnedFd, OwnedFd)> {
    let ends = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    for end in [&ends.0, &ends.1] {
        sockopt::set_socket_send_buffer_size(end, ROOM)?;
    }
    Ok(ends)
}

/// Hands over copies of the files, however long that takes.
pub(crate) fn send(socket: impl AsFd, parcel: &Parcel) -> io::Result<()> {
    while hand_over(&socket, parcel, SendFlags::empty())? == Sent::Full {}
    Ok(())
}

/// Hands over copies of the files, if there is room.
pub(crate) fn offer(socket: impl AsFd, parcel: &Parcel) -> io::Result<Sent> {
    hand_over(&socket, parcel, SendFlags::DONTWAIT)
}

/// Says what became of a call, if there is room.
pub(crate) fn report(socket: impl AsFd, news: News) -> io::Result<Sent> {
    let (id, kind) = match news {
        News::Done(id) => (id, DONE),
        News::Shut(id) => (id, SHUT),
    };
    post(&socket, id, kind, &mut SendAncillaryBuffer::default(), SendFlags::DONTWAIT)
}

fn hand_over(socket: &impl AsFd, parcel: &Parcel, flags: SendFlags) -> io::Result<Sent> {
    let mut files = vec![parcel.log.as_fd(), parcel.out.as_fd(), parcel.wire.as_fd()];
    match &parcel.input {
        None => {}
        Some(Source::File(file)) => files.push(file.as_fd()),
        Some(Source::Feed(feed)) => {
            files.extend([feed.mailbox.as_fd(), feed.stage.as_fd(), feed.pipe.as_fd()]);
        }
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(Errno::NOBUFS.into());
    }
    post(socket, parcel.id, DONE, &mut control, flags)
}

fn post(
    socket: &impl AsFd,
    id: u64,
    kind: u8,
    control: &mut SendAncillaryBuffer<'_, '_, '_>,
    flags: SendFlags,
) -> io::Result<Sent> {
    let id = id.to_le_bytes();
    let kind = [kind];
    let text = [IoSlice::new(&id), IoSlice::new(&kind)];
    loop {
        match sendmsg(socket, &text, control, flags | SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(Sent::Yes),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(Sent::Full),
            Err(Errno::TOOMANYREFS) => {
                // Room on this wire would not tell when there are fewer.
                std::thread::sleep(NAP);
                return Ok(Sent::Full);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for the next message.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<Arrival> {
    let (mut id, mut kind) = ([0; 8], [DONE]);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let mut text = [IoSliceMut::new(&mut id), IoSliceMut::new(&mut kind)];
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
    let input = match (files.next(), files.next(), files.next()) {
        (Some(mailbox), Some(stage), Some(pipe)) => {
            Some(Source::Feed(Feed { mailbox: mailbox.into(), stage: stage.into(), pipe }))
        }
        (file, ..) => file.map(|file| Source::File(file.into())),
    };
    Ok(match (log, out, wire) {
        (Some(log), Some(out), Some(wire)) => {
            Arrival::Parcel(Parcel { id, log: log.into(), out: out.into(), wire, input })
        }
        _ if kind == [SHUT] => Arrival::Shut(id),
        _ => Arrival::Done(id),
    })
}
