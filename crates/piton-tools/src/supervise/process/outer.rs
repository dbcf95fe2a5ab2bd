//! The outer supervisor: passes commands on to the inner one, and inherits them when that is killed.
//!
//! It holds the files of every command too. So there is always somebody with the lock who can record
//! the end, unless both are killed.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::process::{Pid, getpid, set_child_subreaper, setsid};

use super::awake::{self, Rounds};
use super::handover::{self, Arrival, Parcel, Sent};
use super::open_files;
use super::reaper::Reaper;
use super::role::Role;
use crate::fail;
use crate::supervise::record::log::Witness;

/// How long to rest when the kernel has no memory to wait with.
const NAP: Duration = Duration::from_millis(100);

/// Lives until the agent is gone and all commands have ended.
pub(crate) fn run() -> io::Result<()> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(io::Error::other("not started by piton"));
    }
    // Away from the agent's terminal: what interrupts the agent does not reach the commands.
    setsid().ok();
    set_child_subreaper(Some(getpid()))?;
    let agent = stdin.as_fd().try_clone_to_owned()?;
    let (inner, theirs) = handover::wires()?;
    let mut child = spawn_inner(theirs)?;
    // Behind the start of the inner one, which has to know what was before.
    let files = open_files::raise();
    let held = pass_on(&agent, &inner, Some(Pid::from_child(&child)));
    // A sender of more is told that nobody takes it.
    shutdown(&agent, Shutdown::Both).ok();
    // Its children are ours as soon as it has ended, not as soon as it is silent.
    child.wait()?;
    let mut keeper = Reaper::new(Witness::Outer, files);
    for parcel in held.into_values() {
        keeper.inherit(parcel);
    }
    while keeper.is_busy() {
        keeper.wait([]);
        keeper.tend();
    }
    Ok(())
}

fn spawn_inner(socket: OwnedFd) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0("piton")
        .args(Role::Inner.arguments())
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Hands over what the agent sends until the inner one, which is this process, is gone; gives back what was not done.
///
/// Never waits for room: an inner one that has much to say reads nothing until it is heard.
fn pass_on(agent: &OwnedFd, inner: &OwnedFd, process: Option<Pid>) -> BTreeMap<u64, Parcel> {
    let mut held: BTreeMap<u64, Parcel> = BTreeMap::new();
    // Taken from the agent, and too early for the inner one. The next one is not taken until then.
    let mut waiting: Option<Parcel> = None;
    let mut listens = true;
    let mut rounds = Rounds::default();
    loop {
        let to_inner = if waiting.is_some() { PollFlags::OUT } else { PollFlags::empty() };
        let takes = listens && waiting.is_none();
        let is_busy = !held.is_empty() || waiting.is_some();
        let patience = is_busy.then_some(awake::LOOK_EVERY);
        let [from_inner, from_agent] = ready(inner, to_inner, takes.then_some(agent), patience);
        // One that was stopped records nothing, and keeps no time.
        process.filter(|_| is_busy && rounds.are_due()).into_iter().for_each(awake::wake);
        if from_agent {
            match handover::receive(agent) {
                Ok(Arrival::Parcel(parcel)) => {
                    fail::here("taken");
                    waiting = Some(parcel);
                }
                Ok(Arrival::Done(_) | Arrival::Shut(_)) => {}
                Ok(Arrival::End) | Err(_) => {
                    listens = false;
                    // The inner one ends when it has nothing left to do.
                    shutdown(inner, Shutdown::Write).ok();
                }
            }
        }
        if let Some(parcel) = waiting.take() {
            match handover::offer(inner, &parcel) {
                Ok(Sent::Yes) => {
                    held.insert(parcel.id, parcel);
                    fail::here("passed-on");
                }
                Ok(Sent::Full) => waiting = Some(parcel),
                // What cannot be passed on is dropped, which its agent notices; that the inner
                // one is gone is heard below.
                Err(_) => {}
            }
        }
        if from_inner {
            match handover::receive(inner) {
                Ok(Arrival::Done(id)) => drop(held.remove(&id)),
                // The command reads to the end only when nobody holds its input.
                Ok(Arrival::Shut(id)) => {
                    if let Some(parcel) = held.get_mut(&id) {
                        parcel.input = None;
                    }
                }
                Ok(Arrival::Parcel(_)) => {}
                Ok(Arrival::End) | Err(_) => return held,
            }
        }
    }
}

/// Sleeps until one of the two has something to say, or the inner one has room if that is asked
/// for, or patience ends; says who has something to say.
fn ready(
    inner: &OwnedFd,
    to_inner: PollFlags,
    agent: Option<&OwnedFd>,
    patience: Option<Duration>,
) -> [bool; 2] {
    let mut waits = vec![PollFd::new(inner, PollFlags::IN | to_inner)];
    waits.extend(agent.map(|agent| PollFd::new(agent, PollFlags::IN)));
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    if !matches!(poll(&mut waits, patience.as_ref()), Ok(_) | Err(Errno::INTR)) {
        // Out of kernel memory: it may have some later.
        std::thread::sleep(NAP);
    }
    let speaks = |at: usize| {
        let said = waits.get(at).map_or(PollFlags::empty(), PollFd::revents);
        !(said - PollFlags::OUT).is_empty()
    };
    [speaks(0), speaks(1)]
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::thread;

    use super::handover::News;
    use super::*;

    /// More than fit on a wire.
    const MANY: u64 = 2_000;

    fn parcel(id: u64) -> io::Result<Parcel> {
        let file = || File::open("/dev/null");
        Ok(Parcel { id, log: file()?, out: file()?, wire: file()?.into(), input: None })
    }

    /// Both of them have much to say, and neither listens before it has said it.
    #[test]
    fn calls_and_their_ends_cannot_wait_for_each_other() -> io::Result<()> {
        let (agent, outer) = handover::wires()?;
        let (to_inner, inner) = handover::wires()?;
        let outer = thread::spawn(move || pass_on(&outer, &to_inner, None).len());
        let agent = thread::spawn(move || {
            (1..=MANY).try_for_each(|id| handover::send(&agent, &parcel(id)?))
        });
        for id in (MANY + 1)..=(2 * MANY) {
            while handover::report(&inner, News::Done(id))? == Sent::Full {
                poll(&mut [PollFd::new(&inner, PollFlags::OUT)], None)?;
            }
        }
        for expected in 1..=MANY {
            let arrived = handover::receive(&inner)?;
            assert!(matches!(arrived, Arrival::Parcel(parcel) if parcel.id == expected));
        }
        assert!(matches!(handover::receive(&inner)?, Arrival::End), "the agent has sent all");
        agent.join().map_err(|_| io::Error::other("the agent panicked"))??;
        drop(inner);
        let held = outer.join().map_err(|_| io::Error::other("the outer one panicked"))?;
        assert_eq!(u64::try_from(held), Ok(MANY), "all are held until they are over");
        Ok(())
    }

    #[test]
    fn a_full_wire_is_said_and_not_waited_for() -> io::Result<()> {
        let (here, there) = handover::wires()?;
        let sent = (1..)
            .take_while(|id| matches!(handover::report(&here, News::Done(*id)), Ok(Sent::Yes)));
        let sent = sent.count();
        assert!(0 < sent, "nothing fits");
        assert_eq!(handover::offer(&here, &parcel(1)?)?, Sent::Full);
        for _ in 0..sent {
            assert!(matches!(handover::receive(&there)?, Arrival::Done(_)));
        }
        assert_eq!(handover::offer(&here, &parcel(1)?)?, Sent::Yes);
        Ok(())
    }
}
