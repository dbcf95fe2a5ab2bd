//! Passes bytes between a client and the host that it may reach, and looks at the first of them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use piton_core::permit::host::Host;

use super::gateway::{Gateway, SILENCE_MAX};
use super::head::{self, Body, Head};
use super::hello::{self, Hello};
use super::refusal::{Refused, Target, Why};

/// How much is passed on at once, in bytes.
const COPY_BYTES: usize = 32 * 1024;
/// Longest first line by which HTTP is told from other protocols, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024;
/// Longest line in front of a piece of a body, in bytes.
const PIECE_LINE_BYTES_MAX: usize = 4 * 1024;

/// What a client begins with.
enum Begins {
    Http,
    Tls,
    Other,
}

/// Passes everything on in both directions, once the first words are for the host that was granted.
pub(super) fn tunnel(
    gateway: &Gateway,
    (client, first): (&TcpStream, Vec<u8>),
    server: &TcpStream,
    target: &Target,
) -> Result<(), Refused> {
    let forth = || {
        let (begins, first) = listen(client, first, target)?;
        client.set_read_timeout(Some(SILENCE_MAX))?;
        match begins {
            Begins::Http => {
                let (head, rest) = head::read(client, first)?;
                head.check_host(target)?;
                let path = head.target.clone();
                // A whole address would say once more for whom it is.
                if head.method == "CONNECT" || !(path.starts_with('/') || path == "*") {
                    return Err(Why::OtherHost(path));
                }
                request(client, rest, server, (&head, &path))
            }
            Begins::Tls | Begins::Other => {
                let mut to = server;
                to.write_all(&first)?;
                copy(client, server)?;
                server.shutdown(Shutdown::Write).ok();
                Ok(())
            }
        }
    };
    between(client, server, || {
        forth().inspect_err(|why| gateway.tell(&Refused::to(target, why.clone())))
    })
    .map_err(|why| Refused::to(target, why))
}

/// Passes one request on, and its answer back.
pub(super) fn exchange(
    client: &TcpStream,
    rest: Vec<u8>,
    server: &TcpStream,
    (head, path): (&Head, &str),
    target: &Target,
) -> Result<(), Refused> {
    let sent = || request(client, rest, server, (head, path));
    between(client, server, sent).map_err(|why| Refused::to(target, why))
}

/// Passes back what the server says, while `forth` passes on what the client says.
fn between(
    client: &TcpStream,
    server: &TcpStream,
    forth: impl FnOnce() -> Result<(), Why>,
) -> Result<(), Why> {
    thread::scope(|scope| {
        let back = thread::Builder::new().spawn_scoped(scope, || {
            copy(server, client).ok();
            // There is nothing to be said to one who has said all.
            client.shutdown(Shutdown::Both).ok();
        });
        let done = back.map_err(Why::from).and_then(|_| forth());
        if done.is_err() {
            client.shutdown(Shutdown::Both).ok();
            server.shutdown(Shutdown::Both).ok();
        }
        done
    })
}

/// Hears enough of a client to know what it speaks, and that it is for this host.
fn listen(
    mut client: &TcpStream,
    mut first: Vec<u8>,
    target: &Target,
) -> Result<(Begins, Vec<u8>), Why> {
    loop {
        match hello::read(&first) {
            Hello::To(name) => {
                check_name(name, target)?;
                return Ok((Begins::Tls, first));
            }
            Hello::Unclear => return Err(Why::Unclear("the first message of TLS")),
            Hello::Other => match speaks_http(&first) {
                Some(true) => return Ok((Begins::Http, first)),
                Some(false) => return Ok((Begins::Other, first)),
                None => {}
            },
            Hello::Begun => {}
        }
        let mut more = vec![0; COPY_BYTES];
        match client.read(&mut more) {
            // It has said all that it wants to say.
            Ok(0) => return Ok((Begins::Other, first)),
            Ok(count) => first.extend(more.iter().take(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A protocol in which the server speaks first, and the client thinks.
            Err(error) if first.is_empty() && is_late(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Whether the first line is one of HTTP; `None` if it is not there as a whole.
fn speaks_http(first: &[u8]) -> Option<bool> {
    // Servers pass over empty lines in front of a request.
    let blank = first.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let first = first.get(blank..).unwrap_or_default();
    if first.is_empty() {
        return None;
    }
    let line = first.iter().position(|byte| *byte == b'\n').and_then(|end| first.get(..end));
    let seen = line.unwrap_or(first);
    // What is no text is no head of a request, unless it begins like one: some servers take odd letters in a path.
    let method = seen.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let begins_so = 0 < method && matches!(seen.get(method), None | Some(b' '));
    if !begins_so
        && seen.iter().any(|byte| !(b' '..=b'~').contains(byte) && !b"\r\t".contains(byte))
    {
        return Some(false);
    }
    match line {
        Some(line) => Some(line.windows(5).any(|five| five.eq_ignore_ascii_case(b"HTTP/"))),
        None if LINE_BYTES_MAX < first.len() => Some(true),
        None => None,
    }
}

/// Whether TLS is for the host that was granted. An address is called by no name.
fn check_name(name: Option<String>, target: &Target) -> Result<(), Why> {
    match (name, &target.host) {
        (None, Host::Address(_)) => Ok(()),
        (None, Host::Name(_)) => Err(Why::NoServerName),
        (Some(name), host) if Host::read(&name).as_ref() == Some(host) => Ok(()),
        (Some(name), _) => Err(Why::OtherServerName(name)),
    }
}

/// One request, and nothing behind it: what follows could be for another host.
fn request(
    mut client: &TcpStream,
    rest: Vec<u8>,
    mut server: &TcpStream,
    (head, path): (&Head, &str),
) -> Result<(), Why> {
    let body = head.body()?;
    server.write_all(head.written(path).as_bytes())?;
    let mut from = rest.as_slice().chain(&mut client);
    match body {
        Body::Bytes(length) => {
            copy_exactly(&mut from, server, length)?;
        }
        Body::Chunks => pieces(&mut from, server)?,
    }
    Ok(())
}

/// A body in pieces, each with its length in front.
fn pieces(from: &mut impl Read, mut server: &TcpStream) -> Result<(), Why> {
    loop {
        let line = line(from)?;
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
        let digits = str::from_utf8(digits).unwrap_or_default().trim();
        let is_hex = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
        let length = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        let length = length.ok_or(Why::Unclear("a piece of the body has no length"))?;
        server.write_all(format!("{length:x}\r\n").as_bytes())?;
        if length == 0 {
            // What follows the last piece is read, and left out.
            while !self::line(from)?.is_empty() {}
            server.write_all(b"\r\n")?;
            return Ok(());
        }
        copy_exactly(from, server, length)?;
        if !self::line(from)?.is_empty() {
            return Err(Why::Unclear("a piece of the body is longer than it says"));
        }
        server.write_all(b"\r\n")?;
    }
}

/// A line without its end, which is CR and LF.
fn line(from: &mut impl Read) -> Result<Vec<u8>, Why> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < PIECE_LINE_BYTES_MAX {
        from.read_exact(&mut byte)?;
        line.extend(byte);
        if line.ends_with(b"\r\n") {
            line.truncate(line.len() - 2);
            return Ok(line);
        }
    }
    Err(Why::Unclear("a line in the body is too long"))
}

fn copy_exactly(from: &mut impl Read, mut to: &TcpStream, length: u64) -> Result<(), Why> {
    let copied = io::copy(&mut from.by_ref().take(length), &mut to)?;
    if copied < length { Err(Why::Unclear("the body ends early")) } else { Ok(()) }
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    let mut bytes = vec![0; COPY_BYTES];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(bytes.get(..count).unwrap_or_default())?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
