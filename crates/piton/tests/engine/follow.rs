//! Reading without a lease: the same stream wherever the driver is, without gap or duplicate.

use piton::{Command, Engine, Follow, FollowError, News, Reply};
use piton_core::event::PermissionMode;
use piton_core::id::{ConversationId, Seq};
use piton_core::outcome::Ending;
use piton_core::view::{Live, View};

use crate::stage::{Stage, pass, pending, say};

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
        while let Ok(news) = tokio::time::timeout(crate::stage::ms(1), self.follow.next()).await {
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
