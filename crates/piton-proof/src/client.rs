//! A client of `piton serve`: requests, and streams of events that are read again from their cursor.
//!
//! It speaks HTTP by hand. What it proves is what came over the connection, byte by byte, and a client
//! library would tidy that up.

mod events;
mod known;

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub use self::events::{Event, Events};
pub use self::known::{Known, Wrong};

/// Where a server is, and the token that it knows.
#[derive(Clone, Debug)]
pub struct Client {
    /// `127.0.0.1:PORT`
    pub address: String,
    /// A bearer token.
    pub token: String,
}

impl Client {
    /// Sends a request; the status of the answer, and its body.
    pub async fn ask(&self, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).await?;
        let (host, token, length) = (&self.address, &self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8(answer).map_err(|_| cut_off())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(cut_off)?;
        if length_of(head).is_some_and(|length| body.len() < length) {
            return Err(cut_off());
        }
        Ok((status_of(head)?, body.to_owned()))
    }

    /// Opens a stream of events behind a cursor: `c=ID`, `list=1`.
    pub async fn events(&self, query: &str, cursor: Option<&str>) -> io::Result<Events> {
        let mut stream = TcpStream::connect(&self.address).await?;
        let last = cursor.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let (host, token) = (&self.address, &self.token);
        let request = format!(
            "GET /api/v1/events?{query} HTTP/1.1\r\nhost: {host}\r\n{last}\
             authorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        Events::begin(stream).await
    }
}

/// The status in the head of an answer.
fn status_of(head: &str) -> io::Result<u16> {
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(cut_off)
}

fn length_of(head: &str) -> Option<usize> {
    let value = |line: &str| line.strip_prefix("content-length: ")?.trim().parse().ok();
    head.lines().find_map(value)
}

/// An answer that is not whole, as from a server that died.
fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the answer is not whole")
}
