//! The proxy as a process: the way out of the namespaces in which the commands of a policy run.
//!
//! A founder starts it outside, goes into the namespaces, makes the two listeners there and hands them over. A
//! listener belongs to the network in which it was made, so the proxy takes connections from inside and makes them
//! outside, and knows without a login who asks. It holds no key and no variable of its user. Supervisors tell it
//! which records are those of its commands, so that a result can name what was refused.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior, setsid};
use serde::{Deserialize, Serialize};

use super::role::Role;
use crate::proxy::{Gateway, HTTP_PORT, Refused, SOCKS_PORT, Speech, serve};
use crate::sandbox::Policy;
use crate::supervise::record::log::{Record, Story, append};

/// Longest message, in bytes: hosts, or the path of a record.
const MESSAGE_BYTES_MAX: usize = 128 * 1024;
/// Most records that are known at once: those of commands that run.
const RECORDS_MAX: usize = 64;
/// Most refusals that are noted with a command.
const REFUSED_MAX: usize = 16;
/// How often to look whether anybody is left, when the supervisor is gone.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The two listeners.
const LISTENERS: usize = 2;

/// What a proxy is started with.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    hosts: Vec<String>,
    /// The network that it leads out of, as `/proc` names it.
    network: PathBuf,
}

/// A proxy that waits for its listeners.
#[derive(Debug)]
pub(super) struct WayOut {
    pub(super) wire: OwnedFd,
    pub(super) pid: u32,
}

/// Starts a proxy if the policy grants hosts. To be called outside.
pub(super) fn begin(policy: &Policy) -> io::Result<Option<WayOut>> {
    if policy.granted.hosts.is_empty() {
        return Ok(None);
    }
    let (flags, kind) = (SocketFlags::CLOEXEC, SocketType::SEQPACKET);
    let (wire, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None)?;
    let mut command = Role::Proxy.command(theirs);
    command.env_clear();
    let child = command.spawn()?;
    Ok(Some(WayOut { wire, pid: child.id() }))
}

impl WayOut {
    /// Makes the listeners, within the network, and hands them over.
    pub(super) fn open(&self, policy: &Policy) -> io::Result<()> {
        let listen = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listeners = [listen(HTTP_PORT)?, listen(SOCKS_PORT)?];
        let network = fs::read_link("/proc/self/ns/net")?;
        let order = Order { hosts: policy.granted.hosts.clone(), network };
        let files = [&listeners[0], &listeners[1]].map(AsFd::as_fd);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(LISTENERS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(io::Error::other("no room for two files"));
        }
        let text = serde_json::to_vec(&order)?;
        sendmsg(&self.wire, &[IoSlice::new(&text)], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// Says that the command of this record goes that way out.
pub(super) fn tell_record(wire: &OwnedFd, log: &File) -> io::Result<()> {
    let place = fs::read_link(format!("/proc/self/fd/{}", log.as_raw_fd()))?;
    // It was opened by another name, before it was claimed.
    let place = place.with_file_name("log");
    let place = [IoSlice::new(place.as_os_str().as_bytes())];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(wire, &place, &mut SendAncillaryBuffer::default(), flags)?;
    Ok(())
}

/// Serves until nobody is left in the network.
pub(crate) fn run() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    setsid().ok();
    let wire = io::stdin().as_fd().try_clone_to_owned()?;
    let (text, listeners) = receive(&wire)?;
    let order: Order = serde_json::from_slice(&text)?;
    let mut listeners = listeners.into_iter().map(TcpListener::from);
    let (Some(http), Some(socks)) = (listeners.next(), listeners.next()) else {
        return Err(io::Error::other("no listeners"));
    };
    let records = Arc::new(Mutex::new(VecDeque::new()));
    let known = records.clone();
    let gateway = Gateway::new(&order.hosts, move |refused| note(&known, refused));
    for (listener, speech) in [(http, Speech::Http), (socks, Speech::Socks)] {
        let gateway = gateway.clone();
        thread::Builder::new().spawn(move || serve(&gateway, &listener, speech))?;
    }
    while let Ok((place, _)) = receive(&wire)
        && !place.is_empty()
    {
        let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
        records.push_back(PathBuf::from(std::ffi::OsStr::from_bytes(&place)));
        if RECORDS_MAX < records.len() {
            records.pop_front();
        }
    }
    // Commands go on without a supervisor, and so does their way out.
    while is_inhabited(&order.network) {
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Notes a refusal with all commands that go this way and have not ended: which of them it was is not known.
fn note(records: &Mutex<VecDeque<PathBuf>>, refused: &Refused) {
    let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
    // A handle of our own: a copy of the supervisor's would hold its lock.
    records.retain(|place| {
        let log = OpenOptions::new().read(true).append(true).open(place);
        let Ok(log) = log else { return false };
        let story = Story::read(&log).unwrap_or_default();
        let runs = story.ended.is_none();
        if runs && story.refused.len() < REFUSED_MAX {
            let host = refused.host.clone().unwrap_or_default();
            let why = refused.why.to_string();
            append(&log, &Record::Refused { host, why }).ok();
        }
        runs
    });
}

/// Whether a process is in this network.
fn is_inhabited(network: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut networks = processes.map(|process| fs::read_link(process.path().join("ns/net")));
    networks.any(|own| own.is_ok_and(|own| own == network))
}

fn receive(wire: &OwnedFd) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; MESSAGE_BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(LISTENERS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut text = [IoSliceMut::new(&mut bytes)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let got = rustix::io::retry_on_intr(|| recvmsg(wire, &mut text, &mut control, flags))?.bytes;
    let files = control.drain().flat_map(|message| {
        let RecvAncillaryMessage::ScmRights(files) = message else { return Vec::new() };
        files.collect()
    });
    let files = files.collect();
    bytes.truncate(got);
    Ok((bytes, files))
}
