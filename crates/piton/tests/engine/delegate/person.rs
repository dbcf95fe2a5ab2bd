//! Workers that need a person: what they may do is what the parent may, and they ask for the rest.

use piton::OnIncomplete::Ask;
use piton::{Accepted, AnswerThen, Attendance, Command, Delegation, Engine, News, Reply, View};
use piton_core::event::{BreakReason, Event, Outcome, PermissionMode, PermissionRule, RuleEffect};
use piton_core::id::{ConversationId, InquiryId};
use piton_core::outcome::Ending;
use piton_core::view::Status;
use tokio::time::Instant;

use super::{PAYS, delegating, ended, handing, state_of, worker};
use crate::stage::{Stage, broken, ms, pass, pending, say};

fn asking(workers: &[(&str, &str)]) -> Stage {
    delegating(&handing(workers)).mode(PermissionMode::Ask)
}

/// The question that a worker asks, once it does.
async fn asked(engine: &Engine, worker: &ConversationId) -> InquiryId {
    let mut follow = engine.conversation(worker).follow_all().unwrap();
    let mut view = View::default();
    loop {
        match follow.next().await.unwrap() {
            News::Snapshot(anew) => view = *anew,
            News::Change(change) => view.apply(&change).unwrap(),
            News::Live(_) | _ => {}
        }
        if let Some(asking) = view.head.asking.first() {
            return asking.question.clone();
        }
    }
}

async fn answer(
    engine: &Engine,
    worker: &ConversationId,
    inquiry: InquiryId,
    reply: Reply,
) -> Accepted {
    let answer = Command::Answer { inquiry, reply, then: AnswerThen::GoOn };
    engine.conversation(worker).send(answer).await.unwrap()
}

// D79
#[tokio::test(start_paused = true)]
async fn a_turn_waits_while_its_worker_asks_and_goes_on_when_that_is_answered() {
    let stage = asking(&[("one", PAYS), ("two", r#"{"say":"Nothing to pay."}"#)]);
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
    assert_eq!(Status::of(session.state()).to_string(), "waiting-for-input (delegate)");
    assert_eq!(pending(session.state()), [], "it is the worker who asks");
    assert_eq!(stage.effects(), Vec::<String>::new());
    assert_eq!(&*ended(session.state(), 1).output.text, "Nothing to pay.", "held up by nobody");
    // Going on without an answer changes nothing.
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    let mut asked = stage.engine().open(&worker(&stage, 0)).await.unwrap();
    let inquiry = pending(asked.state()).remove(0);
    asked.answer(&inquiry, Reply::Allow).await.unwrap();
    drop(asked);
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(&*ended(session.state(), 0).output.text, "Paid.");
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    let story = stage.story().await;
    assert!(story.contains("driver start:0 park:0 driver start:0 finish:0"), "{story}");
    stage.check().await;
}

// D79
#[tokio::test(start_paused = true)]
async fn another_process_finds_the_waiting_worker() {
    let stage = asking(&[("one", PAYS)]);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    drop(session);
    let mut asked = stage.engine().open(&worker(&stage, 0)).await.unwrap();
    let inquiry = pending(asked.state()).remove(0);
    asked.answer(&inquiry, Reply::Deny).await.unwrap();
    drop(asked);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), Vec::<String>::new());
    stage.check().await;
}

// D79, D41
#[tokio::test(start_paused = true)]
async fn somebody_who_is_there_answers_through_the_parent_and_the_clock_stands_still() {
    let stage = Stage::new(&handing(&[("one", PAYS), ("two", PAYS)]))
        .delegating(Delegation { limit: ms(5_000), ..Delegation::default() })
        .mode(PermissionMode::Ask);
    let engine = stage.engine();
    let mut session = stage.create_in(&engine).await;
    session.attend(Attendance::Attended);
    let start = Instant::now();
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        let mut asks = Vec::new();
        for number in 0..2 {
            let worker = worker(&stage, number);
            asks.push((asked(&engine, &worker).await, worker));
        }
        // Longer than a worker may be at work.
        pass(60_000).await;
        for ((inquiry, worker), reply) in asks.into_iter().zip([Reply::Allow, Reply::Deny]) {
            let accepted = answer(&engine, &worker, inquiry, reply).await;
            // Not as a letter: a secret can be told too.
            assert!(matches!(accepted, Accepted::Entry(_)), "{worker:?} {accepted:?}");
        }
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    assert_eq!(start.elapsed().as_millis(), 60_100);
    assert_eq!(stage.effects().len(), 1);
    assert!(!stage.story().await.contains("park"));
    stage.check().await;
}

// D79: what the parent may not do, no worker may; what it may, they may.
#[tokio::test(start_paused = true)]
async fn permissions_are_inherited_and_never_wider() {
    for (mode, effects, outcome) in
        [(PermissionMode::Auto, 1, Outcome::Ok), (PermissionMode::ReadOnly, 0, Outcome::Denied)]
    {
        let stage = delegating(&handing(&[("one", PAYS)])).mode(mode);
        let mut session = stage.create().await;
        assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done, "{mode:?}");
        assert_eq!(stage.effects().len(), effects, "{mode:?}");
        let own = state_of(&stage, &worker(&stage, 0)).await;
        assert_eq!(own.config.permissions, session.state().config.permissions);
        assert_eq!(ended(&own, 0).outcome, outcome, "{mode:?}");
    }
    let mut stage = delegating(&handing(&[("one", PAYS)])).mode(PermissionMode::Ask);
    stage.config.permissions.rules = vec![PermissionRule::of_tool("pay", RuleEffect::Allow)];
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(stage.effects().len(), 1);
}

// D79: what is forbidden while a worker waits is forbidden to it.
#[tokio::test(start_paused = true)]
async fn a_worker_that_goes_on_has_lost_what_its_parent_has_lost() {
    let stage = asking(&[("one", PAYS)]);
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
    let mut config = session.state().config.clone();
    config.permissions.rules.push(PermissionRule::of_tool("pay", RuleEffect::Deny));
    session.configure(&config);
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), Vec::<String>::new());
    let own = state_of(&stage, &worker(&stage, 0)).await;
    assert_eq!(ended(&own, 0).outcome, Outcome::Denied);
    // And wider it never gets.
    let stage = asking(&[("one", PAYS)]);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let mut config = session.state().config.clone();
    config.permissions.mode = PermissionMode::Auto;
    session.configure(&config);
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    assert_eq!(stage.effects(), Vec::<String>::new());
}

// D79: an allow of the conversation that is taken back while a worker waits is taken from it too.
#[tokio::test(start_paused = true)]
async fn a_worker_that_goes_on_keeps_no_allow_that_was_taken_back() {
    let mut stage = asking(&[("one", PAYS)]);
    let allow = |tool: &str| PermissionRule::of_tool(tool, RuleEffect::Allow);
    stage.config.permissions.rules = vec![allow("shell"), allow("grep")];
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
    let own = state_of(&stage, &worker(&stage, 0)).await;
    assert_eq!(own.config.permissions.rules, [allow("shell"), allow("grep")]);
    let mut config = session.state().config.clone();
    config.permissions.rules = vec![allow("grep")];
    session.configure(&config);
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    let own = state_of(&stage, &worker(&stage, 0)).await;
    assert_eq!(own.config.permissions.rules, [allow("grep")]);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_was_asked_before_is_asked_again_where_somebody_is_there() {
    let stage = asking(&[("one", PAYS)]);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    drop(session);
    let mut session = stage.open().await;
    session.attend(Attendance::Attended);
    let engine = stage.engine();
    let (ending, ()) = tokio::join!(session.resume(), async {
        let worker = worker(&stage, 0);
        let inquiry = asked(&engine, &worker).await;
        answer(&engine, &worker, inquiry, Reply::Allow).await;
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    let entries = stage.entries_of(&worker(&stage, 0)).await;
    let raised = entries.iter().filter(|it| matches!(it.event, Event::InquiryRaised { .. }));
    assert_eq!(raised.count(), 1, "asked once in the journal");
    stage.check().await;
}

// Whoever interrupts at a worker's question finds call and worker waiting for the same answer.
#[tokio::test(start_paused = true)]
async fn an_interrupt_at_a_question_of_a_worker_leaves_both_waiting_for_its_answer() {
    for answers_first in [true, false] {
        let stage = asking(&[("one", PAYS), ("two", r#"{"say":"Nothing to pay."}"#)]);
        let engine = stage.engine();
        let mut session = stage.create_in(&engine).await;
        session.attend(Attendance::Attended);
        let (controller, worker) = (session.controller(), worker(&stage, 0));
        let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
            asked(&engine, &worker).await;
            controller.interrupt();
        });
        assert_eq!(broken(&ending.unwrap()), BreakReason::Interrupted);
        let story = stage.story().await;
        assert!(story.ends_with("park:0 broke:Interrupted"), "{story}");
        let own = state_of(&stage, &worker).await;
        let inquiry = pending(&own).remove(0);
        assert_eq!(
            own.open_turn().unwrap().broke.as_ref().unwrap().reason,
            BreakReason::Interrupted
        );
        if answers_first {
            let mut alone = engine.open(&worker).await.unwrap();
            alone.answer(&inquiry, Reply::Allow).await.unwrap();
            drop(alone);
            assert_eq!(session.resume().await.unwrap(), Ending::Done);
        } else {
            let (ending, ()) = tokio::join!(session.resume(), async {
                assert_eq!(asked(&engine, &worker).await, inquiry, "it is asked again");
                answer(&engine, &worker, inquiry.clone(), Reply::Allow).await;
            });
            assert_eq!(ending.unwrap(), Ending::Done);
        }
        assert_eq!(&*ended(session.state(), 0).output.text, "Paid.");
        assert_eq!(stage.effects(), ["pay 1.1.0"]);
        stage.check().await;
    }
}
