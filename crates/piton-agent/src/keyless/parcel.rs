//! How keys get from a program to itself, executed once more.
//!
//! They wait in a socket that is the standard input of the new beginning, together with the real standard input,
//! which takes its place back. So no name and no number has to be told, and nothing is left open.

use std::ffi::{CString, OsString};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, sendmsg, socketpair,
    sockopt,
};
use rustix::stdio::dup2_stdin;
use rustix::thread;
use zeroize::Zeroizing;

use crate::environment::Keys;

/// This program, also if another one has its name by now.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// What the first message begins with; the name of the process follows.
const MARK: &[u8] = b"piton, begun anew: ";
/// Longest message, in bytes: a variable cannot be longer.
const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// Executes this program again with these keys, and without their variables. Comes back only if that is not possible.
pub(super) fn begin_anew(keys: &Keys) {
    // Nothing is touched where it cannot work: no such file system.
    if std::fs::metadata(OWN_PROGRAM).is_err() {
        return;
    }
    let Ok((ours, theirs)) = sockets() else { return };
    let Ok(input) = io::stdin().as_fd().try_clone_to_owned() else { return };
    if pack(&ours, &input, keys).is_err() {
        return;
    }
    let mut words = std::env::args_os();
    let mut program = Command::new(OWN_PROGRAM);
    program.arg0(words.next().unwrap_or_else(|| "piton".into())).args(words);
    for name in keys.keys() {
        program.env_remove(name);
    }
    // It may have put the socket into the place of the input before it failed.
    let _failed = program.stdin(Stdio::from(theirs)).exec();
    dup2_stdin(&input).unwrap_or_default();
}

/// The keys that are waiting, if this is a new beginning.
pub(super) fn unpack() -> Option<Keys> {
    let socket = io::stdin();
    let is_local = sockopt::socket_domain(&socket).is_ok_and(|it| it == AddressFamily::UNIX);
    if !is_local || sockopt::socket_type(&socket) != Ok(SocketType::SEQPACKET) {
        return None;
    }
    // Another such socket may well be our input: then nothing of it is taken.
    let mut mark = [0; MARK.len()];
    let peeked = recv(&socket, &mut mark, RecvFlags::PEEK | RecvFlags::DONTWAIT);
    if peeked.is_err() || mark != MARK {
        return None;
    }
    let mut message = Zeroizing::new(vec![0; MESSAGE_BYTES_MAX]);
    let (input, name) = first(&socket, &mut message)?;
    let mut keys = Keys::new();
    while let Ok((bytes @ 1.., _)) = recv(&socket, message.as_mut_slice(), RecvFlags::DONTWAIT) {
        let mut parts = message.get(..bytes)?.splitn(2, |byte| *byte == b'=');
        let (variable, key) = (parts.next()?, parts.next()?);
        keys.insert(OsString::from_vec(variable.to_vec()), key.to_vec().into());
    }
    dup2_stdin(&input).ok()?;
    // It is called by the path that was executed, and people look for its name.
    thread::set_name(&name).unwrap_or_default();
    Some(keys)
}

fn sockets() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Puts everything into the socket. Nobody reads meanwhile: what does not fit is an error.
fn pack(socket: &OwnedFd, input: &OwnedFd, keys: &Keys) -> io::Result<()> {
    let name = thread::name().unwrap_or_default();
    let input = [input.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&input)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(socket, &[IoSlice::new(MARK), IoSlice::new(name.as_bytes())], &mut control, flags)?;
    for (name, key) in keys {
        let text = [name.as_bytes(), b"=", key.as_slice()].map(IoSlice::new);
        sendmsg(socket, &text, &mut SendAncillaryBuffer::default(), flags)?;
    }
    Ok(())
}

/// The real standard input, and how the process was called.
fn first(socket: &io::Stdin, message: &mut [u8]) -> Option<(OwnedFd, CString)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let bytes = recvmsg(socket, &mut [IoSliceMut::new(message)], &mut control, flags).ok()?.bytes;
    let mut files = control.drain().flat_map(|message| {
        let RecvAncillaryMessage::ScmRights(files) = message else { return Vec::new() };
        files.collect()
    });
    let name = message.get(MARK.len()..bytes)?;
    Some((files.next()?, CString::new(name).ok()?))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    // Of what `unpack` does, all but that it is the standard input.
    #[test]
    fn a_parcel_comes_out_as_it_went_in() {
        let (ours, theirs) = sockets().unwrap();
        let key = |name: &str, key: &[u8]| (OsString::from(name), Zeroizing::new(key.to_vec()));
        let keys = Keys::from([key("A", b"a=\xff\n"), key("B", b"b")]);
        let input = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        pack(&ours, &input, &keys).unwrap();
        drop(ours);
        let mut message = vec![0; MESSAGE_BYTES_MAX];
        let mut next = || {
            let (bytes, _) = recv(&theirs, message.as_mut_slice(), RecvFlags::DONTWAIT).unwrap();
            OsStr::from_bytes(&message[..bytes]).to_owned()
        };
        assert!(next().as_bytes().starts_with(MARK));
        assert_eq!(
            [next(), next(), next()].map(OsString::into_vec),
            [b"A=a=\xff\n".to_vec(), b"B=b".to_vec(), vec![]]
        );
    }

    #[test]
    fn what_does_not_fit_is_not_sent() {
        let (ours, _theirs) = sockets().unwrap();
        let input = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let key = Zeroizing::new(vec![b'x'; 16 * 1024 * 1024]);
        assert!(pack(&ours, &input, &Keys::from([(OsString::from("A"), key)])).is_err());
    }
}
