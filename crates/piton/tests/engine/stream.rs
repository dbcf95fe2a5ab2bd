//! The stream of an answer: kept in bounded pieces, whole only at its end mark, tried again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use piton::OnIncomplete::Ask;
use piton::model::{AnswerStream, Model};
use piton_core::answer::Delta;
use piton_core::event::{BreakReason, Event, FailureClass, FinishReason, Usage};
use piton_core::outcome::Ending;
use piton_core::transcript::Transcript;
use piton_store::Durability;
use tokio::time::Instant;

use crate::stage::{Stage, say};

/// The failures in the journal, in order.
async fn failures(stage: &Stage) -> Vec<FailureClass> {
    let mut failures = Vec::new();
    for entry in stage.entries().await {
        if let Event::ModelFailed { class, .. } = entry.event {
            failures.push(class);
        }
    }
    failures
}

async fn attempts(stage: &Stage) -> Vec<u32> {
    let mut attempts = Vec::new();
    for entry in stage.entries().await {
        if let Event::ModelAsked { attempt, .. } = entry.event {
            attempts.push(attempt.0);
        }
    }
    attempts
}

/// The sizes and times of the commits that hold streamed text only.
fn flushes(stage: &Stage) -> Vec<(usize, u128)> {
    let mut flushes = Vec::new();
    for commit in stage.journal.commits() {
        let mut bytes = 0;
        for event in &commit.events {
            if let Event::ModelPartial { text, .. } = event {
                bytes += text.len();
            } else {
                assert_eq!(commit.durability, Durability::Synced);
            }
        }
        if commit.durability == Durability::Relaxed {
            assert!(0 < bytes, "only streamed text may be relaxed");
            flushes.push((bytes, commit.at_ms));
        }
    }
    flushes
}

// J43, M3
#[tokio::test(start_paused = true)]
async fn streamed_text_is_durable_within_200_ms() {
    let script = format!(r#"{{"steps":[{{"say":"{}","chunk":1,"chunk_ms":30}}]}}"#, "x".repeat(50));
    let stage = Stage::new(&script);
    stage.create().await.send(say("go"), Ask).await.unwrap();
    let flushes = flushes(&stage);
    assert!(6 <= flushes.len(), "{flushes:?}");
    // Each piece arrived at a multiple of 30 ms; the oldest of a flush is at most 200 ms old.
    let mut flushed = 0;
    for (bytes, at_ms) in flushes {
        let oldest_ms = 30 * (flushed + 1);
        assert!(at_ms <= oldest_ms as u128 + 200, "{at_ms} {oldest_ms}");
        flushed += bytes;
    }
}

#[tokio::test(start_paused = true)]
async fn streamed_text_is_durable_after_4_kib() {
    let text = "x".repeat(20_000);
    let script = format!(r#"{{"steps":[{{"say":"{text}","chunk":1000,"chunk_ms":1}}]}}"#);
    let stage = Stage::new(&script);
    stage.create().await.send(say("go"), Ask).await.unwrap();
    let flushes = flushes(&stage);
    assert_eq!(flushes.len(), 4, "{flushes:?}");
    assert!(flushes.iter().all(|(bytes, _)| *bytes == 5_000), "{flushes:?}");
}

// J47
#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_broken_off_and_tried_again() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"slow to come","chunk":3,"faults":[{"kind":"stall","after":2}]}]}"#,
    )
    .limits(|limits| limits.idle_ms_max = 7_000);
    let start = Instant::now();
    assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(failures(&stage).await, [FailureClass::Stalled]);
    // The silence, then the first back-off of a second with at most a quarter of jitter.
    let took = start.elapsed().as_millis();
    assert!((8_000..=8_250).contains(&took), "{took}");
    stage.check().await;
}

/// A model that says nothing for a while but that it is there, or not even that.
#[derive(Debug)]
struct Ponders {
    beats: u32,
    beat: Duration,
}

impl Model for Ponders {
    fn ask(&self, _transcript: &Transcript) -> AnswerStream {
        let (beats, beat) = (self.beats, self.beat);
        let alive = stream::iter(0..beats).then(move |_| async move {
            // wait: on the virtual clock
            tokio::time::sleep(beat).await;
            Ok(Delta::Alive)
        });
        let said = Delta::Text { index: 0, text: "so".into() };
        let end = Delta::End { finish: FinishReason::Stop, usage: Usage::default() };
        Box::pin(alive.chain(stream::iter([Ok(said), Ok(end)])))
    }
}

// J47: the time to the first byte and the gaps behind it have clocks of their own
#[tokio::test(start_paused = true)]
async fn a_model_that_begins_late_is_waited_for_longer_than_one_that_stops() {
    let model = || Arc::new(Ponders { beats: 1, beat: Duration::from_secs(299) });
    let stage = Stage::with_model(model());
    assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(failures(&stage).await, []);
    let stage = Stage::with_model(model()).limits(|limits| {
        (limits.first_byte_ms_max, limits.failures_max) = (120_000, 1);
    });
    let start = Instant::now();
    let ending = stage.create().await.send(say("go"), Ask).await.unwrap();
    assert_eq!(told(&ending), "no answer began within 120 s");
    assert_eq!(start.elapsed(), Duration::from_mins(2));
}

#[tokio::test(start_paused = true)]
async fn a_stream_with_nothing_but_signs_of_life_is_not_waited_for_without_an_end() {
    let model = Arc::new(Ponders { beats: 1_000, beat: Duration::from_secs(20) });
    let stage = Stage::with_model(model).limits(|limits| limits.failures_max = 1);
    let start = Instant::now();
    let ending = stage.create().await.send(say("go"), Ask).await.unwrap();
    assert_eq!(told(&ending), "nothing but signs of life came for 30 min");
    assert_eq!(start.elapsed(), Duration::from_mins(30));
}

fn told(ending: &Ending) -> String {
    let Ending::Error(cause) = ending else { panic!("{ending:?}") };
    cause.message.clone()
}

// J47: signs of life while arguments are made count, and a limit of 0 is none
#[tokio::test(start_paused = true)]
async fn a_stream_that_lives_is_waited_for() {
    for (beats, beat, idle_ms_max) in [(20, 6, 7_000), (1, 3_600, 0)] {
        let model = Ponders { beats, beat: Duration::from_secs(beat) };
        let stage = Stage::with_model(Arc::new(model));
        let stage = stage.limits(|limits| {
            (limits.first_byte_ms_max, limits.idle_ms_max) = (idle_ms_max, idle_ms_max);
        });
        assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
        assert_eq!(failures(&stage).await, []);
    }
}

// J45, O28, X10, J44
#[tokio::test(start_paused = true)]
async fn a_stream_without_an_end_mark_is_a_visible_failure() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"first","chunk":1,"calls":[{"tool":"pay"}],
            "faults":[{"kind":"cut","after":3}]},{"say":"x"}]}"#,
    );
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(failures(&stage).await, [FailureClass::StreamBroke]);
    assert_eq!(attempts(&stage).await, [1, 2, 1]);
    let story = stage.story().await;
    assert!(story.contains("ask partial failure ask answer start:0"), "{story}");
    assert_eq!(stage.effects(), ["pay 1.1.0"], "no tool of a cut stream ran");
    stage.check().await;
}

// J56, J46
#[tokio::test(start_paused = true)]
async fn a_second_end_mark_starts_nothing_twice() {
    let stage =
        Stage::new(r#"{"steps":[{"say":"a","calls":[{"tool":"pay"}],"end":"twice"},{"say":"b"}]}"#);
    assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

// D70, J54
#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_off_is_not_run_and_is_named() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"set"},{"tool":"pay"}],"end":"length"},{"say":"x"}]}"#,
    );
    assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["set 1.1.0"]);
    let note = stage.last_request()[3].clone();
    assert!(note.contains("not run: pay"), "{note}");
}

/// A model that sends the same deltas to whoever asks, and never an end of them.
#[derive(Debug)]
struct Endless(String);

impl Model for Endless {
    fn ask(&self, _transcript: &Transcript) -> AnswerStream {
        let text = self.0.clone();
        Box::pin(stream::repeat_with(move || Ok(Delta::Text { index: 0, text: text.clone() })))
    }
}

// J60
#[tokio::test(start_paused = true)]
async fn an_endless_answer_breaks_the_turn_and_keeps_what_came() {
    // Bytes that grow sixfold when they are stored, and a piece that no entry could hold.
    for piece in ["x".repeat(10_000), "\u{1}".repeat(10_000), "x".repeat(50_000_000)] {
        let kept = piece.len() == 10_000;
        let stage = Stage::with_model(Arc::new(Endless(piece)));
        let mut session = stage.create().await;
        let ending = session.send(say("go"), Ask).await.unwrap();
        let Ending::Error(cause) = ending else { panic!("{ending:?}") };
        assert_eq!(cause.reason, Some(BreakReason::ApiError));
        assert_eq!(failures(&stage).await, [FailureClass::TooLarge]);
        let state = stage.state().await;
        let streamed = state.turns[0].steps().next().unwrap().streamed.text.len();
        assert_eq!(900_000 < streamed, kept, "{streamed}");
    }
}

/// The largest answer there is, of the characters that cost most in a journal.
#[derive(Debug)]
struct Largest;

impl Model for Largest {
    fn ask(&self, _transcript: &Transcript) -> AnswerStream {
        let piece = "\u{1}".repeat(1_000);
        let text = (0..1_000).map(move |_| Delta::Text { index: 0, text: piece.clone() });
        let end = Delta::End { finish: FinishReason::Stop, usage: Usage::default() };
        Box::pin(stream::iter(text.chain([end])).map(Ok))
    }
}

#[tokio::test(start_paused = true)]
async fn the_largest_answer_fits_into_the_journal() {
    let stage = Stage::with_model(Arc::new(Largest));
    assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
}

fn cuts(count: usize, after: usize) -> String {
    vec![format!(r#"{{"kind":"cut","after":{after}}}"#); count].join(",")
}

// J48
#[tokio::test(start_paused = true)]
async fn content_ends_a_row_of_failures() {
    let script = |after| {
        let faults = cuts(9, after);
        format!(r#"{{"steps":[{{"say":"abcdef","chunk":1,"faults":[{faults}]}}]}}"#)
    };
    let lives = Stage::new(&script(2));
    assert_eq!(lives.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(failures(&lives).await.len(), 9);
    let dead = Stage::new(&script(0));
    let ending = dead.create().await.send(say("go"), Ask).await.unwrap();
    assert!(matches!(ending, Ending::Error(_)), "{ending:?}");
    assert_eq!(failures(&dead).await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_always_breaks_off_is_not_asked_for_ever() {
    let faults = cuts(100, 2);
    let stage =
        Stage::new(&format!(r#"{{"steps":[{{"say":"abcdef","chunk":1,"faults":[{faults}]}}]}}"#));
    let ending = stage.create().await.send(say("go"), Ask).await.unwrap();
    assert!(matches!(ending, Ending::Error(_)), "{ending:?}");
    assert_eq!(attempts(&stage).await, (1..=20).collect::<Vec<_>>());
}

// D71, J49
#[tokio::test(start_paused = true)]
async fn the_provider_says_how_long_to_wait() {
    for asked in [9_000, 200_000] {
        let stage = Stage::new(&format!(
            r#"{{"steps":[{{"say":"x","faults":[{{"kind":{{"fail":"rate_limited"}},"retry_after_ms":{asked}}}]}}]}}"#,
        ));
        let start = Instant::now();
        assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
        let took = start.elapsed().as_millis();
        assert!((asked..=asked + asked / 4).contains(&took), "{took}");
    }
}

// J49: asked too early it would refuse again, and nobody sits there for an hour
#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_too_long_a_wait_ends_the_turn() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"rate_limited"},"retry_after_ms":3600000}]}]}"#,
    );
    let mut session = stage.create().await;
    let ending = session.send(say("go"), Ask).await.unwrap();
    let Ending::Error(cause) = ending else { panic!("{ending:?}") };
    assert!(cause.message.ends_with("; the provider asks to wait 60 min"), "{}", cause.message);
    assert_eq!(stage.requests().len(), 1);
    assert_eq!(session.resume().await.unwrap(), Ending::Done, "whoever resumes has waited");
}

// K11, K47: a failure that repeats itself is not repeated
#[tokio::test(start_paused = true)]
async fn a_permanent_failure_is_not_tried_again() {
    for class in ["auth", "quota", "invalid_request", "content_filter", "unknown"] {
        let stage = Stage::new(&format!(
            r#"{{"steps":[{{"say":"x","faults":[{{"kind":{{"fail":"{class}"}}}}]}}]}}"#
        ));
        stage.create().await.send(say("go"), Ask).await.unwrap();
        assert_eq!(stage.requests().len(), 1, "{class}");
        assert!(stage.story().await.ends_with("ask failure broke:ApiError"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_panics_has_failed_and_the_turn_stays() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},
            {"say":"abc","chunk":1,"faults":[{"kind":"panic","after":2}]}]}"#,
    );
    let mut session = stage.create().await;
    let ending = session.send(say("go"), Ask).await.unwrap();
    assert!(matches!(ending, Ending::Incomplete(_)), "{ending:?}");
    assert!(stage.story().await.ends_with("ask partial failure broke:ApiError"));
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

/// A clock that somebody sets back by a year while the engine waits.
#[derive(Debug, Default)]
struct SetBack(std::sync::atomic::AtomicU64);

impl piton::clock::Clock for SetBack {
    fn now(&self) -> piton_core::id::Timestamp {
        let asked = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let year_ms = 365 * 24 * 3_600_000;
        let jump = if asked < 8 { year_ms } else { 0 };
        piton_core::id::Timestamp(year_ms + jump)
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_does_not_prolong_the_wait() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"server"}},{"kind":{"fail":"server"}}]}]}"#,
    )
    .clock(Arc::new(SetBack::default()));
    let start = Instant::now();
    assert_eq!(stage.create().await.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert!(start.elapsed().as_secs() <= 120, "{:?}", start.elapsed());
}

/// A directory of models whose code panics.
#[derive(Debug)]
struct Panicking;

impl piton::model::Models for Panicking {
    fn find(
        &self,
        _model: &piton_core::event::ModelRef,
    ) -> Result<Arc<dyn Model>, piton::model::ModelFailure> {
        panic!("scripted panic of the directory")
    }
}

#[tokio::test(start_paused = true)]
async fn a_directory_of_models_that_panics_is_a_failure_too() {
    let stage = Stage::new(r#"{"steps":[]}"#);
    let engine = piton::Engine::builder(stage.journal.clone(), Arc::new(Panicking)).build();
    let mut session = stage.create_in(&engine).await;
    let ending = session.send(say("go"), Ask).await.unwrap();
    assert!(matches!(ending, Ending::Error(_)), "{ending:?}");
}
