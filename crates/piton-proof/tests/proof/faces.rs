//! Three faces in two real processes follow one turn over a store on disk, and see the same.

use std::path::Path;
use std::process::{Child, Command as Program, Stdio};
use std::sync::Arc;

use piton::model::OneModel;
use piton::profile::{OneProfile, Profile};
use piton::{Accepted, Command, Engine, Envelope, Follow, NewMessage, News, Reply, reader};
use piton_core::event::{Limits, ModelRef, PermissionMode, Permissions};
use piton_core::id::{CommandId, ConversationId, InquiryId};
use piton_core::outcome::Ending;
use piton_core::state::{Config, Progress, State, Turn};
use piton_core::view::View;
use piton_proof::world::{World, world_tools};
use piton_sim::script::{Script, ScriptedModel};
use piton_store::{Journal, ListPosition, SqliteJournal};

/// Where the other process finds the store.
const HOME: &str = "PITON_PROOF_FACES";
/// What the other process says in front of its view.
const SEEN: &str = "seen: ";

/// A retry, a question, and a call that is long enough to be killed in.
const SCRIPT: &str = r#"{"steps":[
    {"say":"I look.","calls":[{"tool":"look"}],"faults":[{"kind":{"fail":"network"}}]},
    {"calls":[{"tool":"pay"}]},
    {"calls":[{"tool":"look","arguments":{"ms":3000}}]},
    {"say":"Done."}]}"#;

fn id() -> ConversationId {
    ConversationId::new("followed")
}

fn engine(home: &Path) -> Engine {
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(home).unwrap().0);
    let model = ScriptedModel::new(Script::parse(SCRIPT).unwrap());
    let mut builder = Engine::builder(journal.clone(), Arc::new(OneModel(Arc::new(model))));
    for tool in world_tools(&World::default(), &journal) {
        builder = builder.tool(tool);
    }
    let mut config = Config {
        model: Some(ModelRef { provider: "script".into(), model: "faces".into() }),
        permissions: Permissions {
            mode: PermissionMode::Ask,
            rules: Vec::new(),
            ..Permissions::default()
        },
        limits: Limits { backoff_ms: 1, backoff_ms_max: 1, ..Limits::default() },
        ..Config::default()
    };
    builder.offer_tools(&mut config);
    let profile = Profile { config, ..Profile::default() };
    builder.profiles(Arc::new(OneProfile(profile))).build()
}

/// A face: a view that it keeps up to date by changes alone.
struct Face {
    engine: Engine,
    view: Option<View>,
    follow: Follow,
}

impl Face {
    async fn new(engine: &Engine) -> Self {
        let follow = engine.follow(&id(), None).await.unwrap();
        Self { engine: engine.clone(), view: None, follow }
    }

    async fn next(&mut self) {
        match self.follow.next().await.unwrap() {
            News::Snapshot(view) => self.view = Some(*view),
            News::Change(change) => self.view.as_mut().unwrap().apply(&change).unwrap(),
            News::Live(_) | _ => {}
        }
    }

    /// Follows until the journal, as far as it was seen, means what is wanted.
    async fn until<T>(&mut self, wanted: impl Fn(&State) -> Option<T>) -> T {
        loop {
            let state = reader::state(&**self.engine.journal(), &id()).await.unwrap();
            let seen = self.view.as_ref().is_some_and(|view| view.cursor == state.end);
            if let (true, Some(found)) = (seen, wanted(&state)) {
                return found;
            }
            self.next().await;
        }
    }

    /// Leaves, and comes back with its cursor.
    async fn come_back(&mut self) {
        let cursor = self.view.as_ref().unwrap().cursor;
        self.follow = self.engine.follow(&id(), Some(cursor)).await.unwrap();
    }

    fn json(&self) -> String {
        serde_json::to_string(self.view.as_ref().unwrap()).unwrap()
    }
}

fn asked(state: &State) -> Option<InquiryId> {
    let mut pending = state.open_turn()?.pending_inquiries();
    pending.next().map(|asked| asked.id.clone())
}

fn runs_its_last_call(state: &State) -> Option<()> {
    let last = state.open_turn()?.steps().nth(2)?;
    let runs = |it: &Progress| matches!(it, Progress::Running(_));
    last.calls.iter().any(|call| runs(&call.progress)).then_some(())
}

fn is_over(state: &State) -> Option<()> {
    state.turns.last().filter(|turn: &&Turn| turn.end.is_some()).map(|_| ())
}

/// Does its work only as the second process of another test: drives the turn, and follows it.
#[tokio::test]
async fn faces_second_process() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let engine = engine(Path::new(&home));
    let conversation = engine.begin_as(id(), Path::new("/")).unwrap();
    let _attending = conversation.attend();
    let say = Envelope::new(CommandId::new("say"), Command::say(NewMessage::text("do it")));
    conversation.post(say.clone()).await.unwrap();
    let mut face = Face::new(&engine).await;
    let following = tokio::spawn(async move {
        face.until(is_over).await;
        face.json()
    });
    let mut ending = conversation.perform_envelope(say).await.unwrap();
    if ending != Ending::Done {
        // The process that began the turn was killed.
        ending = conversation.perform(Command::Resume).await.unwrap();
    }
    assert_eq!(ending, Ending::Done);
    println!("\n{SEEN}{}", following.await.unwrap());
}

fn second_process(home: &Path) -> Child {
    Program::new(std::env::current_exe().unwrap())
        .args(["faces::faces_second_process", "--exact", "--nocapture"])
        .env(HOME, home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

// J97, C30, M15, D36
#[tokio::test]
async fn three_faces_in_two_processes_see_the_same_when_the_driver_was_killed() {
    let home = tempfile::tempdir().unwrap();
    let here = engine(home.path());
    let mut driver = second_process(home.path());
    while here.journal().status(&id()).await.unwrap().is_none() {
        here.journal().wait_list(ListPosition::default()).await.unwrap();
    }
    let (mut one, mut two) = (Face::new(&here).await, Face::new(&here).await);
    let question = one.until(asked).await;
    one.come_back().await;
    let answer = Command::answer(question, Reply::Allow);
    let accepted = here.conversation(&id()).send(answer).await.unwrap();
    assert!(matches!(accepted, Accepted::Letter { .. }), "{accepted:?}");
    two.until(runs_its_last_call).await;
    driver.kill().unwrap();
    driver.wait().unwrap();
    two.come_back().await;
    let next = second_process(home.path());
    one.until(is_over).await;
    let output = tokio::task::spawn_blocking(|| next.wait_with_output()).await.unwrap().unwrap();
    assert!(output.status.success());
    one.until(is_over).await;
    two.until(is_over).await;
    let state = reader::state(&**here.journal(), &id()).await.unwrap();
    let expected = serde_json::to_string(&View::from(&state)).unwrap();
    assert_eq!(one.json(), expected);
    assert_eq!(two.json(), expected);
    let told = String::from_utf8(output.stdout).unwrap();
    let third = told.lines().find_map(|line| line.strip_prefix(SEEN)).unwrap();
    assert_eq!(third, expected);
    assert_eq!(serde_json::to_string(&here.view(&id()).await.unwrap()).unwrap(), expected);
}
