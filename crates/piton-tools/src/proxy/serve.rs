//! Takes clients from a listener, a thread each, and no more of them than a bound.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::gateway::{Gateway, SILENCE_MAX};
use super::refusal::{Refused, Why};
use super::{http, socks};

/// Most connections at once; each has two threads.
pub(super) const CONNECTIONS_MAX: usize = 256;
/// How long a client may take to say what it wants.
const FIRST_WORDS_PATIENCE: Duration = Duration::from_secs(30);
/// How long to rest when there are no files or threads to be had.
const NAP: Duration = Duration::from_millis(50);

/// What clients of a listener speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    Http,
    Socks,
}

/// Serves clients for ever.
pub(crate) fn serve(gateway: &Arc<Gateway>, listener: &TcpListener, speech: Speech) {
    loop {
        match listener.accept() {
            Ok((client, _)) => take(gateway, client, speech),
            // No file to be had: one may be free later.
            Err(_) => thread::sleep(NAP),
        }
    }
}

fn take(gateway: &Arc<Gateway>, client: TcpStream, speech: Speech) {
    let place = Place(gateway.clone());
    if CONNECTIONS_MAX <= gateway.open.fetch_add(1, Ordering::Relaxed) {
        return;
    }
    let served = move || {
        // Told where it was refused; the client is gone.
        attend(&place.0, &client, speech).unwrap_or_default();
    };
    // Dropped, and with it the client, where there is no thread for it.
    drop(thread::Builder::new().spawn(served));
}

fn attend(gateway: &Gateway, client: &TcpStream, speech: Speech) -> Result<(), Refused> {
    client.set_read_timeout(Some(FIRST_WORDS_PATIENCE)).map_err(Why::from)?;
    client.set_write_timeout(Some(SILENCE_MAX)).map_err(Why::from)?;
    client.set_nodelay(true).map_err(Why::from)?;
    match speech {
        Speech::Http => http::attend(gateway, client),
        Speech::Socks => socks::attend(gateway, client),
    }
}

/// One of the connections that are open.
struct Place(Arc<Gateway>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
