//! The head of an HTTP request: read whole, understood or refused, and written anew.
//!
//! Nothing is passed on that two readers could understand in two ways.

use std::io::{ErrorKind, Read};

use piton_core::permit::host::Host;

use super::refusal::{Target, Why};

/// Longest head, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How much is read at once, in bytes.
const READ_BYTES: usize = 8 * 1024;
/// Fields that are about one connection, and are not passed on.
const HOP: [&str; 6] =
    ["connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade"];

/// A request without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) target: String,
    fields: Vec<(String, String)>,
}

/// How long the body of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Bytes(u64),
    Chunks,
}

/// Reads up to the end of a head; what was read behind it comes second.
pub(super) fn read(mut client: impl Read, mut bytes: Vec<u8>) -> Result<(Head, Vec<u8>), Why> {
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((Head::parse(&bytes)?, rest));
        }
        if HEAD_BYTES_MAX <= bytes.len() {
            return Err(Why::Unclear("the head of the request is too long"));
        }
        let mut more = [0; READ_BYTES];
        match client.read(&mut more) {
            Ok(0) => return Err(Why::Unclear("the head of the request has no end")),
            Ok(count) => bytes.extend(more.iter().take(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl Head {
    fn parse(bytes: &[u8]) -> Result<Self, Why> {
        let text = str::from_utf8(bytes).map_err(|_| Why::Unclear("the head is no text"))?;
        let text = text.strip_suffix("\r\n\r\n").unwrap_or(text);
        let odd = |letter: char| letter.is_control() && letter != '\t';
        let mut lines = text.split("\r\n");
        if text.split("\r\n").any(|line| line.contains(odd)) {
            return Err(Why::Unclear("the head has control characters"));
        }
        let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version] = first.as_slice() else {
            return Err(Why::Unclear("the request line does not have three words"));
        };
        if !is_token(method) || target.is_empty() || !matches!(*version, "HTTP/1.1" | "HTTP/1.0") {
            return Err(Why::Unclear("this is no request of HTTP/1"));
        }
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            is_token(name).then(|| (name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
        };
        let fields = lines.map(field).collect::<Option<Vec<_>>>();
        let fields = fields.ok_or(Why::Unclear("a header field is not understood"))?;
        Ok(Self { method: (*method).to_owned(), target: (*target).to_owned(), fields })
    }

    fn values(&self, name: &str) -> Vec<&str> {
        let named = self.fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// Whether it is for the host that was granted. There is one such field, and no other says otherwise.
    pub(super) fn check_host(&self, target: &Target) -> Result<(), Why> {
        let hosts = self.values("host");
        let other = || Why::OtherHost(hosts.join(", "));
        let [host] = hosts.as_slice() else { return Err(other()) };
        // Some servers take this one instead.
        if !self.values("x-forwarded-host").is_empty() || !self.values("forwarded").is_empty() {
            return Err(Why::OtherHost("x-forwarded-host".into()));
        }
        let (name, port) = split_port(host);
        let usual = matches!(target.port, 80 | 443);
        let is_port = port.map_or(usual, |port| port.parse() == Ok(target.port));
        if Host::read(name).as_ref() == Some(&target.host) && is_port {
            Ok(())
        } else {
            Err(other())
        }
    }

    /// How long its body is.
    pub(super) fn body(&self) -> Result<Body, Why> {
        let (lengths, codings) = (self.values("content-length"), self.values("transfer-encoding"));
        match (lengths.as_slice(), codings.as_slice()) {
            ([], []) => Ok(Body::Bytes(0)),
            ([length], []) if length.bytes().all(|it| it.is_ascii_digit()) => {
                let length = length.parse().map_err(|_| Why::Unclear("the length is no number"))?;
                Ok(Body::Bytes(length))
            }
            ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => Ok(Body::Chunks),
            _ => Err(Why::Unclear("the length of the request is not clear")),
        }
    }

    /// The head as it is passed on, for one request and no other.
    pub(super) fn written(&self, path: &str) -> String {
        let mut head = format!("{} {path} HTTP/1.1\r\n", self.method);
        for (name, value) in &self.fields {
            if !HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop)) {
                head.extend([name, ": ", value, "\r\n"]);
            }
        }
        head.push_str("Connection: close\r\n\r\n");
        head
    }
}

/// A host and its port, if it has one.
pub(super) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (text, None),
    }
}

fn is_token(text: &str) -> bool {
    let letter = |it: char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(it);
    !text.is_empty() && text.chars().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Head, Why> {
        read(text.as_bytes(), Vec::new()).map(|(head, _)| head)
    }

    #[test]
    fn what_two_readers_could_understand_in_two_ways_is_refused() {
        for text in [
            "GET / HTTP/1.1\r\nHost : a.io\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.io\r\n Host: b.io\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.io\nHost: b.io\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.io\rX: y\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: a.io\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET /\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
            "G\0T / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.io",
        ] {
            assert!(matches!(head(text), Err(Why::Unclear(_))), "{text:?}");
        }
        for fields in [
            "Content-Length: 1\r\nContent-Length: 1",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            "Content-Length: +1",
            "Content-Length: 1, 1",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        ] {
            let head = head(&format!("POST / HTTP/1.1\r\n{fields}\r\n\r\n")).unwrap();
            assert!(matches!(head.body(), Err(Why::Unclear(_))), "{fields:?}");
        }
    }

    #[test]
    fn the_host_is_the_granted_one_and_said_once() {
        let check = |fields: &str, port| {
            let head = head(&format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n")).unwrap();
            head.check_host(&Target { host: Host::Name("a.io".into()), port }).is_ok()
        };
        assert!(
            check("Host: a.io", 80)
                && check("host: A.io.:80", 80)
                && check("Host: a.io:8080", 8080)
        );
        for fields in [
            "X: y",
            "Host: b.io",
            "Host: a.io\r\nHost: b.io",
            "Host: a.io:81",
            "Host: a.io, b.io",
            "Host: a.io\r\nX-Forwarded-Host: b.io",
        ] {
            assert!(!check(fields, 80), "{fields}");
        }
    }

    #[test]
    fn a_head_that_is_passed_on_is_for_one_request() {
        let head = head(
            "GET http://a.io/x HTTP/1.1\r\nHost: a.io\r\nProxy-Authorization: s\r\nConnection: keep-alive\r\n\r\n",
        );
        assert_eq!(
            head.unwrap().written("/x"),
            "GET /x HTTP/1.1\r\nHost: a.io\r\nConnection: close\r\n\r\n"
        );
    }
}
