//! What must hold after any number of crashes, judged from outside.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::answer::EMPTY_NOTE;
use piton_core::decide::calls::{CONFIRMED_TEXT, UNKNOWN_TEXT};
use piton_core::event::{EffectClass, Event, ToolOutput, UserPart};
use piton_core::id::{CallId, ConversationId};
use piton_core::permit::is_hooked;
use piton_core::state::State;
use piton_core::transcript::{Assistant, Message, Transcript};
use piton_core::view::Status;
use piton_store::{Journal, Record};
use piton_tools::WITHHELD_TEXT;

use crate::world::{Effect, Place, SECRET, World};

/// The journals of a conversation and of its workers.
pub(crate) type Records = BTreeMap<ConversationId, Vec<Record>>;

/// The end of a run: what the journal means, and what the world looks like.
#[derive(Clone, Debug)]
pub struct Final {
    /// The folded journal.
    pub state: State,
    /// The folded journals of its workers.
    pub workers: BTreeMap<ConversationId, State>,
    /// The world.
    pub world: World,
    /// The bodies of all requests, where there are bodies.
    pub bodies: Vec<String>,
}

/// Compares a disturbed run with the undisturbed one. Every sentence is a violation.
pub fn judge(reference: &Final, disturbed: &Final) -> Vec<String> {
    let mut found = disturbed.world.problems();
    found.extend(done_twice(&disturbed.world.ledger()));
    found.extend(unheeded(disturbed));
    found.extend(told_twice(&disturbed.world.told()));
    found.extend(never_done(&reference.world.ledger(), &disturbed.world.ledger()));
    found.extend(different_end(reference, disturbed));
    found.extend(different_workers(reference, disturbed));
    found.extend(unknown_requests(reference, disturbed));
    found.extend(unknown_bodies(reference, disturbed));
    let requests = disturbed.world.requests();
    if requests.iter().any(|request| tells(request.content.as_bytes())) {
        found.push("the model was told a secret".into());
    }
    found
}

/// Nothing that is kept tells a secret (J65): no entry, and nothing that an entry refers to.
pub(crate) async fn told(journal: &dyn Journal, records: &Records) -> Vec<String> {
    let mut found = Vec::new();
    for record in records.values().flatten() {
        if tells(record.body.as_bytes()) {
            found.push(format!("entry {} tells a secret", record.seq));
        }
        let event = Event::from_stored(record.format, &record.body);
        let Event::ToolFinished { output: ToolOutput { blob: Some(blob), .. }, .. } = event else {
            continue;
        };
        if journal.blob(&blob.digest).await.is_ok_and(|content| tells(&content)) {
            found.push(format!("entry {} refers to a secret", record.seq));
        }
    }
    found
}

/// However a secret is written, its letters stay what they are.
fn tells(bytes: &[u8]) -> bool {
    let letters = SECRET.split(|letter: char| !letter.is_ascii_alphanumeric()).next();
    let letters = letters.unwrap_or(SECRET).as_bytes();
    bytes.windows(letters.len()).any(|here| here == letters)
}

/// The same for every journal; and a worker that has ended is never touched again (M16).
pub(crate) fn lost_anywhere(before: &Records, after: &Records) -> Vec<String> {
    let mut found = Vec::new();
    for (id, before) in before {
        let after = after.get(id).map_or(&[][..], Vec::as_slice);
        found.extend(lost(before, after).into_iter().map(|what| format!("{id}: {what}")));
        let has_ended = before.last().is_some_and(|last| {
            matches!(Event::from_stored(last.format, &last.body), Event::TurnEnded { .. })
        });
        if id.as_worker().is_some() && has_ended && before.len() < after.len() {
            found.push(format!("{id} had ended and was worked on again"));
        }
    }
    found
}

/// Nothing that was durable before a crash may be gone or changed after it.
pub fn lost(before: &[Record], after: &[Record]) -> Vec<String> {
    before
        .iter()
        .enumerate()
        .filter(|(place, record)| after.get(*place) != Some(record))
        .map(|(_, record)| format!("entry {} was durable and is lost", record.seq))
        .collect()
}

/// A call takes effect at most once, unless repeating it is harmless by its class.
pub(crate) fn done_twice(ledger: &[Effect]) -> Vec<String> {
    let mut counts: BTreeMap<(&ConversationId, CallId), u32> = BTreeMap::new();
    for effect in ledger {
        match effect.class {
            EffectClass::ReadOnly | EffectClass::Idempotent => {}
            EffectClass::Digested
            | EffectClass::Supervised
            | EffectClass::Child
            | EffectClass::Once => {
                *counts.entry((&effect.conversation, effect.call)).or_default() += 1;
            }
        }
    }
    let twice = counts.into_iter().filter(|(_, count)| 1 < *count);
    let told = |((conversation, call), count)| {
        format!("call {call} of {conversation} took effect {count} times")
    };
    twice.map(told).collect()
}

/// Of the calls that hooks look at, none took effect that they were not shown, and none that they denied.
fn unheeded(disturbed: &Final) -> Vec<String> {
    let (permissions, shown) = (&disturbed.state.config.permissions, disturbed.world.shown());
    let ledger = disturbed.world.ledger().into_iter();
    let looked_at = ledger.filter(|effect| is_hooked(permissions, &effect.tool));
    let wrong = looked_at.filter_map(|Effect { conversation, call, .. }| {
        match shown.get(&(conversation.clone(), call)) {
            Some(false) => None,
            Some(true) => Some(format!("call {call} of {conversation} ran, and a hook denied it")),
            None => Some(format!("call {call} of {conversation} ran, and no hook was asked")),
        }
    });
    wrong.collect()
}

/// Hooks hear of the end of a call at most once.
fn told_twice(told: &[Place]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let again = told.iter().filter(|place| !known.insert(*place));
    again
        .map(|(conversation, call)| format!("hooks heard of {call} of {conversation} again"))
        .collect()
}

/// A call that takes effect does so in every run, unless it may be given up as unknown.
fn never_done(reference: &[Effect], disturbed: &[Effect]) -> Vec<String> {
    let mut found = Vec::new();
    for wanted in reference.iter().filter(|effect| effect.class != EffectClass::Once) {
        if !disturbed.contains(wanted) {
            found
                .push(format!("call {} of {} never took effect", wanted.call, wanted.conversation));
        }
    }
    found
}

fn different_end(reference: &Final, disturbed: &Final) -> Vec<String> {
    let mut found = Vec::new();
    if Status::of(&disturbed.state) != Status::Idle {
        found.push(format!("the turn is not over: {}", Status::of(&disturbed.state)));
    }
    if reference.world.files() != disturbed.world.files() {
        found.push(format!("files differ: {:?}", disturbed.world.files()));
    }
    found.extend(different_talk(&reference.state, &disturbed.state));
    found
}

/// The same workers, each with the same end.
fn different_workers(reference: &Final, disturbed: &Final) -> Vec<String> {
    let mut found = Vec::new();
    for id in disturbed.workers.keys().filter(|id| !reference.workers.contains_key(*id)) {
        found.push(format!("{id} is a worker too many"));
    }
    for (id, wanted) in &reference.workers {
        let Some(got) = disturbed.workers.get(id) else {
            found.push(format!("{id} is a worker too few"));
            continue;
        };
        if Status::of(wanted) != Status::of(got) {
            found.push(format!("{id} is left {}, not {}", Status::of(got), Status::of(wanted)));
        }
        found.extend(different_talk(wanted, got).into_iter().map(|what| format!("{id}: {what}")));
    }
    found
}

fn different_talk(reference: &State, disturbed: &State) -> Vec<String> {
    let mut found = Vec::new();
    if disturbed.strays != 0 {
        found.push(format!("{} strays in the journal", disturbed.strays));
    }
    let (wanted, got) = (Transcript::from(reference), Transcript::from(disturbed));
    let (wanted, got) = (comparable(&wanted), comparable(&got));
    if wanted.len() != got.len() {
        found.push(format!("{} messages, not {}", got.len(), wanted.len()));
    }
    for (place, (wanted, got)) in wanted.iter().zip(&got).enumerate() {
        if !same(wanted, got, disturbed) {
            found.push(format!("message {place} is {got:?}, not {wanted:?}"));
        }
    }
    found
}

/// What is the same in every run. A kill between an empty answer and the next request takes the note that
/// asks again away, because the process that resumes begins anew; and native blocks follow from all that stands
/// before them. That a note stays once it was answered is checked by the model itself.
pub(crate) fn comparable(transcript: &Transcript) -> Vec<Message> {
    let is_note = |message: &Message| match message {
        Message::User(parts) => *parts == [UserPart::text(EMPTY_NOTE)],
        Message::Assistant(_) | Message::Results(_) => false,
    };
    let kept = transcript.messages().iter().filter(|message| !is_note(message));
    kept.map(|message| match message {
        Message::Assistant(assistant) => {
            Message::Assistant(Assistant { native: None, ..assistant.clone() })
        }
        Message::User(_) | Message::Results(_) => message.clone(),
    })
    .collect()
}

/// Messages are equal, except that a call which nobody could settle may say so.
fn same(wanted: &Message, got: &Message, state: &State) -> bool {
    let (Message::Results(wanted), Message::Results(got)) = (wanted, got) else {
        return wanted == got;
    };
    wanted.len() == got.len()
        && wanted.iter().zip(got).all(|(wanted, got)| {
            let once =
                state.config.tool(&got.name).is_some_and(|it| it.effect == EffectClass::Once);
            let settled = (once && is_settlement(&got.text)) || is_withheld(&got.text);
            wanted == got || (wanted.call == got.call && settled)
        })
}

/// Whether a result is not kept, because nobody knows any more what must not be in it.
fn is_withheld(text: &str) -> bool {
    text.contains(WITHHELD_TEXT)
}

/// Whether a result is what a call in doubt gets.
fn is_settlement(text: &str) -> bool {
    text.contains(UNKNOWN_TEXT) || text.contains(CONFIRMED_TEXT)
}

/// A resumed request is the same as one that the undisturbed run sent at that place.
fn unknown_requests(reference: &Final, disturbed: &Final) -> Vec<String> {
    let known: BTreeSet<(usize, String)> = reference
        .world
        .requests()
        .into_iter()
        .map(|request| (request.place, request.content))
        .collect();
    let requests = disturbed.world.requests().into_iter();
    requests
        .filter(|request| !is_settlement(&request.content) && !is_withheld(&request.content))
        .filter(|request| !known.contains(&(request.place, request.content.clone())))
        .map(|request| format!("request {} is new: {}", request.place, request.content))
        .collect()
}

/// The same for the bytes that went over a wire.
fn unknown_bodies(reference: &Final, disturbed: &Final) -> Vec<String> {
    let known: BTreeSet<&String> = reference.bodies.iter().collect();
    let bodies = disturbed.bodies.iter();
    let bodies = bodies.filter(|body| !is_settlement(body) && !is_withheld(body));
    let new = bodies.filter(|body| !known.contains(body));
    new.map(|body| format!("these bytes are new: {body}")).collect()
}

#[cfg(test)]
mod tests {
    use piton_core::event::{EVENT_FORMAT, Outcome};
    use piton_core::id::{Seq, Timestamp, TurnId};
    use piton_store::MemoryJournal;

    use super::*;
    use crate::world::SeenRequest;

    /// The end of a call with a text, and perhaps with more in a blob, as a store keeps it.
    async fn kept(journal: &MemoryJournal, text: &str, full: Option<&str>) -> Records {
        let mut output = ToolOutput::text(text.to_owned());
        if let Some(full) = full {
            output.blob = Some(journal.put_blob(full.as_bytes()).await.unwrap());
        }
        let call = CallId { turn: TurnId(1), step: 1, index: 0 };
        let body = Event::ToolFinished { call, outcome: Outcome::Ok, output }.to_stored();
        let record = Record { seq: Seq(7), at: Timestamp(0), format: EVENT_FORMAT, body };
        [(ConversationId::new("c"), vec![record])].into()
    }

    // J65: a search that finds nothing has shown nothing before it was seen to find something.
    #[tokio::test]
    async fn a_secret_is_found_wherever_it_is_kept() {
        let journal = MemoryJournal::default();
        let (quoting, escaped) = (format!("with {SECRET}"), format!("all of {SECRET:?}"));
        let records = kept(&journal, "done", Some("all of it")).await;
        assert_eq!(told(&journal, &records).await, [""; 0]);
        let records = kept(&journal, &quoting, None).await;
        assert_eq!(told(&journal, &records).await, ["entry 7 tells a secret"]);
        let records = kept(&journal, "done", Some(&escaped)).await;
        assert_eq!(told(&journal, &records).await, ["entry 7 refers to a secret"]);
    }

    #[test]
    fn a_secret_is_found_in_what_the_model_was_sent() {
        let found = |content: &str| {
            let (state, world) = (State::default(), World::default());
            world.see(SeenRequest { place: 0, content: content.into() });
            let end = Final { state, workers: BTreeMap::new(), world, bodies: Vec::new() };
            judge(&end, &end).contains(&"the model was told a secret".to_owned())
        };
        assert!(found(&format!("{SECRET:?}")) && !found("nothing"));
    }
}
