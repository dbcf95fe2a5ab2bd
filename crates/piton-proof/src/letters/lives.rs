//! The processes of a run: one that holds the conversation, one that commands from elsewhere, and one
//! that finishes what they left.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use piton::chance::SeededChance;
use piton::clock::RuntimeClock;
use piton::model::OneModel;
use piton::profile::Profile;
use piton::{
    Command, CommandError, Conversation, Engine, Envelope, LeaseWait, NewMessage, OpenError, Reply,
    reader,
};
use piton_core::event::{InDoubtPolicy, ModelRef, Permissions, UserPart};
use piton_core::id::{CommandId, ConversationId, MessageId, Timestamp};
use piton_core::state::{Config, State, Turn};
use piton_sim::script::{Script, ScriptedModel};
use piton_store::{Journal, MemoryJournal};
use tokio::sync::watch;

use super::dispatch::{Dispatch, FIRST, WAITING};
use crate::crash::life::gone;
use crate::disk::{Flaw, MortalJournal};
use crate::surroundings::Surroundings;
use crate::world::{World, world_tools};

/// Long enough for a command to come while a call runs, and more answers than there are messages.
const SCRIPT: &str = r#"{"steps":[
    {"calls":[{"tool":"set","arguments":{"ms":300}}]},
    {"calls":[{"tool":"pay","arguments":{"ms":300}}]},
    {"say":"One."},{"say":"Two."},{"say":"Three."},{"say":"Four."},{"say":"Five."}]}"#;
/// When the command is sent: the first call runs, or its question is open.
const SENT_AFTER: Duration = Duration::from_millis(100);
/// How long a process stays that nobody tells anything.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most times that the last process answers or resumes before it counts as stuck.
const ROUNDS_MAX: usize = 50;

/// The name of the command.
pub(super) fn name() -> CommandId {
    CommandId::new("sent")
}

pub(super) fn conversation() -> ConversationId {
    ConversationId::new("written-to")
}

/// A run: what all its processes share.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) dispatch: &'a Dispatch,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) world: World,
    pub(super) flaw: Option<Flaw>,
}

/// What the sender knows of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was told that the command is durable.
    Accepted,
    /// It died before it knew, or there was no conversation yet.
    Unknown,
}

impl<'a> Run<'a> {
    pub(super) fn new(dispatch: &'a Dispatch, flaw: Option<Flaw>) -> Self {
        let journal = Arc::new(MemoryJournal::default());
        Self { dispatch, journal, world: World::default(), flaw }
    }

    fn store(&self, world: &World) -> Arc<MortalJournal> {
        let store = MortalJournal::mortal(self.journal.clone(), world.clone());
        Arc::new(store.everywhere().flawed(self.flaw))
    }

    fn engine(&self, store: Arc<MortalJournal>, world: &World, seed: u64) -> Engine {
        let model = ScriptedModel::new(Script::parse(SCRIPT).unwrap_or_default());
        let mut builder = Engine::builder(store, Arc::new(OneModel(Arc::new(model))))
            .clock(Arc::new(RuntimeClock::starting_at(Timestamp(1_000_000))))
            .chance(Arc::new(SeededChance::new(seed)))
            .lease_wait(LeaseWait::NONE);
        for tool in world_tools(world, &self.journal) {
            builder = builder.tool(tool);
        }
        let mut config = Config {
            model: Some(ModelRef { provider: "script".into(), model: "letters".into() }),
            system: "You are a script.".into(),
            permissions: Permissions {
                mode: self.dispatch.mode,
                rules: Vec::new(),
                ..Permissions::default()
            },
            in_doubt: InDoubtPolicy::TellModel,
            ..Config::default()
        };
        builder.offer_tools(&mut config);
        let profile = Profile { config, ..Profile::default() };
        builder.profiles(Arc::new(Surroundings::from(profile))).build()
    }

    /// The process that holds the conversation, until nobody sends anything any more.
    pub(super) async fn hold(&self, mut over: watch::Receiver<bool>) {
        let store = self.store(&self.world);
        let engine = self.engine(store.clone(), &self.world, 1);
        let held = async {
            let conversation = begin(&engine)?;
            let _face = conversation.attend();
            self.prelude(&conversation).await?;
            // An error says that the sender is gone, too.
            drop(over.wait_for(|over| *over).await);
            Ok(())
        };
        tokio::select! {
            biased;
            () = self.world.died() => {}
            held = tokio::time::timeout(PATIENCE, held) => self.told(held.unwrap_or(Ok(()))),
        }
        drop(engine);
        self.buried(&store).await;
    }

    /// The process that sends the command. It says so when it goes.
    pub(super) async fn send(&self, world: &World, over: watch::Sender<bool>) -> Sent {
        tokio::time::sleep(SENT_AFTER).await;
        let store = self.store(world);
        let engine = self.engine(store.clone(), world, 2);
        let conversation = engine.conversation(&conversation());
        let mut sent = Sent::Unknown;
        let sending = async {
            match conversation.post(self.envelope()).await {
                Ok(_) => sent = Sent::Accepted,
                Err(error) => return self.told(except_unknown(error)),
            }
            // Sending it twice is sending it once; and its author wants to see what comes of it.
            self.told(self.perform(&conversation, self.envelope()).await);
        };
        tokio::select! {
            biased;
            () = world.died() => {}
            sending = tokio::time::timeout(PATIENCE, sending) => sending.unwrap_or_default(),
        }
        drop(engine);
        self.buried(&store).await;
        over.send_replace(true);
        sent
    }

    /// The process that finishes what was left. A person whose command may not have arrived sends it
    /// again.
    pub(super) async fn finish(&self, sent: Sent) {
        let world = self.world.beside();
        let store = self.store(&world);
        let engine = self.engine(store.clone(), &world, 3);
        let finishing = async {
            let conversation = begin(&engine)?;
            self.prelude(&conversation).await?;
            if sent == Sent::Unknown {
                self.perform(&conversation, self.envelope()).await?;
            }
            conversation.look().await?;
            self.settle(&conversation).await
        };
        match tokio::time::timeout(PATIENCE * 100, finishing).await {
            Ok(finished) => self.told(finished),
            Err(_) => self.world.complain("the last process never ends"),
        }
        drop(engine);
        self.buried(&store).await;
    }

    /// What the conversation is about before the command comes. Sent again by who comes later.
    async fn prelude(&self, conversation: &Conversation) -> Result<(), CommandError> {
        let message = |id: &str| NewMessage {
            id: Some(MessageId::new(id)),
            parts: vec![UserPart::text("do it")],
        };
        let first = Envelope::new(CommandId::new("first"), Command::say(message(FIRST)));
        conversation.post(first).await?;
        if self.dispatch.queued {
            let waiting = Command::Queue { message: message(WAITING) };
            conversation.post(Envelope::new(CommandId::new("waiting"), waiting)).await?;
        }
        Ok(())
    }

    fn envelope(&self) -> Envelope {
        Envelope::new(name(), self.dispatch.command.clone())
    }

    /// Sends, and waits for what comes of it. A refusal is an answer.
    async fn perform(
        &self,
        conversation: &Conversation,
        envelope: Envelope,
    ) -> Result<(), CommandError> {
        match conversation.perform_envelope(envelope).await {
            Ok(_) | Err(CommandError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Answers and resumes until nothing is left to do.
    async fn settle(&self, conversation: &Conversation) -> Result<(), CommandError> {
        for round in 0..ROUNDS_MAX {
            let state = self.state().await;
            if state.open_turn().is_none() && state.queue.is_empty() {
                return Ok(());
            }
            let pending = state.open_turn().into_iter().flat_map(Turn::pending_inquiries);
            let asked = pending.map(|asked| asked.id.clone()).next();
            let next = match asked {
                Some(inquiry) => Command::answer(inquiry, Reply::Allow),
                None => Command::Resume,
            };
            let name = CommandId::new(format!("settle-{round}"));
            self.perform(conversation, Envelope::new(name, next)).await?;
        }
        self.world.complain("the last process answers and resumes for ever");
        Ok(())
    }

    pub(super) async fn state(&self) -> State {
        reader::state(&*self.journal, &conversation()).await.unwrap_or_default()
    }

    fn told(&self, outcome: Result<(), CommandError>) {
        if let Err(error) = outcome {
            self.world.complain(format!("a process was told: {error}"));
        }
    }

    async fn buried(&self, store: &Arc<MortalJournal>) {
        if !gone(store).await {
            self.world.complain("a task outlived its engine");
        }
    }
}

fn begin(engine: &Engine) -> Result<Conversation, CommandError> {
    let begun = engine.begin_as(conversation(), Path::new("/"));
    begun.map_err(|error| CommandError::Open(Arc::new(error)))
}

/// A conversation that has not begun takes no command.
fn except_unknown(error: CommandError) -> Result<(), CommandError> {
    let unknown = |open: &OpenError| matches!(open, OpenError::Unknown(_));
    if matches!(&error, CommandError::Open(open) if unknown(open)) {
        return Ok(());
    }
    Err(error)
}
