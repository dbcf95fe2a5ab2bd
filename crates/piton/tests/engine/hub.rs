//! Faces: each gets every entry once, and none can hold up the turn.

use std::time::Duration;

use piton::{OnIncomplete::Ask, Subscription, Update};
use piton_core::event::{Event, TurnEnd};
use piton_core::id::Seq;
use piton_core::outcome::Ending;
use piton_tools::{Finished, Job};

use crate::stage::{Stage, pass, say};
use crate::watch::OddTool;

const STEPS: &str = r#"{"steps":[
    {"say":"I look.","chunk":2,"chunk_ms":5,"calls":[{"tool":"look","arguments":{"ms":10}}]},
    {"say":"Seen and done.","chunk":2,"chunk_ms":5}]}"#;

/// Follows to the end and gives the places of all entries.
async fn places(mut subscription: Subscription) -> Vec<u64> {
    let mut places = Vec::new();
    while let Some(update) = subscription.next().await.unwrap() {
        if let Update::Entry(entry) = update {
            places.push(entry.seq.0);
        }
    }
    places
}

async fn ends(stage: &Stage) -> u64 {
    stage.entries().await.last().unwrap().seq.0
}

// D33, D36, O25, X18
#[tokio::test(start_paused = true)]
async fn every_face_gets_every_entry_once_and_in_order() {
    let stage = Stage::new(STEPS);
    let mut session = stage.create().await;
    let early: Vec<_> = (0..3).map(|_| tokio::spawn(places(session.subscribe(Seq(0))))).collect();
    session.send(say("one"), Ask).await.unwrap();
    let late = tokio::spawn(places(session.subscribe(Seq(0))));
    let middle = tokio::spawn(places(session.subscribe(Seq(4))));
    session.send(say("two"), Ask).await.unwrap();
    drop(session);
    let end = ends(&stage).await;
    for face in early.into_iter().chain([late]) {
        assert_eq!(face.await.unwrap(), (1..=end).collect::<Vec<_>>());
    }
    assert_eq!(middle.await.unwrap(), (5..=end).collect::<Vec<_>>());
}

// J97, C30
#[tokio::test(start_paused = true)]
async fn a_face_that_is_far_behind_reads_the_journal() {
    // Far more entries than a hub keeps.
    let text = "x".repeat(6_000);
    let stage = Stage::new(&format!(r#"{{"steps":[{{"say":"{text}","chunk":1,"chunk_ms":70}}]}}"#));
    let mut session = stage.create().await;
    let slow = session.subscribe(Seq(0));
    session.send(say("go"), Ask).await.unwrap();
    let late = session.subscribe(Seq(100));
    drop(session);
    let end = ends(&stage).await;
    assert!(1_500 < end, "{end}");
    assert_eq!(places(slow).await, (1..=end).collect::<Vec<_>>());
    assert_eq!(places(late).await, (101..=end).collect::<Vec<_>>());
}

// D32, X3
#[tokio::test(start_paused = true)]
async fn a_face_that_sleeps_or_leaves_does_not_stall_the_turn() {
    let stage = Stage::new(STEPS);
    let mut session = stage.create().await;
    let sleeper = session.subscribe(Seq(0));
    let mut leaver = session.subscribe(Seq(0));
    let leaving = tokio::spawn(async move {
        leaver.next().await.unwrap();
        drop(leaver);
    });
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    leaving.await.unwrap();
    drop(session);
    let end = ends(&stage).await;
    assert_eq!(places(sleeper).await, (1..=end).collect::<Vec<_>>());
}

/// What a face shows of the answer that is streaming, and of the whole one.
#[derive(Default)]
struct Screen {
    live: String,
    answers: Vec<String>,
    pieces: usize,
}

impl Screen {
    fn show(&mut self, update: Update) {
        match update {
            Update::Progress { .. } => {}
            Update::Live { text, .. } => {
                self.pieces += 1;
                self.live.push_str(&text);
            }
            Update::Entry(entry) => {
                if let Event::ModelAnswered { parts, .. } = &entry.event {
                    let answer = format!("{parts:?}");
                    assert!(answer.contains(&self.live), "{answer} {}", self.live);
                    self.answers.push(answer);
                    self.live.clear();
                } else if matches!(entry.event, Event::ModelAsked { .. }) {
                    self.live.clear();
                }
            }
            Update::Worker { worker, .. } => panic!("{worker:?}"),
        }
    }
}

// D34, C29
#[tokio::test(start_paused = true)]
async fn live_text_is_coalesced_and_never_splits_a_character() {
    let text = "añ→🦀é".repeat(40);
    let stage = Stage::new(&format!(r#"{{"steps":[{{"say":"{text}","chunk":1,"chunk_ms":10}}]}}"#));
    let mut session = stage.create().await;
    let (mut fast, mut slow) = (session.subscribe(Seq(0)), session.subscribe(Seq(0)));
    let fast = tokio::spawn(async move {
        let mut screen = Screen::default();
        while let Some(update) = fast.next().await.unwrap() {
            screen.show(update);
        }
        screen
    });
    let slow = tokio::spawn(async move {
        let mut screen = Screen::default();
        while let Some(update) = slow.next().await.unwrap() {
            screen.show(update);
            pass(90).await;
        }
        screen
    });
    session.send(say("go"), Ask).await.unwrap();
    drop(session);
    let (fast, slow) = (fast.await.unwrap(), slow.await.unwrap());
    assert_eq!((fast.answers.len(), slow.answers.len()), (1, 1));
    assert!(fast.answers[0].contains(&text) && slow.answers[0].contains(&text));
    assert!(150 < fast.pieces, "{}", fast.pieces);
    assert!(0 < slow.pieces && slow.pieces < 30, "{}", slow.pieces);
}

// K38: text of a failed try is not mixed with that of the next
#[tokio::test(start_paused = true)]
async fn live_text_of_a_failed_try_is_gone_when_the_next_begins() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"abcdef","chunk":1,"chunk_ms":10,"faults":[{"kind":"cut","after":4}]}]}"#,
    );
    let mut session = stage.create().await;
    let mut face = session.subscribe(Seq(0));
    let face = tokio::spawn(async move {
        let mut screen = Screen::default();
        while let Some(update) = face.next().await.unwrap() {
            screen.show(update);
        }
        screen
    });
    session.send(say("go"), Ask).await.unwrap();
    drop(session);
    assert_eq!(face.await.unwrap().answers.len(), 1);
}

// M15
#[tokio::test(start_paused = true)]
async fn a_face_that_comes_back_sees_the_completion_once() {
    let stage = Stage::new(STEPS);
    let mut session = stage.create().await;
    let mut face = session.subscribe(Seq(0));
    let run = tokio::spawn(async move {
        session.send(say("go"), Ask).await.unwrap();
        session
    });
    let mut seen = Seq(0);
    while seen < Seq(5) {
        if let Some(Update::Entry(entry)) = face.next().await.unwrap() {
            seen = entry.seq;
        }
    }
    drop(face);
    let session = run.await.unwrap();
    let mut face = session.subscribe(seen);
    drop(session);
    let mut completions = 0;
    while let Some(update) = face.next().await.unwrap() {
        if let Update::Entry(entry) = update {
            assert_eq!(entry.seq, seen.next());
            seen = entry.seq;
            let completed = matches!(entry.event, Event::TurnEnded { end: TurnEnd::Completed, .. });
            completions += u32::from(completed);
        }
    }
    assert_eq!(completions, 1);
    assert!(face.next().await.unwrap().is_none(), "and stays at the end");
}

// J20: nothing is shown that is not durable
#[tokio::test(start_paused = true)]
async fn a_face_never_sees_an_entry_before_the_journal_has_it() {
    let stage = Stage::new(STEPS);
    stage.journal.append_ms.store(3, std::sync::atomic::Ordering::Relaxed);
    let mut session = stage.create().await;
    let mut face = session.subscribe(Seq(0));
    let watched = async {
        loop {
            if let Some(Update::Entry(entry)) = face.next().await.unwrap() {
                assert!(stage.entries().await.contains(&entry));
                if matches!(entry.event, Event::TurnEnded { .. }) {
                    return;
                }
            }
        }
    };
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), watched);
    assert_eq!(ending.unwrap(), Ending::Done);
}

// A face that looks only now and then still sees things in the order in which they happened.
#[tokio::test(start_paused = true)]
async fn live_text_comes_before_the_entries_that_followed_it() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"Hello world","chunk":6,"faults":[{"kind":"cut","after":1}]}]}"#,
    )
    .limits(|limits| limits.failures_max = 1);
    let mut session = stage.create().await;
    let mut face = session.subscribe(Seq(0));
    session.send(say("go"), Ask).await.unwrap();
    drop(session);
    let mut seen = Vec::new();
    while let Some(update) = face.next().await.unwrap() {
        match update {
            Update::Live { text, .. } => seen.push(text),
            Update::Progress { .. } => {}
            Update::Entry(entry) => {
                if matches!(entry.event, Event::ModelAsked { .. } | Event::ModelFailed { .. }) {
                    seen.push(format!("{:?}", entry.event).split(' ').next().unwrap().to_owned());
                }
            }
            Update::Worker { worker, .. } => panic!("{worker:?}"),
        }
    }
    assert_eq!(seen, ["ModelAsked", "Hello ", "ModelFailed"]);
}

#[tokio::test(start_paused = true)]
async fn the_newest_word_of_a_running_call_is_shown_and_recorded_nowhere() {
    let steps = r#"{"steps":[{"calls":[{"tool":"tells"}]},{"say":"Done."}]}"#;
    let stage = Stage::new(steps).tool(OddTool::once("tells", |job: Job| async move {
        for word in ["one", "two"] {
            job.progress.say(word);
        }
        // wait: the clock is virtual, and lets others work
        tokio::time::sleep(Duration::from_millis(10)).await;
        job.progress.say("three");
        // wait: the clock is virtual, and lets others work
        tokio::time::sleep(Duration::from_millis(10)).await;
        Finished::ok("told")
    }));
    let mut session = stage.create().await;
    let mut face = session.subscribe(Seq(0));
    let watching = tokio::spawn(async move {
        let mut words = Vec::new();
        while let Some(update) = face.next().await.unwrap() {
            if let Update::Progress { call, text } = update {
                words.push(format!("{call} {text}"));
            }
        }
        words
    });
    session.send(say("go"), Ask).await.unwrap();
    // Whoever comes late is not told how far a call was that has ended.
    let mut late = session.subscribe(Seq(0));
    drop(session);
    assert_eq!(watching.await.unwrap(), ["1.1.0 two", "1.1.0 three"]);
    while let Some(update) = late.next().await.unwrap() {
        assert!(!matches!(update, Update::Progress { .. }));
    }
}
