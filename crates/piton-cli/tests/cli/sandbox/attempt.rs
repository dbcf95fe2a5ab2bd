//! What a program in the sandbox tries. It panics if it does not get through.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Makes the attempt that the first word names.
pub(super) fn attempt([name, udp, place]: [&str; 3]) {
    match name {
        "udp" => {
            let here = UdpSocket::bind("127.0.0.1:0").unwrap();
            assert_eq!(here.send_to(b"canary", udp).unwrap(), 6);
        }
        "unix" => {
            fs::remove_file(place).ok();
            let _listener = UnixListener::bind(place).unwrap();
            drop(UnixStream::connect(place).unwrap());
        }
        "exchange" => {
            let place = Path::new(place);
            fs::create_dir(place.join("other")).unwrap();
            let (one, other) = (place.join(".git/hooks"), place.join("other"));
            renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
        }
        other => panic!("{other} is not an attempt"),
    }
}
