//! Which command is meant: `CONVERSATION/CALL`, or one of the two where that is clear.

use piton_tools::supervise::{Kept, Shelf};

use crate::report::CommandFault;

/// How a command is named so that it can be typed.
pub(super) fn name(kept: &Kept) -> String {
    format!("{}/{}", kept.conversation, kept.intent.call)
}

/// The command that was typed. One that runs is meant before one that has ended.
pub(super) fn find(shelf: &Shelf, typed: &str) -> Result<Kept, CommandFault> {
    let typed = typed.trim().to_lowercase();
    let (conversation, call) = typed.rsplit_once('/').unwrap_or(("", &typed));
    let all = shelf.all();
    let is_called = |kept: &&Kept| {
        kept.conversation.as_str().starts_with(conversation) && kept.intent.call.to_string() == call
    };
    let mut found: Vec<Kept> = all.iter().filter(is_called).cloned().collect();
    if found.is_empty() && !typed.is_empty() {
        found = all;
        found.retain(|kept| kept.conversation.as_str().starts_with(&typed));
    }
    if found.iter().any(|kept| kept.state.goes_on()) {
        found.retain(|kept| kept.state.goes_on());
    }
    // Of one call the newest start counts.
    found.reverse();
    found.dedup_by_key(|kept| name(kept));
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            Err(CommandFault::Ambiguous { typed, found: found.iter().map(name).collect() })
        }
        (None, _) => Err(CommandFault::Unknown { typed }),
    }
}
