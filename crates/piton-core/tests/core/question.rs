//! What a tool wants to know: asked before it acts, or in the middle of it.

use expect_test::expect;
use piton_core::action::{Action, Wish};
use piton_core::command::Reply;
use piton_core::decide::decide;
use piton_core::event::Event;
use piton_core::state::{Progress, Turn};
use piton_core::transcript::Transcript;
use piton_core::view::Status;
use piton_core::view::View;

use crate::next_action::check;
use crate::sample::sample;
use crate::script::{Journal, fold};
use crate::{transcript, view};

/// A journal with questions, as it was first written. Never edited.
const JOURNAL: &str = include_str!("journals/v1_questions.jsonl");
const LETTERS: &str = include_str!("journals/v1_letters.jsonl");
const CHANGED: &str = include_str!("journals/v1_changed.jsonl");
const OWN_WORDS: &str = include_str!("journals/v1_own_words.jsonl");

// J15, J32, J33
#[test]
fn a_suspended_call_waits_for_its_answers_and_then_runs_again() {
    let asks = "turn user ask calls(o:a) start:a raise:question:a suspend:a";
    check(asks, expect!["wait for a person"]);
    check(&format!("{asks} driver"), expect!["wait for a person"]);
    check(&format!("{asks} tell:a:blue"), expect!["run a"]);
    check(&format!("{asks} driver tell:a:blue driver"), expect!["run a"]);
    check(&format!("{asks} deny:a"), expect!["run a"]);
    check(&format!("{asks} redact:a"), expect!["run a"]);
    check(&format!("{asks} withdraw:a"), expect!["run a"]);
}

// J34: several questions of several calls, all of them found, in order.
#[test]
fn a_call_runs_again_only_when_all_its_questions_are_answered() {
    let asks = "turn user ask calls(o:a r:b) start:a start:b raise:question:a raise:question:b \
                raise:question:a suspend:a suspend:b";
    check(asks, expect!["wait for a person"]);
    check(&format!("{asks} tell:b:x"), expect!["run b"]);
    check(&format!("{asks} tell:b:x tell:a:x"), expect!["run b"]);
    let state = fold(asks);
    let open = state.open_turn().into_iter().flat_map(Turn::pending_inquiries);
    let ids: Vec<_> = open.map(|inquiry| inquiry.id.to_string()).collect();
    assert_eq!(ids.len(), 3);
    assert!(ids[0].starts_with("1.1.0.") && ids[1].starts_with("1.1.1."), "{ids:?}");
}

// X14: other calls of the step go on.
#[test]
fn a_question_of_a_tool_holds_up_no_sibling() {
    let asks = "turn user ask calls(o:a r:b) start:a raise:question:a";
    check(asks, expect!["run b"]);
    check(&format!("{asks} start:b"), expect!["await"]);
    check(&format!("{asks} suspend:a start:b finish:b"), expect!["wait for a person"]);
}

// M9, X7, J40
#[test]
fn a_call_that_dies_at_a_question_is_in_doubt_unless_it_had_done_nothing() {
    let start = |tool| format!("turn user ask calls({tool}:a) start:a");
    check(&format!("{} raise:first:a driver", start("o")), expect!["wait for a person"]);
    check(&format!("{} raise:first:a driver tell:a:x", start("o")), expect!["run a"]);
    check(&format!("{} raise:question:a driver", start("r")), expect!["wait for a person"]);
    check(&format!("{} raise:question:a driver", start("i")), expect!["wait for a person"]);
    check(
        &format!("{} raise:question:a driver", start("o")),
        expect!["raise a InDoubt 1.1.0.in-doubt.1"],
    );
    check(&format!("{} raise:question:a driver", start("s")), expect!["settle a"]);
    // It heard the answer, so it may have acted on it.
    check(
        &format!("{} raise:first:a tell:a:x driver", start("o")),
        expect!["raise a InDoubt 1.1.0.in-doubt.1"],
    );
    check(&format!("{} raise:first:a tell:a:x driver", start("r")), expect!["run a"]);
}

// J40: what was answered stays with the call, also when a person has it run again.
#[test]
fn a_call_in_doubt_does_not_wait_for_its_question() {
    let state = fold("turn user ask calls(o:a) start:a raise:question:a driver raise:in-doubt:a");
    let open = state.open_turn().into_iter().flat_map(Turn::pending_inquiries);
    assert_eq!(open.map(|it| it.id.to_string()).collect::<Vec<_>>(), ["1.1.0.in-doubt.1"]);
}

// D46: permission may be withdrawn while a call waits for an answer.
#[test]
fn a_suspended_call_is_held_to_the_rules_of_now() {
    check(
        "turn user ask calls(o:a) start:a raise:question:a suspend:a tell:a:x rule:o:deny",
        expect!["finish a denied: A permission rule forbids this call of o; nobody was asked."],
    );
    check(
        "mode:ask turn user ask calls(o:a) raise:permission:a allow:a start:a raise:question:a \
         suspend:a tell:a:x",
        expect!["run a"],
    );
}

// K24, J89
#[test]
fn a_new_message_leaves_a_suspended_call_behind() {
    check(
        "turn user ask calls(o:a) start:a raise:question:a suspend:a inject",
        expect!["finish a cancelled: Not run: the user sent a new message instead."],
    );
}

// C31
#[test]
fn an_answer_that_tells_nothing_leaves_the_question_open() {
    let asks = "turn user ask calls(o:a) start:a raise:question:a suspend:a";
    check(&format!("{asks} allow:a rerun:a asdone:a"), expect!["wait for a person"]);
}

#[test]
fn a_suspension_of_what_does_not_run_is_a_stray() {
    assert_eq!(fold("turn user ask calls(o:a) suspend:a").strays, 1);
    assert_eq!(fold("turn user ask calls(o:a) start:a finish:a suspend:a").strays, 1);
    assert_eq!(fold("turn user ask calls(o:a) start:a driver suspend:a").strays, 0);
}

// D33
#[test]
fn a_question_of_a_running_tool_is_shown() {
    let running = Journal::of("turn user ask calls(o:a) start:a raise:question:a").state;
    assert_eq!(Status::of(&running), Status::WaitingForInput { tool: "o".into() });
    expect![[r#"
        title m1
        turn 1
          user m1: m1
          tool 1.1.0 o: asks What?
          waiting-for-input (o) None"#]]
    .assert_eq(&view::shown(&View::from(&running)));
}

// J10: the stored form is frozen.
#[test]
fn a_journal_with_questions_means_what_it_always_meant() {
    let state = sample(JOURNAL);
    let turn = state.open_turn().unwrap();
    let calls: Vec<_> = turn.steps().flat_map(|step| &step.calls).collect();
    assert!(calls.iter().all(|call| call.progress == Progress::Waiting), "{calls:?}");
    let open: Vec<_> = turn.pending_inquiries().map(|inquiry| inquiry.id.to_string()).collect();
    assert_eq!(open, ["1.1.0.form.1", "1.1.1.sure.1"]);
}

// D49: what a person did by hand, and an answer that came by letter.
#[test]
fn the_sample_of_letters_means_what_it_always_meant() {
    let state = sample(LETTERS);
    let turn = state.open_turn().unwrap();
    assert_eq!(turn.pending_inquiries().count(), 0);
    let calls: Vec<_> = turn.steps().flat_map(|step| &step.calls).collect();
    assert!(calls.iter().all(|call| call.progress == Progress::Waiting), "{calls:?}");
    let action = decide(&state, Wish::Proceed);
    let Action::Finish(verdicts) = action else { panic!("{action:?}") };
    let told =
        verdicts.iter().map(|told| format!("{}: {:?}: {}", told.call, told.outcome, told.text));
    expect![[r#"
        1.1.0: Ok: The user applied this change by hand; the tool was not run. Look at what is there before you rely on it.
        1.1.1: Denied: Tool execution denied by user."#]].assert_eq(&told.collect::<Vec<_>>().join("\n"));
}

// J10: the stored form of a question that takes other words than its options is frozen from here on.
#[test]
fn the_sample_of_own_words_means_what_it_always_meant() {
    for line in OWN_WORDS.lines() {
        assert_eq!(Event::from_stored(1, line).to_stored(), line);
    }
    let state = sample(OWN_WORDS);
    let open: Vec<_> = state.open_turn().unwrap().pending_inquiries().cloned().collect();
    let [asked] = open.as_slice() else { panic!("{open:?}") };
    let told = |typed: &str| {
        let events = Reply::Text(typed.into()).events(&state, &asked.id, None);
        events.iter().map(Event::to_stored).collect::<Vec<_>>().join("\n")
    };
    assert!(told("2").contains(r#""text":"blue""#), "{}", told("2"));
    assert!(told("dark green").contains(r#""text":"dark green""#), "{}", told("dark green"));
    assert_eq!(told(" "), "");
    let cancelled = Reply::Cancel.events(&state, &asked.id, None);
    let cancelled = cancelled.iter().map(Event::to_stored).collect::<String>();
    assert!(cancelled.contains(r#""answer":"cancelled""#), "{cancelled}");
}

// J10: the stored form of a call that a person changed, and of a reason, is frozen from here on.
#[test]
fn the_sample_of_changed_calls_means_what_it_always_meant() {
    for line in CHANGED.lines() {
        assert_eq!(Event::from_stored(1, line).to_stored(), line);
    }
    let state = sample(CHANGED);
    expect![[r#"
        title m1
        turn 1
          user m1: m1
          tool 1.1.0 shell: ls build: Ok: empty
          tool 1.1.1 shell: rm -r build: pending
          interrupted (pending tool execution) None"#]]
    .assert_eq(&view::shown(&View::from(&state)));
    let Action::Finish(verdicts) = decide(&state, Wish::Proceed) else { panic!() };
    assert_eq!(verdicts[0].text, "Tool execution denied by user. The user says: once is enough");
    // The model keeps its own words, and reads what ran.
    let result = r#"r 1.1.0 shell=[The user changed the arguments of this call to {"command":"ls build"}]
empty"#;
    let shown = transcript::shown(&Transcript::from(&state));
    assert!(shown.contains(result), "{shown}");
    let View { turns, .. } = View::from(&state);
    let call = turns[0].calls().next().unwrap();
    assert_eq!(call.asked.as_deref(), Some(r#"{"command":"rm -r build"}"#));
}
