//! What comes next for calls whose work somebody else does and can be asked about.

use expect_test::expect;
use piton_core::event::Handle;
use piton_core::state::Progress;
use piton_core::view::Status;

use crate::next_action::check;
use crate::sample::sample;
use crate::script::fold;

const JOURNAL: &str = include_str!("journals/v1_tasks.jsonl");

// M6: whoever has the work is asked about it, whatever the class says; nothing is sent again.
#[test]
fn a_call_that_became_a_task_is_settled_by_asking() {
    for class in ["o", "r", "i"] {
        let task = format!("turn user ask calls({class}:a) start:a track:a driver");
        check(&task, expect!["settle a"]);
        check(&format!("in_doubt:tell_model {task}"), expect!["settle a"]);
        check(&format!("{task} start:a driver"), {
            // It was found at work with its old handle, which `start` here does not repeat.
            match class {
                "o" => expect!["raise a InDoubt 1.1.0.in-doubt.2"],
                _ => expect!["run a"],
            }
        });
    }
    check("turn user ask calls(o:a) start:a track:a", expect!["await"]);
    check("turn user ask calls(o:a) start:a track:a break:interrupted resume", expect!["settle a"]);
}

#[test]
fn a_round_goes_on_unless_that_is_forbidden_by_now() {
    let round = "turn user ask calls(o:a) start:a round:a driver";
    check(round, expect!["settle a"]);
    check(
        &format!("in_doubt:tell_model rule:o:deny {round}"),
        expect![[
            r#"finish a unknown: The tool was started, then the agent was interrupted; its outcome is unknown, and it may still be running. Before you repeat it, check what it did and that it has ended."#
        ]],
    );
}

// Answers that were sent may have taken effect: from then on the class decides again.
#[test]
fn a_round_that_was_answered_is_in_doubt() {
    check(
        "turn user ask calls(o:a) start:a round:a untrack:a driver",
        expect!["raise a InDoubt 1.1.0.in-doubt.1"],
    );
}

// Begun again, a call that only reads would leave its task to nobody.
#[test]
fn a_question_of_a_task_does_not_make_its_call_begin_again() {
    check("turn user ask calls(r:a) start:a raise:question:a driver", expect!["wait for a person"]);
    check("turn user ask calls(r:a) start:a track:a raise:question:a driver", expect!["settle a"]);
    check(
        "turn user ask calls(o:a) start:a round:a raise:question:a park:a",
        expect!["wait for a person"],
    );
    check(
        "turn user ask calls(o:a) start:a round:a raise:question:a park:a driver",
        expect!["settle a"],
    );
}

#[test]
fn a_question_of_a_task_can_be_answered_before_anybody_goes_on() {
    for then in ["park:a", "driver", "park:a driver"] {
        let asked = format!("turn user ask calls(o:a) start:a track:a raise:question:a {then}");
        let state = fold(&asked);
        let turn = state.open_turn().unwrap();
        assert_eq!(turn.pending_inquiries().count(), 1, "{then}");
        assert_eq!(Status::of(&state).to_string(), "waiting-for-input (o)", "{then}");
    }
    let lost = fold("turn user ask calls(o:a) start:a raise:question:a driver");
    assert_eq!(lost.open_turn().unwrap().pending_inquiries().count(), 0);
}

#[test]
fn only_what_runs_becomes_a_task() {
    let strays = |script: &str| fold(script).strays;
    assert_eq!(strays("turn user ask calls(o:a) track:a"), 1);
    assert_eq!(strays("turn user ask calls(o:a) start:a track:a track:a untrack:a"), 0);
    assert_eq!(strays("turn user ask calls(o:a) start:a driver track:a"), 1);
    assert_eq!(strays("turn user ask calls(o:a) start:a finish:a track:a"), 1);
}

#[test]
fn recorded_tasks_are_read_as_they_were_written() {
    let state = sample(JOURNAL);
    let step = state.turns[0].steps().next_back().unwrap();
    let handle = |place: usize| {
        let Progress::InDoubt(started) = &step.calls[place].progress else { panic!("in doubt") };
        started.handle.clone()
    };
    assert_eq!(handle(0), Handle::Task { id: "t-1".into(), since: "then".into() });
    let (state_text, asked) = (Some("s".to_owned()), r#"{"k":1}"#.to_owned());
    assert_eq!(handle(1), Handle::Round { number: 2, state: state_text, asked });
    assert_eq!(handle(2), Handle::None);
    assert_eq!(Status::of(&state).to_string(), "interrupted (pending tool execution)");
}
