//! What comes next: the decide table for requests and answers.

use expect_test::{Expect, expect};
use piton_core::action::{Action, PieceAsk, Verdict, Wish};
use piton_core::decide::decide;
use piton_core::event::{BreakReason, Outcome};
use piton_core::id::CallId;
use piton_core::state::Cut;

use crate::script::Journal;

/// Holds what `decide` says after a script against one line.
pub(crate) fn check(script: &str, expected: Expect) {
    let journal = Journal::of(script);
    expected.assert_eq(&shown(&journal, &decide(&journal.state, Wish::Proceed)));
}

/// An action in one line, with the names of the script. Waits count from the last entry.
pub(crate) fn shown(journal: &Journal, action: &Action) -> String {
    let names = |calls: &[CallId]| {
        calls.iter().map(|call| journal.name(*call)).collect::<Vec<_>>().join(" ")
    };
    match action {
        Action::Rest => "rest".into(),
        Action::StartQueued(message) => format!("start queued {message}"),
        Action::Steer(message) => format!("steer {message}"),
        Action::Await => "await".into(),
        Action::Cancel => "cancel".into(),
        Action::WaitForPerson => "wait for a person".into(),
        Action::Compact(Cut { through, within: None }) => format!("compact through {}", through.0),
        Action::Compact(Cut { through, within: Some(step) }) => {
            format!("compact through {} and step {step}", through.0)
        }
        Action::SumUp(PieceAsk { range, tokens_max }) => {
            let place = |cut: Cut| match cut.within {
                Some(step) => format!("step {step}"),
                None => format!("turn {}", cut.through.0),
            };
            let (after, through) = (place(range.after), place(range.through));
            format!("sum up behind {after} through {through}, at most {tokens_max} tokens")
        }
        Action::LeaveSummary => "leave summary".into(),
        Action::Complete => "complete".into(),
        Action::AskModel { step, attempt, not_before } => {
            let now = journal.entries.last().unwrap().at;
            let wait = not_before.map(|at| format!(", wait {} ms", at.ms_since(now)));
            format!("ask model: step {step}, attempt {}{}", attempt.0, wait.unwrap_or_default())
        }
        Action::Shorten(outputs) => {
            let calls: Vec<_> = outputs.iter().map(|output| output.call).collect();
            format!("shorten {}", names(&calls))
        }
        Action::Repair(steps) => {
            let steps: Vec<_> = steps.iter().map(ToString::to_string).collect();
            format!("repair {}", steps.join(" "))
        }
        Action::Plan(calls) => {
            let tasks: Vec<_> = calls.iter().map(|call| &*call.arguments).collect();
            format!("plan {}", tasks.join(" "))
        }
        Action::Locate(calls) => format!("locate {}", names(calls)),
        Action::RunTools(calls) => format!("run {}", names(calls)),
        Action::Settle(calls) => format!("settle {}", names(calls)),
        Action::Raise(inquiries) => {
            let asked = inquiries.iter().map(|inquiry| {
                format!(" {} {:?} {}", journal.name(inquiry.call), inquiry.kind, inquiry.id)
            });
            format!("raise{}", asked.collect::<Vec<_>>().join(","))
        }
        Action::Finish(verdicts) => {
            let ends: Vec<_> = verdicts.iter().map(|verdict| ended(journal, verdict)).collect();
            format!("finish {}", ends.join("; "))
        }
        Action::Break { reason, message } => format!("break {}: {message}", reason_word(*reason)),
    }
}

fn ended(journal: &Journal, Verdict { call, outcome, text }: &Verdict) -> String {
    let outcome = match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied",
        Outcome::Cancelled => "cancelled",
        Outcome::Unknown => "unknown",
    };
    format!("{} {outcome}: {text}", journal.name(*call))
}

fn reason_word(reason: BreakReason) -> String {
    serde_json::to_string(&reason).unwrap().trim_matches('"').into()
}

#[test]
fn rests_without_a_turn() {
    check("", expect!["rest"]);
    check("driver turn user ask answer end:completed", expect!["rest"]);
}

// M2, J28
#[test]
fn asks_the_model_for_a_message_without_an_answer() {
    check("driver turn user", expect!["ask model: step 1, attempt 1"]);
    check("turn user driver driver", expect!["ask model: step 1, attempt 1"]);
}

#[test]
fn breaks_a_turn_that_has_no_message() {
    check("turn", expect!["break limit: the turn has no message"]);
    check("turn say:m:", expect!["break limit: the turn has no message"]);
}

#[test]
fn awaits_the_answer_of_a_request_under_way() {
    check("turn user ask", expect!["await"]);
    check("turn user ask partial:hel", expect!["await"]);
}

// M3, M4
#[test]
fn repeats_a_request_that_died_with_its_driver() {
    check("turn user ask driver", expect!["ask model: step 1, attempt 2"]);
    check("turn user ask partial:hel driver", expect!["ask model: step 1, attempt 2"]);
}

// K2, D51
#[test]
fn completes_a_turn_with_its_final_answer() {
    check("turn user ask answer:hi", expect!["complete"]);
    check("turn user ask answer:hi driver", expect!["complete"]);
    check("turn user ask calls(r:a) start:a finish:a ask answer:hi", expect!["complete"]);
}

// J31, M11
#[test]
fn asks_again_when_all_calls_have_ended() {
    check(
        "turn user ask calls(r:a r:b) start:a start:b finish:b finish:a",
        expect!["ask model: step 2, attempt 1"],
    );
    check(
        "turn user ask calls(r:a) start:a finish:a driver",
        expect!["ask model: step 2, attempt 1"],
    );
    check("turn user ask calls(r:a) start:a failed:a", expect!["ask model: step 2, attempt 1"]);
}

// K46, J49
#[test]
fn waits_longer_after_each_failure() {
    check("turn user ask fail:network", expect!["ask model: step 1, attempt 2, wait 1000 ms"]);
    check(
        "turn user ask fail:network ask fail:server",
        expect!["ask model: step 1, attempt 3, wait 2000 ms"],
    );
    check(
        "turn user ask fail:network ask fail:server ask fail:stalled",
        expect!["ask model: step 1, attempt 4, wait 4000 ms"],
    );
    check(
        "turn user ask fail:rate_limited:7000",
        expect!["ask model: step 1, attempt 2, wait 7000 ms"],
    );
    check(
        "turn user ask fail:rate_limited:120000",
        expect!["ask model: step 1, attempt 2, wait 120000 ms"],
    );
    check(
        "turn user ask fail:rate_limited:3600000",
        expect!["break api_error: rate_limited; the provider asks to wait 60 min"],
    );
}

// K47, J48, J50
#[test]
fn breaks_when_the_allowance_of_failures_is_spent() {
    check(
        "failures_max:2 turn user ask fail:network ask fail:network",
        expect!["break api_error: network"],
    );
    check("failures_max:0 turn user ask fail:network", expect!["break api_error: network"]);
}

// J48: an outage is waited for, for as long as was recorded with it, and uses up no tries
#[test]
fn an_outage_uses_up_no_tries_as_long_as_it_is_waited_for() {
    let row = |tries: usize| format!("turn user{}", " ask fail:off:60000".repeat(tries));
    check(
        &format!("failures_max:1 attempts_max:2 {}", row(3)),
        expect!["ask model: step 1, attempt 4, wait 4000 ms"],
    );
    check(&row(9), expect!["ask model: step 1, attempt 10, wait 15000 ms"]);
    // 31 tries of two seconds each are longer than it is waited for: those behind it count.
    check(&row(35), expect!["break api_error: unreachable; it was waited for, 60 s"]);
    check(&row(32), expect!["ask model: step 1, attempt 33, wait 2000 ms"]);
}

// M12
#[test]
fn a_restart_in_an_outage_begins_no_new_one() {
    let row = |tries: usize| " ask fail:off:9000 driver".repeat(tries);
    check(
        &format!("failures_max:1 turn user{}", row(2)),
        expect!["ask model: step 1, attempt 3, wait 1000 ms"],
    );
    check(
        &format!("failures_max:1 turn user{}", row(4)),
        expect!["break api_error: unreachable; it was waited for, 9 s"],
    );
    check(
        &format!("failures_max:1 turn user{} break:api_error resume ask fail:off:9000", row(4)),
        expect!["ask model: step 1, attempt 6, wait 1000 ms"],
    );
}

#[test]
fn whoever_can_be_reached_ends_an_outage() {
    check(
        "failures_max:2 turn user ask fail:off:60000 ask fail:server ask fail:off:1",
        expect!["ask model: step 1, attempt 4, wait 1000 ms"],
    );
    check("failures_max:1 turn user ask fail:off:0", expect!["break api_error: unreachable"]);
}

// K47, J50, O45
#[test]
fn breaks_at_once_after_a_permanent_failure() {
    check("turn user ask fail:auth", expect!["break api_error: auth"]);
    check("turn user ask fail:quota", expect!["break api_error: quota"]);
    check("turn user ask fail:unknown", expect!["break api_error: unknown"]);
}

// J48
#[test]
fn content_that_arrives_ends_the_row_of_failures() {
    check(
        "failures_max:2 turn user ask fail:network ask partial:x fail:network",
        expect!["ask model: step 1, attempt 3, wait 1000 ms"],
    );
}

#[test]
fn tries_of_one_step_are_bounded_whatever_arrives() {
    check(
        "attempts_max:2 turn user ask partial:x fail:network",
        expect!["ask model: step 1, attempt 2, wait 1000 ms"],
    );
    check(
        "attempts_max:2 turn user ask partial:x fail:network ask partial:x fail:network",
        expect!["break api_error: network"],
    );
}

// M12
#[test]
fn a_restart_keeps_the_wait_and_the_spent_allowance() {
    check(
        "turn user ask fail:rate_limited:7000 driver",
        expect!["ask model: step 1, attempt 2, wait 6000 ms"],
    );
    check(
        "failures_max:2 turn user ask fail:network ask fail:network driver",
        expect!["break api_error: network"],
    );
    check(
        "steps_max:1 turn user ask calls(r:a) start:a finish:a driver",
        expect!["break max_steps: 1 step was used"],
    );
}

// X4, K5, J55
#[test]
fn an_empty_answer_is_tried_once_more() {
    check("turn user ask fail:empty", expect!["ask model: step 1, attempt 2"]);
    check(
        "turn user ask fail:empty ask fail:empty",
        expect!["break empty_answer: the model answered with nothing, twice"],
    );
    check(
        "turn user ask fail:empty ask fail:empty break:empty_answer resume",
        expect!["ask model: step 1, attempt 3"],
    );
}

// X23
#[test]
fn a_resume_grants_fresh_tries_of_every_kind() {
    let empty = "turn user ask fail:empty ask fail:empty break:empty_answer";
    check(&format!("{empty} resume ask fail:empty"), expect!["ask model: step 1, attempt 4"]);
    let tries = "attempts_max:2 turn user ask fail:network ask fail:network break:api_error";
    check(
        &format!("{tries} resume ask fail:network"),
        expect!["ask model: step 1, attempt 4, wait 1000 ms"],
    );
    let failures = "failures_max:1 turn user ask fail:network break:api_error";
    check(&format!("{failures} resume"), expect!["ask model: step 1, attempt 2"]);
}

#[test]
fn each_step_may_be_empty_once() {
    check(
        "turn user ask fail:empty ask calls(r:a) finish:a ask fail:empty",
        expect!["ask model: step 2, attempt 2"],
    );
}

// D70, J54
#[test]
fn calls_cut_off_by_the_output_limit_are_asked_for_again() {
    check("turn user ask length(t:so x:o)", expect!["ask model: step 2, attempt 1"]);
    check("turn user ask length(r:a x:o)", expect!["run a"]);
    check(
        "turn user ask length(r:a x:o) start:a finish:a",
        expect!["ask model: step 2, attempt 1"],
    );
}

#[test]
fn a_text_cut_off_by_the_output_limit_goes_on_when_somebody_resumes() {
    check(
        "turn user ask length:so",
        expect!["break limit: the answer was cut off by the output limit"],
    );
    check("turn user ask length:so break:limit resume", expect!["ask model: step 2, attempt 1"]);
    check(
        "turn user ask length:so break:limit resume ask fail:network",
        expect!["ask model: step 2, attempt 2, wait 1000 ms"],
    );
}

// J53
#[test]
fn a_refusal_breaks_and_may_be_tried_again() {
    check("turn user ask refused:no", expect!["break api_error: the model refused to answer"]);
    check(
        "turn user ask refused:no break:api_error resume",
        expect!["ask model: step 2, attempt 1"],
    );
}

// X9, C13
#[test]
fn a_retried_message_is_asked_about_anew() {
    check(
        "turn user ask calls(o:a) start:a finish:a retry",
        expect!["ask model: step 2, attempt 1"],
    );
    check("turn user ask answer end:completed retry", expect!["ask model: step 2, attempt 1"]);
    check(
        "turn user ask answer end:completed turn user ask answer end:completed retry:m1",
        expect!["ask model: step 2, attempt 1"],
    );
}

// K24, K26
#[test]
fn an_injected_message_gets_a_step_of_its_own() {
    check(
        "turn user ask fail:auth break:api_error inject",
        expect!["ask model: step 2, attempt 1"],
    );
    check("turn user ask partial:x inject", expect!["ask model: step 2, attempt 1"]);
}
