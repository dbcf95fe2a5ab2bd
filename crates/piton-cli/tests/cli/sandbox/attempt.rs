//! What a program in the sandbox tries. It panics if it does not get through.

use std::fs;
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use rustix::net::{AddressFamily, SocketType, ipproto, socket};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// A name that is not in the file system; other processes of other tests have others.
pub(super) fn abstract_name(pid: &str) -> SocketAddr {
    SocketAddr::from_abstract_name(format!("piton-test-{pid}")).unwrap()
}

/// Makes the attempt that the first word names.
pub(super) fn attempt([name, tcp, udp, pid, place]: [&str; 5]) {
    let open = |family, kind, protocol| drop(socket(family, kind, protocol).unwrap());
    match name {
        "tcp" => drop(TcpStream::connect(tcp).unwrap()),
        "udp" => {
            let here = UdpSocket::bind("127.0.0.1:0").unwrap();
            assert_eq!(here.send_to(b"canary", udp).unwrap(), 6);
        }
        "tcp6-socket" => open(AddressFamily::INET6, SocketType::STREAM, None),
        "udp-socket6" => open(AddressFamily::INET6, SocketType::DGRAM, None),
        "netlink" => open(AddressFamily::NETLINK, SocketType::RAW, None),
        "raw" => open(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)),
        "packet" => open(AddressFamily::PACKET, SocketType::RAW, None),
        "abstract-socket" => {
            drop(UnixStream::connect_addr(&abstract_name(pid)).unwrap());
        }
        "unix" => {
            fs::remove_file(place).ok();
            let _listener = UnixListener::bind(place).unwrap();
            drop(UnixStream::connect(place).unwrap());
        }
        "environment" => {
            let seen = fs::read(format!("/proc/{pid}/environ")).unwrap();
            assert!(seen.windows(8).any(|bytes| bytes == b"CANARY=x"));
        }
        "take-file" => {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
            drop(pidfd_getfd(process, 1, PidfdGetfdFlags::empty()).unwrap());
        }
        "io-uring" => drop(io_uring::IoUring::new(8).unwrap()),
        other => panic!("{other} is not an attempt"),
    }
}
