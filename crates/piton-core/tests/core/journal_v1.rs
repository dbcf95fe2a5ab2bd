//! The frozen format: a journal of version 1 reads, means and prints what it always did.
//!
//! The journal beside this file is never edited. A change of `event.rs` that breaks a test here
//! loses somebody's conversation.

use std::collections::BTreeSet;

use expect_test::expect;
use piton_core::event::{EVENT_FORMAT, Event};
use piton_core::state::State;
use piton_core::transcript::Transcript;
use piton_core::view::View;

use crate::script::entry;
use crate::{transcript, view};

const JOURNAL: &str = include_str!("journals/v1.jsonl");

fn events() -> impl Iterator<Item = Event> {
    JOURNAL.lines().map(|line| Event::from_stored(1, line))
}

/// The kind of an event. A new kind stops the build here: add it to the newest sample journal.
pub(crate) fn kind(event: &Event) -> &'static str {
    match event {
        Event::ConversationOpened { .. } => "ConversationOpened",
        Event::ConfigChanged { .. } => "ConfigChanged",
        Event::DriverStarted { .. } => "DriverStarted",
        Event::TurnStarted { .. } => "TurnStarted",
        Event::ContextAdded { .. } => "ContextAdded",
        Event::UserMessage { .. } => "UserMessage",
        Event::TurnResumed { .. } => "TurnResumed",
        Event::ModelAsked { .. } => "ModelAsked",
        Event::ModelPartial { .. } => "ModelPartial",
        Event::ModelAnswered { .. } => "ModelAnswered",
        Event::ModelFailed { .. } => "ModelFailed",
        Event::HistoryRepaired { .. } => "HistoryRepaired",
        Event::InquiryRaised { .. } => "InquiryRaised",
        Event::InquiryAnswered { .. } => "InquiryAnswered",
        Event::ToolStarted { .. } => "ToolStarted",
        Event::ToolSuspended { .. } => "ToolSuspended",
        Event::ToolFinished { .. } => "ToolFinished",
        Event::TurnEnded { .. } => "TurnEnded",
        Event::TurnBroke { .. } => "TurnBroke",
        Event::MessageRetried { .. } => "MessageRetried",
        Event::Compacted { .. } => "Compacted",
        Event::MessageQueued { .. } => "MessageQueued",
        Event::MessageRequeued { .. } => "MessageRequeued",
        Event::MessageUnqueued { .. } => "MessageUnqueued",
        Event::CallParked { .. } => "CallParked",
        Event::CallTracked { .. } => "CallTracked",
        Event::CallsPlanned { .. } => "CallsPlanned",
        Event::QueueReleased => "QueueReleased",
        Event::CommandTaken { .. } => "CommandTaken",
        Event::CommandRefused { .. } => "CommandRefused",
        Event::TitleGiven { .. } => "TitleGiven",
        Event::ConversationShelved { .. } => "ConversationShelved",
        Event::WorkspaceBound { .. } => "WorkspaceBound",
        Event::UndoStarted { .. } => "UndoStarted",
        Event::UndoFinished { .. } => "UndoFinished",
        Event::OutputsShortened { .. } => "OutputsShortened",
        Event::SummaryLaid { .. } => "SummaryLaid",
        Event::SummaryWanted { .. } => "SummaryWanted",
        Event::SummaryAsked { .. } => "SummaryAsked",
        Event::SummaryAnswered { .. } => "SummaryAnswered",
        Event::SummaryFailed { .. } => "SummaryFailed",
        Event::SummaryLifted => "SummaryLifted",
        Event::WindowLearned { .. } => "WindowLearned",
        Event::CallLocated { .. } => "CallLocated",
        Event::ConversationImported { .. } => "ConversationImported",
        Event::Unknown(_) => "Unknown",
    }
}

#[test]
fn the_sample_holds_every_kind_of_event() {
    let kinds: BTreeSet<_> = events().map(|event| kind(&event)).collect();
    assert_eq!(kinds.len(), 21, "{kinds:?}");
    assert_eq!(EVENT_FORMAT, 1, "a new format needs a sample of its own");
}

// J10
#[test]
fn every_line_is_written_as_it_was_read() {
    for (line, event) in JOURNAL.lines().zip(events()) {
        assert_eq!(event.to_stored(), line);
    }
}

// O19
#[test]
fn the_sample_means_what_it_always_meant() {
    let entries: Vec<_> = (1..).zip(events()).map(|(seq, event)| entry(seq, event)).collect();
    let state = State::from_entries(&entries);
    let queue: Vec<_> = state.queue.iter().map(|queued| queued.message.as_str()).collect();
    let facts = format!(
        "end {}, strays {}, unknown {}, superseded {}, tokens {}, queue {queue:?}, epoch {:?}",
        state.end,
        state.strays,
        state.unknown,
        state.turns.iter().map(|turn| turn.superseded.len()).sum::<usize>(),
        state.usage.total(),
        state.driver.as_ref().map(|driver| driver.epoch.0),
    );
    expect![[
        r#"end 48, strays 0, unknown 1, superseded 1, tokens 247, queue ["q1"], epoch Some(2)"#
    ]]
    .assert_eq(&facts);
    expect![[r#"
        title The pond
        turn 1
          user m1: Look at these.
        [image pond.png, 9 bytes]
        [file notes.txt, 6 bytes]
          assistant: I see a pond.
          tool 1.1.0 edit: pond.txt: Unknown: nobody knows
          tool 1.1.1 shell: ls: Ok: pond.txt
          tool 1.1.2 mail: Ok: It was sent.
          tool 1.1.3 agent: Denied: no
          assistant: Done.
        turn 3 (stopped)
          user m3: Enough.
        turn 4
          user m4: What now?
          assistant: The lilies  ...
          interrupted (pending LLM response) None"#]]
    .assert_eq(&view::shown(&View::from(&state)));
    expect![[r#"
        u [Earlier conversation summary — treat as background context]||A pond was looked at.
        u Enough.
        u What now?"#]]
    .assert_eq(&transcript::shown(&Transcript::from(&state)));
    let uncovered = State { overlay: None, ..state };
    expect![[r#"
        u Look at these.[pond.png][notes.txt]
        a (Hm.) + I see a pond. + edit@1.1.0 + shell@1.1.1 + mail@1.1.2 + agent@1.1.3
        r 1.1.0 edit!nobody knows + 1.1.1 shell=pond.txt + 1.1.2 mail=It was sent. + 1.1.3 agent!no
        u These calls were cut off by the output limit and not run: read. Repeat what is still needed, with shorter arguments.
        a Done.
        u Enough.
        u What now?"#]].assert_eq(&transcript::shown(&Transcript::from(&uncovered)));
}
