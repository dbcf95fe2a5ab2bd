//! What comes next for calls that are handed to workers, and for turns that are coordinated.

use expect_test::expect;
use piton_core::event::TurnEnd;
use piton_core::id::ConversationId;
use piton_core::state::{Item, State};
use piton_core::transcript::Transcript;
use piton_core::view::Status;
use piton_core::view::View;

use crate::next_action::check;
use crate::sample::sample;
use crate::script::{Journal, fold};
use crate::{transcript, view};

const JOURNAL: &str = include_str!("journals/v1_workers.jsonl");

// M16: a worker of a dead driver is looked after, never just run again.
#[test]
fn a_worker_of_a_dead_driver_is_settled() {
    check("turn user ask calls(c:a c:b) start:a start:b finish:a driver", expect!["settle b"]);
}

// D79: handing a task on is nothing by itself; what the worker does is asked there.
#[test]
fn handing_a_task_on_needs_no_permission() {
    for mode in ["ask", "accept-edits", "read-only", "auto"] {
        check(&format!("mode:{mode} turn user ask calls(c:a)"), expect!["run a"]);
    }
    check(
        "rule:c:deny turn user ask calls(c:a)",
        expect!["finish a denied: A permission rule forbids this call of c; nobody was asked."],
    );
}

#[test]
fn a_worker_that_asks_holds_up_no_sibling() {
    check("turn user ask calls(c:a c:b) start:a start:b park:a", expect!["await"]);
    check(
        "turn user ask calls(c:a c:b) start:a start:b park:a finish:b",
        expect!["wait for a person"],
    );
}

#[test]
fn the_next_driver_looks_again_at_a_worker_that_asked() {
    let parked = "turn user ask calls(c:a) start:a park:a";
    check(parked, expect!["wait for a person"]);
    check(&format!("{parked} driver"), expect!["settle a"]);
    check(&format!("{parked} driver start:a finish:a"), expect!["ask model: step 2, attempt 1"]);
    check(&format!("{parked} break:interrupted resume"), expect!["settle a"]);
}

#[test]
fn a_turn_waits_for_input_while_its_worker_does() {
    let state = fold("turn user ask calls(c:a) start:a park:a:May");
    assert_eq!(Status::of(&state).to_string(), "waiting-for-input (c)");
    expect![[r#"
        title m1
        turn 1
          user m1: m1
          tool 1.1.0 c: a worker asks May
          waiting-for-input (c) None"#]]
    .assert_eq(&view::shown(&View::from(&state)));
}

#[test]
fn only_what_runs_can_be_left_waiting() {
    let strays = |script: &str| fold(script).strays;
    assert_eq!(strays("turn user ask calls(c:a) park:a"), 1);
    assert_eq!(strays("turn user ask calls(c:a) start:a finish:a park:a"), 1);
    assert_eq!(strays("turn user ask calls(c:a) start:a park:a park:a"), 1);
    assert_eq!(strays("turn user ask calls(c:a) start:a park:a finish:a"), 0);
}

// D74
#[test]
fn the_first_answer_of_a_coordinated_turn_is_a_plan() {
    check(
        "coordinate user ask answer:[\"x\",\"y\"]",
        expect![[r#"plan {"context":"snapshot","task":"x"} {"context":"snapshot","task":"y"}"#]],
    );
    check(
        "coordinate user:all ask answer:hm",
        expect![[r#"plan {"context":"snapshot","task":"all"}"#]],
    );
    // What it looks up first is done first.
    check("coordinate user ask calls(r:a)", expect!["run a"]);
    check("turn user ask answer:[\"x\"]", expect!["complete"]);
}

// M16, D76
#[test]
fn planned_calls_are_calls_like_any_other() {
    let planned = "coordinate user ask answer:[] plan:a+b";
    check(planned, expect!["run a b"]);
    check(&format!("{planned} start:a failed:a"), expect!["run b"]);
    check(&format!("{planned} start:a start:b finish:a driver"), expect!["settle b"]);
    check(
        &format!("{planned} start:a start:b finish:a failed:b"),
        expect!["ask model: step 2, attempt 1"],
    );
    check(
        &format!("{planned} start:a start:b finish:a failed:b ask answer:[\"x\"]"),
        expect!["complete"],
    );
}

#[test]
fn a_plan_that_does_not_fit_changes_nothing() {
    let strays = |script: &str| fold(script).strays;
    assert_eq!(strays("coordinate user ask plan:a"), 1, "there is no answer");
    assert_eq!(strays("coordinate user ask calls(r:x) plan:a"), 1, "the answer has calls");
    assert_eq!(strays("coordinate user ask answer:[] plan:a plan:b"), 1, "planned already");
}

// D78
#[test]
fn the_model_is_told_which_workers_did_it() {
    let script =
        "coordinate user:all ask answer:[] plan:a+b start:a start:b finish:a:yes failed:b:no";
    let transcript = transcript::shown(&Transcript::from(&fold(script)));
    expect![[r#"
        u allSplit this request into 2 to 4 subtasks that can be worked on at the same time, each by a worker who sees the conversation so far but not the other workers. Answer with a JSON array of strings and nothing else: one string per subtask, clear on its own. Call no tools.
        a [] + c@1.1.0 + c@1.1.1
        r 1.1.0 c=yes + 1.1.1 c!no
        u The workers have ended:|✓ worker 1: a|✗ worker 2: b|Now answer my request from their results, in one piece. Say what could not be done (✗) and why, and what is still to do."#]].assert_eq(&transcript);
}

// X16, D73: a fork has what was said, and nothing else of what it was cut from.
#[test]
fn a_fork_shares_what_was_said() {
    let script = "system:s turn user:one ask answer:two end:completed queue:q1:later \
        coordinate user:three ask calls(r:a) start:a finish:a";
    let forked = fold(script).forked();
    assert_eq!(forked.config, State::default().config);
    assert!(forked.queue.is_empty() && forked.opened.is_none() && forked.driver.is_none());
    assert_eq!((forked.end, forked.strays), (State::default().end, 0));
    assert_eq!(forked.turns.last().and_then(|turn| turn.end), Some(TurnEnd::Stopped));
    assert_eq!(forked.next_turn().0, 3);
    expect![[r#"
        u one
        a two
        u three
        a r@2.1.0
        r 2.1.0 r=a"#]]
    .assert_eq(&transcript::shown(&Transcript::from(&forked)));
}

// J10: the stored form is frozen from here on.
#[test]
fn the_sample_reads_back_and_means_what_it_always_meant() {
    let state = sample(JOURNAL);
    let parent = state.opened.as_ref().and_then(|opened| opened.parent.clone()).unwrap();
    assert_eq!(parent.conversation.of_worker(parent.call).as_str(), "0123456789_1-2-0");
    let Some(Item::Step(step)) = state.turns[0].items.last() else { panic!("a step") };
    assert!(step.planned);
    let workers: Vec<_> = step.calls.iter().map(|call| call.worker.clone().unwrap()).collect();
    let workers: Vec<_> = workers.iter().map(ConversationId::as_str).collect();
    assert_eq!(workers, ["w_1-1-0", "w_1-1-1"]);
    assert_eq!(Status::of(&state).to_string(), "waiting-for-input (delegate)");
}

#[test]
fn a_script_of_workers_folds_in_pieces() {
    let journal = Journal::of("coordinate user ask answer:[] plan:a+b start:a park:a driver");
    let mut state = State::default();
    for entry in &journal.entries {
        state.apply(entry);
    }
    assert_eq!(state, journal.state);
}
