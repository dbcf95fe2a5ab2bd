//! What a process of ours is: one of the two supervisors, a warden, the founder of a place for one, or the way out
//! of that place. Or it becomes a server.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::mark::VARIABLE;
use crate::reexec::WORD;
use crate::sandbox::Network;

/// Says that a warden is in a network of its own.
pub(super) const OWN_NETWORK: &str = "own-network";

/// Our own binary, as a warden that hears orders from there. It is told whose network it is in.
pub(super) fn warden(socket: OwnedFd, network: Network) -> Command {
    let mut command = Role::Warden.command(socket);
    command.args((network == Network::Own).then_some(OWN_NETWORK));
    command
}

/// The two kinds of supervisors, what makes a sandbox and starts commands in it for them, and what becomes a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Outer,
    Inner,
    Warden,
    Founder,
    Proxy,
    Server,
}

impl Role {
    pub(super) const ALL: [Self; 6] =
        [Self::Outer, Self::Inner, Self::Warden, Self::Founder, Self::Proxy, Self::Server];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Outer => "outer",
            Self::Inner => "inner",
            Self::Warden => "warden",
            Self::Founder => "founder",
            Self::Proxy => "proxy",
            Self::Server => "server",
        }
    }

    pub(crate) fn arguments(self) -> [&'static str; 2] {
        [WORD, self.name()]
    }

    /// Our own binary in this role, with one end of a wire.
    pub(super) fn command(self, socket: OwnedFd) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("piton")
            .args(self.arguments())
            // No directory from elsewhere goes along.
            .current_dir("/")
            .env_remove(VARIABLE)
            .stdin(Stdio::from(socket))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}
