//! Commands on their way into the journal: what the engine adds to the plan of the core.
//!
//! The core plans from the journal alone. Here is checked what the journal cannot know: whether an
//! entry can hold the message, and whether the model takes its files.

use piton_core::attachment;
use piton_core::command::{
    Command, Envelope, Leave, NewMessage, Performing, Plan, QueueChange, Refusal, Then, UserPart,
    known, plan,
};
use piton_core::event::{Event, ModelRef};
use piton_core::id::{Attempt, CommandId, MessageId};
use piton_core::state::{State, Turn, Verdict};
use piton_store::ENTRY_BYTES_MAX;

use crate::files;
use crate::parts::Parts;
use crate::receipt::{Handed, Receipt};

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

/// Decides what to do with a command. `model` is who answers what it begins.
pub(crate) fn order(
    parts: &Parts,
    state: &State,
    model: Option<&ModelRef>,
    handed: &Handed,
    performing: Performing,
) -> Order {
    let Handed { envelope, letter, .. } = handed;
    if let Some((seq, verdict)) = known(state, envelope) {
        let (command, verdict) = (envelope.id.clone(), verdict.clone());
        return Order::Known(Receipt { command, seq, verdict });
    }
    let planned = match vet_flags(state, envelope, performing) {
        Ok(()) => {
            let planned = plan(state, envelope, performing, letter.as_deref());
            vet_files(vet_facts(planned, &envelope.command), (parts, state, model), envelope)
        }
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

/// Flags count when a turn begins or goes on. A message for a turn that runs cannot bring any: it would
/// run without the restrictions that its sender asked for.
pub(crate) fn vet_flags(
    state: &State,
    envelope: &Envelope,
    performing: Performing,
) -> Result<(), Refusal> {
    let waits = matches!(envelope.command, Command::Queue { .. } | Command::Steer { .. })
        && state.open_turn().is_some();
    let is_late = performing == Performing::Now || waits;
    if is_late && envelope.from.flags.is_some() && envelope.command.message().is_some() {
        let message = "a turn is open already, and flags count only when a turn begins; leave them \
                       out, or send the message when the turn is over";
        return Err(Refusal::Impossible { message: message.into() });
    }
    Ok(())
}

/// What no journal takes is refused, whatever it is.
fn vet_facts(planned: Plan, command: &Command) -> Plan {
    let Plan::Record { facts, .. } = &planned else { return planned };
    let largest = facts.iter().map(|fact| fact.to_stored().len()).max().unwrap_or_default();
    if largest <= ENTRY_BYTES_MAX {
        return planned;
    }
    let what = if command.message().is_some() { "message" } else { "command" };
    let limit = attachment::limit(ENTRY_BYTES_MAX as u64);
    let size = attachment::size(largest as u64);
    let message = format!("the {what} has {size}, and one {what} takes {limit}");
    Plan::Refuse(Refusal::Impossible { message })
}

/// The files of a message, or of one that is tried again, are refused before anything is recorded: a
/// model that does not take them could answer nothing, and the old attempt would be hidden.
fn vet_files(
    planned: Plan,
    (parts, state, model): (&Parts, &State, Option<&ModelRef>),
    envelope: &Envelope,
) -> Plan {
    let said = match (&planned, &envelope.command) {
        // Who answers a message that is tried again is known when nothing runs any more.
        (Plan::Refuse(_), _) | (Plan::InterruptFirst, Command::Retry { .. }) => None,
        (Plan::Record { .. }, Command::Retry { message }) => said_before(state, message),
        (_, Command::Requeue { change: QueueChange::Parts { parts }, .. }) => Some(&**parts),
        (_, command) => command.message().map(|NewMessage { parts, .. }| parts.as_slice()),
    };
    match said.map(|said| files::check(&*parts.models, model, said)) {
        None | Some(Ok(())) => planned,
        Some(Err(fault)) => Plan::Refuse(Refusal::Impossible { message: fault.to_string() }),
    }
}

/// What a message consists of that was said.
pub(crate) fn said_before<'a>(state: &'a State, message: &MessageId) -> Option<&'a [UserPart]> {
    let mut said = state.turns.iter().rev().flat_map(Turn::said);
    said.find(|said| said.message == *message).map(|said| said.parts.as_slice())
}

/// The size of a message that no journal takes.
pub(crate) fn too_large(message: &MessageId, parts: &[UserPart]) -> Option<usize> {
    let (message, parts) = (message.clone(), parts.to_vec());
    let event = Event::UserMessage { message, parts, attempt: Attempt::FIRST };
    Some(event.to_stored().len()).filter(|bytes| ENTRY_BYTES_MAX < *bytes)
}
