//! Reasoning that only the provider can read.

use crate::serve::seal;

/// What stands for reasoning that only the provider can read: its place, and a seal on it.
pub(super) fn content_of(model: &str, place: usize) -> String {
    format!("gAAAAAB{place:08}{}", seal::of(model, &place.to_string()))
}

/// Whether it is as it was given.
pub(super) fn is_intact(model: &str, content: &str) -> bool {
    let place = content.strip_prefix("gAAAAAB").and_then(|rest| rest.get(..8)?.parse().ok());
    place.is_some_and(|place| content_of(model, place) == content)
}
