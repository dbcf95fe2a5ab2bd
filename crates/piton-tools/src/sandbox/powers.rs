//! What root may do in the sandbox: own its files and little else.
//!
//! Walls hold for root as well, but some of root's powers look over them: into the memory and the
//! environment of every process, keys included. Who is not root has none of this to lose.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

/// What building and installing software as root, in a container, needs.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Gives up all other powers of this thread, and of all it starts, for good.
pub(super) fn give_up() -> io::Result<()> {
    // Else the next program that root runs would get them back.
    set_no_new_privs(true)?;
    let had = capabilities(None)?;
    if KEPT.contains(had.permitted) && KEPT.contains(had.inheritable) {
        return Ok(());
    }
    let kept = CapabilitySets {
        effective: had.effective & KEPT,
        permitted: had.permitted & KEPT,
        inheritable: had.inheritable & KEPT,
    };
    Ok(set_capabilities(None, kept)?)
}
