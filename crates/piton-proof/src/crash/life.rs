//! One life: an engine, and a person who says, answers and resumes until the script is over.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use piton::chance::SeededChance;
use piton::clock::RuntimeClock;
use piton::profile::Profile;
use piton::{
    AnswerThen, Builder, Command, CommandError, Conversation, Delegation, Engine, Envelope,
    LeaseWait, NewMessage, OnIncomplete, Reply, reader,
};
use piton_core::coordinate::COORDINATOR;
use piton_core::event::{ConfigChange, Inquiry, InquiryKind, Limits, Permissions, Shape, UserPart};
use piton_core::id::{CommandId, ConversationId, InquiryId, MessageId, Seq, Timestamp};
use piton_core::outcome::Ending;
use piton_core::question::Secret;
use piton_core::state::{Config, State, Turn};
use piton_store::{Journal, StoreError};

use super::play::{Answers, Play, conversation};
use super::provider::Run;
use super::watch::WatchedModels;
use crate::disk::MortalJournal;
use crate::surroundings::Surroundings;
use crate::world::{
    Effect, Oversight, SECRET, World, WorldHooks, command_tools, shell, world_tools,
};

/// The smallest thing that is taken for an image.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Most times that one life answers or resumes before it counts as stuck.
const ROUNDS_MAX: usize = 50;
/// Most times that others are let run until nothing is left of a process.
const YIELDS_MAX: usize = 10_000;

/// One process, from start to the end of the script's messages, or to its death. Says whether it died.
pub(super) async fn live(
    play: Play<'_>,
    run: &dyn Run,
    journal: &Arc<dyn Journal>,
    world: &World,
) -> bool {
    let mortal = Arc::new(MortalJournal::mortal(journal.clone(), world.clone()));
    let lived = match Life::begin(play, run, journal, world, mortal.clone()) {
        Ok(life) => tokio::select! {
            biased;
            () = world.died() => None,
            lived = life.converse() => Some(lived.map_err(|error| error.to_string())),
        },
        Err(problem) => Some(Err(problem)),
    };
    if !gone(&mortal).await {
        world.complain("a task outlived its engine");
    }
    if let Some(Err(problem)) = &lived {
        world.complain(problem.as_str());
    }
    lived.is_none()
}

/// Waits until the tasks of an engine that was dropped are gone; they hold its store. Takes no time.
pub(crate) async fn gone(store: &Arc<MortalJournal>) -> bool {
    for _ in 0..YIELDS_MAX {
        if Arc::strong_count(store) == 1 {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

/// What a life met, and where.
#[derive(Debug, thiserror::Error)]
pub(super) enum Met {
    /// In the conversation that it is about.
    #[error(transparent)]
    Here(#[from] CommandError),
    /// Where a person answered a worker.
    #[error(transparent)]
    AtWorker(CommandError),
}

impl From<StoreError> for Met {
    fn from(error: StoreError) -> Self {
        Self::Here(CommandError::Store(Arc::new(error)))
    }
}

/// A process, and the person in front of it.
#[derive(Debug)]
pub(super) struct Life<'a> {
    play: Play<'a>,
    world: &'a World,
    engine: Engine,
    conversation: Conversation,
    /// Commands of this life that are not part of the script.
    named: AtomicU64,
}

impl<'a> Life<'a> {
    pub(super) fn begin(
        play: Play<'a>,
        run: &dyn Run,
        journal: &Arc<dyn Journal>,
        world: &'a World,
        mortal: Arc<MortalJournal>,
    ) -> Result<Self, String> {
        let builder = || builder(play, run, journal, world, mortal.clone());
        let profile = Profile { config: config(play, &builder().build()), ..Profile::default() };
        let engine = builder().profiles(Arc::new(Surroundings::from(profile))).build();
        let conversation = engine.begin_as(conversation(), Path::new("/"));
        let conversation = conversation.map_err(|error| error.to_string())?;
        Ok(Self { play, world, engine, conversation, named: AtomicU64::new(0) })
    }

    /// Sends all messages of the script.
    pub(super) async fn converse(&self) -> Result<(), Met> {
        let attended = self.play.turn.attended;
        let _face = attended.then(|| self.conversation.attend());
        tokio::select! {
            biased;
            said = self.say_all() => said,
            never = self.attend(), if attended => match never {},
        }
    }

    async fn say_all(&self) -> Result<(), Met> {
        let agent = self.play.turn.coordinated.then(|| COORDINATOR.to_owned());
        for (number, text) in self.play.turn.messages.iter().enumerate() {
            let id = Some(MessageId::new(format!("m{number}")));
            let mut parts = vec![UserPart::text(*text)];
            if self.play.turn.retried {
                // One beside the journal, one inside it.
                parts.push(self.conversation.attach("dot.png", PNG).await?);
                parts.push(self.conversation.attach("notes.txt", b"one\r\ntwo").await?);
            }
            let message = NewMessage { id, parts };
            let (on_incomplete, agent) = (OnIncomplete::Resume, agent.clone());
            // Under the same name in every life: a command that was taken is known.
            let say = Command::Say { message, on_incomplete, agent };
            let ending = self.perform(format!("say-{number}"), say).await?;
            self.finish(ending).await?;
        }
        if self.play.turn.retried {
            let last = self.play.turn.messages.len().saturating_sub(1);
            let retry = Command::Retry { message: MessageId::new(format!("m{last}")) };
            // Under one name, so that however many lives ask for it, there is one new attempt.
            let ending = self.perform("retry".into(), retry).await?;
            self.finish(ending).await?;
        }
        Ok(())
    }

    /// Answers and resumes until the turn is over.
    async fn finish(&self, mut ending: Ending) -> Result<(), Met> {
        for _ in 0..ROUNDS_MAX {
            ending = match ending {
                Ending::Done | Ending::Closed(_) | Ending::Nothing => return Ok(()),
                // Who is there all the time answers beside this.
                Ending::WaitingForInput if self.play.turn.attended => self.resume().await?,
                Ending::WaitingForInput => {
                    self.switch().await?;
                    let answered = self.answer().await?;
                    self.answer_workers().await?;
                    match answered {
                        Some(ending) => ending,
                        None => self.resume().await?,
                    }
                }
                Ending::Incomplete(_) | Ending::Error(_) => self.resume().await?,
            }
        }
        Ok(())
    }

    async fn perform(&self, name: String, command: Command) -> Result<Ending, CommandError> {
        let envelope = Envelope::new(CommandId::new(name), command);
        self.conversation.perform_envelope(envelope).await
    }

    /// A person who wants the turn to go on, and says so anew each time.
    pub(super) async fn resume(&self) -> Result<Ending, CommandError> {
        let number = self.named.fetch_add(1, Ordering::Relaxed);
        self.perform(format!("resume-{}-{number}", self.world.life()), Command::Resume).await
    }

    async fn state(&self, id: &ConversationId) -> Result<State, StoreError> {
        reader::state(&**self.engine.journal(), id).await
    }

    /// A person who is there all the time, and answers at once.
    async fn attend(&self) -> Infallible {
        let (journal, id) = (self.engine.journal(), self.conversation.id());
        let mut seen = Seq(0);
        loop {
            let Ok(seq) = journal.wait_past(id, seen).await else {
                // It has no entries yet.
                tokio::time::sleep(Duration::from_millis(1)).await;
                continue;
            };
            seen = seq;
            let state = self.state(id).await.unwrap_or_default();
            for (inquiry, reply) in replies(&state, id, self.world) {
                let answer = answer(&state, inquiry, reply, AnswerThen::GoOn);
                // A store that refuses says so to the command that performs the turn.
                drop(self.conversation.post(answer).await);
            }
        }
    }

    /// A person who, when asked, lets another model go on.
    async fn switch(&self) -> Result<(), CommandError> {
        if let Some(model) = self.play.provider.next_model() {
            let change = ConfigChange { model: Some(model), ..ConfigChange::default() };
            let switch = Command::Configure { change: Box::new(change) };
            // The same command in every round and life: the others are known.
            self.conversation.post(Envelope::new(CommandId::new("switch"), switch)).await?;
        }
        Ok(())
    }

    /// A person who denies `set`, does `post` by hand, allows the rest, and settles doubts by looking
    /// at the world. Says how the turn stands behind the last answer that was given here.
    async fn answer(&self) -> Result<Option<Ending>, Met> {
        self.world.quiet().await;
        let (id, mut ending) = (self.conversation.id(), None);
        let state = self.state(id).await?;
        for (inquiry, reply) in replies(&state, id, self.world) {
            // A secret is told where it is asked.
            let by_letter =
                self.play.answers == Answers::ByLetter && !matches!(reply, Reply::Secret(_));
            if by_letter {
                let answer = answer(&state, inquiry, reply, AnswerThen::Rest);
                self.conversation.leave(&answer).await?;
            } else {
                let answer = answer(&state, inquiry, reply, AnswerThen::GoOn);
                ending = Some(self.conversation.perform_envelope(answer).await?);
            }
        }
        Ok(ending)
    }

    /// A person who answers what workers ask, where they ask it. They go on with their parent.
    async fn answer_workers(&self) -> Result<(), Met> {
        let state = self.state(self.conversation.id()).await?;
        let steps = state.open_turn().into_iter().flat_map(Turn::steps);
        let open = steps.flat_map(|step| &step.calls).filter(|call| !call.is_done());
        for worker in open.filter_map(|call| call.worker.as_ref()) {
            // One that has not begun asks nothing.
            let state = self.state(worker).await.unwrap_or_default();
            for (inquiry, reply) in replies(&state, worker, self.world) {
                let answer = answer(&state, inquiry, reply, AnswerThen::Rest);
                self.engine.conversation(worker).post(answer).await.map_err(Met::AtWorker)?;
            }
        }
        Ok(())
    }
}

/// An answer to what a state asks; a question that is asked again is answered under another name.
fn answer(state: &State, inquiry: InquiryId, reply: Reply, then: AnswerThen) -> Envelope {
    let name = CommandId::new(format!("answer-{inquiry}-{}", state.end));
    Envelope::new(name, Command::Answer { inquiry, reply, then })
}

fn replies(state: &State, conversation: &ConversationId, world: &World) -> Vec<(InquiryId, Reply)> {
    let pending = state.open_turn().into_iter().flat_map(Turn::pending_inquiries);
    let reply = |inquiry: &Inquiry| {
        let is_this =
            |effect: &Effect| (&effect.conversation, effect.call) == (conversation, inquiry.call);
        let took_effect = world.ledger().iter().any(is_this);
        let is_secret = inquiry.wants.as_ref().is_some_and(|it| it.shape == Shape::Secret);
        let reply = match inquiry.kind {
            InquiryKind::Permission if inquiry.question.contains("set") => Reply::Deny,
            InquiryKind::Permission if inquiry.question.contains("post") => Reply::Applied,
            InquiryKind::Permission if inquiry.question.contains("swap") => {
                Reply::Change(r#"{"path":"swap","line":"2"}"#.into())
            }
            InquiryKind::Permission => Reply::Allow,
            InquiryKind::Question if is_secret => Reply::Secret(Secret::new(SECRET)),
            InquiryKind::Question => Reply::Text("blue".into()),
            InquiryKind::InDoubt if took_effect => Reply::TreatAsDone,
            InquiryKind::InDoubt => Reply::RunAgain,
        };
        (inquiry.id.clone(), reply)
    };
    pending.map(reply).collect()
}

fn builder(
    play: Play<'_>,
    run: &dyn Run,
    journal: &Arc<dyn Journal>,
    world: &World,
    mortal: Arc<MortalJournal>,
) -> Builder {
    let models = WatchedModels { inner: run.models(), world: world.clone() };
    let mut builder = Engine::builder(mortal, Arc::new(models))
        .clock(Arc::new(RuntimeClock::starting_at(Timestamp(1_000_000))))
        .chance(Arc::new(SeededChance::new(7)))
        .lease_wait(LeaseWait::NONE);
    let tools = world_tools(world, journal).into_iter().chain([shell(world, journal)]);
    for tool in tools.chain(command_tools(world, journal)) {
        builder = builder.tool(tool);
    }
    if play.oversight != Some(Oversight::HooksNotAsked) {
        builder = builder.hooks(Arc::new(WorldHooks::new(world, journal)));
    }
    if !play.turn.script().workers.is_empty() {
        builder = builder.delegate(Delegation::default());
    }
    builder
}

fn config(play: Play<'_>, engine: &Engine) -> Config {
    let turn = play.turn;
    let hooked = turn.hooked.iter().map(|tool| (*tool).to_owned()).collect();
    let mut config = Config {
        model: Some(play.provider.first_model(turn)),
        system: "You are a script.".into(),
        permissions: Permissions { mode: turn.mode, hooked, ..Permissions::default() },
        in_doubt: turn.in_doubt,
        limits: Limits { context_tokens_max: turn.context_tokens_max, ..play.provider.limits() },
        ..Config::default()
    };
    engine.offer_tools(&mut config);
    config
}
