//! Whether the next request is too large, and what a summary could cover.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::event::{TurnEnd, UserPart};
use crate::id::TurnId;
use crate::state::{Item, State, Turn};
use crate::summary::shorten;
use crate::transcript::Transcript;

/// Longest extract of one message in a mechanical summary, in characters.
const EXTRACT_CHARS_MAX: usize = 200;

/// Whether the next request is estimated above the limit.
pub(crate) fn context_over_budget(state: &State) -> bool {
    let max = state.config.limits.context_tokens_max;
    0 < max && max < Transcript::from(state).tokens_estimated()
}

/// Whether there is a closed turn that no summary covers yet. Every compaction covers more turns
/// than the one before, so compacting is bounded by the number of turns.
pub(crate) fn may_compact(state: &State) -> bool {
    last_coverable(state).is_some()
}

fn last_coverable(state: &State) -> Option<TurnId> {
    let covered = state.overlay.as_ref().map(|overlay| overlay.through);
    let last = state.turns.iter().rev().find(|turn| turn.end.is_some())?;
    (covered < Some(last.id)).then_some(last.id)
}

/// A summary of all closed turns that needs no model: what was asked, what was answered, which
/// tools were used. It is the floor that compaction can always fall back to.
pub fn mechanical_summary(state: &State) -> Option<(Arc<str>, TurnId)> {
    let through = last_coverable(state)?;
    let mut summary = String::new();
    for turn in state.turns.iter().filter(|turn| turn.id <= through) {
        if turn.end != Some(TurnEnd::Discarded) {
            add_turn(&mut summary, turn);
        }
    }
    Some((summary.into(), through))
}

fn add_turn(summary: &mut String, turn: &Turn) {
    for item in &turn.items {
        match item {
            Item::User(said) => {
                for part in &said.parts {
                    let line = match part {
                        UserPart::Text { text } => shorten(text, EXTRACT_CHARS_MAX),
                        UserPart::File { name, .. } | UserPart::InlinedFile { name, .. } => {
                            format!("[file {name}]")
                        }
                    };
                    add_line(summary, "User", &line);
                }
            }
            Item::Step(step) => {
                for call in &step.calls {
                    let line = crate::summary::input_summary(&call.name, &call.arguments);
                    add_line(summary, "Tool", &line);
                }
                if step.calls.is_empty()
                    && let Some(text) = crate::view::answer_text(step)
                {
                    add_line(summary, "Assistant", &shorten(&text, EXTRACT_CHARS_MAX));
                }
            }
        }
    }
}

fn add_line(summary: &mut String, who: &str, line: &str) {
    // Writing to a string cannot fail.
    writeln!(summary, "{who}: {line}").unwrap_or_default();
}
