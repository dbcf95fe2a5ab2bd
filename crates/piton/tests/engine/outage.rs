//! A network that is not there, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::stream;
use piton::Command;
use piton::OnIncomplete::Ask;
use piton::model::{
    AnswerStream, Delta, FailureClass, FinishReason, Model, ModelFailure, Transcript, Usage,
};
use piton_core::event::Event;
use piton_core::outcome::Ending;
use tokio::time::Instant;

use crate::stage::{Stage, pass, say};

/// A model that cannot be reached for a while.
#[derive(Debug)]
struct Away {
    asked: AtomicU32,
    times: u32,
    outage: Duration,
}

impl Model for Away {
    fn ask(&self, _transcript: &Transcript) -> AnswerStream {
        if self.asked.fetch_add(1, Ordering::Relaxed) < self.times {
            let mut failure = ModelFailure::new(FailureClass::Network, "cannot reach h");
            failure.outage_ms_max = u64::try_from(self.outage.as_millis()).ok();
            failure.detail = Some("os error 101".into());
            return Box::pin(stream::iter([Err(failure)]));
        }
        let said = Delta::Text { index: 0, text: "so".into() };
        let end = Delta::End { finish: FinishReason::Stop, usage: Usage::default() };
        Box::pin(stream::iter([Ok(said), Ok(end)]))
    }
}

fn stage(times: u32, outage_seconds: u64) -> Stage {
    let outage = Duration::from_secs(outage_seconds);
    let model = Away { asked: AtomicU32::new(0), times, outage };
    Stage::with_model(Arc::new(model)).limits(|limits| limits.failures_max = 2)
}

// J48, M12
#[tokio::test(start_paused = true)]
async fn a_network_that_comes_back_is_waited_for() {
    let stage = stage(12, 600);
    let start = Instant::now();
    assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
    // 1, 2, 4, 8 and eight times 15 seconds, some with a quarter of chance.
    let took = start.elapsed().as_secs();
    assert!((120..=140).contains(&took), "{took}");
    let entries = stage.entries().await;
    let details = entries.iter().filter(|entry| {
        matches!(&entry.event, Event::ModelFailed { detail: Some(said), .. } if said.contains("os error"))
    });
    assert_eq!(details.count(), 12, "what libraries said is in the journal");
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_network_that_stays_away_is_given_up_with_the_time_that_was_waited() {
    let stage = stage(1_000, 120);
    let start = Instant::now();
    let ending = stage.create().await.send(say("go"), Ask).await.unwrap();
    let Ending::Error(cause) = ending else { panic!("{ending:?}") };
    assert_eq!(cause.message, "cannot reach h; it was waited for, 120 s");
    let took = start.elapsed().as_secs();
    assert!((120..=150).contains(&took), "{took}");
    stage.check().await;
}

/// A model that is overloaded at first, and asks for patience.
#[derive(Debug)]
struct Overloaded {
    asked: AtomicU32,
    times: u32,
}

impl Model for Overloaded {
    fn ask(&self, _transcript: &Transcript) -> AnswerStream {
        if self.asked.fetch_add(1, Ordering::Relaxed) < self.times {
            let mut failure = ModelFailure::new(FailureClass::Overloaded, "come back later");
            failure.retry_after_ms = Some(60_000);
            return Box::pin(stream::iter([Err(failure)]));
        }
        let said = Delta::Text { index: 0, text: "so".into() };
        let end = Delta::End { finish: FinishReason::Stop, usage: Usage::default() };
        Box::pin(stream::iter([Ok(said), Ok(end)]))
    }
}

// C33: from this process and from another one, for each try anew.
#[tokio::test(start_paused = true)]
async fn a_try_that_waits_for_its_moment_leaves_at_once_when_somebody_wants_to_go_on() {
    for is_elsewhere in [false, true] {
        let model = Overloaded { asked: AtomicU32::new(0), times: 2 };
        let stage = Stage::with_model(Arc::new(model));
        let (here, elsewhere) = (stage.engine(), stage.engine());
        let holder = stage.conversation_in(&here);
        let sender = if is_elsewhere { stage.conversation_in(&elsewhere) } else { holder.clone() };
        let start = Instant::now();
        let (ending, ()) = tokio::join!(holder.perform(Command::say(say("go"))), async {
            for _ in 0..2 {
                pass(5_000).await;
                sender.send(Command::Resume).await.unwrap();
            }
        });
        assert_eq!(ending.unwrap(), Ending::Done);
        let took = start.elapsed().as_secs();
        assert!((10..20).contains(&took), "{took} s, {is_elsewhere}");
        let failures = stage
            .entries()
            .await
            .iter()
            .filter(|entry| matches!(entry.event, Event::ModelFailed { .. }))
            .count();
        assert_eq!(failures, 2);
        stage.check().await;
    }
}
