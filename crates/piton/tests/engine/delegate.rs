//! Workers: conversations that work for a call (D72 to D79, O46, O47, K57, X16, M16).

mod person;
mod recovery;

use piton::Delegation;
use piton::OnIncomplete::Ask;
use piton_core::event::{BreakReason, Event, Outcome};
use piton_core::id::ConversationId;
use piton_core::outcome::Ending;
use piton_core::state::{Ended, Progress, State, Turn};
use piton_core::view::ItemView;
use piton_store::{Journal as _, Page};
use tokio::time::Instant;

use crate::stage::{Stage, broken, call, ms, pass, say};

pub(super) fn delegating(script: &str) -> Stage {
    Stage::new(script).delegating(Delegation::default())
}

/// A script that hands out one task per text, and what each worker does.
pub(super) fn handing(workers: &[(&str, &str)]) -> String {
    let calls = workers
        .iter()
        .map(|(task, _)| format!(r#"{{"tool":"delegate","arguments":{{"task":"{task}"}}}}"#));
    let calls = calls.collect::<Vec<_>>().join(",");
    let steps = workers
        .iter()
        .map(|(task, steps)| format!(r#"{{"task":"{task}","steps":[{steps}]}}"#))
        .collect::<Vec<_>>();
    let steps = steps.join(",");
    format!(r#"{{"steps":[{{"calls":[{calls}]}},{{"say":"Done."}}],"workers":[{steps}]}}"#)
}

/// What a worker does that pays once and says so.
pub(super) const PAYS: &str =
    r#"{"calls":[{"tool":"pay","arguments":{"ms":100}}]},{"say":"Paid."}"#;

pub(super) fn worker(stage: &Stage, index: u32) -> ConversationId {
    stage.conversation().of_worker(call(1, index))
}

pub(super) fn ended(state: &State, index: u32) -> Ended {
    let call = state.turns[0].call(call(1, index)).unwrap();
    let Progress::Done(ended) = &call.progress else { panic!("{call:?}") };
    ended.clone()
}

pub(super) async fn state_of(stage: &Stage, worker: &ConversationId) -> State {
    State::from_entries(&stage.entries_of(worker).await)
}

// D72, X16, K21
#[tokio::test(start_paused = true)]
async fn a_worker_is_a_conversation_of_its_own_that_knows_its_parent() {
    let stage = delegating(&handing(&[("count the reeds", PAYS)]));
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(&*ended(session.state(), 0).output.text, "Paid.");
    let worker = worker(&stage, 0);
    assert_eq!(worker.as_str(), "staged_1-1-0");
    let own = state_of(&stage, &worker).await;
    let opened = own.opened.as_ref().unwrap();
    let parent = opened.parent.as_ref().unwrap();
    assert_eq!((&parent.conversation, parent.call), (stage.conversation(), call(1, 0)));
    assert_eq!(opened.title.as_deref(), Some("count the reeds"));
    assert_eq!(own.turns[0].said().count(), 1, "it is told its task, and nothing else");
    // The link is durable before the first entry of the worker.
    let commits = stage.commits();
    let link = commits.iter().position(|commit| commit.contains("start:0")).unwrap();
    let first = commits.iter().rposition(|commit| commit.starts_with("opened")).unwrap();
    assert!(link < first, "{commits:#?}");
    assert!(commits[first].contains("config turn user ask"), "begun in one commit: {commits:#?}");
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

// O47, D75
#[tokio::test(start_paused = true)]
async fn workers_of_one_answer_work_at_the_same_time_at_most_four() {
    for (count, took_ms) in [(3, 100), (4, 100), (6, 200), (9, 300)] {
        let tasks: Vec<String> = (0..count).map(|number| format!("task {number}")).collect();
        let workers: Vec<_> = tasks.iter().map(|task| (task.as_str(), PAYS)).collect();
        let stage = delegating(&handing(&workers));
        let mut session = stage.create().await;
        let start = Instant::now();
        assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
        assert_eq!(start.elapsed().as_millis(), took_ms, "{count} workers");
        assert_eq!(stage.effects().len(), count);
        stage.check().await;
    }
}

// D76, K57
#[tokio::test(start_paused = true)]
async fn a_worker_that_fails_is_a_result_with_what_it_said_and_stops_nobody() {
    let fails = r#"{"say":"I begin.","calls":[{"tool":"pay"}]},
        {"say":"half","chunk":1,"faults":[{"kind":{"fail":"auth"},"after":2}]}"#;
    let stage = delegating(&handing(&[("one", fails), ("two", PAYS)]));
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    let failed = ended(session.state(), 0);
    assert_eq!(failed.outcome, Outcome::Failed);
    for part in ["did not finish", "Auth", "I begin.", "staged_1-1-0"] {
        assert!(failed.output.text.contains(part), "{part}: {}", failed.output.text);
    }
    assert_eq!(ended(session.state(), 1).outcome, Outcome::Ok);
    assert_eq!(stage.effects(), ["pay 1.1.0", "pay 1.1.0"], "one of each worker");
    stage.check().await;
}

// D73, X16
#[tokio::test(start_paused = true)]
async fn a_snapshot_is_what_the_parent_had_said_before_it_handed_out_the_task() {
    let script = r#"{"steps":[{"say":"A pond."},{"say":"Look.","calls":[{"tool":"look"}]},
        {"say":"I hand it on.","calls":[
            {"tool":"delegate","arguments":{"task":"count","context":"snapshot"}}]},{"say":"Done."}],
        "workers":[{"task":"count","steps":[{"calls":[{"tool":"pay"}]},{"say":"Three."}]}]}"#;
    let stage = delegating(script);
    let mut session = stage.create().await;
    session.send(say("what is there?"), Ask).await.unwrap();
    assert_eq!(session.send(say("how many?"), Ask).await.unwrap(), Ending::Done);
    let requests = stage.requests();
    let own = &requests[3];
    let shown: Vec<_> = own.messages.iter().map(crate::stage::message_words).collect();
    assert_eq!(
        shown,
        [
            "user: what is there?",
            "assistant: 1 parts",
            "user: how many?",
            "assistant: 2 parts",
            "results: look done",
            "user: count",
        ]
    );
    let worker = ConversationId::new("staged_2-2-0");
    let entries = stage.entries_of(&worker).await;
    let Event::ConversationOpened { origin: Some(origin), .. } = &entries[0].event else {
        panic!("{:?}", entries[0]);
    };
    assert_eq!(&origin.conversation, stage.conversation());
    let said = entries.iter().filter(|entry| matches!(entry.event, Event::UserMessage { .. }));
    assert_eq!(said.count(), 1, "shared by reference, not copied");
    // Whoever opens it later finds the same.
    let reopened = stage.engine().open(&worker).await.unwrap();
    assert_eq!(reopened.state().turns.len(), 3);
    assert_eq!(reopened.state().strays, 0);
    stage.check().await;
}

// O46
#[tokio::test(start_paused = true)]
async fn a_worker_has_no_workers_and_asks_nobody() {
    let script = handing(&[(
        "one",
        r#"{"calls":[{"tool":"delegate","arguments":{"task":"two"}}]},
        {"say":"I did it myself."}"#,
    )]);
    let stage = delegating(&script);
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    let own = state_of(&stage, &worker(&stage, 0)).await;
    let names: Vec<_> = own.config.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["look", "set", "change", "build", "pay", "post"]);
    let refused = ended(&own, 0);
    assert_eq!(refused.outcome, Outcome::Failed);
    assert!(refused.output.text.contains("no tool delegate"), "{}", refused.output.text);
    // Not even if somebody offers it the tool.
    let mut opened = stage.engine().open(&worker(&stage, 0)).await.unwrap();
    opened.configure(&stage.config_of(&stage.engine()));
    opened.send(say("one"), Ask).await.unwrap();
    let turn = opened.state().turns.last().unwrap();
    let call = turn.steps().next().unwrap().calls[0].clone();
    let Progress::Done(ended) = &call.progress else { panic!("{call:?}") };
    assert!(ended.output.text.contains("cannot hand its task on"), "{}", ended.output.text);
    let all = stage.journal.list(Page::first(99)).await.unwrap();
    assert_eq!(all.total, 2, "no third conversation");
}

// O46
#[tokio::test(start_paused = true)]
async fn a_worker_has_the_tools_that_it_is_given() {
    let script = r#"{"steps":[{"calls":[
        {"tool":"delegate","arguments":{"task":"one","tools":["look"]}},
        {"tool":"delegate","arguments":{"task":"two","tools":["look","shell"]}},
        {"tool":"delegate","arguments":{"task":"three","tools":["delegate"]}},
        {"tool":"delegate","arguments":{"task":""}}]}],
        "workers":[{"task":"one","steps":[{"calls":[{"tool":"pay"}]},{"say":"Looked."}]}]}"#;
    let stage = delegating(script);
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(&*ended(session.state(), 0).output.text, "Looked.");
    assert_eq!(stage.effects(), Vec::<String>::new(), "it may not pay");
    for index in 1..4 {
        assert_eq!(ended(session.state(), index).outcome, Outcome::Failed);
    }
    assert!(
        ended(session.state(), 1)
            .output
            .text
            .contains("It may have: look, set, change, build, pay, post")
    );
    assert!(!stage.story().await.contains("start:1"), "what is refused was never started");
    stage.check().await;
}

// O46
#[tokio::test(start_paused = true)]
async fn a_worker_is_stopped_when_its_time_is_up_and_its_work_is_kept() {
    let script = handing(&[(
        "one",
        r#"{"say":"I pay.","calls":[{"tool":"pay"}]},{"calls":[{"tool":"pay","arguments":{"ms":200000}}]}"#,
    )]);
    let stage = Stage::new(&script).delegating(Delegation { limit: ms(5_000), steps_max: 9 });
    let mut session = stage.create().await;
    let start = Instant::now();
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(start.elapsed().as_millis(), 5_000);
    let stopped = ended(session.state(), 0);
    assert_eq!(stopped.outcome, Outcome::Failed);
    for part in ["stopped after 5 s", "I pay."] {
        assert!(stopped.output.text.contains(part), "{}", stopped.output.text);
    }
    let own = state_of(&stage, &worker(&stage, 0)).await;
    assert_eq!(own.open_turn().unwrap().broke.as_ref().unwrap().reason, BreakReason::Interrupted);
    assert_eq!(own.config.limits.steps_max, 9);
    stage.check().await;
}

// O46: abort of the parent ends it, and everything stays.
#[tokio::test(start_paused = true)]
async fn an_interrupt_of_the_parent_interrupts_its_workers() {
    let slow = r#"{"say":"I pay.","calls":[{"tool":"pay"}]},
        {"calls":[{"tool":"pay","arguments":{"ms":90000}}]},{"say":"Paid twice."}"#;
    let stage = delegating(&handing(&[("one", slow), ("two", PAYS)]));
    let mut session = stage.create().await;
    let controller = session.controller();
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(500).await;
        controller.interrupt();
    });
    assert_eq!(broken(&ending.unwrap()), BreakReason::Interrupted);
    assert_eq!(ended(session.state(), 0).outcome, Outcome::Cancelled);
    assert!(ended(session.state(), 0).output.text.contains("I pay."));
    assert_eq!(ended(session.state(), 1).outcome, Outcome::Ok, "it had finished");
    let own = stage.story_of(&worker(&stage, 0)).await;
    assert!(own.ends_with("finish:0:Cancelled broke:Interrupted"), "{own}");
    // It can be resumed by itself, with what it has done.
    let mut alone = stage.engine().open(&worker(&stage, 0)).await.unwrap();
    assert_eq!(alone.resume().await.unwrap(), Ending::Done);
    drop(alone);
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects().len(), 2, "{:?}", stage.effects());
    stage.check().await;
}

/// What the entries of a conversation say of its calls.
async fn of_tools(stage: &Stage, id: &ConversationId) -> Vec<String> {
    let entries = stage.entries_of(id).await;
    let told = entries.iter().filter_map(|entry| {
        if let Event::ToolStarted { call, .. } = &entry.event {
            Some(format!("start {call}"))
        } else if let Event::ToolFinished { call, .. } = &entry.event {
            Some(format!("finish {call}"))
        } else {
            None
        }
    });
    told.collect()
}

// D77, X16: the view says which conversation works for which call; what workers say is in their results.
#[tokio::test(start_paused = true)]
async fn faces_find_the_calls_of_workers_in_their_own_views() {
    let stage = delegating(&handing(&[("one", PAYS), ("two", PAYS)]));
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    let mut news = of_tools(&stage, stage.conversation()).await;
    let engine = stage.engine();
    let view = engine.view(stage.conversation()).await.unwrap();
    let ItemView::Step(step) = &view.turns[0].items[1] else { panic!("{view:?}") };
    for call in &step.calls {
        let worker = call.worker.as_ref().unwrap();
        assert_eq!(worker.as_worker(), Some((stage.conversation().clone(), call.id)));
        let did = of_tools(&stage, worker).await;
        news.extend(did.into_iter().map(|did| format!("{worker} of {}: {did}", call.id)));
    }
    news.sort();
    assert_eq!(
        news,
        [
            "finish 1.1.0",
            "finish 1.1.1",
            "staged_1-1-0 of 1.1.0: finish 1.1.0",
            "staged_1-1-0 of 1.1.0: start 1.1.0",
            "staged_1-1-1 of 1.1.1: finish 1.1.0",
            "staged_1-1-1 of 1.1.1: start 1.1.0",
            "start 1.1.0",
            "start 1.1.1",
        ]
    );
}

// D74, D76, D78
#[tokio::test(start_paused = true)]
async fn a_coordinated_turn_is_planned_worked_on_and_answered_from_the_results() {
    let script = r#"{"steps":[{"say":"```json\n[\"one\", 7, \"\", \"two\"]\n```"},{"say":"Both."}],
        "workers":[{"task":"one","steps":[{"calls":[{"tool":"pay"}]},{"say":"Paid."}]},
            {"task":"two","steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}]}"#;
    let stage = delegating(script);
    let mut session = stage.create().await;
    assert_eq!(session.coordinate(say("do both"), Ask).await.unwrap(), Ending::Done);
    let story = stage.story().await;
    assert!(story.contains("turn user ask answer plan:2 start:0 start:1"), "{story}");
    let last = stage.last_request();
    assert_eq!(last[0], "user: do both");
    assert!(last[3].contains("✓ worker 1: one\n✗ worker 2: two"), "{last:?}");
    // A worker sees what was asked, not how it is to be split.
    let first = stage.requests()[1].clone();
    let shown: Vec<_> = first.messages.iter().map(crate::stage::message_words).collect();
    assert_eq!(shown, ["user: do both", "user: one"]);
    // The next turn is like any other again.
    assert_eq!(session.send(say("and now?"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(session.state().turns.last().unwrap().agent, None);
    stage.check().await;
}

// D74
#[tokio::test(start_paused = true)]
async fn what_cannot_be_split_is_one_task() {
    let script = r#"{"steps":[{"say":"I would rather not."},{"say":"Done."}],
        "workers":[{"task":"all of it","steps":[{"say":"Did it."}]}]}"#;
    let stage = delegating(script);
    let mut session = stage.create().await;
    assert_eq!(session.coordinate(say("all of it"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(&*ended(session.state(), 0).output.text, "Did it.");
    assert!(stage.story().await.contains("plan:1"));
    stage.check().await;
}

// X16: the number is for people; a worker is the call and the conversation.
#[tokio::test(start_paused = true)]
async fn a_hundred_and_twenty_workers_with_a_hundred_and_twenty_calls_are_told_apart() {
    let tasks: Vec<String> = (0..120).map(|number| format!("task number {number}")).collect();
    let many = vec![r#"{"tool":"look"}"#; 120].join(",");
    let last = format!(r#"{{"calls":[{many}]}},{{"say":"Looked."}}"#);
    let workers: Vec<_> = tasks
        .iter()
        .enumerate()
        .map(|(place, task)| {
            let steps = if place == 119 { last.as_str() } else { r#"{"calls":[{"tool":"pay"}]}"# };
            (task.as_str(), steps)
        })
        .collect();
    let stage = delegating(&handing(&workers));
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    let steps = session.state().turns.iter().flat_map(Turn::steps);
    let parents = steps.flat_map(|step| &step.calls).filter(|call| call.worker.is_some());
    let parents: Vec<_> = parents.map(|call| (call.id, call.worker.clone().unwrap())).collect();
    drop(session);
    let mut seen = std::collections::BTreeSet::new();
    for (call, worker) in &parents {
        assert_eq!(*worker, stage.conversation().of_worker(*call));
        for told in of_tools(&stage, worker).await {
            assert!(seen.insert((worker.clone(), told)), "told twice");
        }
    }
    seen.retain(|(_, told)| told.starts_with("start"));
    let parents = parents.len();
    assert_eq!((parents, seen.len()), (120, 119 + 120));
    assert_eq!(stage.effects().iter().filter(|effect| effect.starts_with("pay")).count(), 119);
    stage.check().await;
}
