//! Questions to a person: asked once, found again, answered while the rest goes on.

use piton::{Attendance, OnIncomplete::Ask, Reply, Session, SessionError};
use piton_core::event::{
    Entry, Event, InDoubtPolicy, Outcome, PermissionMode, PermissionRule, RuleEffect, RuleScope,
};
use piton_core::id::InquiryId;
use piton_core::outcome::Ending;
use piton_core::permit::Standing;
use tokio::time::Instant;

use crate::stage::{Stage, cut, pass, pending, say};

const ALWAYS: Standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Conversation };

const TWO: &str = r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"look"},{"tool":"set"}]},
    {"say":"x"}]}"#;

const PAY: &str = r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#;

fn asking(script: &str) -> Stage {
    Stage::new(script).mode(PermissionMode::Ask)
}

fn only(session: &Session) -> InquiryId {
    let open = pending(session.state());
    assert_eq!(open.len(), 1, "{open:?}");
    open[0].clone()
}

/// A turn with one question, which a person has answered.
async fn answered(reply: Reply) -> (Stage, Session) {
    let stage = asking(PAY);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let inquiry = only(&session);
    session.answer(&inquiry, reply).await.unwrap();
    (stage, session)
}

// M8, J34, D33, D42
#[tokio::test(start_paused = true)]
async fn an_unattended_turn_waits_for_input_and_any_process_finds_the_same_questions() {
    let stage = asking(TWO);
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
    let asked = pending(session.state());
    drop(session);
    assert_eq!(asked.len(), 2);
    assert_eq!(stage.effects(), ["look 1.1.1"], "a question holds up nobody else");
    let mut session = stage.open().await;
    assert_eq!(pending(session.state()), asked);
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    assert_eq!(pending(session.state()), asked, "asked once");
    for inquiry in &asked {
        session.answer(inquiry, Reply::Allow).await.unwrap();
    }
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    let mut effects = stage.effects();
    effects.sort();
    assert_eq!(effects, ["look 1.1.1", "pay 1.1.0", "set 1.1.2"]);
    stage.check().await;
}

// D40
#[tokio::test(start_paused = true)]
async fn a_denied_call_is_told_to_the_model_and_never_starts() {
    let (stage, mut session) = answered(Reply::Deny).await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.last_request()[2], "results: Tool execution denied by user.");
    assert!(!stage.story().await.contains("start"));
    stage.check().await;
}

// D44
#[tokio::test(start_paused = true)]
async fn always_is_a_rule_for_the_tool() {
    let stage = asking(
        r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"pay"}]},{"calls":[{"tool":"pay"}]},
            {"calls":[{"tool":"set"}]}]}"#,
    );
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let first = pending(session.state())[0].clone();
    session.answer(&first, Reply::Always(ALWAYS)).await.unwrap();
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput, "set is another tool");
    assert_eq!(stage.effects(), ["pay 1.1.0", "pay 1.1.1", "pay 1.2.0"]);
    let rule = PermissionRule::of_tool("pay", RuleEffect::Allow);
    assert_eq!(session.state().config.permissions.rules, [rule]);
    stage.check().await;
}

// D44: whatever its scope, a standing decision counts for the next call at once.
#[tokio::test(start_paused = true)]
async fn never_is_a_rule_for_the_tool_in_every_scope() {
    for scope in [RuleScope::Conversation, RuleScope::Project, RuleScope::User] {
        let stage = asking(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"pay"}]}]}"#);
        let mut session = stage.create().await;
        session.send(say("go"), Ask).await.unwrap();
        let never = Standing { effect: RuleEffect::Deny, scope };
        let first = only(&session);
        session.answer(&first, Reply::Always(never)).await.unwrap();
        assert_eq!(session.resume().await.unwrap(), Ending::Done);
        assert_eq!(stage.effects(), [""; 0]);
        let rule = PermissionRule { scope, ..PermissionRule::of_tool("pay", RuleEffect::Deny) };
        assert_eq!(session.state().config.permissions.rules, [rule]);
        stage.check().await;
    }
}

// D49
#[tokio::test(start_paused = true)]
async fn what_a_person_did_by_hand_is_no_error_and_is_not_run() {
    let (stage, session) = answered(Reply::Applied).await;
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), [""; 0]);
    let told = "results: The user applied this change by hand; the tool was not run. \
                Look at what is there before you rely on it.";
    assert_eq!(stage.last_request()[2], told);
    let ended = |event: &Event| matches!(event, Event::ToolFinished { outcome: Outcome::Ok, .. });
    let commits = stage.journal.commits();
    assert!(commits.iter().flat_map(|commit| &commit.events).any(ended));
    stage.check().await;
}

// D40: the model is told who refused.
#[tokio::test(start_paused = true)]
async fn a_policy_that_refuses_is_not_taken_for_a_person() {
    use piton::{Policy, Unattended};
    let stage = asking(PAY);
    let mut session = stage.create().await;
    session.leave_unattended(Unattended { permissions: Policy::Deny, questions: Policy::Defer });
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    let told = "results: Not run: this call needs permission, nobody is there to give it, and the \
                settings refuse what nobody allows.";
    assert_eq!(stage.last_request()[2], told);
}

// D43, D44: a rule to ask gives way to "always"
#[tokio::test(start_paused = true)]
async fn always_replaces_a_rule_to_ask() {
    let mut stage =
        Stage::new(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"pay"}]}]}"#);
    let ask = PermissionRule::of_tool("pay", RuleEffect::Ask);
    stage.config.permissions.rules = vec![ask];
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
    let inquiry = only(&session);
    session.answer(&inquiry, Reply::Always(ALWAYS)).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(session.state().config.permissions.rules.len(), 1);
}

// D41, D45
#[tokio::test(start_paused = true)]
async fn attended_prompts_are_answered_one_by_one_while_a_sibling_runs() {
    let stage = asking(
        r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":500}},
            {"tool":"pay","arguments":{"ms":10}},{"tool":"set","arguments":{"ms":10}}]},
            {"say":"x"}]}"#,
    );
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    let controller = session.controller();
    let start = Instant::now();
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(100).await;
        let asked = pending(&stage.state().await);
        assert_eq!(asked.len(), 2);
        assert!(controller.answer(asked[0].clone(), Reply::Allow).await);
        pass(100).await;
        assert_eq!(stage.effects(), ["pay 1.1.1"], "granted calls start at once");
        assert!(controller.answer(asked[1].clone(), Reply::Deny).await);
        assert!(!controller.answer(asked[1].clone(), Reply::Allow).await, "answered already");
        assert!(!controller.answer(InquiryId::new("nothing"), Reply::Allow).await);
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    assert_eq!(start.elapsed().as_millis(), 500);
    assert_eq!(
        stage.last_request()[2],
        "results: look done | pay done | Tool execution denied by user."
    );
    stage.check().await;
}

// J20: what is acknowledged is durable
#[tokio::test(start_paused = true)]
async fn an_answer_is_acknowledged_only_when_it_is_durable() {
    let stage = asking(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#);
    stage.journal.append_ms.store(5, std::sync::atomic::Ordering::Relaxed);
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    let controller = session.controller();
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(50).await;
        let asked = pending(&stage.state().await);
        assert!(controller.answer(asked[0].clone(), Reply::Allow).await);
        let entries = stage.entries().await;
        let durable = |entry: &_| matches!(entry, Event::InquiryAnswered { .. });
        assert!(entries.iter().any(|entry| durable(&entry.event)));
    });
    assert_eq!(ending.unwrap(), Ending::Done);
}

// An answer that came between two runs is taken in by the next one, also by an unattended one.
#[tokio::test(start_paused = true)]
async fn an_answer_that_waits_for_a_run_is_not_overlooked() {
    let stage = asking(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let (inquiry, controller) = (only(&session), session.controller());
    let answer = controller.answer(inquiry.clone(), Reply::Allow);
    let late = controller.answer(inquiry, Reply::Deny);
    let (answered, late, ending) = tokio::join!(biased; answer, late, session.resume());
    assert_eq!((answered, late, ending.unwrap()), (true, false, Ending::Done));
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_turn_is_refused_and_leaves_nobody_waiting() {
    let stage = Stage::new(r#"{"steps":[{"say":"x"}]}"#);
    let mut session = stage.create().await;
    let controller = session.controller();
    let answer = controller.answer(InquiryId::new("old"), Reply::Allow);
    let (answered, ending) = tokio::join!(biased; answer, session.send(say("go"), Ask));
    assert_eq!((answered, ending.unwrap()), (false, Ending::Done));
    drop(session);
    assert!(!controller.answer(InquiryId::new("old"), Reply::Allow).await);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_runs_when_the_mode_changes() {
    let stage = asking(TWO);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let mut config = session.state().config.clone();
    config.permissions.mode = PermissionMode::Auto;
    session.configure(&config);
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects().len(), 3);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_fits_no_question_is_refused() {
    let stage = asking(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let inquiry = only(&session);
    let before = stage.story().await;
    let unknown = InquiryId::new("nothing");
    for (id, reply) in [
        (&unknown, Reply::Allow),
        // Neither runs the call nor denies it: the turn would wait for ever.
        (&inquiry, Reply::TreatAsDone),
        (&inquiry, Reply::Text("42".into())),
    ] {
        let refused = session.answer(id, reply).await;
        assert!(matches!(refused, Err(SessionError::NotAsked(_))), "{refused:?}");
    }
    assert_eq!(stage.story().await, before);
    session.answer(&inquiry, Reply::Allow).await.unwrap();
    let twice = session.answer(&inquiry, Reply::Deny).await;
    assert!(matches!(twice, Err(SessionError::NotAsked(_))), "{twice:?}");
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
}

// M6, X7: what only a person can know
async fn check_doubt(reply: Reply, results: &str, effects: &[&str]) {
    let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ms":50}}]}]}"#)
        .in_doubt(InDoubtPolicy::Ask);
    cut(20, stage.create().await.send(say("go"), Ask)).await;
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    let inquiry = only(&session);
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(only(&session), inquiry);
    session.answer(&inquiry, reply).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.last_request()[2], format!("results: {results}"));
    assert_eq!(stage.effects(), effects);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_person_settles_a_doubt() {
    check_doubt(Reply::RunAgain, "pay done", &["pay 1.1.0"]).await;
    let confirmed = piton_core::decide::calls::CONFIRMED_TEXT;
    check_doubt(Reply::TreatAsDone, confirmed, &[]).await;
    check_doubt(Reply::Text("it paid 3".into()), "it paid 3", &[]).await;
}

// Run again, lost again: asked again, under another name.
#[tokio::test(start_paused = true)]
async fn a_decision_is_good_for_one_start() {
    let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ms":50}}]}]}"#)
        .in_doubt(InDoubtPolicy::Ask);
    cut(20, stage.create().await.send(say("go"), Ask)).await;
    let mut session = stage.open().await;
    session.resume().await.unwrap();
    let first = only(&session);
    session.answer(&first, Reply::RunAgain).await.unwrap();
    cut(20, session.resume()).await;
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    assert_ne!(only(&session), first);
    assert_eq!(stage.effects(), Vec::<String>::new());
    stage.check().await;
}

// Permission is asked of the rules in force, not of those at the first start.
#[tokio::test(start_paused = true)]
async fn a_call_in_doubt_does_not_run_again_when_permission_was_withdrawn() {
    for (tool, outcome) in [("change", Outcome::Denied), ("set", Outcome::Unknown)] {
        let arguments = r#"{"path":"a","line":"1","ms":50}"#;
        let script =
            format!(r#"{{"steps":[{{"calls":[{{"tool":"{tool}","arguments":{arguments}}}]}}]}}"#);
        let stage = Stage::new(&script);
        cut(20, stage.create().await.send(say("go"), Ask)).await;
        let mut session = stage.open().await;
        let mut config = session.state().config.clone();
        config.permissions.mode = PermissionMode::ReadOnly;
        session.configure(&config);
        assert_eq!(session.resume().await.unwrap(), Ending::Done);
        assert_eq!(stage.effects(), Vec::<String>::new(), "{tool}");
        let entries = stage.entries().await;
        let ended = |entry: &&Entry| matches!(entry.event, Event::ToolFinished { .. });
        let Event::ToolFinished { outcome: found, .. } = entries.iter().find(ended).unwrap().event
        else {
            unreachable!()
        };
        assert_eq!(found, outcome, "{tool}");
        stage.check().await;
    }
}
