//! What faces see: status words, the view of an incomplete turn, and how a turn ended.

use expect_test::{Expect, expect};
use piton_core::attachment;
use piton_core::event::{BreakReason, TurnEnd, UserPart};
use piton_core::outcome::{Cause, Ending};
use piton_core::summary::{input_summary, output_summary};
use piton_core::view::{CallState, CallView, ItemView, MessagePart, PartView, Status, View};

use crate::script::fold;

fn check_status(script: &str, expected: Expect) {
    expected.assert_eq(&Status::of(&fold(script)).to_string());
}

// J69, J3, J4
#[test]
fn the_status_says_what_the_open_turn_waits_for() {
    check_status("", expect![[""]]);
    check_status("turn user ask answer end:completed", expect![[""]]);
    check_status("turn user", expect!["interrupted (pending LLM response)"]);
    check_status("turn user ask partial:x driver", expect!["interrupted (pending LLM response)"]);
    check_status("turn user ask calls(r:a)", expect!["interrupted (pending tool execution)"]);
    check_status(
        "turn user ask calls(r:a) start:a driver",
        expect!["interrupted (pending tool execution)"],
    );
    check_status(
        "turn user ask calls(r:a) start:a finish:a",
        expect!["interrupted (pending follow-up)"],
    );
    check_status(
        "turn user ask calls(r:a) start:a finish:a ask fail:auth",
        expect!["interrupted (pending follow-up)"],
    );
    check_status(
        "turn user ask calls(r:a) start:a finish:a inject",
        expect!["interrupted (pending LLM response)"],
    );
}

// J5, X21: what is no step of a turn changes nothing about where it stands.
#[test]
fn the_status_does_not_depend_on_what_came_last() {
    for script in [
        "turn user ask answer end:completed",
        "turn user ask partial:x",
        "turn user ask calls(r:a) start:a",
        "turn user ask calls(r:a) start:a finish:a",
        "mode:ask turn user ask calls(o:a) raise:permission:a",
    ] {
        let status = Status::of(&fold(script));
        for last in ["alien:New", "model:script/other", "queue"] {
            assert_eq!(Status::of(&fold(&format!("{script} {last}"))), status, "{script} {last}");
        }
    }
}

// J70, X21, J62
#[test]
fn a_question_wins_although_a_sibling_finished_later() {
    check_status(
        "mode:ask turn user ask calls(o:a r:b) raise:permission:a",
        expect!["waiting-for-input (o)"],
    );
    check_status(
        "mode:ask turn user ask calls(o:a r:b) raise:permission:a start:b finish:b",
        expect!["waiting-for-input (o)"],
    );
    check_status(
        "turn user ask calls(o:a) start:a driver raise:in-doubt:a",
        expect!["waiting-for-input (o)"],
    );
    check_status(
        "mode:ask turn user ask calls(o:a r:b) raise:permission:a start:b finish:b deny:a denied:a",
        expect!["interrupted (pending follow-up)"],
    );
}

#[test]
fn a_question_that_a_rule_has_overtaken_is_no_longer_waited_for() {
    check_status(
        "mode:ask turn user ask calls(o:a) raise:permission:a mode:auto start:a",
        expect!["interrupted (pending tool execution)"],
    );
    // Nobody has gone on yet. A face that waited for an answer here would wait for ever: none is taken.
    check_status(
        "mode:ask turn user ask calls(o:a) raise:permission:a mode:auto",
        expect!["interrupted (pending tool execution)"],
    );
}

// C31
#[test]
fn a_question_about_a_call_that_has_ended_is_settled() {
    check_status(
        "mode:ask turn user ask calls(o:a) raise:permission:a inject cancelled:a",
        expect!["interrupted (pending LLM response)"],
    );
}

fn check_view(script: &str, expected: Expect) {
    expected.assert_eq(&shown(&View::from(&fold(script))));
}

pub(crate) fn shown(view: &View) -> String {
    let mut lines = vec![format!("title {}", view.head.title)];
    for turn in view.shown() {
        let stopped = if turn.head.end == Some(TurnEnd::Stopped) { " (stopped)" } else { "" };
        lines.push(format!("turn {}{stopped}", turn.head.id.0));
        for item in &turn.items {
            match item {
                ItemView::Message(message) => {
                    let text = message.parts.iter().filter_map(|part| match part.clone() {
                        MessagePart::Text { text } => Some(text.to_string()),
                        MessagePart::File { name, media_type, blob } => {
                            attachment::label(&UserPart::File { name, media_type, blob })
                        }
                        MessagePart::InlinedFile { name, media_type, text } => {
                            attachment::label(&UserPart::InlinedFile { name, media_type, text })
                        }
                        _ => None,
                    });
                    let text: Vec<_> = text.collect();
                    lines.push(format!("  user {}: {}", message.id, text.join("\n")));
                }
                ItemView::Step(step) => {
                    let text = step.parts.iter().filter_map(|part| match part {
                        PartView::Text { text } => Some(&**text),
                        PartView::Reasoning { .. } | PartView::Call { .. } | _ => None,
                    });
                    let text: String = text.collect();
                    let more = if step.partial { " ..." } else { "" };
                    lines.extend((!text.is_empty()).then(|| format!("  assistant: {text}{more}")));
                    lines.extend(step.calls.iter().map(call));
                }
                _ => {}
            }
        }
        if view.head.open == Some(turn.head.id) {
            let reason = turn.head.halt.as_ref().map(|halt| halt.reason);
            lines.push(format!("  {} {reason:?}", view.head.status));
        }
    }
    lines.join("\n")
}

fn call(call: &CallView) -> String {
    let asked = call.questions.iter().find(|question| question.open);
    let state = match (&call.state, asked) {
        (CallState::Parked { question }, _) => format!("a worker asks {question}"),
        (CallState::Done { outcome, .. }, _) => {
            let output = call.result.as_ref().map(|result| output_summary(&result.text));
            format!("{outcome:?}: {}", output.unwrap_or_default())
        }
        (_, Some(question)) => format!("asks {}", question.heading),
        (CallState::Waiting, None) => "pending".into(),
        (CallState::Running, None) => "running".into(),
        (CallState::InDoubt, None) => "in doubt".into(),
        (state, None) => format!("{state:?}"),
    };
    format!("  tool {} {}: {state}", call.id, input_summary(&call.tool, &call.arguments))
}

// J72, J2, J1
#[test]
fn an_incomplete_turn_is_shown_behind_the_complete_ones() {
    check_view(
        "turn user ask answer:hi end:completed mode:ask turn user:again ask \
         calls(t:look r:a o:b s:c) raise:permission:b start:a finish:a:found start:c",
        expect![[r#"
            title m1
            turn 1
              user m1: m1
              assistant: hi
            turn 2
              user m2: again
              assistant: look
              tool 2.1.0 r: Ok: found
              tool 2.1.1 o: asks b?
              tool 2.1.2 s: running
              waiting-for-input (o) None"#]],
    );
    check_view(
        "turn user ask calls(s:a) start:a break:interrupted",
        expect![[r#"
        title m1
        turn 1
          user m1: m1
          tool 1.1.0 s: in doubt
          interrupted (pending tool execution) Some(Interrupted)"#]],
    );
}

// X2, K34, M3, J6, K37
#[test]
fn text_that_broke_off_is_shown_as_such() {
    check_view(
        "turn user ask partial:hel partial:lo fail:network",
        expect![[r#"
        title m1
        turn 1
          user m1: m1
          assistant: hello ...
          interrupted (pending LLM response) None"#]],
    );
    check_view(
        "turn user ask partial:hello fail:network ask",
        expect![[r#"
        title m1
        turn 1
          user m1: m1
          assistant: hello ...
          interrupted (pending LLM response) None"#]],
    );
    check_view(
        "turn user ask partial:hello fail:network ask partial:bye",
        expect![[r#"
        title m1
        turn 1
          user m1: m1
          assistant: bye ...
          interrupted (pending LLM response) None"#]],
    );
}

// J25, X12, X19, K37
#[test]
fn discarded_turns_are_hidden_and_stopped_ones_kept() {
    check_view(
        "turn user ask partial:x end:stopped turn user end:discarded turn user",
        expect![[r#"
            title m1
            turn 1 (stopped)
              user m1: m1
              assistant: x ...
            turn 3
              user m3: m3
              interrupted (pending LLM response) None"#]],
    );
}

// C3, X9
#[test]
fn a_retried_message_is_shown_once_and_its_old_attempt_not_at_all() {
    check_view(
        "turn user ask calls(o:a) start:a finish:a retry",
        expect![[r#"
        title m1
        turn 1
          user m1: m1
          interrupted (pending LLM response) None"#]],
    );
    check_view(
        "turn user ask answer:old end:completed retry resend:m1:new",
        expect![[r#"
        title new
        turn 1
          user m1: new
          interrupted (pending LLM response) None"#]],
    );
}

/// How the newest turn stands: the five terminal states, and the open ones.
fn check_ending(script: &str, expected: Expect) {
    let caused = |word: &str, cause: Cause| {
        let failure = cause.failure.map(|failure| format!(", {:?}", failure.class));
        let reason = cause.reason.map_or("none".into(), |reason| format!("{reason:?}"));
        format!("{word}: {reason}{} ({})", failure.unwrap_or_default(), cause.message)
    };
    let shown = match Ending::of(&fold(script)) {
        Ending::Done => "done".into(),
        Ending::Closed(end) => format!("closed: {end:?}"),
        Ending::WaitingForInput => "waiting for input".into(),
        Ending::Nothing => "nothing".into(),
        Ending::Incomplete(cause) => caused("incomplete", cause),
        Ending::Error(cause) => caused("error", cause),
    };
    expected.assert_eq(&shown);
}

// K1, K2
#[test]
fn normal_completion_is_done() {
    check_ending("", expect!["nothing"]);
    check_ending("turn user ask answer end:completed", expect!["done"]);
    check_ending("turn user ask answer end:stopped", expect!["closed: Stopped"]);
    check_ending("turn user ask answer end:discarded", expect!["closed: Discarded"]);
}

// K1, K3, K4, K7, K8, K9
#[test]
fn an_api_error_is_incomplete_only_when_there_is_work_to_keep() {
    check_ending(
        "turn user ask fail:auth break:api_error",
        expect!["error: ApiError, Auth (api_error)"],
    );
    check_ending(
        "turn user ask partial:x fail:auth break:api_error",
        expect!["error: ApiError, Auth (api_error)"],
    );
    check_ending(
        "turn user ask calls(r:a) finish:a ask fail:auth break:api_error",
        expect!["incomplete: ApiError, Auth (api_error)"],
    );
}

// K1, K5, K9, X4
#[test]
fn an_empty_answer_is_never_done() {
    let empty = "ask fail:empty ask fail:empty break:empty_answer";
    check_ending(&format!("turn user {empty}"), expect!["error: EmptyAnswer (empty_answer)"]);
    check_ending(
        &format!("turn user ask calls(r:a) finish:a {empty}"),
        expect!["incomplete: EmptyAnswer (empty_answer)"],
    );
}

// K1, K6, K9
#[test]
fn spent_steps_are_incomplete_without_an_error() {
    check_ending(
        "turn user ask fail:network ask calls(r:a) finish:a break:max_steps",
        expect!["incomplete: MaxSteps (max_steps)"],
    );
}

// K1, K18, K36, X12
#[test]
fn an_interrupt_keeps_what_was_done() {
    check_ending(
        "turn user ask calls(r:a) finish:a break:interrupted",
        expect!["incomplete: Interrupted (interrupted)"],
    );
    check_ending(
        "turn user ask fail:network break:interrupted",
        expect!["error: Interrupted (interrupted)"],
    );
}

// K22
#[test]
fn a_killed_process_is_incomplete_although_nobody_said_so() {
    check_ending(
        "turn user ask calls(r:a) start:a",
        expect!["incomplete: none (the process was lost)"],
    );
    check_ending(
        "turn user ask fail:network",
        expect!["error: none, Network (the process was lost)"],
    );
    check_ending(
        "turn user ask calls(r:a) finish:a break:max_steps resume",
        expect!["incomplete: none (the process was lost)"],
    );
}

#[test]
fn an_open_question_waits_for_input() {
    let asked = "mode:ask turn user ask calls(o:a) raise:permission:a";
    check_ending(asked, expect!["waiting for input"]);
    check_ending(
        &format!("{asked} break:interrupted"),
        expect!["incomplete: Interrupted (interrupted)"],
    );
}

// K10
#[test]
fn every_reason_reaches_the_face() {
    for reason in [BreakReason::ApiError, BreakReason::EmptyAnswer, BreakReason::Limit] {
        let word = serde_json::to_string(&reason).unwrap();
        let state = fold(&format!("turn user break:{}", word.trim_matches('"')));
        let Ending::Error(cause) = Ending::of(&state) else { panic!("{reason:?} is an error") };
        assert_eq!(cause.reason, Some(reason));
        assert_ne!(Ending::of(&state), Ending::Closed(TurnEnd::Stopped));
    }
}
