//! A model that refuses what is too large: outputs are shortened until it takes the request (K44, X24).

use piton::OnIncomplete;
use piton_core::event::BreakReason;
use piton_core::outcome::{Cause, Ending};

use crate::stage::{Stage, say};

const STEPS: &str = r#"{"calls":[{"tool":"look","arguments":{"times":400}}]},
    {"calls":[{"tool":"look","arguments":{"times":400}}]},
    {"calls":[{"tool":"look","arguments":{"times":400}}]},{"say":"Done."}"#;

fn script(window_tokens: u32) -> String {
    format!(r#"{{"window_tokens":{window_tokens},"steps":[{STEPS}]}}"#)
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_overflows_goes_on_with_shortened_outputs() {
    let stage = Stage::new(&script(2_500));
    let ending = stage.create().await.send(say("go"), OnIncomplete::Ask).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let story = stage.story().await;
    assert!(story.contains("failure shorten:2 ask answer"), "{story}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_in_which_nothing_is_left_to_shorten_breaks_with_advice() {
    let stage = Stage::new(&script(1));
    let ending = stage.create().await.send(say("go"), OnIncomplete::Ask).await.unwrap();
    let Ending::Error(Cause { reason, message, .. }) = ending else { panic!("{ending:?}") };
    assert_eq!(reason, Some(BreakReason::Limit));
    assert!(message.contains("nothing is left to shorten"), "{message}");
}
