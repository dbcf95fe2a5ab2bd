//! Clients that speak HTTP: CONNECT for everything, or one request with a whole address.

use std::io::Write as _;
use std::net::TcpStream;

use piton_core::permit::host::Host;

use super::gateway::{Gateway, SILENCE_MAX};
use super::head::{self, Head, split_port};
use super::refusal::{Refused, Target, Why};
use super::relay;

/// The field of an answer that says why a connection did not come about.
pub(super) const REASON: &str = "X-Piton-Sandbox";
/// What a client hears whose way is open.
const OPEN: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Hears what a client wants, and does it.
pub(super) fn attend(gateway: &Gateway, client: &TcpStream) -> Result<(), Refused> {
    let (head, rest) = match head::read(client, Vec::new()) {
        Ok(heard) => heard,
        Err(why) => return refuse(gateway, client, why.into()),
    };
    client.set_read_timeout(Some(SILENCE_MAX))?;
    if head.method == "CONNECT" {
        let server = match target(&head.target, None).and_then(|to| Ok((gateway.reach(&to)?, to))) {
            Ok(reached) => reached,
            Err(refused) => return refuse(gateway, client, refused),
        };
        let (server, target) = server;
        let mut to = client;
        to.write_all(OPEN)?;
        return relay::tunnel(gateway, (client, rest), &server, &target);
    }
    match open(gateway, &head) {
        Ok((server, target, path)) => {
            relay::exchange(client, rest, &server, (&head, &path), &target)
        }
        Err(refused) => refuse(gateway, client, refused),
    }
}

/// Reaches the host of a request with a whole address.
fn open(gateway: &Gateway, head: &Head) -> Result<(TcpStream, Target, String), Refused> {
    let rest = head.target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let rest = rest.and_then(|_| head.target.get(7..));
    let rest = rest.ok_or(Why::Unclear("a proxy takes CONNECT, or an address with http://"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (place, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let target = target(place, Some(80))?;
    let to = |why| Refused::to(&target, why);
    head.check_host(&target).map_err(to)?;
    // Understood before anybody is called.
    head.body().map_err(to)?;
    let server = gateway.reach(&target)?;
    Ok((server, target, path))
}

fn target(text: &str, usual: Option<u16>) -> Result<Target, Refused> {
    let (name, port) = split_port(text);
    let port = match port {
        Some(port) if port.bytes().all(|it| it.is_ascii_digit()) => port.parse().ok(),
        Some(_) => None,
        None => usual,
    };
    match (Host::read(name), port) {
        (Some(host), Some(port)) if port != 0 => Ok(Target { host, port }),
        // A number in another form, or a name that no grant can name.
        (None, Some(_)) => Err(Refused { host: Some(text.to_owned()), why: Why::NotGranted }),
        _ => Err(Why::Unclear("the host, or its port").into()),
    }
}

/// Says why not.
fn refuse(gateway: &Gateway, mut client: &TcpStream, refused: Refused) -> Result<(), Refused> {
    gateway.tell(&refused);
    let status = match refused.why {
        _ if refused.is_by_wall() => "403 Forbidden",
        Why::NotFound(_) | Why::Unreachable(_) => "502 Bad Gateway",
        Why::NotGranted
        | Why::LeadsTo(_)
        | Why::OtherServerName(_)
        | Why::NoServerName
        | Why::OtherHost(_)
        | Why::Unclear(_)
        | Why::Broken(_) => "400 Bad Request",
    };
    let told: String = refused.to_string().chars().filter(|letter| !letter.is_control()).collect();
    let body = format!("the sandbox: {told}\n");
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\n{REASON}: {}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}",
        told.escape_default()
    );
    // Whoever is gone hears nothing, and is refused all the same.
    client.write_all(answer.as_bytes()).ok();
    Err(refused)
}
