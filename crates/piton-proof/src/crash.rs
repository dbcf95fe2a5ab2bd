//! Kills a driver at every point of a turn, and again while it recovers.
//!
//! A *life* is one process: it opens the conversation, sends the message (which is the same as
//! going on, if the message is already there), and either ends the turn or dies. Between two lives
//! only the store and the world remain.

pub mod fault;
pub mod provider;
pub mod tally;
pub mod turns;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use piton::chance::SeededChance;
use piton::clock::RuntimeClock;
use piton::model::{AnswerStream, Model, ModelFailure, Models};
use piton::{
    AnswerLetter, Attendance, Controller, Delegation, Engine, LeaseWait, NewMessage, OnIncomplete,
    Reply, Session, SessionError,
};
use piton_core::answer::Delta;
use piton_core::event::{
    Entry, Event, Inquiry, InquiryKind, Limits, ModelRef, Permissions, Shape, UserPart,
};
use piton_core::id::{ConversationId, InquiryId, MessageId, Seq, Timestamp};
use piton_core::integrity;
use piton_core::outcome::Ending;
use piton_core::question::Secret;
use piton_core::state::{Config, State, Turn};
use piton_core::transcript::{Message, Transcript};
use piton_store::{AppendError, Journal, MemoryJournal, Record};

use crate::crash::provider::{Provider, Run};
use crate::crash::tally::Tally;
use crate::crash::turns::TurnScript;
use crate::disk::{MortalJournal, Sabotage};
use crate::oracle::{self, Final, Records};
use crate::world::{Effect, SECRET, SeenRequest, Workshop, World, command_tools, world_tools};

/// Most times that one life answers, resumes or sends before it counts as stuck.
const ROUNDS_MAX: usize = 50;
/// Records read at once; a scripted turn is far shorter.
const RECORDS_MAX: usize = 100_000;

/// A conversation to disturb, and who is asked in it.
#[derive(Clone, Copy, Debug)]
pub struct Play<'a> {
    /// What happens.
    pub turn: &'a TurnScript,
    /// Who is asked.
    pub provider: &'a dyn Provider,
    /// Where real commands run, if there are any.
    pub shop: Option<&'a Workshop>,
    /// How a person answers.
    pub answers: Answers,
}

/// How a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// In the process that asks.
    Here,
    /// From another process, which leaves a letter and may die at any point of it, too.
    ByLetter,
}

impl<'a> Play<'a> {
    /// A play without real commands.
    pub fn new(turn: &'a TurnScript, provider: &'a dyn Provider) -> Self {
        Self { turn, provider, shop: None, answers: Answers::Here }
    }

    /// The same with real commands.
    #[must_use]
    pub fn with_commands(self, shop: &'a Workshop) -> Self {
        Self { shop: Some(shop), ..self }
    }

    /// The same with a person who answers from elsewhere.
    #[must_use]
    pub fn by_letter(self) -> Self {
        Self { answers: Answers::ByLetter, ..self }
    }

    /// A world in which nothing has happened.
    fn world(self) -> World {
        self.shop.map_or_else(World::default, World::with_commands)
    }
}

/// Kills nobody: what is wrong even so.
pub async fn never(play: Play<'_>) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let effects = tally::effects(&reference);
    Tally { runs: 1, effects, ..Tally::beginning(&reference, points) }
}

/// Kills once at every point.
pub async fn once_everywhere(play: Play<'_>) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    for point in 1..=points {
        tally.add(disturbed(play, &reference, &[point], None).await.tally);
    }
    tally
}

/// Kills at every point, and again at every point of the recovery.
pub async fn twice_everywhere(play: Play<'_>) -> Tally {
    twice_at_every(play, 1).await
}

/// Kills at every point, and again at every `nth` point of the recovery; which ones depends on the
/// first, so that over all of them no place is left out.
pub async fn twice_at_every(play: Play<'_>, nth: u64) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    for first in 1..=points {
        let recovery = disturbed(play, &reference, &[first], None).await.points_of_last_life;
        let seconds = (1..=recovery).filter(|second| (first + second).is_multiple_of(nth));
        for second in seconds {
            tally.add(disturbed(play, &reference, &[first, second], None).await.tally);
        }
    }
    tally
}

/// Kills at every point, then ten times in a row while recovering, each time a little later.
pub async fn ten_in_a_row(play: Play<'_>) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    for first in 1..=points {
        let kills: Vec<u64> = std::iter::once(first).chain(1..=10).collect();
        tally.add(disturbed(play, &reference, &kills, None).await.tally);
    }
    tally
}

/// Kills once at every point, with a safety rule broken: there should be violations.
pub async fn sabotaged(play: Play<'_>, sabotage: Sabotage) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    for point in 1..=points {
        tally.add(disturbed(play, &reference, &[point], Some(sabotage)).await.tally);
    }
    tally
}

async fn undisturbed(play: Play<'_>) -> (Final, u64) {
    let world = play.world();
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let run = play.provider.begin(play.turn);
    world.begin_life(None);
    live(play, &*run, &journal, &world).await;
    let points = world.points();
    (end(&*run, &all_records(&journal).await, world), points)
}

/// The end of a run, with what the provider has to say about it.
fn end(run: &dyn Run, records: &Records, world: World) -> Final {
    for problem in run.problems() {
        world.complain(problem);
    }
    let mut states: BTreeMap<_, _> =
        records.iter().map(|(id, records)| (id.clone(), fold(records))).collect();
    let state = states.remove(&conversation()).unwrap_or_default();
    Final { state, workers: states, world, bodies: run.bodies() }
}

struct Disturbed {
    tally: Tally,
    points_of_last_life: u64,
}

async fn disturbed(
    play: Play<'_>,
    reference: &Final,
    kills: &[u64],
    sabotage: Option<Sabotage>,
) -> Disturbed {
    let world = play.world();
    let mut journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let mut found = Vec::new();
    let mut before = Records::new();
    let mut killed = 0;
    let run = play.provider.begin(play.turn);
    for kill_at in kills.iter().copied().map(Some).chain([None]) {
        world.begin_life(kill_at);
        let died = tokio::select! {
            biased;
            () = world.died() => true,
            () = live(play, &*run, &journal, &world) => false,
        };
        let after = all_records(&journal).await;
        found.extend(oracle::lost_anywhere(&before, &after));
        found.extend(oracle::told(&*journal, &after).await);
        before = after;
        killed += u64::from(died);
        if let (true, Some(sabotage)) = (died, sabotage) {
            journal = sabotage.damage(&journal, &conversation()).await;
            before.clear();
        }
    }
    world.quiet().await;
    let end = end(&*run, &before, world);
    found.extend(oracle::judge(reference, &end));
    let name = format!("{} {:?}", play.turn.name, play.provider);
    let violations = found.into_iter().map(|what| format!("{name} {kills:?}: {what}")).collect();
    let effects = tally::effects(&end);
    let tally = Tally { points: 0, runs: 1, kills: killed, effects, violations };
    Disturbed { tally, points_of_last_life: end.world.points() }
}

/// One process, from start to the end of the script's messages.
async fn live(play: Play<'_>, run: &dyn Run, journal: &Arc<dyn Journal>, world: &World) {
    if let Err(problem) = try_live(play, run, journal, world).await {
        world.complain(problem);
    }
}

async fn try_live(
    play: Play<'_>,
    run: &dyn Run,
    journal: &Arc<dyn Journal>,
    world: &World,
) -> Result<(), String> {
    let mortal = Arc::new(MortalJournal::new(journal.clone(), world.clone()));
    let engine = engine(play, run, journal, world, mortal);
    let mut session = enter(play, &engine, journal).await?;
    converse(play, &engine, &mut session, world).await.map_err(|error| error.to_string())
}

/// Opens the conversation, or begins it.
async fn enter(
    play: Play<'_>,
    engine: &Engine,
    journal: &Arc<dyn Journal>,
) -> Result<Session, String> {
    let known = journal.status(&conversation()).await.map_err(|error| error.to_string())?.is_some();
    let opened = if known {
        engine.open(&conversation()).await
    } else {
        engine.create_as(conversation(), Path::new("/")).await
    };
    let mut session = opened.map_err(|error| error.to_string())?;
    if session.state().config.model.is_none() {
        session.configure(&config(play, engine));
    }
    if play.turn.attended {
        session.attend(Attendance::Attended);
    }
    Ok(session)
}

/// What a life met, and where.
#[derive(Debug, thiserror::Error)]
enum Met {
    /// In the conversation that it is about.
    #[error(transparent)]
    Here(#[from] SessionError),
    /// Where a person answered a worker.
    #[error(transparent)]
    AtWorker(SessionError),
}

/// Sends all messages of the script.
async fn converse(
    play: Play<'_>,
    engine: &Engine,
    session: &mut Session,
    world: &World,
) -> Result<(), Met> {
    for (number, text) in play.turn.messages.iter().enumerate() {
        let id = Some(MessageId::new(format!("m{number}")));
        let message = NewMessage { id, parts: vec![UserPart::text(*text)] };
        finish(play, engine, session, message, world).await?;
    }
    Ok(())
}

/// Sends, answers and resumes until the turn is over.
async fn finish(
    play: Play<'_>,
    engine: &Engine,
    session: &mut Session,
    message: NewMessage,
    world: &World,
) -> Result<(), Met> {
    for _ in 0..ROUNDS_MAX {
        let controller = session.controller();
        let sending = async {
            if play.turn.coordinated {
                session.coordinate(message.clone(), OnIncomplete::Resume).await
            } else {
                session.send(message.clone(), OnIncomplete::Resume).await
            }
        };
        let ending = tokio::select! {
            biased;
            ending = sending => ending?,
            never = attend(engine, &controller, world), if play.turn.attended => match never {},
        };
        match ending {
            Ending::Done | Ending::Closed(_) | Ending::Nothing => return Ok(()),
            Ending::WaitingForInput => {
                switch(play, session);
                answer(play, engine, session, world).await?;
                answer_workers(play, engine, session, world).await.map_err(Met::AtWorker)?;
            }
            Ending::Incomplete(_) | Ending::Error(_) => {
                session.resume().await?;
            }
        }
    }
    Ok(())
}

/// A person who is there all the time, and answers at once.
async fn attend(engine: &Engine, controller: &Controller, world: &World) -> Infallible {
    let (journal, id) = (engine.journal(), conversation());
    let mut seen = Seq(0);
    loop {
        let Ok(seq) = journal.wait_past(&id, seen).await else {
            // It has no entries yet.
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        seen = seq;
        let records = journal.read(&id, Seq(0), RECORDS_MAX).await.unwrap_or_default();
        for (inquiry, reply) in replies(&fold(&records), &id, world) {
            controller.answer(inquiry, reply).await;
        }
    }
}

/// A person who, when asked, lets another model go on; recorded together with the answer.
fn switch(play: Play<'_>, session: &mut Session) {
    if let Some(model) = play.provider.next_model() {
        let config = Config { model: Some(model), ..session.state().config.clone() };
        session.configure(&config);
    }
}

/// A person who answers what workers ask, where they ask it.
async fn answer_workers(
    play: Play<'_>,
    engine: &Engine,
    session: &Session,
    world: &World,
) -> Result<(), SessionError> {
    let steps = session.state().open_turn().into_iter().flat_map(Turn::steps);
    let open = steps.flat_map(|step| &step.calls).filter(|call| !call.is_done());
    let workers: Vec<_> = open.filter_map(|call| call.worker.clone()).collect();
    for worker in workers {
        if let Ok(mut worker) = engine.open(&worker).await {
            answer(play, engine, &mut worker, world).await?;
        }
    }
    Ok(())
}

/// A person who denies `set`, does `post` by hand, allows the rest, and settles doubts by looking at the
/// world.
async fn answer(
    play: Play<'_>,
    engine: &Engine,
    session: &mut Session,
    world: &World,
) -> Result<(), SessionError> {
    world.quiet().await;
    let replies = replies(session.state(), session.conversation(), world);
    for (number, (id, reply)) in (0..).zip(replies) {
        // A secret is told where it is asked.
        let letter = match play.answers {
            Answers::Here => None,
            Answers::ByLetter => AnswerLetter::new(id.clone(), &reply, Timestamp(number), number),
        };
        if let Some(letter) = letter {
            let (journal, conversation) = (&**engine.journal(), session.conversation());
            letter.post(journal, conversation).await.map_err(AppendError::from)?;
        } else {
            session.answer(&id, reply).await?;
        }
    }
    Ok(())
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

fn engine(
    play: Play<'_>,
    run: &dyn Run,
    journal: &Arc<dyn Journal>,
    world: &World,
    mortal: Arc<MortalJournal>,
) -> Engine {
    let models = WatchedModels { inner: run.models(), world: world.clone() };
    let mut builder = Engine::builder(mortal, Arc::new(models))
        .clock(Arc::new(RuntimeClock::starting_at(Timestamp(1_000_000))))
        .chance(Arc::new(SeededChance::new(7)))
        .lease_wait(LeaseWait::NONE);
    for tool in world_tools(world, journal).into_iter().chain(command_tools(world, journal)) {
        builder = builder.tool(tool);
    }
    if !play.turn.script().workers.is_empty() {
        builder = builder.delegate(Delegation::default());
    }
    builder.build()
}

fn config(play: Play<'_>, engine: &Engine) -> Config {
    let turn = play.turn;
    let mut config = Config {
        model: Some(play.provider.first_model(turn)),
        system: "You are a script.".into(),
        permissions: Permissions { mode: turn.mode, rules: Vec::new() },
        in_doubt: turn.in_doubt,
        limits: Limits { context_tokens_max: turn.context_tokens_max, ..play.provider.limits() },
        ..Config::default()
    };
    engine.offer_tools(&mut config);
    config
}

fn conversation() -> ConversationId {
    ConversationId::new("simulated")
}

async fn all_records(journal: &Arc<dyn Journal>) -> Records {
    let mut all = Records::new();
    for id in journal.find("", RECORDS_MAX).await.unwrap_or_default() {
        let records = journal.read(&id, Seq(0), RECORDS_MAX).await.unwrap_or_default();
        all.insert(id, records);
    }
    all
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
struct WatchedModels {
    inner: Arc<dyn Models>,
    world: World,
}

impl Models for WatchedModels {
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Model>, ModelFailure> {
        let (inner, world) = (self.inner.find(model)?, self.world.clone());
        Ok(Arc::new(WatchedModel { inner, world }))
    }
}

#[derive(Debug)]
struct WatchedModel {
    inner: Arc<dyn Model>,
    world: World,
}

impl Model for WatchedModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        for violation in integrity::violations(transcript) {
            self.world.complain(format!("invalid request: {violation}"));
        }
        let answers = |message: &&Message| matches!(message, Message::Assistant(_));
        let place = transcript.messages().iter().filter(answers).count();
        self.world
            .see(SeenRequest { place, content: format!("{:?}", oracle::comparable(transcript)) });
        let (world, stream) = (self.world.clone(), self.inner.ask(transcript));
        Box::pin(futures_util::StreamExt::then(stream, move |delta| {
            let world = world.clone();
            async move {
                // Bytes without meaning come as the network likes; a point there would have no name.
                if delta != Ok(Delta::Alive) {
                    world.point().await;
                }
                delta
            }
        }))
    }
}
