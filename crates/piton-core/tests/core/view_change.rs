//! How a view moves: from any cursor, the changes of later entries lead to the view of the whole.

use piton_core::event::Entry;
use piton_core::id::Seq;
use piton_core::state::State;
use piton_core::view::{Patch, Refused, View, ViewChange};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::proptest;

use crate::nonsense::{gapless, quietly};
use crate::plausible::live;
use crate::script::Journal;

fn json(view: &View) -> String {
    serde_json::to_string(view).unwrap()
}

/// Follows a journal from one cursor. The change goes through JSON, as between processes.
struct Follower {
    from: Seq,
    view: View,
}

/// Holds the views of all followers against the fold, at every entry.
fn check(entries: &[Entry]) {
    let mut state = State::default();
    let mut followers = vec![Follower { from: Seq(0), view: View::from(&state) }];
    for entry in entries {
        state.apply(entry);
        let change = ViewChange::of(&state, entry);
        let sent = serde_json::to_string(&change).unwrap();
        let change: ViewChange = serde_json::from_str(&sent).unwrap();
        let whole = View::from(&state);
        for Follower { from, view } in &mut followers {
            view.apply(&change).unwrap();
            assert_eq!(*view, whole, "from {from} to {}: {sent}", entry.seq);
            let at = entry.seq;
            assert_eq!(view.apply(&change), Err(Refused::AlreadyApplied { at, change: at }));
        }
        // Equal views move alike, so one that began at an older entry need not be followed further.
        followers.truncate(1);
        followers.push(Follower { from: entry.seq, view: whole });
    }
    let shown = json(&View::from(&state));
    assert!(followers.iter().all(|follower| json(&follower.view) == shown));
    assert_eq!(serde_json::from_str::<View>(&shown).unwrap(), View::from(&state));
}

proptest! {
    #![proptest_config(quietly())]

    // C30, D33, D36
    #[test]
    fn changes_from_any_cursor_lead_to_the_fold(tape in vec(any::<usize>(), 1..60)) {
        check(&live(&tape));
    }

    // J19
    #[test]
    fn a_view_follows_whatever_the_journal_says(entries in gapless()) {
        check(&entries);
    }
}

// C30
#[test]
fn a_change_that_does_not_follow_is_refused_and_changes_nothing() {
    let journal = Journal::of("turn user ask answer:hi end:completed");
    let mut state = State::default();
    let mut changes = vec![];
    for entry in &journal.entries {
        state.apply(entry);
        changes.push(ViewChange::of(&state, entry));
    }
    let mut view = View::from(&State::default());
    view.apply(&changes[0]).unwrap();
    let before = view.clone();
    let (at, change) = (Seq(1), Seq(3));
    assert_eq!(view.apply(&changes[2]), Err(Refused::Gap { at, change }));
    assert_eq!(view.apply(&changes[0]), Err(Refused::AlreadyApplied { at, change: Seq(1) }));
    assert_eq!(view, before);
    // It names a turn that this view has never seen.
    view.cursor = Seq(3);
    let before = view.clone();
    assert_eq!(view.apply(&changes[3]), Err(Refused::DoesNotFit { change: Seq(4) }));
    assert_eq!(view, before);
}

// C29
#[test]
fn streaming_sends_only_what_is_new() {
    let journal = Journal::of("turn user ask partial:hel partial:lo think:hm partial:!");
    let mut state = State::default();
    let mut sent = vec![];
    for entry in &journal.entries {
        state.apply(entry);
        sent.push(ViewChange::of(&state, entry));
    }
    let last: Vec<_> = sent.iter().rev().take(3).flat_map(|change| &change.patches).collect();
    assert_eq!(last.len(), 3);
    assert!(last.iter().all(|patch| matches!(patch, Patch::Append { .. })), "{last:?}");
}
