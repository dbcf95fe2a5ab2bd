//! A server of the agent's, started in namespaces of its own.
//!
//! Only a process with one thread can go into namespaces. So our own binary is executed once more, in the server's
//! place and with its pipes: it hears its policy, makes namespaces and mounts, says whether that worked, puts the walls
//! around itself, and becomes the server.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::role::Role;
use crate::sandbox::{self, Policy};

/// Longest policy, in bytes.
const ORDER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What is said when the namespaces are there. What follows is the server's.
pub const FOUNDED: u8 = b'y';
/// What is said when there are none.
const NOT_FOUNDED: u8 = b'n';

/// What our binary is told to become a server; the program and its arguments follow.
pub fn arguments() -> [&'static str; 2] {
    Role::Server.arguments()
}

/// What it reads first: a policy, behind its length. Of what is protected only what is there is told.
pub fn order(policy: &Policy) -> io::Result<Vec<u8>> {
    let protect = sandbox::found(&policy.protect);
    let text = serde_json::to_vec(&Policy { protect, ..policy.clone() })?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    Ok([&length.to_be_bytes()[..], &text].concat())
}

/// Becomes a server. Comes back only if that is not possible.
pub(crate) fn run(mut words: impl Iterator<Item = OsString>) -> io::Result<()> {
    let policy = heard()?;
    let directory = std::env::current_dir()?;
    let Ok(entered) = sandbox::enter(&policy) else { return say(NOT_FOUNDED) };
    std::env::set_current_dir(directory)?;
    sandbox::confine(&policy, entered.network)?;
    say(FOUNDED)?;
    let program = words.next().unwrap_or_default();
    let error = Command::new(&program).args(words).exec();
    let told = format!("cannot start {}: {error}\n", program.display());
    io::stderr().write_all(told.as_bytes())?;
    Err(error)
}

/// Reads what [`order`] made, and no byte more: the rest is the server's.
fn heard() -> io::Result<Policy> {
    // Not by the standard input, which reads ahead.
    let mut input = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if ORDER_BYTES_MAX < length {
        return Err(io::Error::other("a policy without end"));
    }
    let mut text = vec![0; length];
    input.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

fn say(byte: u8) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(&[byte])?;
    output.flush()
}
