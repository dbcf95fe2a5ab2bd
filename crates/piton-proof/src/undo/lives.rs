//! The processes of a run, and the person who wants a change to be taken back.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use piton::clock::RuntimeClock;
use piton::model::OneModel;
use piton::profile::Profile;
use piton::undo::{FileChange, FileChangeState};
use piton::{Command, CommandError, Conversation, Engine, Envelope, LeaseWait, NewMessage, reader};
use piton_core::event::{Event, ModelRef, PermissionMode};
use piton_core::id::{CommandId, ConversationId, Timestamp};
use piton_core::state::{Config, State};
use piton_sim::script::{Script, ScriptedModel};
use piton_store::{Journal, MemoryJournal};
use piton_tools::WriteFile;
use tokio::sync::watch;

use crate::crash::all_records;
use crate::crash::life::gone;
use crate::disk::MortalJournal;
use crate::surroundings::Surroundings;
use crate::world::World;

const SCRIPT: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"new\n"}}]},
    {"say":"Written."},{"say":"Heard."}]}"#;
/// When the letter is sent: the holder has taken the writer's place, and rests.
const SENT_AFTER: Duration = Duration::from_millis(100);
/// How long a process stays that nobody tells anything.
const PATIENCE: Duration = Duration::from_secs(5);

fn conversation() -> ConversationId {
    ConversationId::new("changed")
}

/// How a change is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the process that wants it.
    Here,
    /// By the process that holds the conversation: the command is a letter.
    ByLetter,
    /// Without a word in the journal, as a control: there should be violations.
    Unrecorded,
}

/// A run: what all its processes share.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) world: World,
    directory: PathBuf,
    /// The file that was seen with its old content again, by its number on the disk.
    pub(super) seen: Option<u64>,
}

impl Room {
    /// A conversation that has overwritten a file.
    pub(super) async fn with_a_change(directory: &Path) -> Result<Self, String> {
        let work = directory.join("work");
        let made = fs::create_dir_all(&work).and_then(|()| fs::write(work.join("a.txt"), "old\n"));
        made.map_err(|error| error.to_string())?;
        let directory = directory.canonicalize().map_err(|error| error.to_string())?;
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let room = Self { journal, world: World::default(), directory, seen: None };
        room.world.begin_life(None);
        let engine = room.engine(room.store(&room.world));
        let said = room.say(&engine, "first").await;
        said.map_err(|error| error.to_string())?;
        engine.shutdown(Duration::ZERO).await;
        match room.content().as_str() {
            "new\n" => Ok(room),
            other => Err(format!("the turn left {other:?}")),
        }
    }

    fn store(&self, world: &World) -> Arc<MortalJournal> {
        Arc::new(MortalJournal::mortal(self.journal.clone(), world.clone()).everywhere())
    }

    fn engine(&self, store: Arc<MortalJournal>) -> Engine {
        let model = ScriptedModel::new(Script::parse(SCRIPT).unwrap_or_default());
        let builder = Engine::builder(store, Arc::new(OneModel(Arc::new(model))))
            .clock(Arc::new(RuntimeClock::starting_at(Timestamp(1_000_000))))
            .lease_wait(LeaseWait::NONE)
            .scratch(self.directory.join("scratch"))
            .tool(Arc::new(WriteFile));
        let model = ModelRef { provider: "script".into(), model: "one".into() };
        let mut config = Config { model: Some(model), ..Config::default() };
        config.permissions.mode = PermissionMode::Auto;
        builder.offer_tools(&mut config);
        let profile = Profile { config, ..Profile::default() };
        builder.profiles(Arc::new(Surroundings::from(profile))).build()
    }

    fn conversation(&self, engine: &Engine) -> Result<Conversation, CommandError> {
        let begun = engine.begin_as(conversation(), &self.directory.join("work"));
        begun.map_err(|error| CommandError::Open(Arc::new(error)))
    }

    async fn say(&self, engine: &Engine, name: &str) -> Result<(), CommandError> {
        // Under the same name in every life: a command that was taken is known.
        let said = Command::say(NewMessage::text(name));
        let envelope = Envelope::new(CommandId::new(name), said);
        let conversation = self.conversation(engine)?;
        let performed = conversation.perform_envelope(envelope).await;
        let state = self.state().await;
        if state.open_turn().is_some() {
            conversation.perform(Command::Resume).await?;
        }
        performed.map(drop)
    }

    /// A process in front of which a person takes the change back, and goes on talking. Says whether it
    /// died.
    pub(super) async fn live(&self, way: Way) -> bool {
        let store = self.store(&self.world);
        let engine = self.engine(store.clone());
        let living = async {
            self.take_back(&engine, way).await?;
            self.say(&engine, "second").await
        };
        let died = self.until_death(&self.world, living).await;
        self.bury(engine, store).await;
        died
    }

    /// The process that holds the conversation, until nobody wants anything any more.
    pub(super) async fn hold(&self, mut over: watch::Receiver<bool>) -> bool {
        let store = self.store(&self.world);
        let engine = self.engine(store.clone());
        let holding = async {
            let title = Command::Rename { title: "Held".into() };
            let hold = Envelope::new(CommandId::new("hold"), title);
            self.conversation(&engine)?.post(hold).await?;
            // An error says that the sender is gone, too.
            drop(over.wait_for(|over| *over).await);
            Ok(())
        };
        let died = self.until_death(&self.world, holding).await;
        self.bury(engine, store).await;
        died
    }

    /// The process that sends the command, and says so when it goes.
    pub(super) async fn send(&self, world: &World, over: watch::Sender<bool>) -> bool {
        tokio::time::sleep(SENT_AFTER).await;
        let store = self.store(world);
        let engine = self.engine(store.clone());
        let sending = self.take_back(&engine, Way::ByLetter);
        let died = self.until_death(world, sending).await;
        self.bury(engine, store).await;
        over.send_replace(true);
        died
    }

    async fn until_death(
        &self,
        world: &World,
        living: impl Future<Output = Result<(), CommandError>>,
    ) -> bool {
        let lived = tokio::select! {
            biased;
            () = world.died() => None,
            lived = tokio::time::timeout(PATIENCE, living) => Some(lived),
        };
        match &lived {
            Some(Ok(Err(error))) => self.world.complain(format!("a process was told: {error}")),
            Some(Err(_)) => self.world.complain("a process never ends"),
            Some(Ok(Ok(()))) | None => {}
        }
        lived.is_none()
    }

    /// Nothing is left of a process.
    async fn bury(&self, engine: Engine, store: Arc<MortalJournal>) {
        drop(engine);
        if !gone(&store).await {
            self.world.complain("a task outlived its engine");
        }
    }

    /// A person who looks at the list, and takes the change back if it is still made.
    async fn take_back(&self, engine: &Engine, way: Way) -> Result<(), CommandError> {
        let is_made = |change: &FileChange| change.state == FileChangeState::Made;
        let changes = engine.file_changes();
        let made = changes.of(&self.directory.join("work")).into_iter().find(is_made);
        let Some(change) = made else { return Ok(()) };
        if way == Way::Unrecorded {
            self.world.point().await;
            return changes.take_back_unrecorded(&change).map(drop).map_err(CommandError::Refused);
        }
        let ended = match engine.undo(&change).await {
            Ok(undoing) => undoing.end().await.map(drop),
            Err(error) => Err(error),
        };
        match ended {
            // A letter of an earlier process has done it.
            Err(CommandError::Refused(_)) if self.content() == "old\n" => Ok(()),
            ended => ended,
        }
    }

    pub(super) fn content(&self) -> String {
        fs::read_to_string(self.directory.join("work/a.txt")).unwrap_or_default()
    }

    pub(super) fn inode(&self) -> u64 {
        fs::metadata(self.directory.join("work/a.txt")).map_or(0, |found| found.ino())
    }

    pub(super) async fn events(&self) -> Vec<Event> {
        let records = all_records(&self.journal).await.remove(&conversation()).unwrap_or_default();
        records.iter().map(|record| Event::from_stored(record.format, &record.body)).collect()
    }

    pub(super) async fn state(&self) -> State {
        reader::state(&*self.journal, &conversation()).await.unwrap_or_default()
    }

    pub(super) async fn letters(&self) -> usize {
        self.journal.letters(&conversation()).await.unwrap_or_default().len()
    }
}
