//! `piton draft`: messages that were typed in this directory and not sent.

use std::time::UNIX_EPOCH;

use piton::clock::{Clock as _, SystemClock};
use piton_agent::Settings;
use piton_core::id::{ConversationId, Timestamp};

use super::query::edited;
use crate::drafts::{BadDraft, Draft, Drafts, only_unsent};
use crate::flags::{DraftWish, DraftsFlags};
use crate::output::Output;
use crate::render::age::age;
use crate::render::lines::Line;
use crate::render::visible::visible;
use crate::report::{Fault, Report};
use crate::store;

/// What is kept, with what cannot be read.
struct Kept {
    unsent: Vec<Draft>,
    bad: Vec<BadDraft>,
}

/// Lists them, shows one, changes one or forgets one.
pub(crate) async fn run(
    flags: &DraftsFlags,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let mut kept = find(settings, output).await?;
    match flags.wish() {
        None => list(&kept, flags.json, output),
        Some(DraftWish::Show { name }) => {
            let draft = kept.take(name.as_deref())?;
            if flags.json {
                output.json(&line(&draft));
            } else {
                output.document(&format!("{}\n", draft.text.trim_end_matches('\n')));
                tell_beside(&draft, output);
            }
        }
        Some(DraftWish::Edit { name }) => {
            return edit(kept.take(name.as_deref())?, settings, output).await;
        }
        Some(DraftWish::Drop { name }) => return kept.forget(name.as_deref(), output),
    }
    Ok(Report::ok("done"))
}

async fn find(settings: &Settings, output: &mut Output) -> Result<Kept, Fault> {
    let drafts = Drafts::new(&settings.home, &settings.found_from_here()?);
    let found = drafts.look();
    let mut unsent = found.unsent;
    if settings.has_database()? {
        unsent = only_unsent(unsent, &*store::open(settings, output)?).await?;
    }
    // Whoever asks is told of all of them, so none needs to be told again.
    let mut bad = drafts.set_aside();
    bad.extend(found.bad.into_iter().map(|bad| bad.clone().set_aside().unwrap_or(bad)));
    Ok(Kept { unsent, bad })
}

fn list(Kept { unsent, bad }: &Kept, json: bool, output: &mut Output) {
    if unsent.is_empty() && !json {
        output.talk("No unsent message is kept for this directory.");
    }
    let now = SystemClock.now();
    for draft in unsent {
        if json {
            output.json(&line(draft));
            continue;
        }
        let conversation = draft.conversation.as_ref().map_or("-", ConversationId::as_str);
        let (name, when, said) = (&draft.message, age(at(draft), now), draft.on_one_line());
        output.lines(&format!("{name}  {when:<9}  {conversation:<10}  {}", visible(&said)));
    }
    for bad in bad {
        let (name, path) = (bad.name(), bad.path.display());
        if json {
            output.json(&Line::UnreadableDraft { name, path: path.to_string() });
            continue;
        }
        output.talk(&format!("{name} cannot be read; it is {path}"));
        output
            .talk(&format!("hint: save what you can of it; to forget it: piton draft drop {name}"));
    }
}

impl Kept {
    /// The message whose name begins so; without a name the newest.
    fn take(&mut self, typed: Option<&str>) -> Result<Draft, Fault> {
        let Some(typed) = typed else {
            let newest = (!self.unsent.is_empty()).then(|| self.unsent.remove(0));
            return newest.ok_or(Fault::NoDraft);
        };
        let unknown = || Fault::UnknownDraft { typed: typed.to_owned() };
        let place = self.only_place(typed).ok_or_else(unknown)?;
        Ok(self.unsent.remove(place))
    }

    fn only_place(&self, typed: &str) -> Option<usize> {
        let begins = |(_, draft): &(usize, &Draft)| draft.message.as_str().starts_with(typed);
        let mut places = self.unsent.iter().enumerate().filter(begins).map(|(place, _)| place);
        let first = places.next().filter(|_| !typed.is_empty())?;
        places.next().is_none().then_some(first)
    }

    /// Forgets the one message whose name begins so, or the only one.
    fn forget(mut self, typed: Option<&str>, output: &mut Output) -> Result<Report, Fault> {
        let Some(typed) = typed else {
            return match (self.unsent.pop(), self.unsent.is_empty()) {
                (Some(draft), true) => Ok(forgotten(draft, output)),
                (Some(_), false) => Err(Fault::UnknownDraft { typed: String::new() }),
                (None, _) => Err(Fault::NoDraft),
            };
        };
        if let Some(place) = self.only_place(typed) {
            return Ok(forgotten(self.unsent.remove(place), output));
        }
        self.bad.retain(|bad| !typed.is_empty() && bad.name().starts_with(typed));
        match (self.bad.pop(), self.bad.is_empty()) {
            (Some(bad), true) => {
                output.talk(&format!("Forgotten: {}", bad.name()));
                bad.remove().map_err(Fault::Draft)?;
                Ok(Report::ok("done"))
            }
            (Some(_), false) | (None, _) => Err(Fault::UnknownDraft { typed: typed.to_owned() }),
        }
    }
}

fn forgotten(draft: Draft, output: &mut Output) -> Report {
    output.talk(&format!("Forgotten: {}", draft.on_one_line()));
    draft.remove();
    Report::ok("done")
}

/// Lets a person write the message anew.
async fn edit(draft: Draft, settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    let Some(written) = edited(&draft.text, settings, output).await? else {
        return Ok(Report::nothing("Nothing was written, so the message stays as it was."));
    };
    if written.text.trim_end() == draft.text.trim_end() {
        written.remove();
        return Ok(Report::nothing("The message stays as it was."));
    }
    let draft = draft.rewrite(&written.text).map_err(Fault::Draft)?;
    written.remove();
    output.talk(&format!("Kept: {}", draft.on_one_line()));
    output.talk("hint: to send it: piton query --draft");
    Ok(Report::ok("done"))
}

/// Says what goes along with a message.
fn tell_beside(draft: &Draft, output: &mut Output) {
    for path in &draft.files {
        output.talk(&format!("with {}", visible(&draft.shown(path).to_string_lossy())));
    }
    if let Some(conversation) = &draft.conversation {
        output.talk(&format!("meant for conversation {conversation}"));
    }
}

fn at(draft: &Draft) -> Timestamp {
    let since = draft.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn line(draft: &Draft) -> Line<'_> {
    Line::Draft {
        name: draft.message.as_str(),
        conversation: draft.conversation.as_ref().map(ConversationId::as_str),
        text: &draft.text,
        files: draft
            .files
            .iter()
            .map(|path| draft.shown(path).to_string_lossy().into_owned())
            .collect(),
        at: at(draft).0,
    }
}
