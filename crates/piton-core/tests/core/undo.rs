//! A change that a person took back: when a command may do it, what it means, what the model hears.

use expect_test::expect;
use piton_core::command::{Command, Envelope, Performing, Plan, Refusal, plan};
use piton_core::event::{Entry, Event, TurnEnd, UndoIntent, UndoOutcome};
use piton_core::id::{Attempt, CommandId, ConversationId, MessageId, TurnId};
use piton_core::state::State;
use piton_core::transcript::Transcript;

use crate::sample::sample;
use crate::script::{Journal, entry};
use crate::transcript::shown;

const JOURNAL: &str = include_str!("journals/v1_undo.jsonl");

fn intent() -> UndoIntent {
    UndoIntent {
        change: "v1".into(),
        conversation: ConversationId::new("bob"),
        workspace: "/w".into(),
        path: "a.txt".into(),
        before: None,
        after: None,
        again: false,
        at_us: 1,
    }
}

fn next(state: &mut State, event: Event) {
    let taken: Entry = entry(state.end.0 + 1, event);
    state.apply(&taken);
}

fn taken_back(state: &mut State) {
    next(state, Event::UndoStarted { intent: intent() });
    let (change, text) = ("v1".into(), String::new());
    next(state, Event::UndoFinished { change, outcome: UndoOutcome::Done, text });
}

#[test]
fn the_model_hears_of_what_was_done_in_front_of_its_next_answer() {
    let state = sample(JOURNAL);
    assert_eq!(state.unsettled_undos().count(), 0);
    assert!(state.untold.is_empty());
    expect![[r#"
        u m1
        a done
        u m2
        u [The user took back a change of the file a.txt: it has the content that it had before that change. Read it before you change it.]
        a heard"#]]
    .assert_eq(&shown(&Transcript::from(&state)));
}

#[test]
fn a_request_that_is_hidden_has_told_nothing() {
    let mut state = sample(JOURNAL);
    let message = MessageId::new("m2");
    next(&mut state, Event::MessageRetried { message, attempt: Attempt(2) });
    assert_eq!(state.untold.len(), 1);
    assert!(shown(&Transcript::from(&state)).contains("took back"));
    next(&mut state, Event::TurnEnded { turn: TurnId(2), end: TurnEnd::Discarded });
    assert_eq!(state.untold.len(), 1);
}

#[test]
fn a_turn_that_goes_on_hears_of_it_too_and_its_beginning_stays() {
    let mut journal = Journal::new();
    journal.play("turn user ask calls(r:a) start:a finish:a");
    let before = shown(&Transcript::from(&journal.state));
    let mut state = journal.state;
    taken_back(&mut state);
    let asked = shown(&Transcript::from(&state));
    assert!(asked.starts_with(&before) && asked.contains("took back"), "{asked}");
}

#[test]
fn the_first_outcome_counts_and_one_without_an_intent_is_a_stray() {
    let mut state = sample(JOURNAL);
    taken_back(&mut state);
    let (change, text) = ("v1".into(), String::new());
    next(&mut state, Event::UndoFinished { change, outcome: UndoOutcome::Left, text });
    assert_eq!(state.strays, 1);
    assert_eq!(state.undos.last().unwrap().outcome, Some(UndoOutcome::Done));
}

#[test]
fn nothing_is_taken_back_while_a_turn_is_performed() {
    let state = sample(JOURNAL);
    let command = Command::Undo { change: "v1".into(), intent: Some(Box::new(intent())) };
    let envelope = Envelope::new(CommandId::new("c9"), command);
    let planned = |performing| plan(&state, &envelope, performing, None);
    assert_eq!(planned(Performing::Now), Plan::Refuse(Refusal::Running));
    let Plan::Record { facts, .. } = planned(Performing::Nobody) else { panic!("refused") };
    assert_eq!(facts, [Event::UndoStarted { intent: intent() }]);
    let blind = Envelope::new(CommandId::new("c9"), Command::undo("v1"));
    let refused = plan(&state, &blind, Performing::Nobody, None);
    assert!(matches!(refused, Plan::Refuse(Refusal::Impossible { .. })));
}
