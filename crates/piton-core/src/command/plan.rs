//! What becomes of a command: a table over what is wanted and what is there.

use super::{AnswerThen, Command, Envelope, NewMessage, OnIncomplete, compacting};
use crate::action::{Action, Wish};
use crate::decide::decide;
use crate::event::{
    BreakReason, Event, QueueChange, QueuePlace, Refusal, TurnEnd, UndoIntent, UserPart,
};
use crate::id::{Attempt, MessageId, Seq, TurnId};
use crate::state::{Progress, Said, State, Turn, Verdict};

/// What to do with a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Record these facts.
    Record {
        /// What has to be stopped in front of them.
        leave: Leave,
        /// The facts, in order; there may be none.
        facts: Vec<Event>,
        /// What follows them.
        then: Then,
    },
    /// Interrupt the running turn, and plan the command again.
    InterruptFirst,
    /// Record that it is refused.
    Refuse(Refusal),
}

/// What a command leaves behind, and what is therefore stopped before its facts are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Nothing.
    Nothing,
    /// What calls of this turn have left running.
    Turn(TurnId),
    /// What settles the calls in doubt: nobody will ask about them again.
    Doubts,
}

/// What follows the facts of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Rest,
    /// The conversation goes on.
    Run,
    /// The running turn is interrupted.
    Interrupt,
}

/// Whether a driver performs the open turn at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Performing {
    /// One does.
    Now,
    /// None does.
    Nobody,
}

/// What became of a command that was sent before.
pub fn known<'a>(state: &'a State, envelope: &Envelope) -> Option<(Seq, &'a Verdict)> {
    state.commands.get(&envelope.id).map(|(seq, verdict)| (*seq, verdict))
}

/// Says who answered, where that is known. Behind the word for a person, so that nobody is called as a
/// policy is.
fn sign(facts: &mut [Event], who: Option<&str>) {
    for fact in facts {
        if let (Event::InquiryAnswered { by, .. }, Some(who)) = (fact, who) {
            *by = format!("{by} ({who})");
        }
    }
}

/// Decides what becomes of a command. Pure: what the journal cannot know (whether a directory is there,
/// whether a model takes a file) is checked by the caller. `letter` is what brought it.
pub fn plan(
    state: &State,
    envelope: &Envelope,
    performing: Performing,
    letter: Option<&str>,
) -> Plan {
    let name = |message: &NewMessage| {
        let id = message.id.clone().unwrap_or_else(|| MessageId::new(envelope.id.as_str()));
        let parts: Vec<_> = message.parts.iter().filter(|it| it.has_content()).cloned().collect();
        (id, parts)
    };
    match &envelope.command {
        Command::Say { message, on_incomplete, agent } => {
            let message = name(message);
            say(state, message, *on_incomplete, agent.as_deref(), performing)
        }
        Command::Queue { message } => queue(state, name(message), QueuePlace::Next),
        Command::Steer { .. } if state.open_turn().is_none() => Plan::Refuse(Refusal::NoOpenTurn),
        Command::Steer { message } => queue(state, name(message), QueuePlace::Steer),
        Command::Unqueue { message } => {
            if waits(state, message) {
                record(vec![Event::MessageUnqueued { message: message.clone() }], Then::Rest)
            } else {
                Plan::Refuse(no_longer(state, message))
            }
        }
        Command::Requeue { message, change } => requeue(state, message, change),
        Command::Resume => resume(state, performing),
        Command::Retry { message } => retry(state, message, performing),
        Command::Answer { inquiry, reply, then } => {
            let mut facts = reply.clone().events(state, inquiry, letter);
            sign(&mut facts, envelope.from.who.as_deref());
            if facts.is_empty() {
                return Plan::Refuse(Refusal::NotAsked { inquiry: inquiry.clone() });
            }
            // A worker goes on with the conversation that it works for.
            let is_worker = state.opened.as_ref().is_some_and(|opened| opened.parent.is_some());
            if *then == AnswerThen::GoOn && performing == Performing::Nobody && !is_worker {
                let broke = state.open_turn().filter(|turn| turn.broke.is_some());
                facts.extend(broke.map(|turn| Event::TurnResumed { turn: turn.id }));
            }
            record(
                facts,
                match then {
                    AnswerThen::GoOn => Then::Run,
                    AnswerThen::Rest => Then::Rest,
                },
            )
        }
        Command::Interrupt => match performing {
            Performing::Now => record(Vec::new(), Then::Interrupt),
            Performing::Nobody => leave_question(state),
        },
        Command::Stop => close(state, TurnEnd::Stopped, performing),
        Command::Discard => close(state, TurnEnd::Discarded, performing),
        Command::Configure { change } => {
            record(vec![Event::ConfigChanged { change: (**change).clone() }], Then::Rest)
        }
        Command::Rename { title } => {
            record(vec![Event::TitleGiven { title: title.clone() }], Then::Rest)
        }
        Command::SuggestTitle { title } => {
            // What a person said counts more, also if it came while the title was thought of.
            let has_title = state.opened.as_ref().is_some_and(|opened| opened.title.is_some());
            let facts = (!has_title).then(|| Event::TitleGiven { title: title.clone() });
            record(facts.into_iter().collect(), Then::Rest)
        }
        Command::Shelve { shelf } => {
            record(vec![Event::ConversationShelved { shelf: *shelf }], Then::Rest)
        }
        Command::Rebind { workspace } => rebind(state, workspace, performing),
        Command::Undo { intent, .. } => undo(state, intent.as_deref(), performing),
        Command::Compact { focus } => compact(state, focus.as_deref(), performing),
        Command::Uncompact => uncompact(state, performing),
        Command::StopCompacting => {
            compacting::stopped(state).map_or_else(Plan::Refuse, |it| record(vec![it], Then::Rest))
        }
    }
}

fn record(facts: Vec<Event>, then: Then) -> Plan {
    Plan::Record { leave: Leave::Nothing, facts, then }
}

fn say(
    state: &State,
    (message, parts): (MessageId, Vec<UserPart>),
    on_incomplete: OnIncomplete,
    agent: Option<&str>,
    performing: Performing,
) -> Plan {
    if parts.is_empty() {
        return Plan::Refuse(Refusal::EmptyMessage);
    }
    if knows(state, &message) {
        return record(Vec::new(), Then::Run);
    }
    let open = state.open_turn().map(|turn| turn.id);
    match (open, on_incomplete, performing) {
        (None, _, _) => begin(state, message, parts, agent),
        (Some(_), OnIncomplete::Ask, Performing::Now) => Plan::Refuse(Refusal::Running),
        (Some(_), OnIncomplete::Ask, Performing::Nobody) => Plan::Refuse(Refusal::Incomplete),
        (Some(_), OnIncomplete::Resume, _) => {
            if let Some(full) = queue_full(state, 0) {
                return Plan::Refuse(full);
            }
            let mut facts = vec![Event::MessageQueued { message, parts, place: QueuePlace::Next }];
            facts.extend(grant(state));
            record(facts, Then::Run)
        }
        // A request that is under way would be lost; behind its answer there is room.
        (Some(_), OnIncomplete::Inject, Performing::Now) => {
            queue(state, (message, parts), QueuePlace::Steer)
        }
        (Some(_), OnIncomplete::Inject, Performing::Nobody) => {
            let attempt = Attempt::FIRST;
            record(vec![Event::UserMessage { message, parts, attempt }], Then::Run)
        }
        (Some(_), OnIncomplete::Discard, Performing::Now) => Plan::InterruptFirst,
        (Some(turn), OnIncomplete::Discard, Performing::Nobody) => {
            let ended = Event::TurnEnded { turn, end: TurnEnd::Discarded };
            let begun = begin(state, message, parts, agent);
            let Plan::Record { facts, then, .. } = begun else { return begun };
            let facts = std::iter::once(ended).chain(facts).collect();
            Plan::Record { leave: Leave::Turn(turn), facts, then }
        }
    }
}

/// A turn of its own. A message never overtakes those that wait: then it goes behind them, and they go.
fn begin(state: &State, message: MessageId, parts: Vec<UserPart>, agent: Option<&str>) -> Plan {
    if !state.queue.is_empty() {
        let queued = Event::MessageQueued { message, parts, place: QueuePlace::Next };
        return record(vec![queued, Event::QueueReleased], Then::Run);
    }
    let (turn, agent) = (state.next_turn(), agent.map(ToOwned::to_owned));
    let said = Event::UserMessage { message, parts, attempt: Attempt::FIRST };
    record(vec![Event::TurnStarted { turn, agent }, said], Then::Run)
}

fn queue(state: &State, (message, parts): (MessageId, Vec<UserPart>), place: QueuePlace) -> Plan {
    if parts.is_empty() {
        return Plan::Refuse(Refusal::EmptyMessage);
    }
    // A turn that is open and that nobody performs is not resumed by a message behind it.
    let then = if state.open_turn().is_some() { Then::Rest } else { Then::Run };
    if knows(state, &message) {
        return record(Vec::new(), then);
    }
    if let Some(full) = queue_full(state, 0) {
        return Plan::Refuse(full);
    }
    record(vec![Event::MessageQueued { message, parts, place }], then)
}

/// Why no message more can wait, if `others` are on their way to the queue.
// K58
pub fn queue_full(state: &State, others: usize) -> Option<Refusal> {
    let max = state.config.limits.queue_max;
    let is_full = usize::try_from(max).is_ok_and(|max| max <= state.queue.len() + others);
    (0 < max && is_full).then_some(Refusal::QueueFull { max })
}

fn requeue(state: &State, message: &MessageId, change: &QueueChange) -> Plan {
    if !waits(state, message) {
        return Plan::Refuse(no_longer(state, message));
    }
    let change = match change {
        QueueChange::Parts { parts } => {
            let parts: Vec<_> = parts.iter().filter(|it| it.has_content()).cloned().collect();
            if parts.is_empty() {
                return Plan::Refuse(Refusal::EmptyMessage);
            }
            QueueChange::Parts { parts }
        }
        QueueChange::Place { place: QueuePlace::Steer } if state.open_turn().is_none() => {
            return Plan::Refuse(Refusal::NoOpenTurn);
        }
        // It is there already.
        QueueChange::Before { before } if before == message => {
            return record(Vec::new(), Then::Rest);
        }
        QueueChange::Before { before } if !waits(state, before) => {
            return Plan::Refuse(no_longer(state, before));
        }
        QueueChange::Place { .. } | QueueChange::Before { .. } | QueueChange::Last => {
            change.clone()
        }
    };
    record(vec![Event::MessageRequeued { message: message.clone(), change }], Then::Rest)
}

fn waits(state: &State, message: &MessageId) -> bool {
    state.queue.iter().any(|queued| queued.message == *message)
}

/// Why a message that is to be changed or taken back does not wait.
fn no_longer(state: &State, message: &MessageId) -> Refusal {
    let message = message.clone();
    match said_last(state, &message) {
        Some(_) => Refusal::AlreadyTaken { message },
        None => Refusal::UnknownMessage { message },
    }
}

/// Stops a turn that rests on a question: nobody performs it, and a person does not want to answer.
fn leave_question(state: &State) -> Plan {
    let asks = |turn: &&Turn| turn.broke.is_none() && turn.pending_inquiries().next().is_some();
    match state.open_turn().filter(asks) {
        Some(turn) => {
            let (turn, reason) = (turn.id, BreakReason::Interrupted);
            record(vec![Event::TurnBroke { turn, reason, message: String::new() }], Then::Rest)
        }
        None => Plan::Refuse(Refusal::NotRunning),
    }
}

fn resume(state: &State, performing: Performing) -> Plan {
    match (state.open_turn(), performing) {
        (Some(_), Performing::Now) => record(Vec::new(), Then::Rest),
        (Some(_), Performing::Nobody) => record(grant(state).into_iter().collect(), Then::Run),
        (None, _) if state.queue.is_empty() => Plan::Refuse(Refusal::NoOpenTurn),
        (None, _) => record(vec![Event::QueueReleased], Then::Run),
    }
}

/// Somebody wants the open turn to go on. What a driver gave up on, or would give up on at once, gets
/// fresh allowances; a turn that was merely cut short keeps what it has left.
fn grant(state: &State) -> Option<Event> {
    let turn = state.open_turn()?;
    let spent =
        turn.broke.is_some() || matches!(decide(state, Wish::Proceed), Action::Break { .. });
    spent.then_some(Event::TurnResumed { turn: turn.id })
}

fn retry(state: &State, message: &MessageId, performing: Performing) -> Plan {
    let Some((turn, said)) = said_last(state, message) else {
        return Plan::Refuse(Refusal::UnknownMessage { message: message.clone() });
    };
    // A discarded turn is not shown, so nothing of it would get lost.
    let is_shown = |turn: &Turn| turn.end != Some(TurnEnd::Discarded);
    if state.turns.iter().any(|later| turn.id < later.id && is_shown(later)) {
        return Plan::Refuse(Refusal::OlderTurn { message: message.clone() });
    }
    if performing == Performing::Now {
        return Plan::InterruptFirst;
    }
    let Said { message, attempt, .. } = said;
    // The fold keeps the message's parts; saying it again would be a stray.
    let facts = vec![Event::MessageRetried { message: message.clone(), attempt: attempt.next() }];
    Plan::Record { leave: Leave::Doubts, facts, then: Then::Run }
}

/// A message that was said, with its turn.
fn said_last<'a>(state: &'a State, message: &MessageId) -> Option<(&'a Turn, &'a Said)> {
    state.turns.iter().rev().find_map(|turn| {
        let said = turn.said().find(|said| said.message == *message)?;
        Some((turn, said))
    })
}

fn close(state: &State, end: TurnEnd, performing: Performing) -> Plan {
    match (state.open_turn().map(|turn| turn.id), performing) {
        (None, _) => Plan::Refuse(Refusal::NoOpenTurn),
        (Some(_), Performing::Now) => Plan::InterruptFirst,
        (Some(turn), Performing::Nobody) => {
            let facts = vec![Event::TurnEnded { turn, end }];
            Plan::Record { leave: Leave::Turn(turn), facts, then: Then::Rest }
        }
    }
}

/// A call that was started is settled where it was started: digests and commands belong to a place.
fn rebind(state: &State, workspace: &str, performing: Performing) -> Plan {
    match performing {
        Performing::Now => Plan::Refuse(Refusal::Running),
        Performing::Nobody if is_in_doubt(state) => Plan::Refuse(Refusal::InDoubt),
        Performing::Nobody => {
            record(vec![Event::WorkspaceBound { workspace: workspace.to_owned() }], Then::Rest)
        }
    }
}

/// A file under a call in doubt stays as it is: its content settles the call.
fn undo(state: &State, intent: Option<&UndoIntent>, performing: Performing) -> Plan {
    match (performing, intent) {
        (Performing::Now, _) => Plan::Refuse(Refusal::Running),
        (Performing::Nobody, _) if is_in_doubt(state) => Plan::Refuse(Refusal::InDoubt),
        (Performing::Nobody, None) => Plan::Refuse(Refusal::Impossible {
            message: "nobody has looked at the file of that change".into(),
        }),
        (Performing::Nobody, Some(intent)) => {
            record(vec![Event::UndoStarted { intent: intent.clone() }], Then::Rest)
        }
    }
}

/// A turn that is performed sums up when it can; without one, a driver does, and the turn stays as it is.
fn compact(state: &State, focus: Option<&str>, performing: Performing) -> Plan {
    match (compacting::wanted(state, focus), performing) {
        (Err(refusal), _) => Plan::Refuse(refusal),
        (Ok(wanted), Performing::Now) => record(vec![wanted], Then::Rest),
        (Ok(wanted), Performing::Nobody) => {
            record(compacting::left(state).into_iter().chain([wanted]).collect(), Then::Run)
        }
    }
}

fn uncompact(state: &State, performing: Performing) -> Plan {
    match (compacting::lifted(state), performing) {
        (Ok(lifted), Performing::Nobody) => record(vec![lifted], Then::Rest),
        (Ok(_), Performing::Now) => Plan::Refuse(Refusal::Running),
        (Err(refusal), _) => Plan::Refuse(refusal),
    }
}

/// Whether a call of the open turn was started and has not ended.
fn is_in_doubt(state: &State) -> bool {
    let steps = state.open_turn().into_iter().flat_map(Turn::steps);
    let mut calls = steps.flat_map(|step| &step.calls);
    calls.any(|call| match call.progress {
        Progress::Running(_) | Progress::InDoubt(_) | Progress::Parked(_) => true,
        Progress::Waiting | Progress::Done(_) => false,
    })
}

fn knows(state: &State, message: &MessageId) -> bool {
    waits(state, message) || said_last(state, message).is_some()
}
