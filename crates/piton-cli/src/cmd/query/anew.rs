//! A message that is changed and sent again. What is stored stays as it is: a fork is cut in front of the
//! message, and what is written now is a new message there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use piton::{Engine, ForkAt};
use piton_agent::{Settings, mentions};
use piton_core::id::{ConversationId, MessageId};
use piton_core::summary::shorten;
use piton_core::view::{ItemView, MessagePart, MessageView, TurnView, View};

use super::again;
use super::attach::Attached;
use super::editor::{Written, edited};
use super::requeue::typed;
use super::text::sendable;
use crate::cmd::undo::turn::Done;
use crate::cmd::{fork, place};
use crate::output::Output;
use crate::render::attempt;
use crate::report::{Fault, ForkFault, Report};

/// What is said where nobody has said anything yet.
const NOTHING: &str = "There is no message to change.";
/// Most effects that are named.
const EFFECTS_MAX: usize = 10;
/// Longest title that is made of a message, in characters.
const TITLE_CHARS_MAX: usize = 60;

/// A message that takes the place of another one.
#[derive(Debug)]
pub(in crate::cmd) struct Anew {
    /// The fork that it goes to.
    pub(in crate::cmd) conversation: ConversationId,
    /// What is said.
    pub(in crate::cmd) text: String,
    pub(in crate::cmd) along: Along,
}

/// What goes along with a message and was not typed now.
#[derive(Debug, Default)]
pub(in crate::cmd) struct Along {
    /// Files that the message had before.
    pub(in crate::cmd) files: Vec<Attached>,
    /// The file in which the text was written.
    pub(super) written: Option<PathBuf>,
}

/// Which message is changed, and what it says from now on.
#[derive(Clone, Copy, Debug)]
pub(in crate::cmd) struct Change<'a> {
    /// The beginning of its id; none is the newest one.
    pub(in crate::cmd) message: Option<&'a str>,
    /// None is asked for in an editor.
    pub(in crate::cmd) text: Option<&'a str>,
}

/// Makes the fork. If nothing is to be sent, the report says why.
pub(in crate::cmd) async fn prepare(
    change: Change<'_>,
    id: Option<&str>,
    settings: &Settings,
    output: &mut Output,
) -> Result<Result<Anew, Report>, Fault> {
    let (engine, id) = fork::find(id, settings, output).await?;
    let made = make(&engine, &id, change, settings, output).await;
    engine.shutdown(Duration::ZERO).await;
    made
}

/// What a person typed of the newest message of a conversation.
pub(in crate::cmd) fn last_text(view: &View) -> Option<String> {
    meant(view, None).ok()?.map(|(_, said)| typed(&said.parts))
}

async fn make(
    engine: &Engine,
    id: &ConversationId,
    Change { message, text }: Change<'_>,
    settings: &Settings,
    output: &mut Output,
) -> Result<Result<Anew, Report>, Fault> {
    let view = engine.view(id).await?;
    let Some((at, old)) = meant(&view, message)? else {
        return Ok(Err(Report::nothing(NOTHING)));
    };
    let before = typed(&old.parts);
    let (text, written) = match text {
        Some(text) => (sendable(text.to_owned())?, None),
        None => match rewritten(&before, settings, output).await? {
            Ok(new) => (new.text, Some(new.path)),
            Err(nothing) => return Ok(Err(nothing)),
        },
    };
    let is_first = at == (0, 0) && view.head.title == title(&before);
    let title = is_first.then(|| title(&text));
    let along = async {
        let files = files(old, engine, (&before, &text), settings.directory()?).await?;
        let made = fork::make(engine, id, &ForkAt::Before(old.id.clone()), title).await?;
        Ok::<_, Fault>((files, made.conversation))
    };
    let (files, conversation) = match along.await {
        Ok(made) => made,
        Err(fault) => {
            if let Some(path) = written {
                output.talk(&format!("What you wrote is in {}.", path.display()));
            }
            return Err(fault);
        }
    };
    output.talk(&format!(
        "Message {} stays in conversation {id}. What you changed goes to a fork in front of it: {conversation}",
        old.id
    ));
    tell(engine, (id, &view), at, output).await?;
    Ok(Ok(Anew { conversation, text, along: Along { files, written } }))
}

/// The text of a message, changed in an editor. If it was not, the report says so.
async fn rewritten(
    before: &str,
    settings: &Settings,
    output: &mut Output,
) -> Result<Result<Written, Report>, Fault> {
    let Some(new) = edited(before, settings, output).await? else {
        return Ok(Err(Report::nothing("Nothing was written, so nothing is sent.")));
    };
    if new.text != before {
        return Ok(Ok(new));
    }
    new.remove();
    let same = Report::nothing("Nothing was changed, so nothing is sent.");
    Ok(Err(same.with_hint("to try it as it is: piton retry".into())))
}

/// A message, and its place: the turn among all turns, and the item in it.
type Placed<'a> = ((usize, usize), &'a MessageView);

/// The message that is meant.
fn meant<'a>(view: &'a View, typed: Option<&str>) -> Result<Option<Placed<'a>>, ForkFault> {
    let all = || {
        view.turns.iter().enumerate().flat_map(|(turn, it)| {
            it.items.iter().enumerate().filter_map(move |(item, it)| match it {
                ItemView::Message(said) => Some(((turn, item), said)),
                ItemView::Step(_) | _ => None,
            })
        })
    };
    let by_name = |name: MessageId| all().find(|(_, said)| said.id == name);
    let Some(typed) = typed else {
        return Ok(again::newest(view).and_then(by_name).or_else(|| all().last()));
    };
    let found = by_name(place::message(view, typed));
    found.map(Some).ok_or_else(|| ForkFault::NoPlace { typed: typed.to_owned() })
}

/// What a list calls a conversation that begins with a text.
fn title(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    shorten(line, TITLE_CHARS_MAX)
}

/// The files of a message that still belong to it. One that the new text mentions is read anew, and one that
/// only the old text mentioned goes.
async fn files(
    old: &MessageView,
    engine: &Engine,
    (before, now): (&str, &str),
    here: &Path,
) -> Result<Vec<Attached>, Fault> {
    let read_anew: Vec<String> =
        mentions::mentioned(now, here).iter().map(|path| mentions::name(path)).collect();
    let mentions = |text: &str, name: &str| text.contains(&format!("@{name}"));
    let mut files = Vec::new();
    for part in &old.parts {
        let (name, content) = match part {
            MessagePart::File { name, blob, .. } => {
                (name, engine.journal().blob(&blob.digest).await?)
            }
            MessagePart::InlinedFile { name, text, .. } => (name, text.as_bytes().to_vec()),
            MessagePart::Text { .. } | _ => continue,
        };
        // The list of a directory has a slash behind its name.
        let plain = name.trim_end_matches('/');
        let goes = mentions(before, plain) && !mentions(now, plain);
        if !goes && !read_anew.iter().any(|it| it == plain) {
            files.push(Attached::bytes(name.clone(), content));
        }
    }
    Ok(files)
}

/// Says what was done from the message on, which stays done, and who goes on with the other conversation.
async fn tell(
    engine: &Engine,
    (id, view): (&ConversationId, &View),
    (turn, item): (usize, usize),
    output: &mut Output,
) -> Result<(), Fault> {
    if let Some(holder) = engine.journal().status(id).await?.and_then(|listed| listed.holder) {
        output.talk(&format!(
            "Process {} goes on with conversation {id}; to stop its turn: piton stop {id}",
            holder.pid
        ));
    }
    let Some(first) = view.turns.get(turn) else { return Ok(()) };
    let tried = attempt::attempts(first, item);
    let later = view.turns.iter().skip(turn + 1).flat_map(TurnView::calls);
    let effects: Vec<String> = tried
        .iter()
        .flat_map(|tried| tried.effects())
        .chain(later.filter(|call| attempt::stands(call)))
        .map(attempt::effect)
        .collect();
    if effects.is_empty() {
        return Ok(());
    }
    output.talk("What was done behind it is not undone:");
    for effect in effects.iter().take(EFFECTS_MAX) {
        output.talk(&format!("  {effect}"));
    }
    if EFFECTS_MAX < effects.len() {
        output.talk(&format!("  and {} more", effects.len() - EFFECTS_MAX));
    }
    let number = first.head.id;
    if !Done::of(engine, (id, view), number, number).await?.files.is_empty() {
        let (number, id) = (number.0, id.as_str());
        output.talk(&format!(
            "hint: to take back changes of files: piton undo --turn {number} --id {id}"
        ));
    }
    Ok(())
}
