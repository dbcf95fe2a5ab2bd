//! `piton rewind`: a fork in front of a turn, and the files as they were before it, if that is wanted.
//!
//! The conversation itself stays as it is. The fork is the newest one from then on, so the next message goes
//! there.

use std::time::Duration;

use piton::Engine;
use piton::fork::ForkAt;
use piton::undo::ChangedFile;
use piton_agent::Settings;
use piton_core::id::{ConversationId, TurnId};
use piton_core::summary::shorten;
use piton_core::view::{ItemView, MessageView, TurnView, View};

use super::fork::{Made, find, make, onwards};
use super::undo::turn::{self, Wanted};
use crate::flags::{Rewind, in_front_of};
use crate::output::Output;
use crate::render::turn::said;
use crate::render::visible::visible;
use crate::report::{Fault, ForkFault, Report};

/// Longest beginning of a message in the list, in characters.
const WORDS_CHARS_MAX: usize = 60;

/// Where somebody went back to.
#[derive(Debug)]
pub(crate) struct Gone {
    /// The fork.
    pub(crate) conversation: ConversationId,
    /// How many files stay as they are although they were to be taken back.
    pub(crate) left: usize,
}

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
    let Some(place) = &flags.place else {
        list(engine, id, output).await?;
        output.talk(&format!("hint: to go back in front of one: piton rewind --id {id} TURN"));
        return Ok(Report::ok("done"));
    };
    if flags.preview {
        let (files, _) = changed(engine, id, place).await?;
        turn::preview(&files, Wanted::Back, output);
        return Ok(Report::ok("done"));
    }
    let Gone { conversation, left } = go(engine, id, place, (flags, settings), output).await?;
    if !flags.json {
        output.data(&format!("{conversation}\n"));
    }
    output.talk(&onwards(&conversation));
    let report = if left == 0 { Report::ok("done") } else { turn::left(left) };
    Ok(report.about(&conversation, None).kept_in(conversation))
}

/// The files that were changed from a place on, and the place.
async fn changed(
    engine: &Engine,
    id: &ConversationId,
    place: &str,
) -> Result<(Vec<ChangedFile>, ForkAt), Fault> {
    let (at, view) = (in_front_of(place), engine.view(id).await?);
    let nowhere = || ForkFault::NoPlace { typed: place.to_owned() };
    let first = first_turn(&view, &at).ok_or_else(nowhere)?;
    Ok((engine.changes_of_turns(id, first, TurnId(u32::MAX)).await?, at))
}

/// Forks in front of a place, and takes back what was changed in files since, if that is wanted.
pub(crate) async fn go(
    engine: &Engine,
    id: &ConversationId,
    place: &str,
    (flags, settings): (&Rewind, &Settings),
    output: &mut Output,
) -> Result<Gone, Fault> {
    let (files, at) = changed(engine, id, place).await?;
    let Made { conversation, told } = make(engine, id, &at, None).await?;
    output.talk(&told);
    if !flags.files {
        return Ok(Gone { conversation, left: 0 });
    }
    turn::preview(&files, Wanted::Back, output);
    let left = turn::take_back(&files, Wanted::Back, (flags.wait, settings), output).await?;
    Ok(Gone { conversation, left })
}

/// The first turn that is not shared.
fn first_turn(view: &View, at: &ForkAt) -> Option<TurnId> {
    match at {
        ForkAt::BeforeTurn(turn) => {
            view.turns.iter().map(|it| it.head.id).find(|known| known == turn)
        }
        ForkAt::Before(message) => {
            let has = |turn: &&TurnView| messages(turn).any(|said| said.id == *message);
            view.turns.iter().find(has).map(|turn| turn.head.id)
        }
        ForkAt::End | ForkAt::Turn(_) | ForkAt::Behind(_) | ForkAt::Entry(_) | _ => None,
    }
}

fn messages(turn: &TurnView) -> impl Iterator<Item = &MessageView> {
    turn.items.iter().filter_map(|item| match item {
        ItemView::Message(message) => Some(message),
        ItemView::Step(_) | _ => None,
    })
}

/// Shows the turns with their numbers, the oldest first.
pub(crate) async fn list(
    engine: &Engine,
    id: &ConversationId,
    output: &mut Output,
) -> Result<(), Fault> {
    let view = engine.view(id).await?;
    for turn in view.shown() {
        let words = messages(turn).next().map(|message| said(&message.parts)).unwrap_or_default();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = shorten(&words, WORDS_CHARS_MAX);
        output.data(&format!("{:>3}  {}\n", turn.head.id.0, visible(&words)));
    }
    Ok(())
}
