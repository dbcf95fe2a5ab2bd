//! The inner supervisor: starts commands, is their parent, records their ends.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::PollFlags;
use rustix::process::{getpid, getppid, set_child_subreaper};

use super::awake::{self, Rounds};
use super::handover::{self, Arrival, News, Sent};
use super::open_files;
use super::reaper::Reaper;
use crate::fail;
use crate::supervise::record::log::Witness;

/// Lives as long as it has anything to look after, or somebody who may send more.
pub(crate) fn run() -> io::Result<()> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(io::Error::other("not started by piton"));
    }
    set_child_subreaper(Some(getpid()))?;
    let socket = stdin.as_fd().try_clone_to_owned()?;
    let mut keeper = Reaper::new(Witness::Inner, open_files::raise());
    // What the outer one does not know yet.
    let mut untold = VecDeque::new();
    let mut listens = true;
    let mut rounds = Rounds::default();
    while listens || keeper.is_busy() {
        if rounds.are_due()
            && let Some(outer) = getppid()
        {
            awake::wake(outer);
        }
        let hears = listens.then_some((&socket, PollFlags::IN));
        let tells = (!untold.is_empty()).then_some((&socket, PollFlags::OUT));
        let [ready, _] = keeper.wait([hears, tells]);
        if ready {
            match handover::receive(&socket) {
                Ok(Arrival::Parcel(parcel)) => {
                    fail::here("received");
                    keeper.launch(parcel);
                }
                Ok(Arrival::Done(_) | Arrival::Shut(_)) => {}
                Ok(Arrival::End) | Err(_) => listens = false,
            }
        }
        untold.extend(keeper.tend().into_iter().map(News::Done));
        untold.extend(keeper.shut().into_iter().map(News::Shut));
        tell(&socket, &mut untold);
    }
    Ok(())
}

/// Tells as much as there is room for: commands do not wait for an outer one that sleeps.
fn tell(socket: &OwnedFd, untold: &mut VecDeque<News>) {
    while let Some(news) = untold.front() {
        match handover::report(socket, *news) {
            Ok(Sent::Yes) => drop(untold.pop_front()),
            Ok(Sent::Full) => return,
            // The outer one is gone: there is nobody to tell.
            Err(_) => untold.clear(),
        }
    }
}
