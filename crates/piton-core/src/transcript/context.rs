//! The form in which the model reads what piton tells it beside what the user said.

use crate::event::{ContextItem, UserPart};

/// The first line of the text part that holds the context.
const OPENING: &str = "<context> (from piton; the user did not write this)";
/// Its last line.
const CLOSING: &str = "</context>";

/// The part in front of what the user said; none, if nothing is told.
pub(super) fn part(items: &[ContextItem]) -> Option<UserPart> {
    let mut text = OPENING.to_owned();
    for said in items.iter().filter_map(|item| item.text.as_deref()) {
        text.push('\n');
        // A file must not pass off its words as what stands behind the context.
        text.push_str(&said.replace(CLOSING, "</ context>"));
    }
    (text != OPENING).then(|| UserPart::text(format!("{text}\n{CLOSING}")))
}

/// Whether a part is what piton tells.
pub(super) fn is_context(part: &UserPart) -> bool {
    matches!(part, UserPart::Text { text } if text.starts_with(OPENING))
}

/// What the user typed of a text part: nothing of the context that may stand in front of it.
pub fn typed(part: &UserPart) -> Option<&str> {
    match part {
        UserPart::Text { text } => Some(without_context(text)).filter(|typed| !typed.is_empty()),
        UserPart::File { .. } | UserPart::InlinedFile { .. } => None,
    }
}

/// A text of a user message without the context in front of it.
pub fn without_context(text: &str) -> &str {
    let inside = text.strip_prefix(OPENING);
    let behind = inside.and_then(|inside| inside.split_once(CLOSING)).map(|(_, behind)| behind);
    behind.map_or(text, |behind| behind.trim_start_matches('\n'))
}
