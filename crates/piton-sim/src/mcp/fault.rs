//! What goes wrong, where, and only once.

use std::fs::OpenOptions;
use std::path::Path;
use std::str::FromStr;

use rustix::process::{Signal, getpid, getppid, kill_process};

/// What goes wrong at one point of the server's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    what: What,
    phase: Phase,
    /// The call that it meets, by its `key`; empty for phases without a call.
    key: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The server is killed.
    Die,
    /// The process that started the server is killed.
    Kill,
    /// Both are.
    Both,
    /// Nothing more comes of it.
    Hang,
}

/// A point of the server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A client says hello.
    Greeted,
    /// A client asks for the tools.
    Listed,
    /// A call is read, nothing is done.
    Read,
    /// The effect is in the ledger.
    Effect,
    /// Half of the answer is written.
    Half,
    /// The answer is written.
    Answered,
    /// A task is asked about; the key is its name.
    Polled,
}

/// A text that names no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a fault is WHAT@PHASE[:KEY]: die, kill, both or hang; \
     greeted, listed, read, effect, half, answered or polled; the key of the call"
)]
pub struct NotAFault;

impl FromStr for Fault {
    type Err = NotAFault;

    fn from_str(text: &str) -> Result<Self, NotAFault> {
        let (what, at) = text.split_once('@').ok_or(NotAFault)?;
        let (phase, key) = at.split_once(':').unwrap_or((at, ""));
        let what = match what {
            "die" => What::Die,
            "kill" => What::Kill,
            "both" => What::Both,
            "hang" => What::Hang,
            _ => return Err(NotAFault),
        };
        let phase = match phase {
            "greeted" => Phase::Greeted,
            "listed" => Phase::Listed,
            "read" => Phase::Read,
            "effect" => Phase::Effect,
            "half" => Phase::Half,
            "answered" => Phase::Answered,
            "polled" => Phase::Polled,
            _ => return Err(NotAFault),
        };
        Ok(Self { what, phase, key: key.to_owned() })
    }
}

impl Fault {
    /// Whether it is due here.
    pub(super) fn meets(&self, phase: Phase, key: &str) -> bool {
        self.phase == phase && self.key == key
    }

    /// Lets it happen, if it has not happened before: `marker` outlives the server.
    pub(super) async fn happen(&self, marker: &Path) {
        if OpenOptions::new().write(true).create_new(true).open(marker).is_err() {
            return;
        }
        match self.what {
            What::Die => kill_ourselves(),
            What::Kill => kill_the_agent(),
            What::Both => {
                kill_the_agent();
                kill_ourselves();
            }
            What::Hang => std::future::pending().await,
        }
    }
}

fn kill_the_agent() {
    if let Some(agent) = getppid() {
        // One that is gone already is what was wanted.
        kill_process(agent, Signal::KILL).unwrap_or_default();
    }
}

fn kill_ourselves() {
    // It does not return.
    kill_process(getpid(), Signal::KILL).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_written_in_one_word() {
        let fault: Fault = "die@effect:c2".parse().unwrap();
        assert!(fault.meets(Phase::Effect, "c2"));
        assert!(!fault.meets(Phase::Effect, "c1") && !fault.meets(Phase::Read, "c2"));
        assert!("kill@greeted".parse::<Fault>().is_ok());
        for wrong in ["", "die", "die@", "die@never", "sleep@read"] {
            assert_eq!(wrong.parse::<Fault>(), Err(NotAFault), "{wrong}");
        }
    }
}
