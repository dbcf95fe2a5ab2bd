//! The inner supervisor: starts commands, is their parent, records their ends.

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;

use rustix::process::{getpid, set_child_subreaper};

use super::courier::{self, Arrival};
use super::keeper::Keeper;
use super::limit;
use super::record::Witness;
use crate::fail;

/// Lives as long as it has anything to look after, or somebody who may send more.
pub(super) fn run() -> io::Result<()> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(io::Error::other("not started by piton"));
    }
    set_child_subreaper(Some(getpid()))?;
    let socket = stdin.as_fd().try_clone_to_owned()?;
    let mut keeper = Keeper::new(Witness::Inner, limit::raise());
    let mut listens = true;
    while listens || keeper.is_busy() {
        let [ready] = keeper.wait([listens.then_some(&socket)]);
        if ready {
            match courier::receive(&socket) {
                Ok(Arrival::Parcel(parcel)) => {
                    fail::here("received");
                    keeper.launch(parcel);
                }
                Ok(Arrival::Done(_) | Arrival::Shut(_)) => {}
                Ok(Arrival::End) | Err(_) => listens = false,
            }
        }
        for id in keeper.tend() {
            // If the outer one is gone, there is nobody to tell.
            courier::done(&socket, id).ok();
        }
        for id in keeper.shut() {
            courier::shut(&socket, id).ok();
        }
    }
    Ok(())
}
