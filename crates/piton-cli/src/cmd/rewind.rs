//! `piton rewind`: a fork in front of a turn, and the files as they were before it, if that is wanted.
//!
//! The conversation itself stays as it is. The fork is the newest one from then on, so the next message goes
//! there.

use std::time::Duration;

use piton::Engine;
use piton_agent::Settings;
use piton_core::id::{ConversationId, TurnId};
use piton_core::summary::shorten;

use super::fork::{Made, find, make};
use super::place::{fork_at, messages, turn_at};
use super::print::discarded;
use super::undo::turn::{self, Done, Wanted};
use crate::flags::{Cut, Place, Rewind};
use crate::output::{Form, Output};
use crate::render::lines::Line;
use crate::render::turn::said;
use crate::render::visible::visible;
use crate::report::{Fault, Report};

/// Longest beginning of a message in the list, in characters.
const WORDS_CHARS_MAX: usize = 60;

/// Goes back, or shows where to.
pub(crate) async fn run(
    flags: &Rewind,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (engine, id) = find(flags.id.as_deref(), settings, output).await?;
    let done = back(&engine, &id, (flags, settings), output).await;
    engine.shutdown(Duration::ZERO).await;
    done
}

async fn back(
    engine: &Engine,
    id: &ConversationId,
    (flags, settings): (&Rewind, &Settings),
    output: &mut Output,
) -> Result<Report, Fault> {
    let form = if flags.json { Form::Json } else { Form::Text };
    let Some(place) = &flags.place else {
        if list(engine, id, form, output).await? {
            output.talk(&format!("hint: to go back in front of one: piton rewind --id {id} TURN"));
        }
        return Ok(Report::ok("done").about(id, None));
    };
    let place = Place::of(place);
    // Before anything is done: a place that is not there has no files either.
    let changed = changed(engine, id, &place).await?;
    if flags.preview {
        changed.show(Wanted::Back, form, output);
        return Ok(Report::ok("done").about(id, None));
    }
    let made @ Made { conversation, told, .. } = &fork(engine, id, &place).await?;
    output.talk(told);
    let mut report = Report::ok("done");
    if flags.files {
        changed.show(Wanted::Back, Form::Text, output);
        let how = (flags.wait, form, settings);
        let left = changed.take_back(Wanted::Back, how, output).await?;
        report = if left == 0 { report } else { turn::left(left) };
    }
    if !flags.json {
        output.data(&format!("{conversation}\n"));
    }
    output.talk(&made.onwards());
    Ok(report.about(conversation, None).kept_in(conversation.clone()))
}

/// What was done from a place on.
pub(crate) async fn changed(
    engine: &Engine,
    id: &ConversationId,
    place: &Place,
) -> Result<Done, Fault> {
    let view = engine.view(id).await?;
    let first = turn_at(&view, place)?;
    Done::of(engine, (id, &view), first, TurnId(u32::MAX)).await
}

/// Forks in front of a place.
pub(crate) async fn fork(
    engine: &Engine,
    id: &ConversationId,
    place: &Place,
) -> Result<Made, Fault> {
    let at = fork_at(engine, id, &Cut::Before(place.clone())).await?;
    Ok(make(engine, id, &at, None).await?)
}

/// Shows the turns with their numbers, the oldest first. Says whether there are any.
pub(crate) async fn list(
    engine: &Engine,
    id: &ConversationId,
    form: Form,
    output: &mut Output,
) -> Result<bool, Fault> {
    let view = engine.view(id).await?;
    let is_any = view.shown().next().is_some();
    if !is_any {
        output.talk(&format!("Conversation {id} has no turn to go back in front of."));
        if let Some(said) = discarded(id, &view) {
            output.talk(&said);
        }
    }
    for turn in view.shown() {
        let message = messages(turn).next();
        let words = message.map(|message| said(&message.parts)).unwrap_or_default();
        let number = turn.head.id.0;
        if form == Form::Json {
            let (conversation, message) = (id.as_str(), message.map(|message| message.id.as_str()));
            output.json(&Line::Turn { conversation, turn: number, message, text: &words });
            continue;
        }
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = shorten(&words, WORDS_CHARS_MAX);
        output.data(&format!("{number:>3}  {}\n", visible(&words)));
    }
    Ok(is_any)
}
