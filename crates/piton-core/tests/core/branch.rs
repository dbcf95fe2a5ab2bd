//! A person's fork: the open turn stays open, and what was started stays where it was started.

use expect_test::expect;
use piton_core::action::{Action, Wish};
use piton_core::command::Reply;
use piton_core::decide::decide;
use piton_core::event::{
    ConfigChange, Event, Handle, InquiryKind, PermissionMode, PermissionRule, Permissions,
    RuleEffect, RuleScope,
};
use piton_core::id::{CallId, ConversationId, InquiryId, Seq, TurnId};
use piton_core::state::{Progress, Started, State, Turn};
use piton_core::transcript::Transcript;
use piton_core::view::Status;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq};
use proptest::proptest;

use crate::next_action::check;
use crate::nonsense::{gapless, quietly};
use crate::plausible::{calm_branch, live};
use crate::sample::sample;
use crate::script::{Journal, fold};
use crate::transcript::shown;

const JOURNAL: &str = include_str!("journals/v1_fork.jsonl");

fn handles(state: &State) -> Vec<Handle> {
    let steps = state.open_turn().into_iter().flat_map(Turn::steps);
    let calls = steps.flat_map(|step| &step.calls);
    let handle = |progress: &Progress| match progress {
        Progress::InDoubt(Started { handle, .. }) => Some(handle.clone()),
        Progress::Waiting | Progress::Running(_) | Progress::Parked(_) | Progress::Done(_) => None,
    };
    calls.filter_map(|call| handle(&call.progress)).collect()
}

// X26, J74
#[test]
fn the_fork_of_an_incomplete_turn_is_incomplete() {
    check("turn user ask fork", expect!["ask model: step 1, attempt 2"]);
    check("turn user ask partial:hal fork", expect!["ask model: step 1, attempt 2"]);
    check(
        "turn user ask calls(r:a) start:a finish:a fork",
        expect!["ask model: step 2, attempt 1"],
    );
    check("turn user ask fail:auth break:api_error fork", expect!["rest"]);
    check(
        "turn user ask fail:auth break:api_error fork resume",
        expect!["ask model: step 1, attempt 2"],
    );
    check(
        "turn user ask answer end:completed fork turn user",
        expect!["ask model: step 1, attempt 1"],
    );
    // Nothing is taken for said that was not.
    check("turn user fork end:discarded", expect!["rest"]);
}

// X26
#[test]
fn a_workers_snapshot_closes_the_turn_as_before() {
    let cut = fold("turn user ask calls(r:a) start:a");
    assert!(cut.clone().forked().open_turn().is_none());
}

// J74: what waits for a person is answered in each conversation by itself.
#[test]
fn questions_stay_open_and_are_answered_otherwise() {
    let asked = "mode:ask turn user ask calls(o:a) raise:permission:a";
    check(&format!("{asked} fork"), expect!["wait for a person"]);
    check(&format!("{asked} fork allow:a"), expect!["run a"]);
    check(&format!("{asked} allow:a fork"), expect!["run a"]);
    check(
        &format!("{asked} fork deny:a"),
        expect!["finish a denied: Tool execution denied by user."],
    );
    // It stood at a question in front of everything, so it heard nothing and did nothing.
    let stands = "turn user ask calls(o:a) start:a raise:first:a fork";
    check(stands, expect!["raise a Permission 1.1.0.permission.1"]);
    check(&format!("{stands} mode:auto"), expect!["wait for a person"]);
    check(&format!("{stands} mode:auto tell:a:so"), expect!["run a"]);
}

// X7: whatever its class, it belongs to the conversation that started it.
#[test]
fn a_call_that_was_started_is_looked_for_and_never_run() {
    for class in ["r", "i", "d", "s", "c", "o"] {
        for found in ["", "park:a", "driver", "track:a", "break:interrupted"] {
            let started = format!("turn user ask calls({class}:a) start:a {found} fork resume");
            check(&started, expect!["settle a"]);
            check(&format!("in_doubt:tell_model {started}"), expect!["settle a"]);
            check(&format!("{started} driver"), expect!["settle a"]);
            check(&format!("{started} inject"), expect!["settle a"]);
            check(&format!("{started} fork"), expect!["settle a"]);
            let asked = format!("{started} raise:elsewhere:a");
            check(&asked, expect!["wait for a person"]);
            check(&format!("{asked} look:a"), expect!["settle a"]);
            // A build that knows no better may have written these.
            check(&format!("{asked} rerun:a"), expect!["settle a"]);
            check(&format!("{asked} allow:a"), expect!["settle a"]);
            check(&format!("{asked} look:a raise:elsewhere:a"), expect!["wait for a person"]);
            check(&format!("{asked} tell:a:it"), expect!["finish a ok: it"]);
            check(
                &format!("{asked} deny:a"),
                expect![
                    "finish a unknown: The tool was started before this conversation was forked from another one; its outcome is not known here, and it may still be running there. Before you repeat it, check what it did and that it has ended."
                ],
            );
            check(&format!("{started} finish:a"), expect!["ask model: step 2, attempt 1"]);
        }
    }
}

// A question "run it again?" of the origin is not a question of the fork.
#[test]
fn a_doubt_of_the_origin_is_asked_anew_without_a_second_run() {
    let doubt = "turn user ask calls(o:a) start:a driver raise:in-doubt:a";
    for answer in ["", "rerun:a", "asdone:a"] {
        check(&format!("{doubt} {answer} fork"), expect!["settle a"]);
    }
    let journal = Journal::of(&format!("{doubt} fork raise:elsewhere:a"));
    let turn = journal.state.open_turn().unwrap();
    let asked: Vec<_> = turn.pending_inquiries().collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].kind, InquiryKind::InDoubt);
    expect!["o was started in conversation o, before this one was forked from it. It has not ended there, and is not run here. What did it give?"].assert_eq(&asked[0].question);
    let refused = |reply: Reply| reply.events(&journal.state, &asked[0].id, None).is_empty();
    assert!(refused(Reply::RunAgain) && refused(Reply::Allow));
    assert!(!refused(Reply::LookAgain) && !refused(Reply::Deny) && !refused(Reply::TreatAsDone));
    // Only there: an ordinary doubt has nothing to look for.
    let ordinary = fold(doubt);
    let id = InquiryId::new("1.1.0.in-doubt.1");
    assert!(Reply::LookAgain.events(&ordinary, &id, None).is_empty());
    assert!(!Reply::RunAgain.events(&ordinary, &id, None).is_empty());
}

#[test]
fn a_fork_of_a_fork_looks_in_the_nearest() {
    let journal = Journal::of("turn user ask calls(o:a) start:a fork fork");
    let (conversation, through) = (ConversationId::new("o"), Seq(1));
    assert_eq!(handles(&journal.state), [Handle::Origin { conversation, through }]);
}

// A worker of the origin is not a worker of the fork.
#[test]
fn a_parked_worker_is_not_waited_for() {
    let journal = Journal::of("turn user ask calls(c:a) start:a park:a fork");
    assert_eq!(Status::of(&journal.state), Status::PendingTools);
    assert!(journal.state.open_turn().unwrap().parked().is_none());
}

// J74, X26
#[test]
fn a_fork_inherits_how_to_go_on_and_not_what_was_allowed() {
    let mut journal = Journal::of("system:s steps_max:7 queue:q1:later");
    let of = |tool: &str, scope| PermissionRule {
        scope,
        ..PermissionRule::of_tool(tool, RuleEffect::Allow)
    };
    let rules = vec![of("o", RuleScope::Conversation), of("d", RuleScope::User)];
    let mode = PermissionMode::Auto;
    let permissions =
        Permissions { mode, rules, directories: vec!["/other".into()], ..Permissions::default() };
    let permissions = Some(permissions);
    journal.push(Event::ConfigChanged {
        change: ConfigChange { permissions, ..ConfigChange::default() },
    });
    journal.play("driver turn user ask calls(d:x) start:x finish:x");
    let branch = journal.branched().state;
    let (config, before) = (&branch.config, &journal.state.config);
    assert_eq!((&config.model, &config.system), (&before.model, &before.system));
    assert_eq!((&config.tools, config.limits), (&before.tools, before.limits));
    assert_eq!(config.permissions.mode, PermissionMode::Ask);
    let tools: Vec<_> = config.permissions.rules.iter().map(|rule| rule.tool.as_str()).collect();
    assert_eq!(tools, ["d"]);
    assert!(config.permissions.directories.is_empty());
    assert!(branch.queue.is_empty() && branch.commands.is_empty() && branch.undos.is_empty());
    assert!(branch.driver.is_none());
    assert_eq!((branch.end, branch.strays, branch.usage.total()), (Seq(1), 0, 0));
    // A mode that asks or forbids more is not widened.
    for (mode, kept) in [("ask", PermissionMode::Ask), ("read-only", PermissionMode::ReadOnly)] {
        let branch = Journal::of(&format!("mode:{mode} turn user fork")).state;
        assert_eq!(branch.config.permissions.mode, kept);
    }
}

// J10: the stored form is frozen from here on.
#[test]
fn the_sample_of_a_fork_reads_back_and_means_what_it_always_meant() {
    let state = sample(JOURNAL);
    let origin = state.opened.as_ref().and_then(|opened| opened.origin.clone()).unwrap();
    assert_eq!((origin.conversation.as_str(), origin.through), ("0123456789", Seq(12)));
    let (conversation, through) = (origin.conversation, origin.through);
    assert_eq!(handles(&state), [Handle::Origin { conversation, through }]);
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    assert_eq!(decide(&state, Wish::Proceed), Action::Settle(vec![call]));
}

proptest! {
    #![proptest_config(quietly())]

    // X4: what was sent to a model is sent again, byte for byte, with what it gave back.
    #[test]
    fn a_fork_sends_what_its_origin_would_have_sent(entries in gapless(), cut in 0..64_usize) {
        let mut journal = Journal::new();
        for entry in entries.into_iter().take(cut) {
            journal.push(entry.event);
        }
        let branch = journal.branched().state;
        let (one, other) = (Transcript::from(&journal.state), Transcript::from(&branch));
        prop_assert_eq!(shown(&one), shown(&other));
        prop_assert_eq!(one.messages(), other.messages());
        prop_assert_eq!((one.system(), one.tools()), (other.system(), other.tools()));
        prop_assert_eq!(branch.open_turn().is_some(), journal.state.open_turn().is_some());
        let runs = decide(&branch, Wish::Proceed);
        if let Action::RunTools(calls) = runs {
            let turn = branch.open_turn().unwrap();
            let waits = |call| turn.call(call).unwrap().progress == Progress::Waiting;
            prop_assert!(calls.into_iter().all(waits), "a call of the origin is run");
        }
    }

    // J74, J75, X7: cut anywhere, a fork is resumed by itself, and runs nothing that was started before.
    #[test]
    fn cut_anywhere_a_fork_comes_to_an_end_of_its_own(
        tape in vec(any::<usize>(), 1..60), cut in any::<usize>()
    ) {
        let entries = live(&tape);
        let before = &entries[..cut % entries.len()];
        let mut journal = Journal::new();
        journal.state = State::from_entries(before);
        calm_branch(before, journal.branched());
    }
}
