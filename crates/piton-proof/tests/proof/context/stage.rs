//! One conversation of the evaluation, from its first message to the last question.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use piton::chance::SeededChance;
use piton::clock::RuntimeClock;
use piton::model::{Model, OneModel};
use piton::profile::{ContextRequest, OneProfile, Profile, ProfileError, ProfileRequest, Profiles};
use piton::{
    Command, Conversation, Engine, Envelope, ForkAt, LeaseWait, NewMessage, OnIncomplete, reader,
};
use piton_core::event::{
    ConfigChange, ContextItem, Entry, Limits, ModelRef, PermissionMode, UserPart, Window,
    WindowSource,
};
use piton_core::id::{CommandId, ConversationId, Digest, MessageId, Seq, Timestamp};
use piton_core::outcome::Ending;
use piton_core::state::{Config, State};
use piton_sim::script::binding::{BindingModel, Delivery, Refusals};
use piton_store::{Journal, MemoryJournal};
use tempfile::TempDir;

use super::controls::Control;
use super::facts::{Class, Fact};
use super::model::{ASKED_AT_ONCE, Asked, Provider, Replies, Seen};
use super::summariser::Summariser;
use super::tools::{Shop, tools};

/// Records read at once; no conversation here is so long.
const RECORDS_MAX: usize = 100_000;
/// Most tokens of an answer where the window is not known, or not what is expected of it.
const ANSWER_TOKENS_MAX: u32 = 2_048;
/// Times that a turn is resumed before it counts as stuck.
const RESUMES_MAX: usize = 5;
/// Steps of a turn that is to go on for ever.
const STUCK_STEPS: u32 = 80;

/// How the steps are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// One turn.
    Open,
    /// Six turns.
    Turns,
    /// One turn that breaks off in the middle, and is resumed.
    Resumed,
    /// The same, resumed with another provider.
    Switched,
    /// Six turns, of which three are those of another conversation.
    Forked,
}

impl Scenario {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "one open turn",
            Self::Turns => "six turns",
            Self::Resumed => "resumed turn",
            Self::Switched => "other provider",
            Self::Forked => "fork",
        }
    }

    pub(crate) fn turns(self) -> usize {
        match self {
            Self::Open | Self::Resumed | Self::Switched => 1,
            Self::Turns | Self::Forked => 6,
        }
    }
}

/// What is played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) scenario: Scenario,
    pub(crate) summariser: Summariser,
    pub(crate) control: Control,
    /// What the provider takes, in tokens.
    pub(crate) window: u64,
    pub(crate) steps: usize,
    /// Whether facts are asked for.
    pub(crate) asks: bool,
    /// Whether every request is held against the rules of all dialects, and the blocks in it against what
    /// stands before them.
    pub(crate) checks: bool,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) endings: Vec<Ending>,
    pub(crate) seen: Seen,
    pub(crate) state: State,
    pub(crate) entries: Vec<Entry>,
    /// Requests with native blocks behind a change.
    pub(crate) unbound: Vec<String>,
}

/// A conversation in the making.
pub(crate) struct Stage {
    pub(crate) spec: Spec,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) provider: Arc<Provider>,
    shop: Arc<Shop>,
    refusals: Refusals,
    directory: TempDir,
}

impl Stage {
    pub(crate) fn new(spec: Spec) -> Self {
        Self::answering(spec, None)
    }

    /// With answers that were given before.
    pub(crate) fn answering(spec: Spec, replies: Option<Replies>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("work")).unwrap();
        let shop = Arc::new(Shop::new(directory.path().join("calls")));
        let provider = Provider {
            window: spec.window,
            summariser: spec.summariser,
            control: spec.control,
            asks: spec.asks,
            checks: spec.checks,
            shop: shop.clone(),
            seen: Mutex::default(),
            replies,
        };
        let journal = Arc::new(MemoryJournal::default());
        let refusals = Refusals::default();
        Self { spec, journal, provider: Arc::new(provider), shop, refusals, directory }
    }

    /// A new process.
    pub(crate) fn engine(&self, journal: Arc<dyn Journal>) -> Engine {
        let asked = Asked(self.provider.clone());
        let bound = BindingModel::new(asked.clone(), Delivery::Whole, self.refusals.clone());
        let model: Arc<dyn Model> =
            if self.spec.checks { Arc::new(bound) } else { Arc::new(asked) };
        let mut builder = Engine::builder(journal, Arc::new(OneModel(model)))
            .clock(Arc::new(RuntimeClock::starting_at(Timestamp(1_000_000))))
            .chance(Arc::new(SeededChance::new(7)))
            .machine("stage".into(), "boot".into())
            .lease_wait(LeaseWait::NONE)
            .calls(self.directory.path().join("calls"));
        if self.spec.control != Control::NoRecall {
            builder = builder.look_back();
        }
        for tool in tools(&self.shop) {
            builder = builder.tool(tool);
        }
        let profile = Profile { config: self.config(), ..Profile::default() };
        let instructed = Instructed { profile: OneProfile(profile), shop: self.shop.clone() };
        builder.profiles(Arc::new(instructed)).build()
    }

    fn config(&self) -> Config {
        let instruction = Fact::new(Class::Instruction, 1).stated();
        let mut config = Config {
            model: Some(ModelRef { provider: "anthropic".into(), model: "one".into() }),
            system: format!("You work through steps.\n{instruction}").into(),
            limits: Limits { steps_max: self.steps_max(), ..Limits::default() },
            ..Config::default()
        };
        if matches!(self.spec.control, Control::TriggerOff | Control::NoShrinkCheck) {
            config.answer_tokens_max = ANSWER_TOKENS_MAX;
        }
        config.permissions.mode = PermissionMode::Auto;
        let (tokens, from) = (self.spec.window, WindowSource::Table);
        let window = Window { tokens, answer_tokens_max: 0, from };
        config.limits.window = Some(window).filter(|_| self.spec.control != Control::TriggerOff);
        config
    }

    fn steps_max(&self) -> u32 {
        let half = u32::try_from(self.spec.steps / 2).unwrap();
        match (self.spec.control, self.spec.scenario) {
            (Control::OldestMessageLast, _) => STUCK_STEPS,
            (_, Scenario::Resumed | Scenario::Switched) => half,
            (_, Scenario::Open | Scenario::Turns | Scenario::Forked) => 0,
        }
    }

    pub(crate) fn conversation(&self, engine: &Engine, id: &ConversationId) -> Conversation {
        engine.begin_as(id.clone(), &self.directory.path().join("work")).unwrap()
    }

    /// What the user says in a turn.
    pub(crate) fn message(&self, turn: usize) -> String {
        *self.shop.turn.lock().unwrap() = turn;
        let turns = self.spec.scenario.turns();
        let per_turn = self.spec.steps.div_ceil(turns);
        let first = (turn - 1) * per_turn + 1;
        let last = (turn * per_turn).min(self.spec.steps);
        let (rule, deep) = (Fact::new(Class::Rule, turn), Fact::new(Class::DeepRule, turn));
        let long = "And mind that this message goes on for quite a while. ".repeat(8);
        format!("WORK {first} {last}. {}. {long}{}.", rule.stated(), deep.stated())
    }

    pub(crate) async fn say(&self, conversation: &Conversation, text: String) -> Ending {
        let name = format!("say-{}", super::facts::hash(&text));
        let message =
            NewMessage { id: Some(MessageId::new(&*name)), parts: vec![UserPart::text(&*text)] };
        let say = Command::Say { message, on_incomplete: OnIncomplete::Resume, agent: None };
        let envelope = Envelope::new(CommandId::new(&*name), say);
        conversation.perform_envelope(envelope).await.unwrap()
    }

    /// Plays all of it.
    pub(crate) async fn play(self) -> Played {
        let engine = self.engine(self.journal.clone());
        let mut id = ConversationId::new("asked");
        let mut endings = Vec::new();
        for turn in 1..=self.spec.scenario.turns() {
            if self.spec.scenario == Scenario::Forked && turn == 4 {
                id = self.fork(&engine, &id).await;
            }
            let conversation = self.conversation(&engine, &id);
            let mut ending = self.say(&conversation, self.message(turn)).await;
            for resume in 0..RESUMES_MAX {
                if ending == Ending::Done || self.spec.control != Control::None {
                    break;
                }
                if self.spec.scenario == Scenario::Switched && resume == 0 {
                    self.switch(&conversation).await;
                }
                ending = conversation.perform(Command::Resume).await.unwrap();
            }
            endings.push(ending);
        }
        if self.spec.asks && self.spec.control != Control::OldestMessageLast {
            let conversation = self.conversation(&engine, &id);
            for block in self.shop.known().chunks(ASKED_AT_ONCE) {
                let text: String = block.iter().map(|fact| format!("ASK {fact}\n")).collect();
                endings.push(self.say(&conversation, text).await);
            }
        }
        drop(engine);
        self.played(&id, endings).await
    }

    async fn switch(&self, conversation: &Conversation) {
        let model = Some(ModelRef { provider: "openai".into(), model: "two".into() });
        let change = Box::new(ConfigChange { model, ..ConfigChange::default() });
        conversation.perform(Command::Configure { change }).await.unwrap();
    }

    /// Another conversation that begins with all of this one.
    async fn fork(&self, engine: &Engine, origin: &ConversationId) -> ConversationId {
        self.shop.forked.store(true, Ordering::Relaxed);
        engine.fork(origin, &ForkAt::End, None).await.unwrap().id().clone()
    }

    async fn records(&self, id: &ConversationId) -> Vec<piton_store::Record> {
        self.journal.read(id, Seq(0), RECORDS_MAX).await.unwrap()
    }

    pub(crate) async fn played(self, id: &ConversationId, endings: Vec<Ending>) -> Played {
        let records = self.records(id).await;
        let entries: Vec<Entry> = records.iter().map(reader::entry).collect();
        let state = reader::state(&*self.journal, id).await.unwrap();
        let unbound = self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let seen = std::mem::take(&mut *self.provider.seen.lock().unwrap());
        Played { endings, seen, state, entries, unbound }
    }
}

/// One profile, and instructions that change before the second turn.
#[derive(Debug)]
struct Instructed {
    profile: OneProfile,
    shop: Arc<Shop>,
}

#[async_trait]
impl Profiles for Instructed {
    async fn profile(&self, request: ProfileRequest<'_>) -> Result<Profile, ProfileError> {
        let mut profile = self.profile.profile(request).await?;
        // What was allowed goes with no fork; it is the setting that allows.
        profile.config.permissions.mode = PermissionMode::Auto;
        Ok(profile)
    }

    async fn context(&self, request: ContextRequest<'_>) -> Vec<ContextItem> {
        let name = "instructions";
        if *self.shop.turn.lock().unwrap() < 2 || request.told.contains_key(name) {
            return Vec::new();
        }
        let text = Fact::new(Class::Instruction, 2).stated();
        let (name, digest) = (name.to_owned(), Digest::new(text.as_str()));
        vec![ContextItem { name, digest, text: Some(text.into()) }]
    }
}
