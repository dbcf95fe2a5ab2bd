//! `piton drafts`: messages that were typed in this directory and not sent.

use std::time::UNIX_EPOCH;

use piton::clock::{Clock as _, SystemClock};
use piton_agent::Settings;
use piton_core::id::{ConversationId, Timestamp};

use crate::drafts::{Draft, Drafts, only_unsent};
use crate::flags::DraftsFlags;
use crate::output::Output;
use crate::render::age::age;
use crate::render::lines::Line;
use crate::render::visible::visible;
use crate::report::{Fault, Report};
use crate::store;

/// Lists them, or forgets one.
pub(crate) async fn run(
    flags: &DraftsFlags,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let mut drafts = Drafts::new(&settings.home, &settings.found_from_here()?).unsent();
    if settings.has_database()? {
        drafts = only_unsent(drafts, &*store::open(settings, output)?).await?;
    }
    if let Some(name) = &flags.forget {
        return forget(drafts, name, output);
    }
    if drafts.is_empty() && !flags.json {
        output.talk("No unsent message is kept for this directory.");
    }
    let now = SystemClock.now();
    for draft in &drafts {
        if flags.json {
            output.json(&line(draft));
            continue;
        }
        let conversation = draft.conversation.as_ref().map_or("-", ConversationId::as_str);
        let (name, when, said) = (&draft.message, age(at(draft), now), draft.on_one_line());
        output.data(&format!("{name}  {when:<9}  {conversation:<10}  {}\n", visible(&said)));
    }
    Ok(Report::ok("done"))
}

/// Forgets the one message whose name begins so.
fn forget(drafts: Vec<Draft>, typed: &str, output: &mut Output) -> Result<Report, Fault> {
    let begins = |draft: &Draft| !typed.is_empty() && draft.message.as_str().starts_with(typed);
    let mut meant: Vec<_> = drafts.into_iter().filter(begins).collect();
    match (meant.pop(), meant.is_empty()) {
        (Some(draft), true) => {
            output.talk(&format!("Forgotten: {}", draft.on_one_line()));
            draft.remove();
            Ok(Report::ok("done"))
        }
        (None, _) | (Some(_), false) => Err(Fault::UnknownDraft { typed: typed.to_owned() }),
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
