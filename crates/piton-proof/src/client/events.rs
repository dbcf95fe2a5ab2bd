//! A stream of server-sent events, taken out of the chunks that carry it.

use std::io;

use memchr::memmem;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::{cut_off, status_of};

/// Room for what one read brings, in bytes.
const READ_BYTES: usize = 8 * 1024;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What kind of event it is.
    pub name: String,
    /// The cursor of the stream, if the event has one.
    pub id: Option<String>,
    /// Its content: JSON.
    pub data: String,
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    stream: TcpStream,
    /// What came and is not looked at yet.
    raw: Vec<u8>,
    /// The part of the stream that is not handed out yet.
    text: Vec<u8>,
    /// How far `text` has been searched for the end of an event.
    searched: usize,
    chunk: Chunk,
}

/// Where in a body of chunks the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    /// The next line says how long the next chunk is.
    Size,
    /// So many bytes of the chunk are missing.
    Data(usize),
    /// The line end behind a chunk is next.
    End,
    /// There is no more.
    Over,
}

impl Events {
    /// Reads the head of the answer. Any status but 200 is an error.
    pub(super) async fn begin(stream: TcpStream) -> io::Result<Self> {
        Self::go_on(stream, &[]).await
    }

    /// The same on a connection from which the first bytes of the answer were read already.
    pub async fn go_on(mut stream: TcpStream, first: &[u8]) -> io::Result<Self> {
        let mut raw = first.to_vec();
        let end = loop {
            if let Some(end) = raw.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            if read(&mut stream, &mut raw).await? == 0 {
                return Err(cut_off());
            }
        };
        let head = String::from_utf8_lossy(raw.get(..end).unwrap_or_default()).into_owned();
        let status = status_of(&head)?;
        if status != 200 {
            return Err(io::Error::other(format!("the stream is refused with {status}")));
        }
        raw.drain(..end + 4);
        Ok(Self { stream, raw, text: Vec::new(), searched: 0, chunk: Chunk::Size })
    }

    /// Waits for the next event; none when the server ends the stream. May be dropped and called again.
    pub async fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some(event) = self.take() {
                return event.map(Some);
            }
            self.decode()?;
            if let Some(event) = self.take() {
                return event.map(Some);
            }
            if self.chunk == Chunk::Over {
                return Ok(None);
            }
            if read(&mut self.stream, &mut self.raw).await? == 0 {
                return Err(cut_off());
            }
        }
    }

    /// The first whole event of what is there.
    fn take(&mut self) -> Option<io::Result<Event>> {
        let rest = self.text.get(self.searched..)?;
        let Some(end) = memmem::find(rest, b"\n\n") else {
            // The last byte may be the first one of the end.
            self.searched = self.text.len().saturating_sub(1);
            return None;
        };
        let event: Vec<u8> = self.text.drain(..self.searched + end + 2).collect();
        self.searched = 0;
        Some(parse(&event).ok_or_else(|| io::Error::other("an event that is none")))
    }

    /// Takes the stream out of its chunks, as far as they came.
    fn decode(&mut self) -> io::Result<()> {
        let mut at = 0;
        loop {
            let rest = self.raw.get(at..).unwrap_or_default();
            let (taken, next) = match self.chunk {
                Chunk::Over => break,
                Chunk::Size => {
                    let Some(end) = memmem::find(rest, b"\r\n") else { break };
                    let line = rest.get(..end).unwrap_or_default();
                    let size = std::str::from_utf8(line).ok();
                    let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
                    let size = size.ok_or_else(|| io::Error::other("a chunk without a size"))?;
                    (end + 2, if size == 0 { Chunk::Over } else { Chunk::Data(size) })
                }
                Chunk::Data(0) => (0, Chunk::End),
                Chunk::Data(_) if rest.is_empty() => break,
                Chunk::Data(missing) => {
                    let taken = missing.min(rest.len());
                    self.text.extend_from_slice(rest.get(..taken).unwrap_or_default());
                    (taken, Chunk::Data(missing - taken))
                }
                Chunk::End if rest.len() < 2 => break,
                Chunk::End => (2, Chunk::Size),
            };
            (at, self.chunk) = (at + taken, next);
        }
        self.raw.drain(..at);
        Ok(())
    }
}

async fn read(stream: &mut TcpStream, raw: &mut Vec<u8>) -> io::Result<usize> {
    raw.reserve(READ_BYTES);
    stream.read_buf(raw).await
}

fn parse(text: &[u8]) -> Option<Event> {
    let text = std::str::from_utf8(text).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    Some(Event {
        name: field("event: ")?.to_owned(),
        id: field("id: ").map(ToOwned::to_owned),
        data: field("data: ")?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;

    /// The events of an answer that comes in pieces of so many bytes.
    async fn received(answer: &'static str, piece: usize) -> io::Result<Vec<Event>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        let (mut other, _) = listener.accept().await?;
        other.set_nodelay(true)?;
        let sending = tokio::spawn(async move {
            for bytes in answer.as_bytes().chunks(piece) {
                other.write_all(bytes).await.unwrap();
                other.flush().await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        let (mut events, mut all) = (Events::begin(stream).await?, Vec::new());
        while let Some(event) = events.next().await? {
            all.push(event);
        }
        sending.await.unwrap();
        Ok(all)
    }

    const ANSWER: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
        13\r\nevent: beat\ndata: {\r\n13\r\n}\n\nevent: change\nid\r\n10\r\n: c:4\ndata: 17\n\n\r\n0\r\n\r\n";

    #[tokio::test]
    async fn events_are_the_same_however_they_are_cut_into_pieces() {
        for piece in [1, 2, 3, 7, 40, 1_000] {
            let events = received(ANSWER, piece).await.unwrap();
            let parts = |it: &Event| (it.name.clone(), it.id.clone(), it.data.clone());
            let told: Vec<_> = events.iter().map(parts).collect();
            let beat = ("beat".into(), None, "{}".into());
            let change = ("change".into(), Some("c:4".into()), "17".into());
            assert_eq!(told, [beat, change], "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn a_stream_without_its_end_is_an_error() {
        let cut = "HTTP/1.1 200 OK\r\n\r\n5\r\nevent";
        assert!(received(cut, 100).await.is_err());
        assert!(received("HTTP/1.1 401 No\r\n\r\n", 100).await.is_err());
    }
}
