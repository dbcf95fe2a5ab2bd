//! Keeps the wall that all commands of a policy share.
//!
//! One command may signal what another of the same policy has started, a server in the background for one. So
//! they are behind one wall, and somebody has to stay behind it to start the next one there. That is a process
//! of its own, the warden, because commands can signal it: who kills or stops it hits neither a supervisor
//! nor another command, and the next command gets a new one.
//!
//! A warden starts its own successor, then one command, and is gone: so the supervisor inherits the command,
//! and is the one that hears of its end. A successor is a fork, since the start of a binary of this size costs more
//! than that of most commands. The first one of a policy is started by a founder, in namespaces that all of them
//! share; where there are none, by the supervisor.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use super::founder;
use super::mark::Mark;
use super::role;
use super::start::Start;
use super::way_out;
use crate::sandbox::{self, Cgroup, Entered, Kernel, Network, Policy};
use crate::supervise::record::identity::Stat;
use crate::supervise::record::log::Story;

/// Most wardens that are kept; policies hardly differ within a process.
const WARDENS_MAX: usize = 16;
/// How long a warden may take to start a command, and then to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to look whether it was stopped.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Files of an order: the record, the output, the gate, the input.
const FILES: usize = 4;
/// No bound on open files, in an order.
const UNBOUNDED: u64 = u64::MAX;
/// Longest answer, in bytes: two numbers, or why nothing was started.
const ANSWER_BYTES_MAX: usize = 512;

/// The wardens of a supervisor, one for each policy.
#[derive(Debug, Default)]
pub(crate) struct Wardens {
    kept: Vec<Warden>,
}

#[derive(Debug)]
struct Warden {
    policy: Policy,
    socket: OwnedFd,
    pid: Pid,
    /// Becomes readable when it has ended.
    handle: OwnedFd,
    /// What its namespaces hold.
    entered: Option<Entered>,
    /// What counts all that it starts. Goes behind it.
    _cgroup: Option<Cgroup>,
    /// The proxy that leads out of them, and the wire to that.
    way_out: Option<(Pid, OwnedFd)>,
}

impl Wardens {
    /// Starts a command behind the walls of a policy.
    pub(crate) fn start(&mut self, policy: &Policy, start: &Start<'_>) -> io::Result<Pid> {
        // What only looks signals nobody, and may not run our binary. Without Landlock there is no wall to share.
        let shares = policy.looks.is_none() && Kernel::ask().landlock.is_some();
        let warden = if shares { self.ready(policy) } else { None };
        let Some(warden) = warden else {
            let (command, _input) = start.command()?;
            let child = sandbox::spawn(policy, command, Some(start.out))?;
            return Ok(Pid::from_child(&child));
        };
        warden.start(start).unwrap_or_else(|error| {
            self.kept.retain(|kept| kept.policy != *policy);
            Err(error)
        })
    }

    /// Whether a process is one of them.
    pub(crate) fn have(&self, pid: Pid) -> bool {
        self.pids().any(|known| known == pid)
    }

    /// All of them, and their proxies.
    pub(crate) fn pids(&self) -> impl Iterator<Item = Pid> {
        self.kept.iter().flat_map(|kept| {
            [Some(kept.pid), kept.way_out.as_ref().map(|(proxy, _)| *proxy)].into_iter().flatten()
        })
    }

    /// The warden of a policy; none, if there cannot be one.
    fn ready(&mut self, policy: &Policy) -> Option<&mut Warden> {
        self.kept.retain(Warden::is_ready);
        if !self.kept.iter().any(|kept| kept.policy == *policy) {
            if WARDENS_MAX <= self.kept.len() {
                self.kept.remove(0);
            }
            // Where there are no namespaces the walls stand without.
            let warden = Warden::found(policy).or_else(|_| Warden::appoint(policy)).ok()?;
            self.kept.push(warden);
        }
        self.kept.iter_mut().find(|kept| kept.policy == *policy)
    }
}

impl Warden {
    /// In the namespaces of this process.
    fn appoint(policy: &Policy) -> io::Result<Self> {
        let (socket, theirs) = wires()?;
        let mut command = role::warden(theirs, Network::Shared);
        policy.set_variables(&mut command);
        let child = sandbox::spawn_outer(policy, None, command)?;
        Self::of(policy, socket, Pid::from_child(&child), None)
    }

    /// In namespaces of its own.
    fn found(policy: &Policy) -> io::Result<Self> {
        let (socket, theirs) = wires()?;
        founder::order(&socket, policy)?;
        let mut child = founder::founder(theirs, policy).spawn()?;
        let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        // The warden becomes ours with the end of its founder.
        if !can_read([&handle], PATIENCE) {
            child.kill()?;
        }
        child.wait()?;
        let founder::Place { warden, entered, way_out } = founder::hear(&socket)?;
        let mut founded = Self::of(policy, socket, warden, Some(entered))?;
        founded.way_out = way_out;
        Ok(founded)
    }

    fn of(
        policy: &Policy,
        socket: OwnedFd,
        pid: Pid,
        entered: Option<Entered>,
    ) -> io::Result<Self> {
        // Its successors inherit it.
        Mark::of_warden().put_on(pid);
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        // Before it starts anything. One that cannot be moved is not counted.
        let cgroup = Cgroup::make(&policy.limits).filter(|cgroup| cgroup.add(pid).is_ok());
        let policy = policy.clone();
        Ok(Self { policy, socket, pid, handle, entered, _cgroup: cgroup, way_out: None })
    }

    /// Whether it waits for an order, with everything protected that there is: nobody has killed or stopped it, or
    /// replaced what is held.
    fn is_ready(&self) -> bool {
        let holds = |it: &Entered| it.pins.hold(&self.policy, self.pid);
        !can_read([&self.handle], Duration::ZERO)
            && !self.is_stopped()
            && self.entered.as_ref().is_none_or(holds)
    }

    /// Whether it is gone, or was stopped by a signal. A debugger stops it in another way, and no command can be one.
    fn is_stopped(&self) -> bool {
        Stat::read(self.pid).is_none_or(|stat| stat.is_stopped)
    }

    /// Starts a command. If that fails the warden is its successor all the same, as long as there is one.
    fn start(&mut self, start: &Start<'_>) -> io::Result<io::Result<Pid>> {
        if let Some((_, wire)) = &self.way_out {
            // Only names what was refused: without it the command runs all the same.
            way_out::tell_record(wire, start.log).unwrap_or_default();
        }
        send(&self.socket, start)?;
        self.wait_for([&self.socket, &self.handle]);
        let answer = Answer::receive(&self.socket)?;
        // The command becomes ours with the end of the warden.
        self.wait_for([&self.handle]);
        self.end();
        let handle = pidfd_open(answer.successor, PidfdFlags::empty())?;
        (self.pid, self.handle) = (answer.successor, handle);
        Ok(answer.gate)
    }

    /// Waits until one of these can be read, unless the warden was stopped.
    fn wait_for<const N: usize>(&self, any: [&OwnedFd; N]) {
        let until = Instant::now() + PATIENCE;
        while !can_read(any, LOOK_EVERY) && !self.is_stopped() && Instant::now() < until {}
    }

    /// Ends it, unless it has ended.
    fn end(&self) {
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
        waitid(WaitId::PidFd(self.handle.as_fd()), WaitIdOptions::EXITED).ok();
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.end();
    }
}

/// Two ends of a wire for orders.
fn wires() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Waits for an order, starts its command and a successor, and is done. Without an order the supervisor is gone.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let is_own = arguments.any(|word| word == role::OWN_NETWORK);
    let network = if is_own { Network::Own } else { Network::Shared };
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    // Once for all successors.
    Kernel::ask();
    loop {
        // An order is taken behind the start of the successor, which must not have the files of it.
        if !is_ordered(&socket)? {
            return Ok(());
        }
        let (mut turn, mine) = io::pipe()?;
        let forked = match safe_fork::fork() {
            Ok(None) => {
                drop(mine);
                // Its turn comes with the end of this process, which never writes.
                turn.read_to_end(&mut Vec::new())?;
                continue;
            }
            Ok(Some(successor)) => Some(successor.pid()),
            // Some containers refuse to tell whether this process has other threads.
            Err(_) => None,
        };
        let Some(order) = receive(&socket)? else { return Ok(()) };
        let successor = match forked {
            Some(pid) => pid,
            None => role::warden(socket.try_clone()?, network).spawn()?.id(),
        };
        let gate = match order.carry_out(network) {
            Ok(gate) => gate.as_raw_nonzero().to_string(),
            Err(error) => error.to_string(),
        };
        return answer(&socket, &format!("{successor} {gate}"));
    }
}

fn answer(socket: &OwnedFd, text: &str) -> io::Result<()> {
    let text = text.as_bytes();
    let text = IoSlice::new(text.get(..ANSWER_BYTES_MAX).unwrap_or(text));
    sendmsg(socket, &[text], &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for an order, and leaves it where it is. There is none any more if the supervisor is gone.
fn is_ordered(socket: &OwnedFd) -> io::Result<bool> {
    let peek = || rustix::net::recv(socket, &mut [0; 1], RecvFlags::PEEK);
    let (got, _) = rustix::io::retry_on_intr(peek)?;
    Ok(0 < got)
}

/// What a warden is to start.
struct Order {
    files: Option<u64>,
    log: File,
    out: File,
    waits: OwnedFd,
    input: Option<OwnedFd>,
}

impl Order {
    fn carry_out(self, network: Network) -> io::Result<Pid> {
        let Self { files, log, out, waits, input } = self;
        let intent = Story::read(&log)?.intent;
        let intent = intent.ok_or_else(|| io::Error::other("nothing to run"))?;
        let policy = intent.sandbox.as_ref();
        let policy = policy.ok_or_else(|| io::Error::other("no sandbox to run it in"))?;
        let (log, out) = (&log, &out);
        let start = Start { intent: &intent, files, log, out, waits, input };
        let (command, _input) = start.command()?;
        Ok(Pid::from_child(&sandbox::spawn_inner(policy, network, command, out)?))
    }
}

fn send(socket: &OwnedFd, start: &Start<'_>) -> io::Result<()> {
    let mut files = vec![start.log.as_fd(), start.out.as_fd(), start.waits.as_fd()];
    files.extend(start.input.as_ref().map(AsFd::as_fd));
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(Errno::NOBUFS.into());
    }
    let bound = start.files.unwrap_or(UNBOUNDED).to_le_bytes();
    sendmsg(socket, &[IoSlice::new(&bound)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(socket: &OwnedFd) -> io::Result<Option<Order>> {
    let mut bound = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut text = [IoSliceMut::new(&mut bound)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let got = rustix::io::retry_on_intr(|| recvmsg(socket, &mut text, &mut control, flags))?.bytes;
    if got < bound.len() {
        return Ok(None);
    }
    let mut files = control.drain().flat_map(|message| {
        let RecvAncillaryMessage::ScmRights(files) = message else { return Vec::new() };
        files.collect()
    });
    let bound = u64::from_le_bytes(bound);
    let (Some(log), Some(out), Some(waits)) = (files.next(), files.next(), files.next()) else {
        return Ok(None);
    };
    let files_max = (bound != UNBOUNDED).then_some(bound);
    let (log, out, input) = (log.into(), out.into(), files.next());
    Ok(Some(Order { files: files_max, log, out, waits, input }))
}

/// What a warden says of an order.
struct Answer {
    /// The next warden.
    successor: Pid,
    /// The command, or why there is none.
    gate: io::Result<Pid>,
}

impl Answer {
    fn receive(socket: &OwnedFd) -> io::Result<Self> {
        let none = || io::Error::other("what starts commands in the sandbox was killed or stopped");
        let mut answer = [0; ANSWER_BYTES_MAX];
        let received = rustix::net::recv(socket, &mut answer, RecvFlags::DONTWAIT);
        let (got, _) = received.map_err(|_| none())?;
        let answer = String::from_utf8_lossy(answer.get(..got).unwrap_or_default());
        let (successor, gate) = answer.split_once(' ').ok_or_else(none)?;
        let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
        let successor = pid(successor).ok_or_else(none)?;
        let gate = pid(gate).ok_or_else(|| io::Error::other(gate.to_owned()));
        Ok(Self { successor, gate })
    }
}

/// Waits until one of these can be read; whether it can.
fn can_read<const N: usize>(any: [&OwnedFd; N], patience: Duration) -> bool {
    let patience = Timespec::try_from(patience).unwrap_or_default();
    let mut waits = any.map(|it| PollFd::new(it, PollFlags::IN));
    // An error is a signal, or no memory for now: everything is looked at again.
    poll(&mut waits, Some(&patience)).is_ok_and(|ready| 0 < ready)
}
