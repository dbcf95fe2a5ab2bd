//! What is said of where a conversation comes from.

use piton_core::view::Head;

/// What it was forked from, or works for.
pub(crate) fn told(head: &Head) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(parent) = &head.parent {
        lines.push(format!("worker of {}, call {}", parent.conversation, parent.call));
    } else if let Some(origin) = &head.origin {
        lines.push(format!("fork of {}, entry {}", origin.conversation, origin.through));
    }
    lines.extend(gone(head));
    lines
}

/// A warning where that is gone.
pub(crate) fn gone(head: &Head) -> Option<String> {
    let warning = "warning: a conversation that this one was forked from is gone, and what was said there \
                   is missing here";
    head.origin_gone.then(|| warning.to_owned())
}
