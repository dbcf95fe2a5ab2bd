//! The task list that a face shows: the newest one that a shown turn has written.

use piton_core::action::{Action, Wish};
use piton_core::decide::decide;
use piton_core::event::{
    AnswerPart, ConfigChange, EffectClass, Event, FinishReason, Outcome, PermissionMode,
    ToolOutput, ToolSpec, Usage,
};
use piton_core::id::CallId;
use piton_core::tasks::UPDATE_PLAN;
use piton_core::view::{TaskStatus, View, ViewChange};

use crate::sample::sample;
use crate::script::Journal;

const JOURNAL: &str = include_str!("journals/v1_plan.jsonl");

/// The list, one letter for each task.
fn shown(view: &View) -> String {
    let mark = |status: TaskStatus| match status {
        TaskStatus::Done => 'x',
        TaskStatus::InProgress => '>',
        TaskStatus::Pending => ' ',
        other => panic!("{other:?}"),
    };
    let shown = view.tasks().iter().map(|task| format!("[{}]{}", mark(task.status), task.step));
    shown.collect::<Vec<_>>().concat()
}

fn journal() -> Journal {
    let mut journal = Journal::new();
    let tools = Some(vec![ToolSpec::new(UPDATE_PLAN, "", "{}", EffectClass::ReadOnly)]);
    let change = ConfigChange { tools, ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
    journal
}

/// A turn that writes a list and is not over.
fn write(journal: &mut Journal, turn: u32, step: &str, outcome: Outcome) {
    journal.play("turn user ask");
    let call: CallId = format!("{turn}.1.0").parse().unwrap();
    let arguments = format!(r#"{{"plan":[{{"step":"{step}","status":"done"}}]}}"#).into();
    let name = UPDATE_PLAN.into();
    journal.push(Event::ModelAnswered {
        parts: vec![AnswerPart::Call { call, provider_id: None, name, arguments }],
        finish: FinishReason::ToolCalls,
        usage: Usage::default(),
        dropped: Vec::new(),
        native: None,
    });
    let effect = EffectClass::ReadOnly;
    journal.push(Event::ToolStarted { call, effect, handle: piton_core::event::Handle::None });
    journal.push(Event::ToolFinished { call, outcome, output: ToolOutput::text("") });
}

#[test]
fn the_newest_list_that_was_taken_is_shown() {
    let mut journal = journal();
    write(&mut journal, 1, "one", Outcome::Ok);
    assert_eq!(shown(&View::from(&journal.state)), "[x]one");
    journal.play("end:completed");
    write(&mut journal, 2, "two", Outcome::Ok);
    assert_eq!(shown(&View::from(&journal.state)), "[x]two");
    journal.play("end:completed");
    write(&mut journal, 3, "refused", Outcome::Failed);
    assert_eq!(shown(&View::from(&journal.state)), "[x]two");
}

#[test]
fn a_discarded_turn_takes_its_list_along() {
    let mut journal = journal();
    write(&mut journal, 1, "one", Outcome::Ok);
    journal.play("end:completed");
    write(&mut journal, 2, "two", Outcome::Ok);
    journal.play("end:discarded");
    assert_eq!(shown(&View::from(&journal.state)), "[x]one");
}

#[test]
fn a_face_that_follows_has_the_list_too() {
    let mut journal = journal();
    write(&mut journal, 1, "one", Outcome::Ok);
    let mut followed = View::default();
    let mut state = piton_core::state::State::default();
    for entry in &journal.entries {
        state.apply(entry);
        followed.apply(&ViewChange::of(&state, entry)).unwrap();
    }
    assert_eq!(shown(&followed), "[x]one");
}

#[test]
fn the_sample_journal_of_a_plan_is_read_as_it_was_written() {
    let state = sample(JOURNAL);
    assert_eq!(state.config.permissions.mode, PermissionMode::Plan);
    assert_eq!(shown(&View::from(&state)), "[x]look[>]change[ ]check");
    assert!(matches!(decide(&state, Wish::Proceed), Action::AskModel { .. }));
    // A build that does not know the mark reads a conversation that changes nothing.
    let without = sample(&JOURNAL.replace(r#","plans":true"#, ""));
    assert_eq!(without.config.permissions.mode, PermissionMode::ReadOnly);
}
