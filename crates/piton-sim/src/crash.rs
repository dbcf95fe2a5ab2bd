//! Kills a driver at every point of a turn, and again while it recovers.
//!
//! A *life* is one process: it opens the conversation, sends the message (which is the same as
//! going on, if the message is already there), and either ends the turn or dies. Between two lives
//! only the store and the world remain.

pub mod fault;
pub mod turns;

use std::path::Path;
use std::sync::Arc;

use piton::chance::SeededChance;
use piton::clock::RuntimeClock;
use piton::model::{AnswerStream, Model, OneModel};
use piton::{Engine, LeaseWait, NewMessage, OnIncomplete, Reply, Session, SessionError};
use piton_core::event::{
    Entry, Event, InDoubtPolicy, InquiryKind, Limits, ModelRef, PermissionMode, Permissions,
    UserPart,
};
use piton_core::id::{ConversationId, MessageId, Seq, Timestamp};
use piton_core::integrity;
use piton_core::outcome::Ending;
use piton_core::state::{Config, State, Turn};
use piton_core::transcript::{Message, Transcript};
use piton_store::{Journal, MemoryJournal, Record};

use crate::crash::turns::TurnScript;
use crate::disk::{MortalJournal, Sabotage};
use crate::oracle::{self, Final};
use crate::script::ScriptedModel;
use crate::world::{SeenRequest, World, world_tools};

/// Most times that one life answers, resumes or sends before it counts as stuck.
const ROUNDS_MAX: usize = 50;
/// Records read at once; a scripted turn is far shorter.
const RECORDS_MAX: usize = 100_000;

/// What a suite tried, and what it found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Crash points of the undisturbed run.
    pub points: u64,
    /// Disturbed runs.
    pub runs: u64,
    /// Kills in all of them.
    pub kills: u64,
    /// What must not happen and did.
    pub violations: Vec<String>,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        self.points += other.points;
        self.runs += other.runs;
        self.kills += other.kills;
        self.violations.extend(other.violations);
    }
}

/// Kills once at every point.
pub async fn once_everywhere(turn: &TurnScript) -> Tally {
    let (reference, points) = undisturbed(turn).await;
    let mut tally = Tally { points, ..Tally::default() };
    for point in 1..=points {
        tally.add(disturbed(turn, &reference, &[point], None).await.tally);
    }
    tally
}

/// Kills at every point, and again at every point of the recovery.
pub async fn twice_everywhere(turn: &TurnScript) -> Tally {
    let (reference, points) = undisturbed(turn).await;
    let mut tally = Tally { points, ..Tally::default() };
    for first in 1..=points {
        let recovery = disturbed(turn, &reference, &[first], None).await.points_of_last_life;
        for second in 1..=recovery {
            tally.add(disturbed(turn, &reference, &[first, second], None).await.tally);
        }
    }
    tally
}

/// Kills at every point, then ten times in a row while recovering, each time a little later.
pub async fn ten_in_a_row(turn: &TurnScript) -> Tally {
    let (reference, points) = undisturbed(turn).await;
    let mut tally = Tally { points, ..Tally::default() };
    for first in 1..=points {
        let kills: Vec<u64> = std::iter::once(first).chain(1..=10).collect();
        tally.add(disturbed(turn, &reference, &kills, None).await.tally);
    }
    tally
}

/// Kills once at every point, with a safety rule broken: there should be violations.
pub async fn sabotaged(turn: &TurnScript, sabotage: Sabotage) -> Tally {
    let (reference, points) = undisturbed(turn).await;
    let mut tally = Tally { points, ..Tally::default() };
    for point in 1..=points {
        tally.add(disturbed(turn, &reference, &[point], Some(sabotage)).await.tally);
    }
    tally
}

async fn undisturbed(turn: &TurnScript) -> (Final, u64) {
    let world = World::default();
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    world.begin_life(None);
    live(turn, &journal, &world).await;
    let points = world.points();
    (Final { state: fold(&records(&journal).await), world }, points)
}

struct Disturbed {
    tally: Tally,
    points_of_last_life: u64,
}

async fn disturbed(
    turn: &TurnScript,
    reference: &Final,
    kills: &[u64],
    sabotage: Option<Sabotage>,
) -> Disturbed {
    let world = World::default();
    let mut journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let mut found = Vec::new();
    let mut before = Vec::new();
    let mut killed = 0;
    for kill_at in kills.iter().copied().map(Some).chain([None]) {
        world.begin_life(kill_at);
        let died = tokio::select! {
            biased;
            () = world.died() => true,
            () = live(turn, &journal, &world) => false,
        };
        let after = records(&journal).await;
        found.extend(oracle::lost(&before, &after));
        before = after;
        killed += u64::from(died);
        if let (true, Some(sabotage)) = (died, sabotage) {
            journal = sabotage.damage(&journal, &conversation()).await;
            before.clear();
        }
    }
    let end = Final { state: fold(&before), world };
    found.extend(oracle::judge(reference, &end));
    let violations =
        found.into_iter().map(|what| format!("{} {kills:?}: {what}", turn.name)).collect();
    let tally = Tally { points: 0, runs: 1, kills: killed, violations };
    Disturbed { tally, points_of_last_life: end.world.points() }
}

/// One process, from start to the end of the script's messages.
async fn live(turn: &TurnScript, journal: &Arc<dyn Journal>, world: &World) {
    if let Err(problem) = try_live(turn, journal, world).await {
        world.complain(problem);
    }
}

async fn try_live(
    turn: &TurnScript,
    journal: &Arc<dyn Journal>,
    world: &World,
) -> Result<(), String> {
    let mortal = Arc::new(MortalJournal::new(journal.clone(), world.clone()));
    let mut session = enter(turn, journal, world, mortal).await?;
    converse(turn, &mut session, world).await.map_err(|error| error.to_string())
}

/// Opens the conversation, or begins it.
async fn enter(
    turn: &TurnScript,
    journal: &Arc<dyn Journal>,
    world: &World,
    mortal: Arc<MortalJournal>,
) -> Result<Session, String> {
    let engine = engine(turn, journal, world, mortal);
    let known = journal.status(&conversation()).await.map_err(|error| error.to_string())?.is_some();
    let opened = if known {
        engine.open(&conversation()).await
    } else {
        engine.create_as(conversation(), Path::new("/")).await
    };
    let mut session = opened.map_err(|error| error.to_string())?;
    if session.state().config.model.is_none() {
        session.configure(&config(turn, &engine));
    }
    Ok(session)
}

/// Sends all messages of the script.
async fn converse(
    turn: &TurnScript,
    session: &mut Session,
    world: &World,
) -> Result<(), SessionError> {
    for (number, text) in turn.messages.iter().enumerate() {
        let id = Some(MessageId::new(format!("m{number}")));
        let message = NewMessage { id, parts: vec![UserPart::text(*text)] };
        finish(session, message, world).await?;
    }
    Ok(())
}

/// Sends, answers and resumes until the turn is over.
async fn finish(
    session: &mut Session,
    message: NewMessage,
    world: &World,
) -> Result<(), SessionError> {
    for _ in 0..ROUNDS_MAX {
        match session.send(message.clone(), OnIncomplete::Resume).await? {
            Ending::Done | Ending::Closed(_) | Ending::Nothing => return Ok(()),
            Ending::WaitingForInput => answer(session, world).await?,
            Ending::Incomplete(_) | Ending::Error(_) => {
                session.resume().await?;
            }
        }
    }
    Ok(())
}

/// A person who denies `set`, allows the rest, and settles doubts by looking at the world.
async fn answer(session: &mut Session, world: &World) -> Result<(), SessionError> {
    let turn = session.state().open_turn();
    let pending = turn.into_iter().flat_map(Turn::pending_inquiries);
    let replies: Vec<_> = pending
        .map(|inquiry| {
            let took_effect = world.ledger().iter().any(|effect| effect.call == inquiry.call);
            let reply = match inquiry.kind {
                InquiryKind::Permission if inquiry.question.contains("set") => Reply::Deny,
                InquiryKind::Permission => Reply::Allow,
                InquiryKind::InDoubt | InquiryKind::Question if took_effect => Reply::TreatAsDone,
                InquiryKind::InDoubt | InquiryKind::Question => Reply::RunAgain,
            };
            (inquiry.id.clone(), reply)
        })
        .collect();
    for (id, reply) in replies {
        session.answer(&id, reply).await?;
    }
    Ok(())
}

fn engine(
    turn: &TurnScript,
    journal: &Arc<dyn Journal>,
    world: &World,
    mortal: Arc<MortalJournal>,
) -> Engine {
    let model = WatchedModel { inner: ScriptedModel::new(turn.script()), world: world.clone() };
    let mut builder = Engine::builder(mortal, Arc::new(OneModel(Arc::new(model))))
        .clock(Arc::new(RuntimeClock::starting_at(Timestamp(1_000_000))))
        .chance(Arc::new(SeededChance::new(7)))
        .lease_wait(LeaseWait::NONE);
    for tool in world_tools(world, journal, &conversation()) {
        builder = builder.tool(tool);
    }
    builder.build()
}

fn config(turn: &TurnScript, engine: &Engine) -> Config {
    let mut config = Config {
        model: Some(ModelRef { provider: "script".into(), model: turn.name.into() }),
        system: "You are a script.".into(),
        permissions: Permissions { mode: turn.mode, rules: Vec::new() },
        in_doubt: turn.in_doubt,
        limits: Limits { context_tokens_max: turn.context_tokens_max, ..Limits::default() },
        ..Config::default()
    };
    engine.offer_tools(&mut config);
    config
}

fn conversation() -> ConversationId {
    ConversationId::new("simulated")
}

async fn records(journal: &Arc<dyn Journal>) -> Vec<Record> {
    journal.read(&conversation(), Seq(0), RECORDS_MAX).await.unwrap_or_default()
}

fn fold(records: &[Record]) -> State {
    let mut state = State::default();
    for record in records {
        let event = Event::from_stored(record.format, &record.body);
        state.apply(&Entry { seq: record.seq, at: record.at, event });
    }
    state
}

/// Lets a process die as its request leaves, and remembers every request.
#[derive(Debug)]
struct WatchedModel {
    inner: ScriptedModel,
    world: World,
}

impl Model for WatchedModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        for violation in integrity::violations(transcript) {
            self.world.complain(format!("invalid request: {violation}"));
        }
        let answers = |message: &&Message| matches!(message, Message::Assistant(_));
        let place = transcript.messages().iter().filter(answers).count();
        self.world.see(SeenRequest { place, content: format!("{:?}", transcript.messages()) });
        let (world, stream) = (self.world.clone(), self.inner.ask(transcript));
        Box::pin(futures_util::StreamExt::then(stream, move |delta| {
            let world = world.clone();
            async move {
                world.point().await;
                delta
            }
        }))
    }
}

/// The permission mode of most scripts.
pub const AUTO: PermissionMode = PermissionMode::Auto;
/// The in-doubt policy of most scripts: nobody is there.
pub const ALONE: InDoubtPolicy = InDoubtPolicy::TellModel;
