//! Recorded journals of later features, and that no kind of event is without a recording.
//!
//! The journals are never edited. What is new gets a journal of its own.

use std::collections::BTreeSet;

use expect_test::expect;
use piton_core::event::Event;
use piton_core::transcript::Transcript;
use piton_core::view::View;

use crate::journal_v1::kind;
use crate::sample::sample;
use crate::{transcript, view};

/// Kinds of events there are, with the one for kinds of newer builds.
const KINDS: usize = 46;

const PATCH: &str = include_str!("journals/v1_patch.jsonl");
const QUEUE: &str = include_str!("journals/v1_queue.jsonl");
const WORDS: &str = include_str!("journals/v1_words.jsonl");

/// All recordings.
const JOURNALS: [&str; 24] = [
    include_str!("journals/v1.jsonl"),
    include_str!("journals/v1_changed.jsonl"),
    include_str!("journals/v1_context.jsonl"),
    include_str!("journals/v1_directories.jsonl"),
    include_str!("journals/v1_fork.jsonl"),
    include_str!("journals/v1_hooks.jsonl"),
    include_str!("journals/v1_imported.jsonl"),
    include_str!("journals/v1_inputs.jsonl"),
    include_str!("journals/v1_letters.jsonl"),
    include_str!("journals/v1_outage.jsonl"),
    PATCH,
    include_str!("journals/v1_places.jsonl"),
    include_str!("journals/v1_plan.jsonl"),
    include_str!("journals/v1_questions.jsonl"),
    QUEUE,
    include_str!("journals/v1_repair.jsonl"),
    include_str!("journals/v1_shelf.jsonl"),
    include_str!("journals/v1_shortened.jsonl"),
    include_str!("journals/v1_summaries.jsonl"),
    include_str!("journals/v1_summed_up.jsonl"),
    include_str!("journals/v1_tasks.jsonl"),
    include_str!("journals/v1_undo.jsonl"),
    WORDS,
    include_str!("journals/v1_workers.jsonl"),
];

// X13: what waits is as it was changed last.
#[test]
fn a_queue_that_was_changed_reads_as_it_was_left() {
    let state = sample(QUEUE);
    assert_eq!(state.strays, 0);
    let waits: Vec<String> = state
        .queue
        .iter()
        .map(|it| format!("{} {:?} {:?}", it.message, it.place, it.parts))
        .collect();
    expect![[r#"
        q4 Next [Text { text: "fourth" }]
        q2 Next [Text { text: "better" }, InlinedFile { name: "a.txt", media_type: "text/plain", text: "one" }]
        q3 Steer [Text { text: "third" }]
        q1 Next [Text { text: "first" }]"#]].assert_eq(&waits.join("\n"));
}

#[test]
fn every_kind_of_event_is_in_a_recording() {
    let lines = JOURNALS.iter().flat_map(|journal| journal.lines());
    let kinds: BTreeSet<_> = lines.map(|line| kind(&Event::from_stored(1, line))).collect();
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
}

// J10, O19
#[test]
fn a_patch_that_hooks_saw_and_a_command_that_only_looked_are_read_as_they_were_written() {
    let state = sample(PATCH);
    expect![[r#"
        title Do it.
        turn 1
          user m1: Do it.
          assistant: First a plan.
          tool 1.1.0 update_plan: 0 of 2 done: Ok: The list is shown: 0 of 2 done.
          tool 1.2.0 apply_patch: b, a: Ok: applied the patch to 2 files
          tool 1.2.1 apply_patch: secrets: Denied: A hook of the user denied this call: keep your hands off
          tool 1.3.0 shell: ls: Ok: a
          tool 1.3.1 look_at: pond.png: Ok: [image pond.png]
          tool 1.3.2 shell: ls nowhere: Failed: no such file
          interrupted (pending follow-up) None"#]].assert_eq(&view::shown(&View::from(&state)));
    expect![[r#"
        u Do it.
        a First a plan. + update_plan@1.1.0
        r 1.1.0 update_plan=The list is shown: 0 of 2 done.
        a apply_patch@1.2.0 + apply_patch@1.2.1
        r 1.2.0 apply_patch=applied the patch to 2 files + 1.2.1 apply_patch!A hook of the user denied this call: keep your hands off
        It was not run.
        a shell@1.3.0 + look_at@1.3.1 + shell@1.3.2
        r 1.3.0 shell=a
        b
        [exit code 0] + 1.3.1 look_at=[image pond.png] + 1.3.2 shell!no such file"#]].assert_eq(&transcript::shown(&Transcript::from(&state)));
    let confined: Vec<_> = state.config.tools.iter().filter(|tool| tool.confines).collect();
    assert_eq!(confined.len(), 1);
}

// J10, O19: reasons, limits and other words of which there are many.
#[test]
fn every_word_is_read_as_it_was_written() {
    let state = sample(WORDS);
    let limits = state.config.limits;
    assert_eq!((limits.asked_wait_ms_max, limits.first_byte_ms_max), (3, 4));
    let cost = limits.cost.map(|cost| (cost.microdollars_max, cost.price.input, cost.price.output));
    assert_eq!(cost, Some((7, 8, 9)));
    expect![[r#"
        title Words
        turn 1
          user m1: Talk.
          assistant: Half a sen"#]]
    .assert_eq(&view::shown(&View::from(&state)));
}
