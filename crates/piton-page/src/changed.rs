//! What a call changed in a file, as its result and its arguments tell: the hunks that the terminal shows.

use piton_core::view::{CallState, CallView, Outcome};

use crate::diff::Table;

/// The difference that a call made; if its result does not tell it, what its arguments say.
pub(crate) fn table(call: &CallView) -> Option<Table> {
    if let Some((diff, path)) = told(call) {
        return Some(Table::of_unified(diff, path));
    }
    call.edit().as_ref().map(Table::of_edit)
}

/// Whether the result tells it.
pub(crate) fn is_told(call: &CallView) -> bool {
    told(call).is_some()
}

/// The difference that a result tells, and of which file.
fn told(call: &CallView) -> Option<(&str, &str)> {
    let change = call.change.as_ref()?;
    let CallState::Done { outcome: Outcome::Ok, .. } = call.state else { return None };
    let (_, diff) = call.result.as_ref()?.text.split_once('\n')?;
    // In a patch each file has a heading.
    let is_diff = diff.starts_with("@@ ") || diff.starts_with("*** ");
    // All of a new file stands in the arguments.
    let is_new = change.before.is_none() && call.edit().is_some_and(|edit| edit.old.is_none());
    (is_diff && !is_new).then_some((diff, &*change.path))
}
