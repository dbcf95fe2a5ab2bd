//! Commands on their way into the journal: what the engine adds to the plan of the core.
//!
//! The core plans from the journal alone. Here is checked what the journal cannot know: whether an
//! entry can hold the message, and whether the model takes its files.

use std::sync::Arc;

use piton_core::attachment;
use piton_core::command::{
    Command, Envelope, Leave, NewMessage, Performing, Plan, Refusal, Then, UserPart, known, plan,
};
use piton_core::event::Event;
use piton_core::id::{Attempt, CommandId, MessageId, Seq};
use piton_core::outcome::Ending;
use piton_core::state::{State, Verdict};
use piton_store::{ENTRY_BYTES_MAX, StoreError};
use tokio::sync::oneshot;

use crate::files;
use crate::parts::Parts;
use crate::session::{OpenError, SessionError};

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

/// Why a command was not accepted. Nothing of it is recorded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The conversation cannot be opened.
    #[error(transparent)]
    Open(Arc<OpenError>),
    /// The command is refused.
    #[error(transparent)]
    Refused(Refusal),
    /// Another process has the writer's place, and a secret never lies beside a journal.
    #[error("another process works on the conversation, and a secret does not travel to it")]
    SecretElsewhere,
    /// The journal refused while the command was carried out.
    #[error(transparent)]
    Failed(Arc<SessionError>),
    /// The store failed.
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// The engine was dropped.
    #[error("the engine is gone")]
    EngineGone,
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

/// What to do with a command.
#[derive(Debug)]
pub(crate) enum Order {
    /// It was sent before.
    Known(Receipt),
    /// Record these facts.
    Record { leave: Leave, facts: Vec<Event>, then: Then },
    /// Interrupt the running turn, and hand it over again.
    InterruptFirst,
}

/// Decides what to do with a command.
pub(crate) fn order(
    parts: &Parts,
    state: &State,
    handed: &Handed,
    performing: Performing,
) -> Order {
    let Handed { envelope, letter, .. } = handed;
    if let Some((seq, verdict)) = known(state, envelope) {
        let (command, verdict) = (envelope.id.clone(), verdict.clone());
        return Order::Known(Receipt { command, seq, verdict });
    }
    let planned = match vet(parts, state, &envelope.command) {
        Ok(()) => plan(state, envelope, performing, letter.as_deref()),
        Err(refusal) => Plan::Refuse(refusal),
    };
    let (command, letter) = (envelope.id.clone(), letter.clone());
    match planned {
        Plan::Record { leave, facts, then } => {
            let taken = Event::CommandTaken { command, letter };
            let facts = std::iter::once(taken).chain(facts).collect();
            Order::Record { leave, facts, then }
        }
        Plan::InterruptFirst => Order::InterruptFirst,
        Plan::Refuse(refusal) => {
            let facts = vec![Event::CommandRefused { command, refusal, letter }];
            Order::Record { leave: Leave::Nothing, facts, then: Then::Rest }
        }
    }
}

/// What a list of facts says of a command.
pub(crate) fn verdict(facts: &[Event]) -> Verdict {
    match facts.first() {
        Some(Event::CommandRefused { refusal, .. }) => Verdict::Refused(refusal.clone()),
        _ => Verdict::Taken,
    }
}

/// A command of a kind that this build does not know.
pub(crate) fn refuse_unknown(command: CommandId, kind: String, letter: &str) -> Event {
    let (refusal, letter) = (Refusal::UnknownCommand { kind }, Some(letter.to_owned()));
    Event::CommandRefused { command, refusal, letter }
}

fn vet(parts: &Parts, state: &State, command: &Command) -> Result<(), Refusal> {
    let Some(NewMessage { id, parts: said }) = command.message() else { return Ok(()) };
    let impossible = |message: String| Refusal::Impossible { message };
    let id = id.clone().unwrap_or_else(|| MessageId::new(""));
    if let Some(bytes) = too_large(&id, said) {
        let limit = attachment::limit(ENTRY_BYTES_MAX as u64);
        let size = attachment::size(bytes as u64);
        return Err(impossible(format!("the message has {size}, and one message takes {limit}")));
    }
    files::check(&*parts.models, state.config.model.as_ref(), said)
        .map_err(|fault| impossible(fault.to_string()))
}

/// The size of a message that no journal takes.
pub(crate) fn too_large(message: &MessageId, parts: &[UserPart]) -> Option<usize> {
    let (message, parts) = (message.clone(), parts.to_vec());
    let event = Event::UserMessage { message, parts, attempt: Attempt::FIRST };
    Some(event.to_stored().len()).filter(|bytes| ENTRY_BYTES_MAX < *bytes)
}
