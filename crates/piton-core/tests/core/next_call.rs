//! What comes next for calls: permission, order, doubt.

use expect_test::expect;

use crate::next_action::check;
use crate::script::fold;

// M5, J29, D59
#[test]
fn all_permitted_calls_start_together() {
    check("turn user ask calls(r:a o:b s:c)", expect!["run a b c"]);
    check("turn user ask calls(r:a o:b s:c) driver", expect!["run a b c"]);
}

// J17, J30, M7
#[test]
fn only_calls_without_a_start_are_started() {
    check("turn user ask calls(o:a o:b o:c) start:a finish:a start:b", expect!["run c"]);
    check(
        "turn user ask calls(o:a o:b o:c) start:a start:b finish:a finish:b driver",
        expect!["run c"],
    );
}

// D60, O34
#[test]
fn a_failed_call_stops_no_sibling() {
    check("turn user ask calls(o:a o:b) start:a failed:a", expect!["run b"]);
    check("turn user ask calls(o:a o:b) start:a start:b failed:a", expect!["await"]);
}

// K51, K52, O30
#[test]
fn arguments_that_are_not_a_json_object_are_never_executed() {
    check(
        "turn user ask calls(bad:a)",
        expect![
            "finish a failed: The arguments are not a JSON object (expected ident at line 1 column 2). The tool was not run. Call it again with valid arguments."
        ],
    );
    check(
        "turn user ask calls(list:a r:b)",
        expect![
            "finish a failed: The arguments are not a JSON object (invalid type: sequence, expected a map at line 1 column 0). The tool was not run. Call it again with valid arguments."
        ],
    );
}

// J57: what is to be done is read off the answer, also where nobody can do it
#[test]
fn an_unknown_tool_is_answered_with_the_names_of_the_known_ones() {
    check(
        "turn user ask calls(ghost:a)",
        expect!["finish a failed: There is no tool ghost. Available: r, i, d, s, c, o."],
    );
}

// D37, D41, X14, J34
#[test]
fn permission_is_asked_for_each_call_that_needs_it() {
    check(
        "mode:ask turn user ask calls(o:a d:b)",
        expect!["raise a Permission 1.1.0.permission.1, b Permission 1.1.1.permission.1"],
    );
    check(
        "mode:ask turn user ask calls(o:a d:b) raise:permission:a",
        expect!["raise b Permission 1.1.1.permission.1"],
    );
}

#[test]
fn a_plan_comes_before_any_change_and_the_model_is_told_why() {
    check(
        "mode:plan turn user ask calls(r:a o:b)",
        expect![
            "finish b denied: Not run: the person wants a plan before anything is changed, and o could change something. Nobody was asked. Read what you need, then answer with the plan."
        ],
    );
    // Somebody said yes, and then wanted a plan first.
    check(
        "mode:ask turn user ask calls(o:a) raise:permission:a allow:a mode:plan",
        expect![
            "finish a denied: Not run: the person wants a plan before anything is changed, and o could change something. Nobody was asked. Read what you need, then answer with the plan."
        ],
    );
    check("mode:plan turn user ask calls(r:a c:b)", expect!["run a b"]);
}

// X14, D45
#[test]
fn a_question_holds_up_no_sibling() {
    check("mode:ask turn user ask calls(o:a r:b) raise:permission:a", expect!["run b"]);
    check("mode:ask turn user ask calls(o:a r:b) raise:permission:a start:b", expect!["await"]);
    check(
        "mode:ask turn user ask calls(o:a r:b) raise:permission:a start:b finish:b",
        expect!["wait for a person"],
    );
}

// M8
#[test]
fn an_open_question_survives_its_driver() {
    check(
        "mode:ask turn user ask calls(o:a) raise:permission:a driver",
        expect!["wait for a person"],
    );
}

// D39, D40, J32
#[test]
fn a_person_allows_or_denies() {
    let asked = "mode:ask turn user ask calls(o:a) raise:permission:a";
    check(&format!("{asked} allow:a"), expect!["run a"]);
    check(&format!("{asked} allow:a driver"), expect!["run a"]);
    check(&format!("{asked} deny:a"), expect!["finish a denied: Tool execution denied by user."]);
    check(
        &format!("{asked} deny:a allow:a"),
        expect!["finish a denied: Tool execution denied by user."],
    );
}

// D39: the model reads why.
#[test]
fn a_person_denies_with_a_reason() {
    check(
        "mode:ask turn user ask calls(o:a) raise:permission:a deny:a:wait",
        expect!["finish a denied: Tool execution denied by user. The user says: wait"],
    );
}

// A change is a fact like any other: it outlives drivers, and a rule that forbids what the call is now
// beats it.
#[test]
fn a_call_that_a_person_changed_runs_unless_a_rule_forbids_it() {
    let changed = r#"mode:ask turn user ask calls(o:a) raise:permission:a change:a:{"n":1}"#;
    check(changed, expect!["run a"]);
    check(&format!("{changed} driver"), expect!["run a"]);
    check(
        &format!("{changed} rule:o:deny driver"),
        expect!["finish a denied: A permission rule forbids this call of o; nobody was asked."],
    );
    let state = fold(&format!("{changed} start:a driver"));
    let call = &state.open_turn().unwrap().steps().next().unwrap().calls[0];
    assert_eq!((&*call.arguments, call.asked.as_deref()), (r#"{"n":1}"#, Some("{}")));
    check(&format!("{changed} start:a driver"), expect!["raise a InDoubt 1.1.0.in-doubt.1"]);
}

// What began is not changed any more, and nothing else is changed by it.
#[test]
fn a_change_counts_only_for_a_call_that_waits_for_permission() {
    let asked = "mode:ask turn user ask calls(o:a) raise:permission:a";
    let arguments = |script: &str| {
        let state = fold(script);
        let call = state.open_turn().unwrap().steps().next().unwrap().calls[0].clone();
        (call.arguments.to_string(), call.asked.is_some(), state.strays)
    };
    let as_asked = |strays| ("{}".to_owned(), false, strays);
    assert_eq!(arguments(&format!(r#"{asked} allow:a change:a:{{"n":1}}"#)), as_asked(1));
    let begun = format!(r#"{asked} rule:o:allow start:a change:a:{{"n":1}}"#);
    assert_eq!(arguments(&begun), as_asked(1));
    let doubt = "turn user ask calls(o:a) start:a driver raise:doubt:a";
    assert_eq!(arguments(&format!(r#"{doubt} change:a:{{"n":1}}"#)), as_asked(1));
    // A build that does not know the answer asks again, and runs what the model asked for.
    let older = format!(r#"{asked} change:a:{{"n":1}} allow:a"#);
    assert_eq!(arguments(&older), as_asked(0));
    check(&older, expect!["run a"]);
}

// C31
#[test]
fn an_answer_that_is_no_decision_leaves_the_question_open() {
    let asked = "mode:ask turn user ask calls(o:a) raise:permission:a";
    check(&format!("{asked} tell:a:hm"), expect!["wait for a person"]);
    check(
        &format!("{asked} tell:a:hm asdone:a deny:a"),
        expect!["finish a denied: Tool execution denied by user."],
    );
}

// D44, D43, D46
#[test]
fn rules_come_before_the_mode_and_answer_for_the_person() {
    check("mode:ask rule:o:allow turn user ask calls(o:a)", expect!["run a"]);
    check("mode:ask turn user ask calls(o:a) raise:permission:a rule:o:allow", expect!["run a"]);
    check("rule:r:ask turn user ask calls(r:a)", expect!["raise a Permission 1.1.0.permission.1"]);
    check(
        "rule:o:deny turn user ask calls(o:a)",
        expect!["finish a denied: A permission rule forbids this call of o; nobody was asked."],
    );
    check(
        "mode:read-only turn user ask calls(o:a r:b)",
        expect![
            "finish a denied: This conversation may only read, so o is not run; nobody was asked."
        ],
    );
    check(
        "mode:ask turn user ask calls(o:a) raise:permission:a allow:a rule:o:deny",
        expect!["run a"],
    );
}

// X7, M6
#[test]
fn a_call_in_doubt_that_may_be_repeated_is() {
    check("turn user ask calls(r:a) start:a driver", expect!["run a"]);
    check("turn user ask calls(i:a) start:a driver", expect!["run a"]);
    check("turn user ask calls(r:a) start:a break:interrupted resume", expect!["run a"]);
}

// M6, M10, M16
#[test]
fn a_call_in_doubt_that_can_be_settled_is_settled() {
    check("turn user ask calls(d:a) start:a driver", expect!["settle a"]);
    check("turn user ask calls(s:a) start:a driver", expect!["settle a"]);
    check("turn user ask calls(c:a) start:a driver", expect!["settle a"]);
    check("turn user ask calls(s:a r:b) start:a driver", expect!["settle a"]);
}

// X7, M6
#[test]
fn asks_before_repeating_a_call_that_may_have_taken_effect() {
    check("turn user ask calls(o:a) start:a driver", expect!["raise a InDoubt 1.1.0.in-doubt.1"]);
    check("turn user ask calls(o:a) start:a driver raise:in-doubt:a", expect!["wait for a person"]);
    check(
        "turn user ask calls(o:a) start:a driver raise:in-doubt:a driver",
        expect!["wait for a person"],
    );
    check("turn user ask calls(d:a) start:a driver raise:in-doubt:a", expect!["wait for a person"]);
}

// X5, J66
#[test]
fn without_a_person_the_outcome_is_unknown_and_said_to_be() {
    check(
        "in_doubt:tell_model turn user ask calls(o:a) start:a driver",
        expect![
            "finish a unknown: The tool was started, then the agent was interrupted; its outcome is unknown, and it may still be running. Before you repeat it, check what it did and that it has ended."
        ],
    );
    check("in_doubt:tell_model turn user ask calls(d:a) start:a driver", expect!["settle a"]);
    check("in_doubt:tell_model turn user ask calls(r:a) start:a driver", expect!["run a"]);
    check(
        "turn user ask calls(d:a) start:a driver raise:in-doubt:a in_doubt:tell_model",
        expect![
            "finish a unknown: The tool was started, then the agent was interrupted; its outcome is unknown, and it may still be running. Before you repeat it, check what it did and that it has ended."
        ],
    );
}

// X7
#[test]
fn a_person_settles_a_call_in_doubt() {
    let asked = "turn user ask calls(o:a) start:a driver raise:in-doubt:a";
    check(&format!("{asked} rerun:a"), expect!["run a"]);
    check(
        &format!("{asked} asdone:a"),
        expect!["finish a ok: The user confirmed that this call took effect."],
    );
    check(&format!("{asked} tell:a:42"), expect!["finish a ok: 42"]);
    check(
        &format!("{asked} deny:a"),
        expect![
            "finish a unknown: The tool was started, then the agent was interrupted; its outcome is unknown, and it may still be running. Before you repeat it, check what it did and that it has ended."
        ],
    );
}

// X7, M18
#[test]
fn an_answer_in_doubt_is_good_for_one_start() {
    let again = "turn user ask calls(o:a) start:a driver raise:in-doubt:a rerun:a";
    check(&format!("{again} driver"), expect!["run a"]);
    check(&format!("{again} start:a"), expect!["await"]);
    check(&format!("{again} start:a driver"), expect!["raise a InDoubt 1.1.0.in-doubt.2"]);
    check(&format!("{again} start:a driver raise:in-doubt:a"), expect!["wait for a person"]);
}

// O35, M6
#[test]
fn a_late_finish_settles_a_call_in_doubt() {
    check(
        "turn user ask calls(o:a) start:a driver finish:a",
        expect!["ask model: step 2, attempt 1"],
    );
}

// K24, J89
#[test]
fn an_injected_message_cancels_calls_that_wait() {
    check(
        "turn user ask calls(o:a r:b) inject",
        expect![
            "finish a cancelled: Not run: the user sent a new message instead.; b cancelled: Not run: the user sent a new message instead."
        ],
    );
    check(
        "turn user ask calls(o:a r:b) inject cancelled:a cancelled:b",
        expect!["ask model: step 2, attempt 1"],
    );
    check(
        "mode:ask turn user ask calls(o:a) raise:permission:a inject",
        expect!["finish a cancelled: Not run: the user sent a new message instead."],
    );
}

// K24, K30, X5
#[test]
fn an_injected_message_waits_for_calls_that_run() {
    check("turn user ask calls(o:a) start:a inject", expect!["await"]);
    check(
        "turn user ask calls(o:a) start:a inject finish:a",
        expect!["ask model: step 2, attempt 1"],
    );
}

// X5, X7
#[test]
fn an_injected_message_does_not_hide_doubt() {
    check(
        "turn user ask calls(o:a) start:a driver inject",
        expect!["raise a InDoubt 1.1.0.in-doubt.1"],
    );
    check("turn user ask calls(s:a) start:a driver inject", expect!["settle a"]);
    check(
        "turn user ask calls(r:a) start:a driver inject",
        expect![
            "finish a cancelled: Interrupted; its output is lost and it changed nothing. The user sent a new message instead."
        ],
    );
}
