//! What is said and asked about changes of what programs outside the sandbox obey.
//!
//! They are put back when a call hears of them. The model is told, and a person may say that they were meant.

use std::io;
use std::path::{Path, PathBuf};

use piton_core::event::Shape;
use piton_core::question::Question;
use similar::TextDiff;

use crate::contract::{Finished, Job, Response, blocking, excerpt};
use crate::supervise::record::change::{Change, Decision, Kind};
use crate::supervise::record::guard::{self, PutBack};
use crate::supervise::{Attached, End, Story};

/// The name of the question.
const QUESTION: &str = "protected";
/// Its answers.
const LEAVE: &str = "leave it as it was";
const APPLY: &str = "make the change";
/// How much of the command is quoted in it, in bytes.
const COMMAND_BYTES_MAX: usize = 300;
/// How much of all differences is shown in it, in bytes.
const DIFFERENCES_BYTES_MAX: usize = 2_000;
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
    let Some(wanted) = ask(&directory, job, QUESTION.to_owned()).await else { return ended };
    let decided = blocking::whole(move || {
        let decided = guard::decide(&directory, wanted).and_then(|_| {
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
    if let Some(wanted) = ask(&directory, job, format!("{QUESTION}-{name}")).await {
        // What cannot be decided now is asked again.
        drop(blocking::whole(move || Ok(guard::decide(&directory, wanted).ok())).await);
    }
}

/// Whether a person wants the changes of a command; `None` if there are none to ask about.
async fn ask(directory: &Path, job: &Job, name: String) -> Option<bool> {
    let directory = directory.to_owned();
    let question = blocking::whole(move || Ok(question(&directory, name))).await.ok()??;
    Some(matches!(job.ask(question).await, Response::Given(word) if word == APPLY))
}

/// What is to be asked about a command, if anything.
fn question(directory: &Path, name: String) -> Option<Question> {
    let (story, _) = Attached::open(directory).ok()?.peek().ok()?;
    let intent = story.intent.as_ref().filter(|_| is_open(&story))?;
    let mut differences = String::new();
    for change in &story.changes {
        let place = shown(&story, change);
        let what = match change.kind {
            Kind::Made => "is new",
            Kind::Changed => "was changed",
            Kind::Removed => "was removed",
        };
        differences.extend([place.as_str(), " ", what, "\n"]);
        if let Some((before, after)) = guard::texts(directory, change) {
            let lines = TextDiff::from_lines(&before, &after);
            differences.push_str(&lines.unified_diff().context_radius(1).to_string());
        }
    }
    let command = plain(excerpt::head(&intent.command, COMMAND_BYTES_MAX));
    let differences = plain(excerpt::head(&differences, DIFFERENCES_BYTES_MAX));
    let text = format!(
        "A command in the sandbox changed what programs outside obey. It was put back; you may \
         have changed it yourself meanwhile.\nCommand: {command}\n{differences}"
    );
    let options = vec![LEAVE.to_owned(), APPLY.to_owned()];
    Some(Question::new(name, text).shaped(Shape::Choice { options }).or(LEAVE).human_only())
}

/// Text from a stranger, without what a terminal would obey.
fn plain(text: &str) -> String {
    let cover = |letter: char| if letter.is_control() && letter != '\n' { ' ' } else { letter };
    text.trim_end().chars().map(cover).collect()
}

/// What the model is told.
pub(super) fn notes(story: &Story) -> Vec<String> {
    let mut notes = Vec::new();
    if !story.changes.is_empty() {
        let places = story.changes.iter().map(|change| shown(story, change)).collect();
        let end = match story.decided {
            None | Some(Decision::Refused) => "that was put back",
            Some(Decision::Applied) => "the user has allowed that",
            Some(Decision::Overtaken) => {
                "the user has allowed that, but some of it had been changed again and was left so"
            }
        };
        notes.push(changed(places, end));
    }
    for (place, why) in story.not_put_back.iter().take(PLACES_MAX) {
        notes.push(not_put_back(&place.path(), why));
    }
    notes
}

/// What the model is told of a command that ended with the agent.
pub(super) fn passing_notes(put_back: &[PutBack]) -> Vec<String> {
    let places: Vec<_> = put_back.iter().map(|it| plain(&it.place.display().to_string())).collect();
    let mut notes = Vec::new();
    if !places.is_empty() {
        notes.push(changed(places, "that was put back"));
    }
    let failed = put_back.iter().filter_map(|it| Some((&it.place, it.done.as_ref().err()?)));
    notes.extend(failed.take(PLACES_MAX).map(|(place, why)| not_put_back(place, &why.to_string())));
    notes
}

fn changed(mut places: Vec<String>, end: &str) -> String {
    places.dedup();
    let more = places.len().saturating_sub(PLACES_MAX);
    places.truncate(PLACES_MAX);
    if 0 < more {
        places.push(format!("{more} more"));
    }
    let places = places.join(", ");
    format!("[it changed what programs outside the sandbox obey ({places}); {end}]")
}

fn not_put_back(place: &Path, why: &str) -> String {
    let place = plain(&place.display().to_string());
    format!("[{place} was changed and could not be put back: {why}]")
}

/// A place as people know it: from the workspace on.
fn shown(story: &Story, change: &Change) -> String {
    let place = change.place.path();
    let policy = story.intent.as_ref().and_then(|intent| intent.sandbox.as_ref());
    let workspace = policy.and_then(|policy| policy.write.first());
    let short = workspace.and_then(|workspace| place.strip_prefix(workspace).ok());
    plain(&short.map_or_else(|| place.clone(), PathBuf::from).display().to_string())
}
