//! Changes of messages that wait. Each is a command: where another process works on the conversation, a
//! letter brings it there.

use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::{Accepted, Command, Conversation, Engine, Envelope, QueueChange, QueuePlace, Verdict};
use piton_agent::Settings;
use piton_core::command::UserPart;
use piton_core::id::{CommandId, MessageId};
use piton_core::summary::shorten;
use piton_core::view::{MessagePart, QueuedView, View};

use super::editor::edited;
use crate::cmd::letter;
use crate::flags::QueueWish;
use crate::output::Output;
use crate::render::turn::said;
use crate::render::visible::visible;
use crate::report::{Fault, LetterFault};

/// What is said where nothing was changed.
const UNCHANGED: &str = "the message stays as it is";
/// Longest text that is shown of a message, in letters.
pub(in crate::cmd) const MESSAGE_LETTERS_MAX: usize = 60;

/// A message that waits, in one line.
pub(in crate::cmd) fn row(number: usize, queued: &QueuedView) -> String {
    let place = match queued.place {
        QueuePlace::Next => "next",
        QueuePlace::Steer => "steer",
    };
    let text = shorten(&said(&queued.parts), MESSAGE_LETTERS_MAX);
    format!("{number:>3}  {place:<5}  {}", visible(&text))
}

/// Lists the messages that wait, for a chat.
pub(in crate::cmd) fn rows(view: &View) -> Vec<String> {
    (1..).zip(&view.queue).map(|(number, queued)| row(number, queued)).collect()
}

/// Refuses words that look like a command which there is not, and says what to type.
pub(in crate::cmd) fn no_message(instead: &str) -> String {
    format!("Not queued: that looks like a command. {instead}; to queue it, say more than that.")
}

/// Asks which message is meant, and shows those that wait.
pub(in crate::cmd) fn which(usage: &str, view: &View) -> String {
    if view.queue.is_empty() {
        return format!("No message waits; {usage} changes one that does.");
    }
    format!("Which one? {usage}\n{}", rows(view).join("\n"))
}

/// Changes a message, and says what became of it.
pub(in crate::cmd) async fn change(
    wish: QueueWish,
    conversation: &Conversation,
    (engine, wait): (&Engine, Duration),
    settings: &Settings,
    output: &mut Output,
) -> Result<String, Fault> {
    let view = engine.view(conversation.id()).await?;
    let mut written = None;
    let (command, told) = match wish {
        QueueWish::List => return Ok(String::new()),
        QueueWish::Rm { numbers } => {
            return take_back(numbers, &view, conversation, (engine, wait), output).await;
        }
        QueueWish::Edit { number, text } => {
            let queued = at(&view, number)?;
            let text = if text.is_empty() {
                let Some(new) = edited(&typed(&queued.parts), settings, output).await? else {
                    return Ok("Nothing was written, so nothing is changed.".into());
                };
                let text = new.text.clone();
                written = Some(new);
                text
            } else {
                text.join(" ")
            };
            let change = QueueChange::Parts { parts: with_files(&text, queued) };
            (requeue(queued, change), format!("Message {number} is changed."))
        }
        QueueWish::Move { number, to } => {
            let queued = at(&view, number)?;
            at(&view, to)?;
            (
                requeue(queued, moved(&view, number, to)),
                format!("Message {number} is number {to} now."),
            )
        }
        QueueWish::Steer { number } => {
            let change = QueueChange::Place { place: QueuePlace::Steer };
            let told = format!("Message {number} goes into the open turn.");
            (requeue(at(&view, number)?, change), told)
        }
        QueueWish::Next { number } => {
            let change = QueueChange::Place { place: QueuePlace::Next };
            let told = format!("Message {number} waits for a turn of its own.");
            (requeue(at(&view, number)?, change), told)
        }
    };
    let done = obeyed(command, conversation, engine, wait).await;
    match (written, &done) {
        (Some(written), Ok(())) => written.remove(),
        // What was written is not lost.
        (Some(written), Err(_)) => {
            output.talk(&format!("What you wrote is in {}.", written.path().display()));
        }
        (None, _) => {}
    }
    done.map(|()| told)
}

/// Takes messages back. Numbers that are not there are found before anything is done.
async fn take_back(
    mut numbers: Vec<usize>,
    view: &View,
    conversation: &Conversation,
    (engine, wait): (&Engine, Duration),
    output: &mut Output,
) -> Result<String, Fault> {
    numbers.sort_unstable();
    numbers.dedup();
    let messages = numbers.iter().map(|number| Ok(at(view, *number)?.id.clone()));
    let messages: Vec<MessageId> = messages.collect::<Result<_, Fault>>()?;
    let mut gone = Vec::new();
    for (number, message) in numbers.iter().zip(messages) {
        let done = obeyed(Command::Unqueue { message }, conversation, engine, wait).await;
        if let Err(fault) = done {
            if !gone.is_empty() {
                output.talk(&taken_back(&gone));
            }
            return Err(fault);
        }
        gone.push(number.to_string());
    }
    Ok(taken_back(&gone))
}

fn taken_back(numbers: &[String]) -> String {
    match numbers {
        [front @ .., last] if !front.is_empty() => {
            format!("Messages {} and {last} are taken back.", front.join(", "))
        }
        numbers => format!("Message {} is taken back.", numbers.concat()),
    }
}

/// Which place a message has behind others; nothing if it is the first.
pub(super) fn place_behind(ahead: usize) -> String {
    let place = ahead + 1;
    let end = match (place % 100, place % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    if ahead == 0 { String::new() } else { format!("{place}{end} in the queue") }
}

fn requeue(queued: &QueuedView, change: QueueChange) -> Command {
    Command::Requeue { message: queued.id.clone(), change }
}

/// The message with a number.
fn at(view: &View, number: usize) -> Result<&QueuedView, Fault> {
    let found = number.checked_sub(1).and_then(|place| view.queue.get(place));
    Ok(found.ok_or(LetterFault::NoSuchNumber { number, count: view.queue.len() })?)
}

/// Where a message goes that is to have another number: named by the message behind it, because numbers
/// move when a message is taken.
fn moved(view: &View, number: usize, to: usize) -> QueueChange {
    let behind = if number < to { to + 1 } else { to };
    match behind.checked_sub(1).and_then(|place| view.queue.get(place)) {
        Some(before) => QueueChange::Before { before: before.id.clone() },
        None => QueueChange::Last,
    }
}

/// What a person typed of a message.
pub(super) fn typed(parts: &[MessagePart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(&**text),
        MessagePart::File { .. } | MessagePart::InlinedFile { .. } | _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A new text in front of the files that a message has.
fn with_files(text: &str, queued: &QueuedView) -> Vec<UserPart> {
    let files = queued.parts.iter().filter_map(|part| match part.clone() {
        MessagePart::File { name, media_type, blob } => {
            Some(UserPart::File { name, media_type, blob })
        }
        MessagePart::InlinedFile { name, media_type, text } => {
            Some(UserPart::InlinedFile { name, media_type, text })
        }
        MessagePart::Text { .. } | _ => None,
    });
    [UserPart::text(text)].into_iter().chain(files).collect()
}

/// Has a command taken, here or by the process at work. A letter that nobody takes in time is taken back.
async fn obeyed(
    command: Command,
    conversation: &Conversation,
    engine: &Engine,
    wait: Duration,
) -> Result<(), Fault> {
    let name = CommandId::from_chance(SystemChance.next());
    let envelope = Envelope::new(name.clone(), command);
    let accepted = conversation.post(envelope).await.map_err(LetterFault::from)?;
    let refused = |refusal| {
        let (what, conversation) = (UNCHANGED, conversation.id().clone());
        Fault::from(LetterFault::Refused { what, refusal, conversation })
    };
    let Accepted::Letter { letter, .. } = &accepted else {
        return accepted.refusal().map_or(Ok(()), |refusal| Err(refused(refusal.clone())));
    };
    let journal = &**engine.journal();
    match letter::verdict(conversation, journal, (&name, letter), wait).await? {
        Some(Verdict::Taken) => Ok(()),
        Some(Verdict::Refused(refusal)) => Err(refused(refusal)),
        None => {
            let holder = letter::holder(conversation, journal).await?;
            Err(LetterFault::NotTaken { holder, what: UNCHANGED }.into())
        }
    }
}
