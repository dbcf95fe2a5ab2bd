//! Sockets of this machine that a policy does not open, where it opens some by their names.
//!
//! No wall of the kernel tells one named socket from another, and neither a network of one's own nor a read-only
//! place closes them. So nothing is mounted over each of the others that there is: those that the kernel lists, and
//! those that lie where programs put them, since the list has neither later names nor other networks. Those that come
//! later stand open until the next command, which is looked at before it starts.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::policy::Policy;

/// Most sockets that are closed singly. Where there are more, none is opened.
const SOCKETS_MAX: usize = 1_000;
/// How deep in a directory sockets are looked for.
const DEPTH_MAX: usize = 2;
/// Most entries of a directory that are looked at.
const ENTRIES_MAX: usize = 2_000;
/// Which field of a line of `/proc/net/unix` is the name.
const NAME_FIELD: usize = 7;

/// The sockets that a policy keeps closed, as they are behind their links, in the network of this process. Empty,
/// if it opens all or none.
pub(super) fn others(policy: &Policy) -> io::Result<Vec<PathBuf>> {
    if policy.granted.sockets.is_empty() {
        return Ok(Vec::new());
    }
    let listed = fs::read_to_string("/proc/net/unix")?;
    let names = listed.lines().filter_map(|line| name(line).map(PathBuf::from));
    let lying = usual_places().iter().flat_map(|place| below(place, DEPTH_MAX)).collect::<Vec<_>>();
    let names = names.chain(lying);
    let real: BTreeSet<_> = names.filter_map(|place| place.canonicalize().ok()).collect();
    let is_other = |place: &PathBuf| {
        let is_socket = fs::metadata(place).is_ok_and(|it| it.file_type().is_socket());
        is_socket && !policy.granted.sockets.contains(place)
    };
    let others: Vec<_> = real.into_iter().filter(is_other).collect();
    if SOCKETS_MAX < others.len() {
        return Err(io::Error::other(format!("more than {SOCKETS_MAX} sockets to close")));
    }
    Ok(others)
}

/// Where programs put their sockets.
fn usual_places() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let fixed = ["/run", "/var/run", "/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let temporary = std::env::temp_dir();
    fixed.into_iter().chain([temporary]).chain(home).collect()
}

/// Sockets below a directory, as far down as programs put them.
fn below(place: &Path, depth: usize) -> Vec<PathBuf> {
    let mut sockets = Vec::new();
    for entry in fs::read_dir(place).into_iter().flatten().flatten().take(ENTRIES_MAX) {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_socket() {
            sockets.push(entry.path());
        } else if kind.is_dir() && 0 < depth {
            sockets.extend(below(&entry.path(), depth - 1));
        }
    }
    sockets
}

/// The path of a socket in a line of the kernel's list. One without a name, or with an abstract one, has none.
fn name(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..NAME_FIELD {
        rest = rest.trim_start().split_once(' ')?.1;
    }
    let name = rest.trim_start();
    name.starts_with('/').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Granted;
    use std::os::unix::net::UnixListener;

    #[test]
    fn names_are_read_from_the_list_of_the_kernel() {
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 21543 /run/a b.sock";
        assert_eq!(name(line), Some("/run/a b.sock"));
        assert_eq!(name("0000: 00000003 00000000 00000000 0001 03 21544"), None);
        assert_eq!(name("0000: 00000002 00000000 00010000 0001 01 1 @/abstract"), None);
        assert_eq!(name("Num       RefCount Protocol Flags    Type St Inode Path"), None);
    }

    #[test]
    fn all_sockets_but_the_opened_ones_are_kept_closed() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let [mine, theirs] = ["mine", "theirs"].map(|name| place.join(name));
        let _listening = [&mine, &theirs].map(|path| UnixListener::bind(path).unwrap());
        std::os::unix::fs::symlink(&theirs, place.join("link")).unwrap();
        let opening = |sockets: &[&Path]| Policy {
            unix_sockets: true,
            granted: Granted {
                sockets: sockets.iter().map(|it| it.to_path_buf()).collect(),
                ..Granted::default()
            },
            ..Policy::default()
        };
        let closed = others(&opening(&[&mine])).unwrap();
        assert!(closed.contains(&theirs) && !closed.contains(&mine), "{closed:?}");
        assert!(others(&opening(&[])).unwrap().is_empty());
    }
}
