//! The server: a thread of its own, so that it serves tests on a virtual clock and tests without one.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::{Semaphore, oneshot, watch};

use super::book::{Book, Seen};
use super::options::Options;
use super::part::Part;
use super::route::VARIABLES;
use super::stage::Stage;

/// Most connections at a time; more wait.
const CONNECTIONS_MAX: usize = 512;

/// A server on loopback. It ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    book: Arc<Book>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves a script, or the demo model, at any free port.
    pub fn start(part: impl Into<Part>) -> io::Result<Self> {
        Self::with(part, Options::default())
    }

    /// Serves with options.
    pub fn with(part: impl Into<Part>, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let book = Arc::new(Book::default());
        let stage = Arc::new(Stage::new(part.into(), options, book.clone()));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("sim-serve".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    // The sender is dropped with the server; nothing is ever sent.
                    _ = stopped => {}
                    () = accept(listener, stage) => {}
                }
            });
            // What is still open breaks here.
            runtime.shutdown_background();
        })?;
        Ok(Self { address, book, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address as the beginning of a URL, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables that lead the providers' own libraries, and piton, here.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let url = self.url();
        VARIABLES.iter().map(|(name, behind)| (*name, format!("{url}{behind}"))).collect()
    }

    /// The value of one of them; empty if there is no such variable.
    pub fn base_url(&self, variable: &str) -> String {
        let found = self.variables().into_iter().find(|(name, _)| *name == variable);
        found.map(|(_, url)| url).unwrap_or_default()
    }

    /// What was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.book.seen()
    }

    /// What was asked since this was last called; it is not kept any longer.
    pub fn take_seen(&self) -> Vec<Seen> {
        self.book.take()
    }

    /// Tells of every request.
    pub fn watch(&self) -> watch::Receiver<usize> {
        self.book.watch()
    }

    /// Waits, blocking the thread, until so many requests came in; whether they came in time.
    pub fn wait_for_requests(&self, count: usize, longest: Duration) -> bool {
        self.book.wait_for_requests(count, longest)
    }

    /// Waits, blocking the thread, until so many answers have stalled, with all before it sent;
    /// whether there were that many in time.
    pub fn wait_for_stalls(&self, count: usize, longest: Duration) -> bool {
        self.book.wait_for_stalls(count, longest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic in there has been reported already.
            thread.join().unwrap_or_default();
        }
    }
}

async fn accept(listener: TcpListener, stage: Arc<Stage>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Ok(place) = places.clone().acquire_owned().await {
        // A client that went away while it waited is no reason to end.
        let Ok((socket, _)) = listener.accept().await else { continue };
        // Each piece is to leave when it is written; where that cannot be had, it leaves later.
        socket.set_nodelay(true).unwrap_or_default();
        let stage = stage.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| stage.serve(request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
            // Broken connections are what faults are for.
            connection.await.unwrap_or_default();
            drop(place);
        });
    }
}
