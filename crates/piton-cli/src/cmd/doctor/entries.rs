//! Whether everything that was said is still as it was written.
//!
//! Part of every `piton doctor`: it costs about as much as the check of the database before it, which
//! sees none of this.

use std::time::{Duration, Instant};

use piton_agent::Settings;
use piton_core::id::{ConversationId, Seq};
use piton_store::{Decayed, DecayedBlob, StoreError, Verified, verify};

use super::finding::Finding;
use crate::output::Output;
use crate::report;

const ABOUT: &str = "entries";
/// A check that ends before this time shows no progress.
const QUIET: Duration = Duration::from_secs(1);
/// Time between two lines of progress where no spinner can be shown.
const LINES: Duration = Duration::from_secs(10);

/// What to do about a damaged database. The inspection that found the damage left a note of it.
pub(super) const SET_ASIDE: &str = "stop all piton processes, then `piton doctor --salvage`: it uses the log if that has everything, else keeps the database under another name, begins a new one, and brings back what can be read";

pub(super) fn look(settings: &Settings, output: &mut Output) -> Vec<Finding> {
    let began = Instant::now();
    let mut lines = 0;
    let verified = verify(&settings.home, &mut |so_far: &Verified| {
        let passed = began.elapsed();
        let label = format!("checked so far: {}", counted(so_far));
        if passed >= QUIET && output.can_spin() {
            output.tell_waiting(&label, &[]);
        } else if passed >= LINES * (lines + 1) {
            lines += 1;
            output.talk(&label);
        }
    });
    output.rest();
    match verified {
        Ok(None) => Vec::new(),
        Ok(Some(verified)) => findings(&verified),
        Err(error @ StoreError::Damaged { .. }) => {
            vec![Finding::broken(ABOUT, report::chain(&error), SET_ASIDE)]
        }
        Err(error) => vec![Finding::broken(
            ABOUT,
            report::chain(&error),
            "see to the file, then `piton doctor` again",
        )],
    }
}

fn findings(verified: &Verified) -> Vec<Finding> {
    let Verified { damaged, damaged_blobs, missing_blobs, .. } = verified;
    if damaged.is_empty() && damaged_blobs.is_empty() && missing_blobs.is_empty() {
        let said = format!("{}: all as they were written", counted(verified));
        return vec![Finding::ok(ABOUT, said)];
    }
    let conversations = damaged.iter().map(|Decayed { conversation, seq, detail }| {
        Finding::broken(
            ABOUT,
            format!("conversation {conversation} cannot be read from entry {seq} on: {detail}"),
            format!(
                "the others are well; this one is whole again only from a copy of the home: {}",
                before(conversation, *seq)
            ),
        )
    });
    let damaged_blobs = damaged_blobs.iter().map(|it| blob(it, "is not what its name says"));
    let missing_blobs = missing_blobs.iter().map(|it| blob(it, "is missing"));
    conversations.chain(damaged_blobs).chain(missing_blobs).collect()
}

/// What can be done with what lies before a damaged entry.
fn before(conversation: &ConversationId, seq: Seq) -> String {
    match seq.0.saturating_sub(1) {
        0 => "go on in a new one, piton query --new \"TEXT\"".to_owned(),
        last => format!(
            "go on from its last entry that can be read, piton fork {conversation} --entry {last}"
        ),
    }
}

fn blob(DecayedBlob { path, used_by }: &DecayedBlob, what: &str) -> Finding {
    let said = format!("{} {what}", path.display());
    if used_by.is_empty() {
        let advice = "no conversation speaks of it: it can be removed";
        return Finding::lacks(ABOUT, said, advice);
    }
    let names: Vec<_> = used_by.iter().map(ConversationId::as_str).collect();
    Finding::broken(
        ABOUT,
        format!("{said}; used by {}", names.join(", ")),
        "put the file back from a copy of the home; or have the same content kept again, which mends it",
    )
}

fn counted(verified: &Verified) -> String {
    format!("conversations: {}, blobs: {}", verified.conversations, verified.blobs)
}
