//! A command on its way to the writer of a conversation, and what its sender hears back.

use std::sync::Arc;

use piton_core::command::{Envelope, Refusal};
use piton_core::id::{CommandId, Seq};
use piton_core::outcome::Ending;
use piton_core::state::Verdict;
use tokio::sync::oneshot;

use crate::error::{CommandError, SessionError};

/// A command that was handed to a conversation's writer.
#[derive(Debug)]
pub(crate) struct Handed {
    pub(crate) envelope: Envelope,
    /// The letter that brought it.
    pub(crate) letter: Option<String>,
    /// The sender, who waits until it is durable.
    pub(crate) receipt: Option<oneshot::Sender<Result<Accepted, CommandError>>>,
    /// The sender, who waits until the conversation rests.
    pub(crate) rest: Option<oneshot::Sender<Rest>>,
}

impl Handed {
    /// A command that a letter brought: nobody waits for it here.
    pub(crate) fn by_letter(envelope: Envelope, letter: String) -> Self {
        Self { envelope, letter: Some(letter), receipt: None, rest: None }
    }
}

/// How a conversation came to rest.
pub(crate) type Rest = Result<Rested, Arc<SessionError>>;

/// A conversation that has come to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rested {
    /// How its turn stands.
    pub ending: Ending,
    /// Commands that its calls had left running, and that were stopped with their turn.
    pub stopped: Vec<String>,
}

/// What became of a command that was sent: it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Accepted {
    /// It is recorded.
    Entry(Receipt),
    /// It lies beside the journal, for the process that has the writer's place, or for the next one.
    Letter {
        /// The command.
        command: CommandId,
        /// The name of the letter.
        letter: String,
    },
}

impl Accepted {
    /// The command.
    pub fn command(&self) -> &CommandId {
        match self {
            Self::Entry(receipt) => &receipt.command,
            Self::Letter { command, .. } => command,
        }
    }

    /// Why it is refused, if it is.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Entry(Receipt { verdict: Verdict::Refused(refusal), .. }) => Some(refusal),
            Self::Entry(Receipt { verdict: Verdict::Taken, .. }) | Self::Letter { .. } => None,
        }
    }
}

/// What became of a command: durable, and for good.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The command.
    pub command: CommandId,
    /// The entry that says so. What the command caused stands behind it.
    pub seq: Seq,
    /// Whether it was obeyed.
    pub verdict: Verdict,
}

/// Receipts that are handed out once their entries are durable.
#[derive(Debug, Default)]
pub(crate) struct Receipts(Vec<(oneshot::Sender<Result<Accepted, CommandError>>, Receipt)>);

impl Receipts {
    pub(crate) fn promise(
        &mut self,
        to: Option<oneshot::Sender<Result<Accepted, CommandError>>>,
        receipt: Receipt,
    ) {
        self.0.extend(to.map(|to| (to, receipt)));
    }

    /// Everything is durable.
    pub(crate) fn hand_out(&mut self) {
        for (to, receipt) in self.0.drain(..) {
            // The sender may have gone; the command counts all the same.
            to.send(Ok(Accepted::Entry(receipt))).unwrap_or_default();
        }
    }
}
