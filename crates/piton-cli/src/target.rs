//! Which conversation is meant.

use std::sync::Arc;

use piton::Shelf;
use piton_agent::Settings;
use piton_core::id::ConversationId;
use piton_store::{Directory, Filter, Journal, Listed, Page, StoreError};

use crate::output::Output;
use crate::report::{Fault, InputFault};
use crate::store;

/// Conversations looked through for a beginning of an id.
const FOUND_MAX: usize = 1_000;
/// Conversations named when an id is ambiguous or unknown.
const NAMED_MAX: usize = 8;
/// Shortest beginning of an id by which a conversation is named, put away or removed, in letters.
const CHANGED_LETTERS_MIN: usize = 4;
/// Shortest beginning of an id by which near ones are looked for, in letters.
const NEAR_LETTERS_MIN: usize = 1;

/// The store, and the conversation in it that is meant: by the beginning of its id, else the newest one of this
/// workspace. No store is made to find nothing in it.
pub(crate) async fn find(
    typed: Option<&str>,
    settings: &Settings,
    output: &mut Output,
) -> Result<(Arc<dyn Journal>, ConversationId), Fault> {
    let nothing = Fault::NoConversation { aside: settings.set_aside() };
    if !settings.has_database()? && typed.is_none() {
        return Err(nothing);
    }
    let journal = store::open(settings, output)?;
    let id = match typed {
        Some(typed) => by_prefix(&*journal, typed, settings).await?,
        None => newest(&*journal, settings).await?.ok_or(nothing)?,
    };
    Ok((journal, id))
}

/// The conversation with an id that begins so.
pub(crate) async fn by_prefix(
    journal: &dyn Journal,
    typed: &str,
    settings: &Settings,
) -> Result<ConversationId, Fault> {
    // Ids have no capital letters; a phone's keyboard has other ideas.
    let prefix = typed.trim().to_lowercase();
    if let Some(back) = back(&prefix) {
        let found = newest_ones(journal, settings, back).await?.into_iter().nth(back - 1);
        let nothing = || Fault::NoConversation { aside: settings.set_aside() };
        return found.map(|listed| listed.conversation).ok_or_else(nothing);
    }
    let mut found = match prefix.as_str() {
        "" => Vec::new(),
        prefix => journal.find(prefix, FOUND_MAX).await?,
    };
    if let Some(exact) = found.iter().find(|id| id.as_str() == prefix) {
        return Ok(exact.clone());
    }
    // Workers are named after the conversation that they belong to; who means one says so.
    if found.iter().any(|id| id.as_worker().is_none()) {
        found.retain(|id| id.as_worker().is_none());
    }
    found.truncate(NAMED_MAX);
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            Err(Fault::Ambiguous { typed: typed.to_owned(), found })
        }
        (None, _) => {
            let near = near(journal, &prefix).await?;
            let (typed, aside) = (typed.to_owned(), settings.set_aside());
            Err(Fault::UnknownConversation { typed, near, aside })
        }
    }
}

/// The same for a conversation that is to be named, put away or removed: a letter or two may be a slip.
pub(crate) async fn to_change(
    journal: &dyn Journal,
    typed: &str,
    settings: &Settings,
) -> Result<ConversationId, Fault> {
    let found = by_prefix(journal, typed, settings).await?;
    let prefix = typed.trim().to_lowercase();
    let is_short = prefix.chars().count() < CHANGED_LETTERS_MIN;
    if is_short && back(&prefix).is_none() && found.as_str() != prefix {
        return Err(InputFault::ShortId { typed: prefix, found, min: CHANGED_LETTERS_MIN }.into());
    }
    Ok(found)
}

/// Which one of the newest conversations of the workspace is meant by a word, counted from 1.
fn back(typed: &str) -> Option<usize> {
    match typed {
        "last" => Some(1),
        "previous" | "prev" | "-" => Some(2),
        _ => None,
    }
}

/// The most recently touched conversation of the workspace that we are in, or of the directory.
pub(crate) async fn newest(
    journal: &dyn Journal,
    settings: &Settings,
) -> Result<Option<ConversationId>, Fault> {
    let first = newest_ones(journal, settings, 1).await?.into_iter().next();
    Ok(first.map(|listed| listed.conversation))
}

/// The most recently touched conversations of the workspace that we are in and of the directory, the
/// newest first, without workers.
pub(crate) async fn newest_ones(
    journal: &dyn Journal,
    settings: &Settings,
    rows_max: usize,
) -> Result<Vec<Listed>, Fault> {
    let mut rows = Vec::new();
    for place in settings.found_from_here()? {
        // Nothing is lost: a path that is not UTF-8 was refused.
        let directory = Some(Directory::Exactly(place.to_string_lossy().into_owned()));
        let shelf = Some(Shelf::Listed);
        let filter = Filter { directory, worker: Some(false), shelf, ..Filter::default() };
        rows.extend(journal.list(Page { filter, ..Page::first(rows_max) }).await?.rows);
    }
    rows.sort_by_key(|listed| std::cmp::Reverse(listed.row.touched));
    rows.truncate(rows_max);
    Ok(rows)
}

/// Conversations whose ids begin like a mistyped one, as far as that goes.
async fn near(journal: &dyn Journal, prefix: &str) -> Result<Vec<ConversationId>, StoreError> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while NEAR_LETTERS_MIN < letters.len() {
        letters.pop();
        let shorter: String = letters.iter().collect();
        let found = journal.find(&shorter, NAMED_MAX).await?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}
