//! Reading without a lease: the same stream wherever the driver is, without gap or duplicate.

use piton::{Accepted, Command, CommandError, Engine, Follow, FollowError, LeaseWait, News, Reply};
use piton_core::event::PermissionMode;
use piton_core::id::{ConversationId, Seq};
use piton_core::outcome::Ending;
use piton_core::view::{Live, Patch, View};
use piton_tools::{Finished, Job};

use crate::stage::{Stage, ms, pass, pending, say};
use crate::watch::OddTool;

/// A face: a view that it keeps up to date by changes alone.
struct Face {
    view: Option<View>,
    live: Vec<Live>,
    follow: Follow,
}

impl Face {
    async fn new(engine: &Engine, id: &ConversationId) -> Self {
        let follow = engine.follow(id, None).await.unwrap();
        Self { view: None, live: Vec::new(), follow }
    }

    /// Takes in everything there is.
    async fn catch_up(&mut self) {
        // wait: virtual time; a stream that is still for so long has nothing more.
        while let Ok(news) = tokio::time::timeout(ms(1), self.follow.next()).await {
            match news.unwrap() {
                News::Snapshot(view) => self.view = Some(*view),
                News::Change(change) => self.view.as_mut().unwrap().apply(&change).unwrap(),
                News::Live(live) => self.live.push(*live),
                news => panic!("{news:?}"),
            }
        }
    }

    /// Leaves, and comes back with its cursor, to another engine.
    async fn come_back(&mut self, engine: &Engine, id: &ConversationId) {
        let cursor = self.view.as_ref().unwrap().cursor;
        assert_eq!(cursor, self.follow.cursor());
        self.follow = engine.follow(id, Some(cursor)).await.unwrap();
    }

    fn json(&self) -> String {
        serde_json::to_string(self.view.as_ref().unwrap()).unwrap()
    }
}

// J97, C30, M15, D36
#[tokio::test(start_paused = true)]
async fn faces_that_leave_and_come_back_see_what_the_journal_says() {
    let script = r#"{"steps":[{"calls":[{"tool":"pay"}]},
        {"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"done"}]}"#;
    let stage = Stage::new(script).mode(PermissionMode::Ask);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let id = stage.conversation().clone();
    let conversation = stage.conversation_in(&here);
    let face = conversation.attend();
    conversation.send(Command::say(say("go"))).await.unwrap();
    let mut faces = [
        Face::new(&here, &id).await,
        Face::new(&here, &id).await,
        Face::new(&elsewhere, &id).await,
    ];
    pass(1_000).await;
    let [one, two, three] = &mut faces;
    one.catch_up().await;
    three.catch_up().await;
    three.come_back(&elsewhere, &id).await;
    let asked = pending(&stage.state().await);
    conversation.send(Command::answer(asked[0].clone(), Reply::Allow)).await.unwrap();
    pass(1_000).await;
    two.catch_up().await;
    // The driver's process dies while a call runs.
    drop((face, here));
    pass(10).await;
    one.come_back(&elsewhere, &id).await;
    two.come_back(&elsewhere, &id).await;
    let next = stage.engine();
    let ending = stage.conversation_in(&next).perform(Command::Resume).await.unwrap();
    assert_eq!(ending, Ending::Done);
    for face in &mut faces {
        face.catch_up().await;
    }
    let state = stage.state().await;
    let expected = serde_json::to_string(&View::from(&state)).unwrap();
    for face in &faces {
        assert_eq!(face.json(), expected);
    }
    let view = elsewhere.view(&id).await.unwrap();
    assert_eq!(serde_json::to_string(&view).unwrap(), expected);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn what_streams_is_seen_live_in_the_same_process_and_gone_behind_the_answer() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"a long answer"}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.send(Command::say(say("go"))).await.unwrap();
    let mut face = Face::new(&engine, stage.conversation()).await;
    pass(1_000).await;
    face.catch_up().await;
    let last = face.live.last().unwrap();
    assert!(last.driven);
    assert_eq!(last.calls.len(), 1);
    pass(60_000).await;
    face.catch_up().await;
    assert_eq!(face.live.last(), Some(&Live::default()));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_from_the_future_and_an_unknown_conversation_are_told() {
    let stage = Stage::new(r#"{"steps":[{"say":"x"}]}"#);
    let engine = stage.engine();
    let id = stage.conversation();
    let unknown = engine.follow(id, None).await.unwrap_err();
    assert!(matches!(unknown, FollowError::Unknown(_)), "{unknown}");
    stage.conversation_in(&engine).perform(Command::say(say("go"))).await.unwrap();
    let end = stage.state().await.end;
    let ahead = engine.follow(id, Some(Seq(end.0 + 1))).await.unwrap_err();
    assert!(matches!(ahead, FollowError::CursorAhead { .. }), "{ahead}");
    engine.follow(id, Some(end)).await.unwrap();
}

const STEPS: &str = r#"{"steps":[{"calls":[{"tool":"look"},{"tool":"pay"}]},{"say":"done"}]}"#;

/// All changes of a conversation that has come to its end, by their entries.
async fn places(mut follow: Follow) -> Vec<u64> {
    let mut places = Vec::new();
    while let Some(news) = follow.next_entry().await.unwrap() {
        if let News::Change(change) = news {
            places.push(change.cursor.0);
        }
    }
    places
}

// D33, D36, O25, X18; J20: nothing is shown that is not durable, because all of it is read.
#[tokio::test(start_paused = true)]
async fn every_face_gets_every_change_once_and_in_order() {
    let stage = Stage::new(STEPS);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let early: Vec<_> = (0..3).map(|_| conversation.follow_all().unwrap()).collect();
    let before = conversation.follow().await.unwrap();
    assert_eq!(conversation.perform(Command::say(say("go"))).await.unwrap(), Ending::Done);
    let middle = engine.follow(conversation.id(), Some(Seq(4))).await.unwrap();
    let end = stage.state().await.end.0;
    for follow in early.into_iter().chain([before]) {
        assert_eq!(places(follow).await, (1..=end).collect::<Vec<_>>());
    }
    assert_eq!(places(middle).await, (5..=end).collect::<Vec<_>>());
}

// D32, X3
#[tokio::test(start_paused = true)]
async fn a_face_that_sleeps_or_leaves_does_not_stall_the_turn() {
    let stage = Stage::new(STEPS);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let sleeper = conversation.follow_all().unwrap();
    let mut leaver = conversation.follow_all().unwrap();
    let leaving = tokio::spawn(async move { drop(leaver.next().await.unwrap()) });
    assert_eq!(conversation.perform(Command::say(say("go"))).await.unwrap(), Ending::Done);
    leaving.await.unwrap();
    let end = stage.state().await.end.0;
    assert_eq!(places(sleeper).await, (1..=end).collect::<Vec<_>>());
}

// D34, C29, K38: a face that looks now and then gets all text of the present try, and none of another.
#[tokio::test(start_paused = true)]
async fn live_text_is_that_of_the_present_try() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"äbcdef","chunk":1,"chunk_ms":10,"faults":[{"kind":"cut","after":4}]}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let mut follow = conversation.follow().await.unwrap();
    let watching = tokio::spawn(async move {
        let mut texts: Vec<(u32, String)> = Vec::new();
        loop {
            match follow.next().await.unwrap() {
                News::Live(live) => {
                    let step = live.step.as_ref().filter(|step| !step.text.is_empty());
                    texts.extend(step.map(|step| (step.attempt.0, step.text.clone())));
                }
                News::Change(change) if change.patches.iter().any(is_over) => return texts,
                News::Snapshot(_) | News::Change(_) | _ => {}
            }
        }
    });
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let texts = watching.await.unwrap();
    assert!(texts.iter().any(|(attempt, _)| *attempt == 1), "{texts:?}");
    for (attempt, text) in &texts {
        assert!("äbcdef".starts_with(text.as_str()), "{texts:?}");
        assert!(*attempt == 2 || text.len() < 7, "{texts:?}");
    }
}

fn is_over(patch: &Patch) -> bool {
    matches!(patch, Patch::TurnHead { head } if head.end.is_some())
}

#[tokio::test(start_paused = true)]
async fn the_newest_word_of_a_running_call_is_shown_and_recorded_nowhere() {
    let steps = r#"{"steps":[{"calls":[{"tool":"tells"}]},{"say":"Done."}]}"#;
    let stage = Stage::new(steps).tool(OddTool::once("tells", |job: Job| async move {
        for word in ["one", "two"] {
            job.progress.say(word);
        }
        // wait: the clock is virtual, and lets others work
        tokio::time::sleep(ms(10)).await;
        job.progress.say("three");
        // wait: the clock is virtual, and lets others work
        tokio::time::sleep(ms(10)).await;
        Finished::ok("told")
    }));
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let mut follow = conversation.follow().await.unwrap();
    let watching = tokio::spawn(async move {
        let mut words = Vec::new();
        loop {
            match follow.next().await.unwrap() {
                News::Live(live) => {
                    let said = live.calls.iter().filter_map(|call| call.progress.clone());
                    words.extend(said);
                }
                News::Change(change) if change.patches.iter().any(is_over) => return words,
                News::Snapshot(_) | News::Change(_) | _ => {}
            }
        }
    });
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let mut words = watching.await.unwrap();
    words.dedup();
    assert_eq!(words, ["two", "three"]);
    let stored = stage.entries_of(conversation.id()).await;
    assert!(!format!("{stored:?}").contains("three"));
}

// A face that holds a conversation reads what stays so, and letters wait for what it decides.
#[tokio::test(start_paused = true)]
async fn what_a_letter_wants_waits_while_a_face_holds_the_conversation() {
    let stage = Stage::new(r#"{"steps":[{"say":"one"},{"say":"two"}]}"#);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let conversation = stage.conversation_in(&here);
    assert_eq!(conversation.perform(Command::say(say("go"))).await.unwrap(), Ending::Done);
    let hold = conversation.hold(LeaseWait::NONE).await.unwrap();
    pass(60_000).await;
    let other = elsewhere.conversation(conversation.id());
    let held = other.hold(LeaseWait::NONE).await.unwrap_err();
    assert!(matches!(held, CommandError::Open(error) if error.is_held()));
    let accepted = other.send(Command::Queue { message: say("more") }).await.unwrap();
    assert!(matches!(accepted, Accepted::Letter { .. }), "{accepted:?}");
    pass(60_000).await;
    let view = here.view(conversation.id()).await.unwrap();
    assert_eq!((view.turns.len(), view.queue.len()), (1, 1));
    // Another face may come and go.
    drop(conversation.hold(LeaseWait::NONE).await.unwrap());
    assert_eq!(conversation.perform(Command::Resume).await.unwrap(), Ending::Done);
    let view = here.view(conversation.id()).await.unwrap();
    assert_eq!((view.turns.len(), view.queue.len()), (2, 0));
    drop(hold);
    pass(1_000).await;
    other.hold(LeaseWait::NONE).await.unwrap();
}
