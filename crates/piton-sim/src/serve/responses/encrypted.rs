//! Reasoning that only the provider can read.

use crate::serve::seal::{self, Condition};

/// Letters of the place in it.
const PLACE_LETTERS: usize = 8;
const BEGINNING: &str = "gAAAAAB";

/// What stands for reasoning that only the provider can read: its place, and a seal on it.
pub(super) fn content_of(model: &str, place: usize, before: &str) -> String {
    format!("{BEGINNING}{place:08}{}", seal::of(model, &place.to_string(), before))
}

/// How it came back.
pub(super) fn check(content: &str, model: &str, before: &str) -> Condition {
    let rest =
        content.strip_prefix(BEGINNING).and_then(|rest| rest.split_at_checked(PLACE_LETTERS));
    let Some((place, seal)) = rest else { return Condition::Altered };
    let Ok(place) = place.parse::<usize>() else { return Condition::Altered };
    seal::check(seal, model, &place.to_string(), before)
}
