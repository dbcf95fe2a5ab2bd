//! Sets up the loopback interface of a network namespace, so that a server that a command starts can be reached
//! by the next one.
//!
//! The kernel is asked over a socket of its own kind (netlink): one message, one answer.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// `RTM_NEWLINK`: what is said of an interface.
const NEW_LINK: u16 = 16;
/// `NLM_F_REQUEST | NLM_F_ACK`: an answer is wanted.
const ASKS: u16 = 1 | 4;
/// `NLMSG_ERROR`: the answer. It begins with the number of an error, which is 0 if there was none.
const ANSWER: u16 = 2;
/// The number of the loopback interface, in every network.
const LOOPBACK: i32 = 1;
/// `IFF_UP`.
const UP: u32 = 1;
/// Length of the message, in bytes: a head and the interface.
const MESSAGE_BYTES: usize = 32;
/// Longest answer, in bytes: it quotes the message.
const ANSWER_BYTES_MAX: usize = 256;

pub(super) fn raise() -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    // The first kind of such sockets is the one for interfaces.
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    sendto(&kernel, &message(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; ANSWER_BYTES_MAX];
    let (got, _) = recv(&kernel, &mut answer, RecvFlags::empty())?;
    let number = |from: usize| {
        let bytes: Option<[u8; 4]> = answer.get(from..from + 4)?.try_into().ok();
        bytes.filter(|_| from + 4 <= got).map(i32::from_ne_bytes)
    };
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
    match (kind, number(16)) {
        (Some(ANSWER), Some(0)) => Ok(()),
        (Some(ANSWER), Some(error)) => Err(io::Error::from_raw_os_error(-error)),
        (_, _) => Err(io::Error::other("an answer that makes no sense")),
    }
}

/// A head (length, kind, flags, number, sender), then the interface (family, kind, number, flags, which of them).
fn message() -> Vec<u8> {
    let mut message = Vec::with_capacity(MESSAGE_BYTES);
    message.extend(u32::try_from(MESSAGE_BYTES).unwrap_or_default().to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(ASKS.to_ne_bytes());
    message.extend([1_u32, 0, 0].into_iter().flat_map(u32::to_ne_bytes));
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend([UP, UP].into_iter().flat_map(u32::to_ne_bytes));
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_long_as_it_says() {
        assert_eq!(message().len(), MESSAGE_BYTES);
    }
}
