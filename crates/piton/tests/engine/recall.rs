//! The model looks into its own conversation: behind a summary, before a fork, into a worker.

use piton::Delegation;
use piton::OnIncomplete::Ask;
use piton_core::event::{Event, PermissionMode, Window, WindowSource};
use piton_core::id::CallId;
use piton_core::outcome::Ending;
use piton_core::state::{Progress, State};
use piton_core::summarise::REQUEST_HEAD;

use crate::stage::{Stage, message_words, say};
use crate::watch::Request;

const WINDOW_TOKENS: u64 = 16_384;

fn recall(arguments: &str) -> String {
    format!(r#"{{"calls":[{{"tool":"recall","arguments":{arguments}}}]}}"#)
}

/// What a call gave.
fn gave(state: &State, call: &str) -> String {
    let id: CallId = call.parse().unwrap();
    let found = state.turns.iter().find_map(|turn| turn.call(id)).unwrap();
    let Progress::Done(ended) = &found.progress else { panic!("{found:?}") };
    ended.output.text.to_string()
}

// Must show 3: what was summed up can still be looked at, word for word.
#[tokio::test(start_paused = true)]
async fn a_fact_behind_a_summary_is_found_again() {
    let look = r#"{"calls":[{"tool":"look","arguments":{"times":373}}]},"#.repeat(60);
    let (found, read) = (recall(r#"{"query":"harbour CODE"}"#), recall(r#"{"entry":"1.1"}"#));
    let script = format!(
        r#"{{"window_tokens":{WINDOW_TOKENS},"summaries":"bare","steps":[
            {{"say":"The harbour code is 4711.","calls":[{{"tool":"look"}}]}},
            {look}{found},{read},{{"say":"Done."}}]}}"#
    );
    let stage = Stage::new(&script).looking_back().limits(|limits| {
        limits.steps_max = 0;
        let (tokens, from) = (WINDOW_TOKENS, WindowSource::Table);
        limits.window = Some(Window { tokens, answer_tokens_max: 0, from });
    });
    let ending = stage.create().await.send(say("look around"), Ask).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let state = stage.state().await;
    let found = gave(&state, "1.62.0");
    assert!(found.contains("\n1.1 you: …The harbour code is 4711.…"), "{found}");
    let read = gave(&state, "1.63.0");
    assert!(
        read.starts_with("[1.1 you, ") && read.contains("\nThe harbour code is 4711.\n"),
        "{read}"
    );
    let is_step = |request: &Request| !message_words(&request.messages[0]).contains(REQUEST_HEAD);
    let requests: Vec<_> = stage.requests().into_iter().filter(is_step).collect();
    let has = |place: usize| {
        let words = requests[place].messages.iter().map(message_words);
        words.collect::<String>().contains("4711")
    };
    // The first request has no answer behind it, each further one has one more.
    assert!(!has(61) && has(62), "the summary does not have it, recall does");
    let first = message_words(&requests[61].messages[0]);
    assert!(first.contains("can be read with recall"), "{first}");
    stage.check().await;
}

// ReadOnly, and nobody is asked: in whatever mode.
#[tokio::test(start_paused = true)]
async fn nobody_is_asked_before_the_model_looks_back() {
    let modes = [
        PermissionMode::Ask,
        PermissionMode::AcceptEdits,
        PermissionMode::ReadOnly,
        PermissionMode::Plan,
    ];
    for mode in modes {
        let script =
            format!(r#"{{"steps":[{},{{"say":"Done."}}]}}"#, recall(r#"{"query":"anchor"}"#));
        let stage = Stage::new(&script).looking_back().mode(mode);
        let ending = stage.create().await.send(say("where is the anchor?"), Ask).await.unwrap();
        assert_eq!(ending, Ending::Done, "{mode:?}");
        let entries = stage.entries().await;
        assert!(!entries.iter().any(|entry| matches!(entry.event, Event::InquiryRaised { .. })));
        let found = gave(&stage.state().await, "1.1.0");
        assert!(found.contains("\n1 the user: …where is the anchor?…"), "{found}");
    }
}

// A fork begins with what it was cut from, and a worker's past is read by the call that it works for.
#[tokio::test(start_paused = true)]
async fn a_fork_looks_into_its_origin_and_a_parent_into_its_worker() {
    let own = recall(r#"{"query":"anchor"}"#);
    let worker = recall(r#"{"query":"seen it","worker":"1.1.0"}"#);
    let script = format!(
        r#"{{"steps":[{{"say":"I hand it on.","calls":[{{"tool":"delegate",
                "arguments":{{"task":"one","context":"snapshot"}}}}]}},
            {worker},{},{{"say":"Done."}}],
            "workers":[{{"task":"one","steps":[{own},{{"say":"I have seen it."}}]}}]}}"#,
        recall(r#"{"query":"x","worker":"1.2.0"}"#)
    );
    let stage = Stage::new(&script).delegating(Delegation::default()).looking_back();
    let ending = stage.create().await.send(say("the anchor is rusty"), Ask).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let state = stage.state().await;
    let seen = gave(&state, "1.2.0");
    assert!(seen.contains(" you: …I have seen it.…"), "{seen}");
    assert!(gave(&state, "1.3.0").contains("no call that was handed to a worker"));
    let worker = stage.conversation().of_worker("1.1.0".parse().unwrap());
    let entries = stage.entries_of(&worker).await;
    let outputs = entries.iter().filter_map(|entry| {
        let Event::ToolFinished { output, .. } = &entry.event else { return None };
        Some(output.text.to_string())
    });
    let outputs: Vec<String> = outputs.collect();
    assert!(outputs[0].contains("1 the user: …the anchor is rusty…"), "{outputs:?}");
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_looked_for_is_said() {
    let odd = [r"{}", r#"{"query":"a","entry":"1"}"#, r#"{"query":"/(/"}"#, r#"{"entry":"7.7"}"#];
    let steps: String = odd.iter().map(|it| recall(it) + ",").collect();
    let stage = Stage::new(&format!(r#"{{"steps":[{steps}{{"say":"Done."}}]}}"#)).looking_back();
    stage.create().await.send(say("go"), Ask).await.unwrap();
    let state = stage.state().await;
    assert!(gave(&state, "1.1.0").contains("either query or entry"));
    assert!(gave(&state, "1.2.0").contains("either query or entry"));
    assert!(gave(&state, "1.3.0").contains("is no pattern"));
    assert!(gave(&state, "1.4.0").contains("there is no 7.7; look for it with query"));
}
