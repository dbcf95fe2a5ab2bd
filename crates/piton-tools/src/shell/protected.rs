//! What is said and asked about changes of what programs outside the sandbox obey.
//!
//! They are put back when a call hears of them. The model is told, and a person may say that they were meant.

use std::io;
use std::path::{Path, PathBuf};

use piton_core::event::Shape;
use piton_core::question::Question;
use piton_core::summary::{without_middle, written_out};

use self::wording::{Altered, Became, Wording};
use crate::contract::{Finished, Job, Response, blocking};
use crate::supervise::record::change::{Change, Decision, Kind};
use crate::supervise::record::guard::{self, PutBack};
use crate::supervise::{Attached, End, Story, Why};

mod wording;

/// The name of the question.
const QUESTION: &str = "protected";
/// Its answers.
const LEAVE: &str = "leave it as it was";
const APPLY: &str = "make the change";
/// Longest name of a place, in characters.
const NAME_CHARS_MAX: usize = 200;
/// How a note says that nothing is left of a change.
const PUT_BACK: &str = "that was put back";
/// Most places that are named in a note.
const PLACES_MAX: usize = 10;

/// Whether a person may have something to say about a command that has ended.
pub(super) fn is_open(story: &Story) -> bool {
    story.ended.is_some() && !story.changes.is_empty() && story.decided.is_none()
}

/// Asks about the changes of a command, and does as a person says. Where nobody is, they stay put back.
///
/// `tell` says how the command ended, with what was decided.
pub(super) async fn consult(
    directory: PathBuf,
    job: &Job,
    ended: Finished,
    tell: impl FnOnce(&Attached, &End, &Story) -> io::Result<Finished> + Send + 'static,
) -> Finished {
    let Some(told) = ask(&directory, job, QUESTION.to_owned()).await else { return ended };
    let decided = blocking::whole(move || {
        let decided = guard::decide(&directory, told.wanted, told.seen).and_then(|_| {
            let attached = Attached::open(&directory)?;
            let (story, _) = attached.peek()?;
            let told = story.ended.map(|status| tell(&attached, &End::Ended(status), &story));
            told.transpose()
        });
        Ok(decided.unwrap_or_else(|error| {
            Some(Finished::failed(format!("the change could not be made: {error}")))
        }))
    });
    decided.await.ok().flatten().unwrap_or(ended)
}

/// The same for one that an earlier call has told of.
pub(super) async fn consult_late(directory: PathBuf, job: &Job) {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(Told { wanted, seen }) = ask(&directory, job, format!("{QUESTION}-{name}")).await {
        // What cannot be decided now is asked again.
        drop(blocking::whole(move || Ok(guard::decide(&directory, wanted, seen).ok())).await);
    }
}

/// What a person has said about the changes of a command.
struct Told {
    wanted: bool,
    /// How many changes there were when they were asked about. What came later was not meant.
    seen: usize,
}

/// Whether a person wants the changes of a command; `None` if there are none to ask about.
async fn ask(directory: &Path, job: &Job, name: String) -> Option<Told> {
    let directory = directory.to_owned();
    let asked = blocking::whole(move || Ok(question(&directory, name))).await.ok()?;
    let Asked { question, may_apply, seen } = asked?;
    let is_yes = matches!(job.ask(question).await, Response::Given(word) if word == APPLY);
    Some(Told { wanted: is_yes && may_apply, seen })
}

/// What is to be asked about a command.
struct Asked {
    question: Question,
    /// Whether the changes can be made: nobody can mean what was not named.
    may_apply: bool,
    /// How many changes there are.
    seen: usize,
}

/// What is to be asked about a command, if anything.
fn question(directory: &Path, name: String) -> Option<Asked> {
    let (story, _) = Attached::open(directory).ok()?.peek().ok()?;
    let intent = story.intent.as_ref().filter(|_| is_open(&story))?;
    let altered: Vec<_> = last_of_each(&story.changes)
        .map(|change| Altered {
            name: shown(&story, change),
            became: became(directory, change),
            texts: guard::texts(directory, change),
            not_put_back: why_not_put_back(&story, change).map(written_out),
        })
        .collect();
    let Wording { mut text, names_all } = Wording::of(&intent.command, &altered);
    if story.stopped.as_ref().is_some_and(|stop| stop.why == Why::Protected) {
        text.push_str("\nWhat it left running did so again and again, and was stopped.");
    }
    let answers: &[&str] = if names_all { &[LEAVE, APPLY] } else { &[LEAVE] };
    let options = answers.iter().map(|&answer| answer.to_owned()).collect();
    let question = Question::new(name, text).shaped(Shape::Choice { options }).or(LEAVE);
    let (question, seen) = (question.human_only(), story.changes.len());
    Some(Asked { question, may_apply: names_all, seen })
}

/// Of several changes of one place, the last one counts.
fn last_of_each(changes: &[Change]) -> impl Iterator<Item = &Change> {
    let is_last = |(number, change): &(usize, &Change)| {
        changes.iter().skip(number + 1).all(|later| later.place != change.place)
    };
    changes.iter().enumerate().filter(is_last).map(|(_, change)| change)
}

fn became(directory: &Path, change: &Change) -> Became {
    let link = guard::link(directory, change);
    let link = link.map(|target| bounded(&target.display().to_string()));
    match (change.kind, link) {
        (Kind::Made, None) => Became::New,
        (Kind::Changed, None) => Became::Changed,
        (Kind::Made, Some(target)) => Became::NewLink(target),
        (Kind::Changed, Some(target)) => Became::Link(target),
        (Kind::Removed, _) => Became::Removed,
    }
}

/// Why a place is not again what it was, if it is not.
fn why_not_put_back<'a>(story: &'a Story, change: &Change) -> Option<&'a str> {
    let failed = story.not_put_back.iter().rfind(|(place, _)| *place == change.place);
    failed.map(|(_, why)| why.as_str())
}

/// What the model is told.
pub(super) fn notes(story: &Story) -> Vec<String> {
    let mut notes = Vec::new();
    let end = match story.decided {
        None | Some(Decision::Refused) => PUT_BACK,
        Some(Decision::Applied) => "the user has allowed that",
        Some(Decision::Overtaken) => {
            "the user has allowed that, but some of it had been changed again and was left so"
        }
    };
    let is_back = |change: &&Change| why_not_put_back(story, change).is_none();
    let is_said = |change: &&Change| end != PUT_BACK || is_back(change);
    let places: Vec<_> = last_of_each(&story.changes).collect();
    let told = places.iter().copied().filter(is_said).map(|change| shown(story, change));
    notes.extend(changed(told.collect(), end));
    let mut failed: Vec<(String, &str)> = Vec::new();
    for (place, why) in story.not_put_back.iter().rev() {
        let place = in_workspace(story, &place.path());
        if failed.iter().all(|(known, _)| *known != place) {
            failed.push((place, why));
        }
    }
    notes.extend(not_put_back(failed.into_iter().rev().collect()));
    notes
}

/// What the model is told of a program of which nothing is recorded.
pub(crate) fn passing_notes(put_back: &[PutBack]) -> Vec<String> {
    let named = |it: &PutBack| bounded(&it.place.display().to_string());
    let done = put_back.iter().filter(|it| it.done.is_ok()).map(named);
    let mut notes: Vec<_> = changed(done.collect(), PUT_BACK).into_iter().collect();
    let failed = put_back.iter().filter_map(|it| Some((named(it), it.done.as_ref().err()?)));
    let failed: Vec<_> = failed.map(|(place, why)| (place, why.to_string())).collect();
    notes.extend(not_put_back(failed));
    notes
}

/// Places as a list in a sentence, the first of them by name.
pub(crate) fn shown_places(places: &[PathBuf]) -> String {
    listed(places.iter().map(|place| bounded(&place.display().to_string())).collect())
}

fn listed(mut places: Vec<String>) -> String {
    let more = places.len().saturating_sub(PLACES_MAX);
    places.truncate(PLACES_MAX);
    if 0 < more {
        places.push(format!("{more} more"));
    }
    places.join(", ")
}

/// The note on changed places; none if there are none.
fn changed(places: Vec<String>, end: &str) -> Option<String> {
    let places = listed(places);
    let note = format!("[it changed what programs outside the sandbox obey ({places}); {end}]");
    (!places.is_empty()).then_some(note)
}

/// A note for each place that could not be put back, and one for those beyond.
fn not_put_back(failed: Vec<(String, impl AsRef<str>)>) -> Vec<String> {
    let note = |(place, why): &(String, _)| {
        let why = written_out(AsRef::as_ref(why));
        format!("[{place} was changed and could not be put back: {why}]")
    };
    let mut notes: Vec<_> = failed.iter().take(PLACES_MAX).map(note).collect();
    let more = failed.len().saturating_sub(PLACES_MAX);
    if 0 < more {
        notes.push(format!("[{more} more places were changed and could not be put back]"));
    }
    notes
}

/// A changed place as people know it.
fn shown(story: &Story, change: &Change) -> String {
    in_workspace(story, &change.place.path())
}

/// A place as people know it: from the workspace on.
fn in_workspace(story: &Story, place: &Path) -> String {
    let policy = story.intent.as_ref().and_then(|intent| intent.sandbox.as_ref());
    let workspace = policy.and_then(|policy| policy.write.first());
    let short = workspace.and_then(|workspace| place.strip_prefix(workspace).ok());
    bounded(&short.unwrap_or(place).display().to_string())
}

/// A name on one line, with every letter seen.
fn bounded(name: &str) -> String {
    without_middle(&written_out(name), NAME_CHARS_MAX)
}

#[cfg(test)]
mod tests;
