//! Everything that is refused, over real sockets, each beside what is let through.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{io, thread};

use super::hello::tests::hello;
use super::serve::CONNECTIONS_MAX;
use super::*;

/// A gateway on this machine with a host behind it, and what was refused.
struct World {
    http: SocketAddr,
    socks: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
    gateway: Arc<Gateway>,
    /// What the host was sent, a connection each.
    sent: mpsc::Receiver<Vec<u8>>,
    host: SocketAddr,
}

/// Takes connections, answers each at its first words, and tells what it was sent.
fn host() -> (SocketAddr, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (address, (tell, told)) = (listener.local_addr().unwrap(), mpsc::channel());
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, tell) = (client.unwrap(), tell.clone());
            thread::spawn(move || {
                let mut first = vec![0; 64 * 1024];
                let count = client.read(&mut first).unwrap_or(0);
                first.truncate(count);
                client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").ok();
                client.shutdown(std::net::Shutdown::Write).ok();
                client.read_to_end(&mut first).ok();
                tell.send(first).ok();
            });
        }
    });
    (address, told)
}

/// With grants in which `PORT` is that of the host. Names lead where the table says, else to a public address.
fn world(grants: &[&str], names: &[(&'static str, &'static [&'static str])]) -> World {
    let (host, sent) = host();
    let grants: Vec<_> =
        grants.iter().map(|it| it.replace("PORT", &host.port().to_string())).collect();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = heard.clone();
    let names = names.to_vec();
    let gateway = Gateway::with_lookup(
        &grants,
        move |refused| ear.lock().unwrap().push(refused.to_string()),
        move |name| {
            let found = names.iter().find(|(known, _)| *known == name);
            let found = found.ok_or_else(|| io::Error::other("no such name"))?;
            Ok(found.1.iter().map(|address| address.parse().unwrap()).collect())
        },
    );
    let listen = |speech| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (address, gateway) = (listener.local_addr().unwrap(), gateway.clone());
        thread::spawn(move || serve(&gateway, &listener, speech));
        address
    };
    let (http, socks) = (listen(Speech::Http), listen(Speech::Socks));
    World { http, socks, heard, gateway, sent, host }
}

impl World {
    /// Says this to the listener for HTTP; what comes back until the end.
    fn says(&self, text: &str) -> String {
        self.says_bytes(text.replace("PORT", &self.host.port().to_string()).as_bytes())
    }

    fn says_bytes(&self, bytes: &[u8]) -> String {
        let mut client = TcpStream::connect(self.http).unwrap();
        client.write_all(bytes).ok();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).ok();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Through a tunnel to the host, which must be open, these bytes; what comes back.
    fn tunnels(&self, bytes: &[u8]) -> String {
        let mut client = TcpStream::connect(self.http).unwrap();
        write!(client, "CONNECT 127.0.0.1:{} HTTP/1.1\r\n\r\n", self.host.port()).unwrap();
        let mut reader = BufReader::new(client.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains("200"), "{line}");
        line.clear();
        reader.read_line(&mut line).unwrap();
        client.write_all(bytes).ok();
        let mut answer = Vec::new();
        reader.read_to_end(&mut answer).ok();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Asks the listener for SOCKS; the code of its reply.
    fn asks(&self, kind: u8, address: &[u8], port: u16) -> u8 {
        let mut client = TcpStream::connect(self.socks).unwrap();
        client.write_all(&[5, 1, 0]).unwrap();
        let mut method = [0; 2];
        client.read_exact(&mut method).unwrap();
        assert_eq!(method, [5, 0]);
        let request = [&[5, 1, 0, kind][..], address, &port.to_be_bytes()].concat();
        client.write_all(&request).unwrap();
        let mut reply = [0; 10];
        client.read_exact(&mut reply).unwrap();
        reply[1]
    }

    fn heard(&self) -> Vec<String> {
        // A refusal is told behind its answer.
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while self.gateway.open.load(Ordering::Relaxed) != 0 && std::time::Instant::now() < until {
            thread::yield_now();
        }
        self.heard.lock().unwrap().clone()
    }
}

#[test]
fn a_granted_host_is_reached_by_every_way() {
    let world = world(&["127.0.0.1:PORT"], &[]);
    assert!(world.tunnels(b"\x01anything").contains("hello"));
    assert_eq!(world.sent.recv().unwrap(), b"\x01anything");
    let whole = "GET http://127.0.0.1:PORT/a?b HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n";
    assert!(world.says(whole).ends_with("hello"));
    let sent = String::from_utf8(world.sent.recv().unwrap()).unwrap();
    assert!(
        sent.starts_with("GET /a?b HTTP/1.1\r\n") && sent.contains("Connection: close"),
        "{sent}"
    );
    assert_eq!(world.asks(1, &[127, 0, 0, 1], world.host.port()), 0);
    assert_eq!(world.asks(3, b"\x09127.0.0.1", world.host.port()), 0);
    assert!(world.heard().is_empty());
}

#[test]
fn what_was_not_granted_is_refused_and_told() {
    let world = world(&["127.0.0.1:PORT", "a.io:443"], &[("a.io", &["1.1.1.1"])]);
    let port = world.host.port();
    let refused = |target: &str| {
        let answer = world.says(&format!("CONNECT {target} HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{target}: {answer}");
        assert!(answer.contains(http::REASON), "{answer}");
    };
    for target in [
        "b.io:443",
        "a.io:80",
        "x.a.io:443",
        "127.0.0.1:1",
        "127.0.0.2:PORT",
        "localhost:PORT",
        "2130706433:PORT",
        "0x7f000001:PORT",
        "127.1:PORT",
        "0177.0.0.1:PORT",
        "[::ffff:127.0.0.1]:PORT",
        "[::1]:PORT",
        "169.254.169.254:80",
        "0.0.0.0:PORT",
        "0:PORT",
    ] {
        refused(target);
    }
    let whole = world.says("GET http://b.io/ HTTP/1.1\r\nHost: b.io\r\n\r\n");
    assert!(whole.starts_with("HTTP/1.1 403 "), "{whole}");
    assert_eq!(world.asks(3, b"\x04b.io", 443), 2);
    assert_eq!(world.asks(1, &[10, 0, 0, 1], 80), 2);
    assert_eq!(world.asks(4, &Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets(), port), 2);
    let heard = world.heard();
    assert_eq!(heard.len(), 19, "{heard:?}");
    assert!(heard.contains(&"b.io:443: not granted".to_owned()), "{heard:?}");
    assert!(world.sent.try_recv().is_err(), "nothing reached the host");
}

#[test]
fn a_granted_name_that_leads_inside_is_refused() {
    let names: &[(&str, &[&str])] = &[
        ("ten.io", &["10.0.0.1"]),
        ("both.io", &["1.1.1.1", "127.0.0.1"]),
        ("meta.io", &["169.254.169.254"]),
        ("mapped.io", &["::ffff:10.0.0.1"]),
        ("six.io", &["fd00::1"]),
        ("carrier.io", &["100.64.0.1"]),
        ("many.io", &["224.0.0.1"]),
    ];
    let grants = [
        "*.io:443",
        "ten.io:443",
        "both.io:443",
        "meta.io:443",
        "mapped.io:443",
        "six.io:443",
        "carrier.io:443",
        "many.io:443",
    ];
    let world = world(&grants, names);
    for (name, addresses) in names {
        let answer = world.says(&format!("CONNECT {name}:443 HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{name}: {answer}");
        assert!(answer.contains("not public"), "{name} {addresses:?}: {answer}");
        let named = [&[u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
        assert_eq!(world.asks(3, &named, 443), 2, "{name}");
    }
    // A name without an address is a fault of the network.
    assert!(world.says("CONNECT none.x.io:443 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 502 "));
    assert_eq!(world.heard().len(), 2 * names.len());
}

#[test]
fn a_granted_name_leads_inside_where_a_grant_names_the_address_too() {
    let names: &[(&str, &[&str])] =
        &[("one.io", &["127.0.0.1"]), ("two.io", &["127.0.0.1", "10.0.0.1"])];
    let get = |name: &str| format!("GET http://{name}:PORT/ HTTP/1.1\r\nHost: {name}:PORT\r\n\r\n");
    let world = world(&["one.io:PORT", "two.io:PORT", "127.0.0.1:PORT"], names);
    assert!(world.says(&get("one.io")).ends_with("hello"));
    assert!(
        world.says(&get("two.io")).starts_with("HTTP/1.1 403 "),
        "another address of it is not named"
    );
    for grants in [["one.io:PORT", "127.0.0.1:1"], ["two.io:PORT", "127.0.0.1:PORT"]] {
        let world = self::world(&grants, names);
        assert!(world.says(&get("one.io")).starts_with("HTTP/1.1 403 "), "{grants:?}");
    }
}

#[test]
fn names_are_compared_without_capitals_and_without_a_last_dot() {
    let world = world(&["TEN.io.:443"], &[("ten.io", &["10.0.0.1"])]);
    for name in ["ten.io", "Ten.IO", "ten.io."] {
        let answer = world.says(&format!("CONNECT {name}:443 HTTP/1.1\r\n\r\n"));
        // Past the grant, and stopped by where it leads.
        assert!(answer.contains("leads to 10.0.0.1"), "{name}: {answer}");
    }
}

/// The names of a tunnel are judged by its target, so a table of them needs no host of that name.
#[test]
fn tls_for_another_name_is_cut_off() {
    let world = world(&["127.0.0.1:PORT"], &[]);
    // An address is called by no name.
    assert!(world.tunnels(&hello(&[], 1000)).contains("hello"));
    for bytes in [hello(&["evil.io"], 1000), hello(&["evil.io"], 3), hello(&["a.io", "b.io"], 1000)]
    {
        assert_eq!(world.tunnels(&bytes), "");
    }
    let heard = world.heard();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard.iter().all(|told| told.contains("TLS name \"evil.io\"")), "{heard:?}");
}

#[test]
fn http_for_another_host_is_cut_off() {
    let world = world(&["127.0.0.1:PORT"], &[]);
    let port = world.host.port();
    let good = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    assert!(world.tunnels(good.as_bytes()).contains("hello"));
    world.sent.recv().unwrap();
    for bad in [
        "GET / HTTP/1.1\r\nHost: evil.io\r\n\r\n".to_owned(),
        "\r\nGET / HTTP/1.1\r\nHost: evil.io\r\n\r\n".to_owned(),
        "GET /\u{e9} HTTP/1.1\r\nHost: evil.io\r\n\r\n".to_owned(),
        "GET /\u{7f} HTTP/1.1\r\nHost: evil.io\r\n\r\n".to_owned(),
        "get / http/1.1\r\nHost: evil.io\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
        format!("GET http://evil.io/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
        format!("CONNECT evil.io:443 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.io\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ] {
        assert_eq!(world.tunnels(bad.as_bytes()), "", "{bad}");
        assert_eq!(world.sent.recv().unwrap(), b"", "{bad}");
    }
    let whole = "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: evil.io\r\n\r\n";
    assert!(world.says(whole).starts_with("HTTP/1.1 403 "));
}

#[test]
fn a_second_request_behind_the_first_is_not_passed_on() {
    let world = world(&["127.0.0.1:PORT"], &[]);
    let port = world.host.port();
    let first = format!("POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 2\r\n\r\nab");
    let both = format!("{first}GET / HTTP/1.1\r\nHost: evil.io\r\n\r\n");
    world.tunnels(both.as_bytes());
    let sent = String::from_utf8(world.sent.recv().unwrap()).unwrap();
    assert!(sent.ends_with("\r\n\r\nab"), "{sent}");
    let pieces = format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\n\
         2;x\r\nab\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\nHost: evil.io\r\n\r\n"
    );
    world.tunnels(pieces.as_bytes());
    let sent = String::from_utf8(world.sent.recv().unwrap()).unwrap();
    assert!(sent.ends_with("\r\n\r\n2\r\nab\r\n0\r\n\r\n"), "{sent}");
}

#[test]
fn what_is_no_request_is_answered_and_not_told_as_a_refusal() {
    let world = world(&["127.0.0.1:PORT"], &[]);
    for text in
        ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "nonsense\r\n\r\n", "CONNECT a HTTP/1.1\r\n\r\n"]
    {
        assert!(world.says(text).starts_with("HTTP/1.1 400 "), "{text}");
    }
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(200_000));
    let answer = world.says_bytes(long.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(world.heard().is_empty());
}

#[test]
fn more_clients_than_the_bound_are_turned_away() {
    let world = world(&[], &[]);
    let idle: Vec<_> =
        (0..CONNECTIONS_MAX).map(|_| TcpStream::connect(world.http).unwrap()).collect();
    let mut one_more = TcpStream::connect(world.http).unwrap();
    let mut answer = Vec::new();
    // Closed without a word.
    assert_eq!(one_more.read_to_end(&mut answer).unwrap_or(0), 0);
    drop(idle);
    while world.gateway.open.load(Ordering::Relaxed) != 0 {
        thread::yield_now();
    }
    assert!(world.says("CONNECT a.io:443 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 "));
}
