//! Taking a change of a file back is a fact: meant before it is done, done once, told to the model.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use piton::model::OneModel;
use piton::profile::{OneProfile, Profile};
use piton::undo::FileChangeState;
use piton::{Command, CommandError, Conversation, Engine, Refusal};
use piton_core::event::{EVENT_FORMAT, Event, PermissionMode, UndoIntent, UndoOutcome};
use piton_core::id::{CallId, ConversationId, Timestamp, TurnId};
use piton_core::state::{Config, State, Turn};
use piton_core::transcript::{Message, Transcript};
use piton_sim::script::{Script, ScriptedModel};
use piton_store::{Batch, CommitName, Durability, Holder, Journal as _, MemoryJournal, NewRecord};
use piton_tools::WriteFile;
use piton_tools::undo::Undo;
use tempfile::TempDir;

use crate::stage::say;

const SCRIPT: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"new\n"}}]},
    {"say":"written"},{"say":"heard"},{"say":"heard again"}]}"#;

struct Room {
    dir: TempDir,
    journal: Arc<MemoryJournal>,
}

impl Room {
    /// A conversation that has overwritten a file.
    async fn with_a_change() -> (Self, Engine) {
        let room = Self { dir: TempDir::new().unwrap(), journal: Arc::default() };
        fs::create_dir(room.path("work")).unwrap();
        fs::write(room.path("work/a.txt"), "old\n").unwrap();
        let engine = room.engine();
        room.conversation(&engine).perform(Command::say(say("go"))).await.unwrap();
        assert_eq!(room.content(), "new\n");
        (room, engine)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn content(&self) -> String {
        fs::read_to_string(self.path("work/a.txt")).unwrap()
    }

    /// A new process.
    fn engine(&self) -> Engine {
        let model = ScriptedModel::new(Script::parse(SCRIPT).unwrap());
        let mut config = Config { model: "script/one".parse().ok(), ..Config::default() };
        config.permissions.mode = PermissionMode::Auto;
        let profile = Profile { config, ..Profile::default() };
        Engine::builder(self.journal.clone(), Arc::new(OneModel(Arc::new(model))))
            .tool(Arc::new(WriteFile))
            .scratch(self.path("scratch"))
            .profiles(Arc::new(OneProfile(profile)))
            .build()
    }

    fn conversation(&self, engine: &Engine) -> Conversation {
        self.called(&ConversationId::new("bob"), engine)
    }

    fn called(&self, id: &ConversationId, engine: &Engine) -> Conversation {
        engine.begin_as(id.clone(), Path::new(&self.path("work"))).unwrap()
    }

    fn undo(&self) -> Undo {
        Undo::new(&self.path("scratch"))
    }

    fn change(&self) -> String {
        self.undo().of(&self.path("work")).swap_remove(0).0
    }

    async fn state(&self) -> State {
        piton::reader::state(&*self.journal, &ConversationId::new("bob")).await.unwrap()
    }

    /// What a process leaves that dies behind the intent.
    async fn record(&self, intent: UndoIntent) {
        let id = ConversationId::new("bob");
        let holder = Holder { pid: 1, host: "dead".into(), since: Timestamp(0) };
        let lease = self.journal.lease(&id, holder).await.unwrap();
        let listed = self.journal.status(&id).await.unwrap().unwrap();
        let body = Event::UndoStarted { intent }.to_stored();
        let batch = Batch {
            name: CommitName::fresh(),
            expected: listed.end,
            records: vec![NewRecord { at: Timestamp(1), format: EVENT_FORMAT, body }],
            status: listed.row,
            durability: Durability::Synced,
        };
        self.journal.append(&lease, batch).await.unwrap();
        self.journal.release(lease).await.unwrap();
    }
}

fn notes(state: &State) -> Vec<String> {
    let steps = state.turns.iter().flat_map(Turn::steps);
    steps.flat_map(|step| &step.told).map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_change_is_taken_back_and_the_model_is_told_in_its_next_request() {
    let (room, engine) = Room::with_a_change().await;
    let conversation = room.conversation(&engine);
    let accepted = conversation.send(Command::undo(room.change())).await.unwrap();
    assert_eq!(accepted.refusal(), None);
    assert_eq!(room.content(), "old\n");
    let view = engine.view(&ConversationId::new("bob")).await.unwrap();
    let [undo] = &*view.undos else { panic!("{view:?}") };
    assert_eq!((undo.path.as_str(), undo.outcome), ("a.txt", Some(UndoOutcome::Done)));
    assert!(notes(&room.state().await).is_empty());
    conversation.perform(Command::say(say("and now?"))).await.unwrap();
    let state = room.state().await;
    let [note] = &*notes(&state) else { panic!("{state:?}") };
    assert!(note.contains("a.txt"), "{note}");
    // It stays where the request had it, behind the message and in front of the answer.
    let transcript = Transcript::from(&state);
    let texts: Vec<_> = transcript.messages().iter().map(|it| format!("{it:?}")).collect();
    let place = texts.iter().position(|text| text.contains("took back")).unwrap();
    assert!(texts[place - 1].contains("and now?"));
    assert!(matches!(transcript.messages()[place + 1], Message::Assistant(_)));
    // Not taken back twice.
    let again = conversation.send(Command::undo("nothing-of-that-name")).await.unwrap();
    assert!(matches!(again.refusal(), Some(Refusal::Impossible { .. })));
}

#[tokio::test]
async fn an_undo_whose_process_died_before_the_file_was_touched_is_done_before_anything_else() {
    let (room, engine) = Room::with_a_change().await;
    engine.shutdown(std::time::Duration::ZERO).await;
    room.record(room.undo().intend(&room.change()).unwrap()).await;
    let engine = room.engine();
    room.conversation(&engine).perform(Command::say(say("and now?"))).await.unwrap();
    assert_eq!(room.content(), "old\n");
    assert_eq!(notes(&room.state().await).len(), 1);
}

#[tokio::test]
async fn an_undo_whose_process_died_behind_the_effect_is_not_done_again() {
    let (room, engine) = Room::with_a_change().await;
    engine.shutdown(std::time::Duration::ZERO).await;
    let intent = room.undo().intend(&room.change()).unwrap();
    room.record(intent.clone()).await;
    room.undo().perform(&intent).unwrap();
    let before = fs::metadata(room.path("work/a.txt")).unwrap().modified().unwrap();
    let engine = room.engine();
    room.conversation(&engine).perform(Command::say(say("and now?"))).await.unwrap();
    assert_eq!(fs::metadata(room.path("work/a.txt")).unwrap().modified().unwrap(), before);
    let state = room.state().await;
    assert_eq!(state.undos[0].outcome, Some(UndoOutcome::Done));
    assert_eq!(notes(&state).len(), 1);
}

#[tokio::test]
async fn a_file_that_somebody_changed_behind_the_intent_stays() {
    let (room, engine) = Room::with_a_change().await;
    engine.shutdown(std::time::Duration::ZERO).await;
    room.record(room.undo().intend(&room.change()).unwrap()).await;
    fs::write(room.path("work/a.txt"), "mine\n").unwrap();
    let engine = room.engine();
    room.conversation(&engine).perform(Command::say(say("and now?"))).await.unwrap();
    assert_eq!(room.content(), "mine\n");
    let state = room.state().await;
    assert_eq!(state.undos[0].outcome, Some(UndoOutcome::Left));
    assert!(notes(&state).is_empty());
}

#[tokio::test]
async fn the_list_says_what_can_be_taken_back_and_what_was() {
    let (room, engine) = Room::with_a_change().await;
    let list = || engine.file_changes().of(&room.path("work"));
    let [made] = &*list() else { panic!("{:?}", list()) };
    assert_eq!((made.path.as_str(), made.state), ("a.txt", FileChangeState::Made));
    assert_eq!(engine.file_changes().content_before(made).unwrap().unwrap(), b"old\n");
    let end = engine.undo(made).await.unwrap().end().await.unwrap();
    assert_eq!((end.outcome, end.text.as_str()), (UndoOutcome::Done, "`a.txt`: taken back"));
    let [back] = &*list() else { panic!("{:?}", list()) };
    assert_eq!(back.state, FileChangeState::TakenBack);
    assert_eq!((made.number, back.number), (1, 1));
    // It stays taken back, but cannot be made again under a foreign edit.
    fs::write(room.path("work/a.txt"), "mine\n").unwrap();
    assert_eq!(list()[0].state, FileChangeState::TakenBack);
    let refused = engine.undo(back).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(Refusal::Impossible { .. })), "{refused}");
}

#[tokio::test]
async fn a_change_is_taken_back_by_the_process_that_holds_the_conversation() {
    let (room, holder) = Room::with_a_change().await;
    let other = room.engine();
    let undoing = other.undo(&other.file_changes().of(&room.path("work"))[0]).await.unwrap();
    assert!(undoing.letter().is_some());
    assert_eq!(undoing.end().await.unwrap().outcome, UndoOutcome::Done);
    assert_eq!(room.content(), "old\n");
    drop(holder);
    // The other way round: the letter of a change that cannot be taken back is refused.
    fs::write(room.path("work/a.txt"), "mine\n").unwrap();
    let refused = room.conversation(&other).undo(&room.change()).await;
    let refused = match refused {
        Ok(undoing) => undoing.end().await.unwrap_err(),
        Err(refused) => refused,
    };
    assert!(matches!(refused, CommandError::Refused(Refusal::Impossible { .. })), "{refused}");
}

#[tokio::test]
async fn an_undo_that_a_dead_process_meant_is_ended_and_not_meant_again() {
    let (room, engine) = Room::with_a_change().await;
    engine.shutdown(std::time::Duration::ZERO).await;
    let change = room.change();
    room.record(room.undo().intend(&change).unwrap()).await;
    let engine = room.engine();
    let undoing = room.conversation(&engine).undo(&change).await.unwrap();
    assert_eq!(undoing.end().await.unwrap().outcome, UndoOutcome::Done);
    assert_eq!(room.content(), "old\n");
    assert_eq!(room.state().await.undos.len(), 1);
}

#[tokio::test]
async fn a_change_of_a_worker_is_taken_back_in_the_conversation_that_it_works_for() {
    let (room, engine) = Room::with_a_change().await;
    fs::write(room.path("work/a.txt"), "by hand\n").unwrap();
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    let worker = ConversationId::new("bob").of_worker(call).of_worker(call);
    engine.shutdown(std::time::Duration::ZERO).await;
    let engine = room.engine();
    room.called(&worker, &engine).perform(Command::say(say("go"))).await.unwrap();
    let changes = engine.file_changes().of(&room.path("work"));
    let change = changes.iter().find(|change| change.conversation == worker).unwrap();
    let end = engine.undo(change).await.unwrap().end().await.unwrap();
    assert_eq!(end.outcome, UndoOutcome::Done);
    assert_eq!((room.content().as_str(), room.state().await.undos.len()), ("by hand\n", 1));
}
