//! The processes of a run, and the person in front of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use piton::clock::RuntimeClock;
use piton::fork::{ForkAt, ForkError};
use piton::model::OneModel;
use piton::profile::Profile;
use piton::{
    Command, CommandError, Conversation, Engine, Envelope, LeaseWait, NewMessage, Reply, reader,
};
use piton_core::event::{
    EVENT_FORMAT, Entry, Event, InDoubtPolicy, Inquiry, InquiryKind, ModelRef, PermissionMode,
};
use piton_core::id::{CommandId, ConversationId, Seq, Timestamp};
use piton_core::outcome::Ending;
use piton_core::state::{Config, State, Turn};
use piton_sim::script::{Script, ScriptedModel};
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, MemoryJournal, NewRecord, StatusRow, StoreError,
};

use crate::crash::all_records;
use crate::crash::life::gone;
use crate::disk::MortalJournal;
use crate::surroundings::Surroundings;
use crate::world::{World, world_tools};

/// A turn with a call of each class, at the same time, and one behind them.
const SCRIPT: &str = r#"{"steps":[
    {"say":"I begin.","calls":[
        {"tool":"look","arguments":{"ms":3}},
        {"tool":"set","arguments":{"ms":4}},
        {"tool":"change","arguments":{"path":"a","line":"1"}},
        {"tool":"build","arguments":{"ms":5}},
        {"tool":"pay","arguments":{"ms":6}},
        {"tool":"post","arguments":{"ms":7}}]},
    {"say":"I go on.","calls":[{"tool":"pay"}]},
    {"say":"Done."}]}"#;
/// How long a process stays that nobody tells anything.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long work lasts that outlives a process, at most.
const SETTLED_AFTER: Duration = Duration::from_millis(20);
/// Most times that a person answers or resumes before a turn counts as stuck.
const ROUNDS_MAX: usize = 50;
/// Records read at once; a scripted turn is far shorter.
const RECORDS_MAX: usize = 100_000;

pub(super) fn conversation() -> ConversationId {
    ConversationId::new("forked")
}

/// The conversation that a control makes by copying.
fn copy() -> ConversationId {
    ConversationId::new("copied")
}

/// In which order the two conversations go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The fork, while the conversation that it was cut from lies where it died.
    ForkFirst,
    /// The conversation that is forked, to its end; then it is forked where it had died.
    OriginFirst,
    /// The entries are copied instead, as a control: there should be violations.
    Copied,
}

/// A run: what all its processes share.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) world: World,
    /// Where the fork is cut; the end, if it is not known.
    pub(super) cut: Option<Seq>,
}

impl Default for Room {
    fn default() -> Self {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        Self { journal, world: World::default(), cut: None }
    }
}

/// What a person is told.
#[derive(Debug, thiserror::Error)]
enum Told {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Fork(#[from] ForkError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the turn never ends")]
    Stuck,
}

impl Room {
    fn store(&self) -> Arc<MortalJournal> {
        Arc::new(MortalJournal::mortal(self.journal.clone(), self.world.clone()).everywhere())
    }

    fn engine(&self, store: Arc<MortalJournal>) -> Engine {
        let model = ScriptedModel::new(Script::parse(SCRIPT).unwrap_or_default());
        let mut builder = Engine::builder(store, Arc::new(OneModel(Arc::new(model))))
            .clock(Arc::new(RuntimeClock::starting_at(Timestamp(1_000_000))))
            .lease_wait(LeaseWait::NONE);
        for tool in world_tools(&self.world, &self.journal) {
            builder = builder.tool(tool);
        }
        let model = ModelRef { provider: "script".into(), model: "one".into() };
        let mut config = Config { model: Some(model), ..Config::default() };
        config.permissions.mode = PermissionMode::Auto;
        config.in_doubt = InDoubtPolicy::Ask;
        builder.offer_tools(&mut config);
        let profile = Profile { config, ..Profile::default() };
        builder.profiles(Arc::new(Surroundings::from(profile))).build()
    }

    /// The first process, until its turn is over or it dies. Says whether it died.
    pub(super) async fn begin(&self) -> bool {
        self.live(async |engine: &Engine| {
            let begun = engine.begin_as(conversation(), Path::new("/"));
            let begun = begun.map_err(|error| CommandError::Open(Arc::new(error)))?;
            let said = Command::say(NewMessage::text("do it"));
            let said = Envelope::new(CommandId::new("say"), said);
            let ending = begun.perform_envelope(said).await?;
            self.finish(&begun, ending).await
        })
        .await
    }

    /// A process that goes on with the conversation that was forked. One that never began begins.
    pub(super) async fn finish_origin(&self) -> bool {
        self.begin().await
    }

    /// A process that forks, unless that is done, and goes on with the fork.
    pub(super) async fn fork_and_finish(&self, way: Way) -> bool {
        self.live(async |engine: &Engine| {
            let Some(fork) = self.fork(engine, way).await? else { return Ok(()) };
            let state = reader::state(&**engine.journal(), fork.id()).await?;
            if state.open_turn().is_none() {
                return Ok(());
            }
            let ending = fork.perform(Command::Resume).await?;
            self.finish(&fork, ending).await
        })
        .await
    }

    async fn fork(&self, engine: &Engine, way: Way) -> Result<Option<Conversation>, Told> {
        let journal = &**engine.journal();
        if way == Way::Copied {
            self.copy(journal).await?;
            return Ok(Some(engine.conversation(&copy())));
        }
        if let Some(known) = engine.forks_of(&conversation()).await?.first() {
            return Ok(Some(engine.conversation(&known.conversation)));
        }
        if journal.status(&conversation()).await?.is_none() {
            // It died before its first entry: there is nothing to fork.
            return Ok(None);
        }
        let at = self.cut.map_or(ForkAt::End, ForkAt::Entry);
        Ok(Some(engine.fork(&conversation(), &at, None).await?))
    }

    /// What a fork must not be: the same entries, as if they were its own.
    async fn copy(&self, journal: &dyn Journal) -> Result<(), Told> {
        if journal.status(&copy()).await?.is_some() {
            return Ok(());
        }
        let cut = self.cut.unwrap_or(Seq(u64::MAX));
        let records = journal.read(&conversation(), Seq(0), RECORDS_MAX).await?;
        let records = records.into_iter().take_while(|record| record.seq <= cut);
        let records =
            records.map(|it| NewRecord { at: it.at, format: EVENT_FORMAT, body: it.body });
        let holder = Holder { pid: 1, host: "copier".into(), since: Timestamp(0) };
        let closed = |_| Told::Store(StoreError::Closed);
        let lease = journal.lease(&copy(), holder).await.map_err(closed)?;
        let batch = Batch {
            name: CommitName::fresh(),
            expected: Seq(0),
            records: records.collect(),
            status: StatusRow { workspace: "/".into(), ..StatusRow::default() },
            durability: Durability::Synced,
        };
        journal.append(&lease, batch).await.map_err(|_| Told::Store(StoreError::Closed))?;
        Ok(journal.release(lease).await?)
    }

    /// A person who resumes, allows everything, and says of what the other one has that nobody knows.
    async fn finish(&self, conversation: &Conversation, mut ending: Ending) -> Result<(), Told> {
        for round in 0..ROUNDS_MAX {
            match ending {
                Ending::Done | Ending::Closed(_) | Ending::Nothing => return Ok(()),
                Ending::WaitingForInput | Ending::Incomplete(_) | Ending::Error(_) => {}
            }
            // Whoever looks at the world waits until nothing goes on in it any more.
            tokio::time::sleep(SETTLED_AFTER).await;
            let state = self.state(conversation.id()).await;
            let asked: Vec<Inquiry> =
                state.open_turn().into_iter().flat_map(Turn::pending_inquiries).cloned().collect();
            if asked.is_empty() {
                ending = conversation.perform(Command::Resume).await?;
            }
            for inquiry in asked {
                let reply = self.reply(&state, &inquiry, round);
                let answer = Command::answer(inquiry.id, reply);
                ending = conversation.perform(answer).await?;
            }
        }
        Err(Told::Stuck)
    }

    fn reply(&self, state: &State, inquiry: &Inquiry, round: usize) -> Reply {
        use piton_core::event::Choice;
        match inquiry.kind {
            InquiryKind::Permission | InquiryKind::Question => Reply::Allow,
            // Once it is looked for; then somebody wants to go on.
            InquiryKind::InDoubt if inquiry.choices.contains(&Choice::LookAgain) => {
                if round == 0 {
                    Reply::LookAgain
                } else {
                    Reply::Deny
                }
            }
            InquiryKind::InDoubt => {
                let ledger = self.world.ledger();
                let is_this = |call| state.open_turn().is_some() && call == inquiry.call;
                let took = ledger.iter().any(|effect| is_this(effect.call));
                if took { Reply::TreatAsDone } else { Reply::RunAgain }
            }
        }
    }

    /// A process that does something. Says whether it died.
    async fn live(&self, work: impl AsyncFnOnce(&Engine) -> Result<(), Told>) -> bool {
        let store = self.store();
        let engine = self.engine(store.clone());
        let lived = tokio::select! {
            biased;
            () = self.world.died() => None,
            lived = tokio::time::timeout(PATIENCE, work(&engine)) => Some(lived),
        };
        match &lived {
            Some(Ok(Err(error))) => self.world.complain(format!("a process was told: {error}")),
            Some(Err(_)) => self.world.complain("a process never ends"),
            Some(Ok(Ok(()))) | None => {}
        }
        drop(engine);
        if !gone(&store).await {
            self.world.complain("a task outlived its engine");
        }
        lived.is_none()
    }

    /// Where the conversation that is forked ends; none, if it has not begun.
    pub(super) async fn end(&self) -> Option<Seq> {
        self.entries(&conversation()).await.last().map(|entry| entry.seq)
    }

    /// The forks, and where they were cut.
    pub(super) async fn forks(&self) -> Vec<(ConversationId, Seq)> {
        let mut forks = Vec::new();
        for id in all_records(&self.journal).await.into_keys() {
            let first = self.entries(&id).await.into_iter().next();
            if let Some(Event::ConversationOpened { origin: Some(origin), .. }) =
                first.map(|entry| entry.event)
            {
                forks.push((id, origin.through));
            } else if id == copy() {
                forks.push((id, self.cut.unwrap_or(Seq(u64::MAX))));
            }
        }
        forks
    }

    pub(super) async fn entries(&self, id: &ConversationId) -> Vec<Entry> {
        let records = all_records(&self.journal).await.remove(id).unwrap_or_default();
        records.iter().map(reader::entry).collect()
    }

    pub(super) async fn state(&self, id: &ConversationId) -> State {
        reader::state(&*self.journal, id).await.unwrap_or_default()
    }
}
