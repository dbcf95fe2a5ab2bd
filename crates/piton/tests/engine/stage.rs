//! The stage that every test plays on: one conversation, its journal, its world, its model.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use piton::chance::SeededChance;
use piton::clock::{Clock, RuntimeClock};
use piton::hooks::Hooks;
use piton::model::{Model, OneModel};
use piton::profile::{OneProfile, Profile};
use piton::{Conversation, Delegation, Engine, LeaseWait, NewMessage, Session};
use piton_core::event::{
    BreakReason, Entry, Event, InDoubtPolicy, Limits, ModelRef, Outcome, PermissionMode, UserPart,
};
use piton_core::id::{CallId, ConversationId, InquiryId, MessageId, Seq, Timestamp, TurnId};
use piton_core::outcome::Ending;
use piton_core::state::{Config, State, Turn};
use piton_core::transcript::Message;
use piton_proof::world::{World, world_tools};
use piton_sim::script::{Script, ScriptedModel};
use piton_store::Journal;
use piton_tools::Tool;

use crate::watch::{Request, WatchedJournal, WatchedModel, watched};

pub(crate) struct Stage {
    pub(crate) journal: Arc<WatchedJournal>,
    pub(crate) world: World,
    pub(crate) config: Config,
    model: Arc<WatchedModel>,
    odd: Vec<Arc<dyn Tool>>,
    conversation: ConversationId,
    clock: Option<Arc<dyn Clock>>,
    delegation: Option<Delegation>,
    hooks: Option<Arc<dyn Hooks>>,
    turns_max: usize,
    looks_back: bool,
    /// Counts processes: no two of them meet the same chance.
    processes: AtomicU64,
}

impl Stage {
    /// A stage whose model follows a script, given as JSON.
    pub(crate) fn new(script: &str) -> Self {
        Self::with_model(Arc::new(ScriptedModel::new(Script::parse(script).unwrap())))
    }

    pub(crate) fn with_model(inner: Arc<dyn Model>) -> Self {
        hush_scripted_panics();
        let config = Config {
            model: Some(ModelRef { provider: "script".into(), model: "one".into() }),
            system: "You are a script.".into(),
            in_doubt: InDoubtPolicy::TellModel,
            ..Config::default()
        };
        let mut stage = Self {
            journal: watched(),
            world: World::default(),
            config,
            model: Arc::new(WatchedModel { inner, requests: Vec::new().into() }),
            odd: Vec::new(),
            conversation: ConversationId::new("staged"),
            clock: None,
            delegation: None,
            hooks: None,
            turns_max: piton::TURNS_MAX,
            looks_back: false,
            processes: AtomicU64::new(7),
        };
        stage.config.permissions.mode = PermissionMode::Auto;
        stage
    }

    pub(crate) fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.odd.push(tool);
        self
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.config.limits);
        self
    }

    /// With the tools that look back.
    pub(crate) fn looking_back(mut self) -> Self {
        self.looks_back = true;
        self
    }

    pub(crate) fn mode(mut self, mode: PermissionMode) -> Self {
        self.config.permissions.mode = mode;
        self
    }

    pub(crate) fn in_doubt(mut self, policy: InDoubtPolicy) -> Self {
        self.config.in_doubt = policy;
        self
    }

    /// With the tool that hands tasks to workers.
    pub(crate) fn delegating(mut self, delegation: Delegation) -> Self {
        self.delegation = Some(delegation);
        self
    }

    /// With hooks that look at every call of a tool.
    pub(crate) fn hooked(mut self, tool: &str, hooks: Arc<dyn Hooks>) -> Self {
        self.config.permissions.hooked.push(tool.into());
        self.hooks = Some(hooks);
        self
    }

    pub(crate) fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Another conversation in the same store.
    pub(crate) fn named(mut self, name: &str, journal: &Arc<WatchedJournal>) -> Self {
        self.conversation = ConversationId::new(name);
        self.journal = journal.clone();
        self
    }

    pub(crate) fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// A new process.
    pub(crate) fn engine(&self) -> Engine {
        self.engine_over(self.journal.clone(), LeaseWait::NONE)
    }

    pub(crate) fn engine_over(&self, journal: Arc<dyn Journal>, wait: LeaseWait) -> Engine {
        let runtime = || Arc::new(RuntimeClock::starting_at(Timestamp(1_000_000))) as _;
        let clock = self.clock.clone().unwrap_or_else(runtime);
        let mut builder = Engine::builder(journal.clone(), Arc::new(OneModel(self.model.clone())))
            .clock(clock)
            .chance(Arc::new(SeededChance::new(self.processes.fetch_add(1, Ordering::Relaxed))))
            .machine("stage".into(), "boot".into())
            .lease_wait(wait);
        for tool in world_tools(&self.world, &journal) {
            builder = builder.tool(tool);
        }
        for tool in &self.odd {
            builder = builder.tool(tool.clone());
        }
        if let Some(delegation) = self.delegation {
            builder = builder.delegate(delegation);
        }
        if self.looks_back {
            builder = builder.look_back();
        }
        if let Some(hooks) = &self.hooks {
            builder = builder.hooks(hooks.clone());
        }
        let mut config = self.config.clone();
        // The tools of the engine itself are offered with all others, by the engine.
        if self.delegation.is_none() && !self.looks_back {
            builder.offer_tools(&mut config);
        }
        let profile = Profile { config, ..Profile::default() };
        builder.profiles(Arc::new(OneProfile(profile))).turns_max(self.turns_max).build()
    }

    /// At most so many turns at the same time.
    pub(crate) fn turns_max(mut self, turns_max: usize) -> Self {
        self.turns_max = turns_max;
        self
    }

    /// A session on a new conversation.
    pub(crate) async fn create(&self) -> Session {
        self.create_in(&self.engine()).await
    }

    pub(crate) async fn create_in(&self, engine: &Engine) -> Session {
        let created = engine.create_as(self.conversation.clone(), Path::new("/")).await;
        let mut session = created.unwrap();
        session.configure(&self.config_of(engine));
        session
    }

    pub(crate) fn config_of(&self, engine: &Engine) -> Config {
        let mut config = self.config.clone();
        engine.offer_tools(&mut config);
        config
    }

    /// A session of a new process on the same conversation.
    pub(crate) async fn open(&self) -> Session {
        self.engine().open(&self.conversation).await.unwrap()
    }

    /// The handle on the conversation in a new process, which begins it if it is not there.
    pub(crate) fn conversation_in(&self, engine: &Engine) -> Conversation {
        engine.begin_as(self.conversation.clone(), Path::new("/")).unwrap()
    }

    /// All durable entries.
    pub(crate) async fn entries(&self) -> Vec<Entry> {
        self.entries_of(&self.conversation).await
    }

    /// All durable entries of a conversation in the same store.
    pub(crate) async fn entries_of(&self, conversation: &ConversationId) -> Vec<Entry> {
        let read = self.journal.read(conversation, Seq(0), 100_000).await;
        let entry = |record: piton_store::Record| Entry {
            seq: record.seq,
            at: record.at,
            event: Event::from_stored(record.format, &record.body),
        };
        read.unwrap_or_default().into_iter().map(entry).collect()
    }

    /// What the journal means, read afresh.
    pub(crate) async fn state(&self) -> State {
        State::from_entries(&self.entries().await)
    }

    /// The journal in short words.
    pub(crate) async fn story(&self) -> String {
        let entries = self.entries().await;
        words(entries.iter().map(|entry| &entry.event))
    }

    /// The journal of a worker in short words.
    pub(crate) async fn story_of(&self, worker: &ConversationId) -> String {
        let entries = self.entries_of(worker).await;
        words(entries.iter().map(|entry| &entry.event))
    }

    /// Every commit in short words.
    pub(crate) fn commits(&self) -> Vec<String> {
        self.journal.commits().iter().map(|commit| words(&commit.events)).collect()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.model.requests.lock().unwrap().clone()
    }

    /// The messages of the last request, in short words.
    pub(crate) fn last_request(&self) -> Vec<String> {
        self.requests().last().unwrap().messages.iter().map(message_words).collect()
    }

    /// How often each call took effect, as `tool call`.
    pub(crate) fn effects(&self) -> Vec<String> {
        let ledger = self.world.ledger();
        ledger.iter().map(|effect| format!("{} {}", effect.tool, effect.call)).collect()
    }

    /// Nothing that must never happen has happened.
    pub(crate) async fn check(&self) {
        assert_eq!(self.world.problems(), Vec::<String>::new());
        assert_eq!(self.state().await.strays, 0, "{}", self.story().await);
    }
}

pub(crate) fn say(text: &str) -> NewMessage {
    NewMessage::text(text)
}

pub(crate) fn named(id: &str, text: &str) -> NewMessage {
    NewMessage { id: Some(MessageId::new(id)), parts: vec![UserPart::text(text)] }
}

/// A call of the first turn.
pub(crate) fn call(step: u32, index: u32) -> CallId {
    CallId { turn: TurnId(1), step, index }
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Lets virtual time pass.
pub(crate) async fn pass(passing_ms: u64) {
    // wait: only the tests' clock moves, and it jumps; nothing is waited for in real time.
    tokio::time::sleep(ms(passing_ms)).await;
}

/// The questions that wait for an answer.
pub(crate) fn pending(state: &State) -> Vec<InquiryId> {
    let turn = state.open_turn().into_iter();
    turn.flat_map(Turn::pending_inquiries).map(|inquiry| inquiry.id.clone()).collect()
}

/// Why a turn with kept work is not over.
pub(crate) fn broken(ending: &Ending) -> BreakReason {
    let Ending::Incomplete(cause) = ending else { panic!("not incomplete: {ending:?}") };
    cause.reason.expect("a reason")
}

/// Runs a session until virtual time has moved on by `after_ms`, then drops what it does.
pub(crate) async fn cut<T: std::fmt::Debug>(after_ms: u64, run: impl Future<Output = T>) {
    let ended = tokio::time::timeout(ms(after_ms), run).await;
    assert!(ended.is_err(), "it was over before it could be cut: {ended:?}");
}

fn words<'a>(events: impl IntoIterator<Item = &'a Event>) -> String {
    events.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(event: &Event) -> String {
    match event {
        Event::ConversationOpened { .. } => "opened".into(),
        Event::ConfigChanged { .. } => "config".into(),
        Event::DriverStarted { .. } => "driver".into(),
        Event::TurnStarted { .. } => "turn".into(),
        Event::ContextAdded { .. } => "context".into(),
        Event::UserMessage { .. } => "user".into(),
        Event::TurnResumed { .. } => "resumed".into(),
        Event::ModelAsked { .. } => "ask".into(),
        Event::ModelPartial { .. } => "partial".into(),
        Event::ModelAnswered { .. } => "answer".into(),
        Event::ModelFailed { .. } => "failure".into(),
        Event::HistoryRepaired { steps } => format!("repair:{}", steps.len()),
        Event::InquiryRaised { inquiry } => format!("raise:{}", inquiry.call.index),
        Event::InquiryAnswered { .. } => "reply".into(),
        Event::ToolStarted { call, .. } => format!("start:{}", call.index),
        Event::ToolSuspended { call } => format!("suspend:{}", call.index),
        Event::ToolFinished { call, outcome: Outcome::Ok, .. } => format!("finish:{}", call.index),
        Event::ToolFinished { call, outcome, .. } => format!("finish:{}:{outcome:?}", call.index),
        Event::TurnEnded { end, .. } => format!("end:{end:?}"),
        Event::TurnBroke { reason, .. } => format!("broke:{reason:?}"),
        Event::MessageRetried { .. } => "retried".into(),
        Event::Compacted { .. } => "compacted".into(),
        Event::SummaryLaid { pieces: 0, .. } => "summary".into(),
        Event::SummaryLaid { pieces, .. } => format!("summary:{pieces}"),
        Event::SummaryWanted { .. } => "summary-wanted".into(),
        Event::SummaryAsked { .. } => "summary-ask".into(),
        Event::SummaryAnswered { .. } => "summary-answer".into(),
        Event::SummaryFailed { why, .. } => format!("summary-failure:{why:?}"),
        Event::SummaryLifted => "summary-lifted".into(),
        Event::WindowLearned { tokens, .. } => format!("window:{tokens}"),
        Event::OutputsShortened { outputs } => format!("shorten:{}", outputs.len()),
        Event::MessageQueued { .. } => "queued".into(),
        Event::MessageRequeued { .. } => "requeued".into(),
        Event::MessageUnqueued { .. } => "unqueued".into(),
        Event::CallTracked { call, .. } => format!("track:{}", call.index),
        Event::CallLocated { call, .. } => format!("locate:{}", call.index),
        Event::CallParked { call, .. } => format!("park:{}", call.index),
        Event::CallsPlanned { calls, .. } => format!("plan:{}", calls.len()),
        Event::QueueReleased => "released".into(),
        Event::CommandTaken { .. } => "taken".into(),
        Event::CommandRefused { .. } => "refused".into(),
        Event::TitleGiven { .. } => "title".into(),
        Event::ConversationShelved { shelf } => format!("shelved:{shelf:?}"),
        Event::WorkspaceBound { .. } => "bound".into(),
        Event::ConversationImported { .. } => "imported".into(),
        Event::UndoStarted { .. } => "undo".into(),
        Event::UndoFinished { outcome, .. } => format!("undone:{outcome:?}"),
        Event::Unknown(_) => "unknown".into(),
    }
}

pub(crate) fn message_words(message: &Message) -> String {
    match message {
        Message::User(parts) => match parts.first() {
            Some(UserPart::Text { text }) => format!("user: {text}"),
            other => format!("user: {other:?}"),
        },
        Message::Assistant(assistant) => format!("assistant: {} parts", assistant.parts.len()),
        Message::Results(results) => {
            let results: Vec<_> = results.iter().map(|result| result.text.to_string()).collect();
            format!("results: {}", results.join(" | "))
        }
    }
}

/// Scripted panics are wanted; their reports would only hide the real ones.
fn hush_scripted_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let scripted = panic.payload_as_str().is_some_and(|text| text.starts_with("scripted"));
            if !scripted {
                report(panic);
            }
        }));
    });
}
