//! Interrupts from outside: Ctrl-C and the polite kill.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::report::Fault;

/// The signals that ask us to stop.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From now on they no longer end the process by themselves.
    pub(crate) fn listen() -> Result<Self, Fault> {
        let on = |kind| signal(kind).map_err(Fault::Runtime);
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
