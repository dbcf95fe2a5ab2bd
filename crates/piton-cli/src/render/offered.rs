//! What a workspace brings along, and what of it counts, in words.

use std::fmt::Write as _;

use piton_agent::{Brought, Offered, OfferedKind, OfferedState, moment};
use piton_core::id::Timestamp;

use super::visible::{visible, visible_name};

/// What is said where something does not count. What counts is in the documents.
pub(crate) fn untrusted(words: &[String]) -> String {
    format!(
        "This workspace is not trusted with all that it brings; going on without {}. To look at it and \
         decide: piton trust",
        visible_name(&words.join("; "))
    )
}

/// Who trusts the workspace, and since when.
pub(crate) fn standing(brought: &Brought) -> String {
    let workspace = brought.trust.workspace.to_string_lossy();
    let workspace = visible_name(&workspace);
    match &brought.trust.given {
        Some(given) => {
            let since = moment(Timestamp(given.at_ms));
            format!("{workspace}: trusted by {}, {since}", visible_name(&given.by))
        }
        None => format!("{workspace}: not trusted"),
    }
}

/// Something that a workspace brings: what it is, what it opens, how it stands.
pub(crate) fn offered(offered: &Offered, brought: &Brought) -> String {
    let Offered { kind, name, path, opens, exact, state } = offered;
    let stroke = if *kind == OfferedKind::Command { "/" } else { "" };
    let mut text = format!(
        "{} {stroke}{}  ({})  {}",
        kind_word(*kind),
        visible_name(name),
        visible_name(path),
        state_words(*state)
    );
    for opens in opens {
        // Writing to a string cannot fail.
        write!(text, "\n    {}", visible(opens)).unwrap_or_default();
    }
    let others = exact.iter().filter(|exact| exact.path != *path);
    for exact in others {
        let how = match &exact.digest {
            None => "it cannot be read or is too large, so it cannot be approved",
            Some(_) if brought.trust.holds(exact) => "approved as it is",
            Some(_) if brought.trust.knew(exact) => "changed since it was approved",
            Some(_) => "not approved yet",
        };
        write!(text, "\n    made of {}: {how}", visible_name(&exact.path)).unwrap_or_default();
    }
    text
}

/// Settings that are there and that nothing reads.
pub(crate) fn never_read(brought: &Brought) -> Option<String> {
    let paths = brought.never_read.join(", ");
    (!paths.is_empty()).then(|| {
        format!("Never read, trusted or not: {paths}. Rules, modes, hooks and addresses are yours alone.")
    })
}

/// A word for people and programs.
pub(crate) fn kind_word(kind: OfferedKind) -> &'static str {
    match kind {
        OfferedKind::Skill => "skill",
        OfferedKind::Command => "command",
        OfferedKind::Server => "server",
    }
}

/// A word for programs.
pub(crate) fn state_word(state: OfferedState) -> &'static str {
    match state {
        OfferedState::Counts => "counts",
        OfferedState::NotTrusted => "not_trusted",
        OfferedState::Changed => "changed",
    }
}

fn state_words(state: OfferedState) -> &'static str {
    match state {
        OfferedState::Counts => "counts",
        OfferedState::NotTrusted => "not trusted",
        OfferedState::Changed => "changed since it was approved",
    }
}
