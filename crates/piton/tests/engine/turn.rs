//! A turn from its message to its last answer.

use piton::OnIncomplete::Ask;
use piton::SessionError;
use piton_core::event::Event;
use piton_core::id::Digest;
use piton_core::outcome::Ending;
use piton_core::view::View;
use piton_store::Durability;
use tokio::time::Instant;

use crate::stage::{Stage, cut, say};
use crate::watch::OddTool;

const ONE_LOOK: &str = r#"{"steps":[{"calls":[{"tool":"look"}]},{"say":"Seen."}]}"#;
const THREE: &str = r#"{"steps":[{"calls":[
    {"tool":"pay","arguments":{"ms":30}},
    {"tool":"look","arguments":{"ms":10}},
    {"tool":"set","arguments":{"ms":20}}]},{"say":"Done."}]}"#;

// D50, D52
#[tokio::test(start_paused = true)]
async fn a_plain_turn_is_a_message_a_request_and_an_answer() {
    let stage = Stage::new(r#"{"steps":[{"say":"Hello."}]}"#);
    let mut session = stage.create().await;
    let ending = session.send(say("hi"), Ask).await.unwrap();
    assert_eq!(ending, Ending::Done);
    assert_eq!(stage.story().await, "opened driver config turn user ask answer end:Completed");
    let view = View::from(session.state());
    assert_eq!(view.turns[0].answer().as_deref(), Some("Hello."));
}

// J13, J16; two commits per step are the budget when one tool runs
#[tokio::test(start_paused = true)]
async fn a_step_with_one_tool_costs_two_commits() {
    let stage = Stage::new(ONE_LOOK);
    let mut session = stage.create().await;
    session.send(say("look"), Ask).await.unwrap();
    assert_eq!(
        stage.commits(),
        [
            "opened driver config turn user ask",
            "answer start:0",
            "finish:0 ask",
            "answer end:Completed",
        ]
    );
    let synced = |commit: &crate::watch::Commit| commit.durability == Durability::Synced;
    assert!(stage.journal.commits().iter().all(synced));
    stage.check().await;
}

// D59, J12, J14, X15, X6
#[tokio::test(start_paused = true)]
async fn parallel_tools_take_as_long_as_the_slowest_and_are_durable_one_by_one() {
    let stage = Stage::new(THREE);
    let mut session = stage.create().await;
    let start = Instant::now();
    session.send(say("go"), Ask).await.unwrap();
    assert_eq!(start.elapsed().as_millis(), 30);
    assert_eq!(
        stage.commits()[1..],
        [
            "answer start:0 start:1 start:2",
            "finish:1",
            "finish:2",
            "finish:0 ask",
            "answer end:Completed"
        ]
    );
    let times: Vec<_> = stage.journal.commits().iter().map(|commit| commit.at_ms).collect();
    assert_eq!(times[2..], [10, 20, 30, 30]);
    assert_eq!(
        stage.last_request(),
        ["user: go", "assistant: 3 parts", "results: pay done | look done | set done"]
    );
    stage.check().await;
}

// J18
#[tokio::test(start_paused = true)]
async fn tools_that_end_together_are_committed_together() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"look"},{"tool":"set"},{"tool":"pay"}]},{"say":"x"}]}"#,
    );
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    assert_eq!(stage.commits()[2], "finish:0 finish:1 finish:2 ask");
}

// D60, D61, O34
#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_or_panics_stops_neither_siblings_nor_turn() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[
            {"tool":"look","arguments":{"panic":1}},
            {"tool":"pay","arguments":{"fail":1}},
            {"tool":"pay","arguments":{"ms":5}}]},{"say":"Went on."}]}"#,
    );
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(
        stage.last_request()[2],
        "results: The tool crashed: scripted panic of the tool. | scripted failure | pay done"
    );
    assert_eq!(stage.effects(), ["pay 1.1.2"]);
    stage.check().await;
}

// D61: also where a tool only looks
#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_while_it_prepares_is_a_failed_call() {
    let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"odd"},{"tool":"pay"}]},{"say":"x"}]}"#)
        .tool(OddTool::odd_prepare("odd", || async { panic!("scripted panic of prepare") }));
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(
        stage.last_request()[2],
        "results: The tool crashed: scripted panic of prepare. | pay done"
    );
    assert!(!stage.story().await.contains("start:0"));
}

// K51, K52, O30
#[tokio::test(start_paused = true)]
async fn a_refused_call_is_answered_and_never_started() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[
            {"tool":"pay","raw":"{oops"},
            {"tool":"nothing_like_it"},
            {"tool":"change","arguments":{"line":"no path"}}]},{"say":"I see."}]}"#,
    );
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    let results = &stage.last_request()[2];
    for told in ["not a JSON object", "no tool nothing_like_it", "path is missing"] {
        assert!(results.contains(told), "{results}");
    }
    assert!(!stage.story().await.contains("start"));
    assert_eq!(stage.effects(), Vec::<String>::new());
    stage.check().await;
}

// D57, D62, D63, K13, K32
#[tokio::test(start_paused = true)]
async fn the_next_turn_continues_the_same_history() {
    let stage =
        Stage::new(r#"{"steps":[{"calls":[{"tool":"look"}]},{"say":"one"},{"say":"two"}]}"#);
    let mut session = stage.create().await;
    session.send(say("first"), Ask).await.unwrap();
    session.send(say("second"), Ask).await.unwrap();
    assert_eq!(
        stage.last_request(),
        [
            "user: first",
            "assistant: 1 parts",
            "results: look done",
            "assistant: 1 parts",
            "user: second"
        ]
    );
    let story = stage.story().await;
    assert_eq!(story.matches("driver").count(), 1, "one driver, two turns: {story}");
}

// D64
#[tokio::test(start_paused = true)]
async fn several_sessions_run_in_one_process() {
    let one = Stage::new(THREE);
    let two = Stage::new(ONE_LOOK).named("another", &one.journal);
    let (mut first, mut second) = (one.create().await, two.create().await);
    let (first, second) = tokio::join!(first.send(say("a"), Ask), second.send(say("b"), Ask));
    assert_eq!((first.unwrap(), second.unwrap()), (Ending::Done, Ending::Done));
    assert_eq!(one.effects().len(), 3);
    assert_eq!(two.effects(), ["look 1.1.0"]);
    one.check().await;
    two.check().await;
}

// J17, J30, M7: and the request is the one that an undisturbed run sends
#[tokio::test(start_paused = true)]
async fn a_resumed_turn_sends_the_request_of_the_undisturbed_one() {
    let undisturbed = Stage::new(THREE);
    undisturbed.create().await.send(say("go"), Ask).await.unwrap();

    let stage = Stage::new(THREE);
    cut(15, stage.create().await.send(say("go"), Ask)).await;
    assert!(stage.story().await.ends_with("finish:1"));
    assert_eq!(stage.open().await.resume().await.unwrap(), Ending::Done);
    let mut effects = stage.effects();
    effects.sort();
    assert_eq!(effects, ["look 1.1.1", "set 1.1.2"], "pay is in doubt and not repeated");

    let stage = Stage::new(ONE_LOOK);
    let whole = Stage::new(ONE_LOOK);
    whole.create().await.send(say("go"), Ask).await.unwrap();
    stage.journal.append_ms.store(5, std::sync::atomic::Ordering::Relaxed);
    cut(12, stage.create().await.send(say("go"), Ask)).await;
    assert_eq!(stage.open().await.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.requests().last(), whole.requests().last());
    assert_eq!(digests(&stage).await.last(), digests(&whole).await.last());
    stage.check().await;
}

async fn digests(stage: &Stage) -> Vec<Digest> {
    let mut digests = Vec::new();
    for entry in stage.entries().await {
        if let Event::ModelAsked { digest, .. } = entry.event {
            digests.push(digest);
        }
    }
    digests
}

#[tokio::test(start_paused = true)]
async fn a_message_without_content_is_refused_and_writes_nothing() {
    let stage = Stage::new(r#"{"steps":[{"say":"x"}]}"#);
    let mut session = stage.create().await;
    for text in ["", " \n\t"] {
        let refused = session.send(say(text), Ask).await;
        assert!(matches!(refused, Err(SessionError::EmptyMessage)), "{refused:?}");
    }
    assert_eq!(stage.story().await, "");
    assert_eq!(session.send(say("x"), Ask).await.unwrap(), Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_no_journal_takes_is_refused_and_costs_nothing_else() {
    let stage = Stage::new(r#"{"steps":[{"say":"x"}]}"#);
    let mut session = stage.create().await;
    let huge = "x".repeat(piton_store::ENTRY_BYTES_MAX);
    let refused = session.send(say(&huge), Ask).await;
    assert!(matches!(refused, Err(SessionError::Append(_))), "{refused:?}");
    assert_eq!(session.send(say("small"), Ask).await.unwrap(), Ending::Done);
}
