//! How a process ended that was not our child and is reaped already.
//!
//! Linux 6.15 and newer remember it for every holder of a handle on the process. There is no safe
//! wrapper for that request yet, so this is the one module with unsafe code in it.

use std::os::fd::OwnedFd;

use rustix::ioctl::{Updater, ioctl, opcode};

use crate::supervise::record::status::Status;

/// That the end is wanted, and on return that it is known.
const INFO_EXIT: u64 = 1 << 3;

/// `struct pidfd_info` of the kernel, in its first form.
#[repr(C)]
#[derive(Debug, Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    /// pid, tgid, ppid, and eight user and group ids.
    numbers: [u32; 11],
    exit_code: i32,
}
const _: () = assert!(size_of::<PidfdInfo>() == 64);

const GET_INFO: rustix::ioctl::Opcode = opcode::read_write::<PidfdInfo>(0xff, 11);

/// How the process ended, if the kernel says so.
#[expect(unsafe_code, reason = "the request has no safe wrapper")]
pub(crate) fn status(handle: &OwnedFd) -> Option<Status> {
    let mut info = PidfdInfo { mask: INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the request reads and writes exactly one value of this type, which is plain numbers in
    // the layout of the kernel's header; the size is part of the request's number. On any other kind
    // of file, or an older kernel, it fails and writes nothing.
    let done = unsafe { ioctl(handle, Updater::<GET_INFO, PidfdInfo>::new(&mut info)) };
    (done.is_ok() && info.mask & INFO_EXIT != 0).then(|| Status::from_wait(info.exit_code))
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::*;

    #[test]
    fn the_end_is_known_after_reaping_or_not_at_all() {
        for (script, ended) in [("exit 7", Status::Exit(7)), ("kill -9 $$", Status::Signal(9))] {
            let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
            let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
            child.wait().unwrap();
            let found = status(&handle);
            // An older kernel says nothing; a wrong answer would be a bug.
            assert!(found.is_none() || found == Some(ended), "{script}: {found:?}");
            println!("{script}: {found:?}");
        }
    }
}
