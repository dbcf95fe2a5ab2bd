//! A wire between browser and server that can be broken on purpose: chromium's own "offline" does not cut a
//! stream that is open.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How the wire is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Bytes pass.
    Whole,
    /// Bytes pass later.
    Slow(Duration),
    /// Bytes wait until the wire is mended.
    Held,
    /// Nothing passes ever again, and nothing is closed. New connections are accepted and get nothing either.
    Dead,
    /// What the server says is closed; what the browser says still passes.
    HalfClosed,
}

pub(crate) struct Proxy {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    wire: watch::Sender<Wire>,
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    /// In front of a server.
    pub(crate) async fn to(server: &str) -> Self {
        let server: SocketAddr = server.strip_prefix("http://").unwrap().parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (wire, seen) = watch::channel(Wire::Whole);
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((browser, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(join(browser, server, seen.clone()));
            }
        });
        Self { url, wire, connections }
    }

    /// Breaks the wire, or mends it for connections that begin from now on.
    pub(crate) fn set(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }

    /// Connections that were made.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// An address of the server as it is reached through here.
    pub(crate) fn through(&self, server: &str, address: &str) -> String {
        address.replacen(server, &self.url, 1)
    }
}

async fn join(browser: TcpStream, server: SocketAddr, wire: watch::Receiver<Wire>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let ((from_browser, to_browser), (from_server, to_server)) =
        (browser.into_split(), server.into_split());
    let up = pass(from_browser, to_server, wire.clone(), false);
    let down = pass(from_server, to_browser, wire, true);
    tokio::join!(up, down);
}

/// Passes bytes in one direction. A connection that was dead once stays dead.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut wire: watch::Receiver<Wire>,
    is_down: bool,
) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let now = *wire.borrow_and_update();
        match now {
            Wire::Dead => std::future::pending().await,
            Wire::Held => {
                if wire.changed().await.is_err() {
                    return;
                }
                continue;
            }
            Wire::HalfClosed if is_down => {
                to.shutdown().await.unwrap_or_default();
                return;
            }
            Wire::Whole | Wire::Slow(_) | Wire::HalfClosed => {}
        }
        let read = tokio::select! {
            biased;
            _ = wire.changed() => continue,
            read = from.read(&mut bytes) => read.unwrap_or(0),
        };
        if read == 0 {
            to.shutdown().await.unwrap_or_default();
            return;
        }
        if let Wire::Slow(by) = now {
            // wait: what is slow is what is tested.
            tokio::time::sleep(by).await;
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
