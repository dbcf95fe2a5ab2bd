//! What comes next at a limit: allowances, context, interrupts, the queue.

use expect_test::{Expect, expect};
use piton_core::action::Wish;
use piton_core::decide::decide;

use crate::next_action::{check, shown};
use crate::script::Journal;

fn check_interrupt(script: &str, expected: Expect) {
    let journal = Journal::of(script);
    expected.assert_eq(&shown(&journal, &decide(&journal.state, Wish::Interrupt)));
}

// X23, K6
#[test]
fn steps_are_bounded_and_a_resume_grants_fresh_ones() {
    let spent = "steps_max:2 turn user ask calls(r:a) finish:a ask calls(r:b) finish:b";
    check(spent, expect!["break max_steps: 2 steps were used"]);
    check(&format!("{spent} break:max_steps"), expect!["rest"]);
    check(&format!("{spent} break:max_steps driver"), expect!["rest"]);
    check(&format!("{spent} break:max_steps resume"), expect!["ask model: step 3, attempt 1"]);
    check(&format!("{spent} break:max_steps inject"), expect!["ask model: step 3, attempt 1"]);
    check("steps_max:0 turn user ask calls(r:a) finish:a", expect!["ask model: step 2, attempt 1"]);
}

// D68
#[test]
fn tokens_are_bounded_and_the_last_answer_is_kept() {
    check(
        "tokens_max:100 turn user ask calls(r:a) finish:a",
        expect!["break limit: 110 tokens were used, 100 are allowed"],
    );
    check(
        "tokens_max:110 turn user ask calls(r:a) finish:a",
        expect!["ask model: step 2, attempt 1"],
    );
    check("tokens_max:100 turn user ask answer:hi", expect!["complete"]);
    check(
        "tokens_max:100 turn user ask calls(r:a) finish:a resume",
        expect!["ask model: step 2, attempt 1"],
    );
}

// D68: 110 tokens.
#[test]
fn cost_is_bounded_too() {
    check(
        "microdollars_max:109 turn user ask calls(r:a) finish:a",
        expect!["break limit: it cost ≈$0.00011, $0.000109 is allowed"],
    );
    check(
        "microdollars_max:110 turn user ask calls(r:a) finish:a",
        expect!["ask model: step 2, attempt 1"],
    );
    check(
        "microdollars_max:100 turn user ask calls(r:a) finish:a resume",
        expect!["ask model: step 2, attempt 1"],
    );
}

// O36, O37
#[test]
fn an_interrupt_without_a_turn_is_nothing() {
    check_interrupt("", expect!["rest"]);
    check_interrupt("turn user ask answer end:completed", expect!["rest"]);
    check_interrupt("queue:q", expect!["rest"]);
    check_interrupt("turn user break:interrupted", expect!["rest"]);
}

// X12, O37
#[test]
fn an_interrupt_first_cancels_what_is_in_flight() {
    check_interrupt("turn user ask calls(r:a r:b) start:a start:b finish:b", expect!["cancel"]);
}

// X12, O8, O36, O37
#[test]
fn an_interrupt_breaks_a_turn_with_nothing_in_flight() {
    check_interrupt("turn user", expect!["break interrupted: interrupted"]);
    // A request is dropped, not cancelled: that has no effect that could be lost.
    check_interrupt("turn user ask", expect!["break interrupted: interrupted"]);
    check_interrupt("turn user ask partial:x", expect!["break interrupted: interrupted"]);
    check_interrupt("turn user ask fail:network", expect!["break interrupted: interrupted"]);
    check_interrupt(
        "turn user ask calls(r:a r:b) start:a cancelled:a",
        expect!["break interrupted: interrupted"],
    );
    check_interrupt(
        "mode:ask turn user ask calls(o:a) raise:permission:a",
        expect!["break interrupted: interrupted"],
    );
    check_interrupt(
        "turn user ask calls(o:a) start:a driver",
        expect!["break interrupted: interrupted"],
    );
    check_interrupt("turn user ask inject", expect!["break interrupted: interrupted"]);
}

// X13, K58, K59, O39
#[test]
fn the_queue_drains_after_completed_turns_only() {
    check("queue:q", expect!["start queued q"]);
    check("turn user queue:q queue:p ask answer end:completed", expect!["start queued q"]);
    check("turn user queue:q ask answer", expect!["complete"]);
    check("turn user queue:q ask fail:auth break:api_error", expect!["rest"]);
    check("turn user queue:q break:interrupted driver", expect!["rest"]);
    check("turn user queue:q end:stopped", expect!["rest"]);
    check("turn user queue:q end:discarded", expect!["rest"]);
    check(
        "turn user queue:q end:stopped turn user ask answer end:completed",
        expect!["start queued q"],
    );
}

#[test]
fn a_message_leaves_the_queue_when_it_is_said_or_taken_back() {
    check("queue:q queue:p turn say:q ask answer end:completed", expect!["start queued p"]);
    check("queue:q unqueue:q", expect!["rest"]);
}

/// A closed turn with a message of a thousand tokens.
fn old() -> String {
    format!("turn user:{} ask answer:hi end:completed", "0123456789".repeat(400))
}

// K43, K45, D69
#[test]
fn a_conversation_over_its_budget_is_compacted_before_the_request() {
    let old = old();
    check(
        &format!("{old} context_max:900 turn user"),
        expect!["sum up behind turn 0 through turn 1, at most 512 tokens"],
    );
    check(&format!("{old} context_max:9000 turn user"), expect!["ask model: step 1, attempt 1"]);
    for summary in ["compact:1", "sum:1"] {
        check(
            &format!("{old} context_max:900 turn user {summary}"),
            expect!["ask model: step 1, attempt 1"],
        );
    }
}

// K44, O27
#[test]
fn compacting_is_bounded() {
    let old = old();
    check(
        &format!("{old} context_max:9 turn user sum:1"),
        expect![
            "break limit: the conversation is larger than the context budget; the largest part is the description of the tools, about 4 tokens; nothing is left to shorten: go on with a model that takes more, or begin a new conversation"
        ],
    );
    check(
        "context_max:1 turn user:0123456789012345678901234567890123456789",
        expect![
            "break limit: the conversation is larger than the context budget; the largest part is your message m1, about 10 tokens; nothing is left to shorten: go on with a model that takes more, or begin a new conversation"
        ],
    );
    // A summary that would be longer than what it covers is none.
    check(
        "turn user ask answer end:completed context_max:3 turn user",
        expect![
            "break limit: the conversation is larger than the context budget; the largest part is the description of the tools, about 4 tokens; nothing is left to shorten: go on with a model that takes more, or begin a new conversation"
        ],
    );
}

// O26, O27, K43
#[test]
fn a_request_that_overflows_is_compacted_and_tried_again() {
    let old = format!("{} turn user", old());
    check(
        "turn user ask fail:context_overflow",
        expect![
            "break limit: context_overflow; the largest part is the description of the tools, about 4 tokens; nothing is left to shorten: go on with a model that takes more, or begin a new conversation"
        ],
    );
    check(
        &format!("{old} ask fail:context_overflow"),
        expect!["sum up behind turn 0 through turn 1, at most 512 tokens"],
    );
    check(
        &format!("{old} ask fail:context_overflow sum:1"),
        expect!["ask model: step 1, attempt 2"],
    );
    check(
        &format!("{old} ask fail:context_overflow sum:1 ask fail:context_overflow"),
        expect![
            "break limit: context_overflow; the largest part is the description of the tools, about 4 tokens; nothing is left to shorten: go on with a model that takes more, or begin a new conversation"
        ],
    );
}
