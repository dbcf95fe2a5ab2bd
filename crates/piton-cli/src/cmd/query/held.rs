//! A conversation that another process works on: the message is left for that process, and its turn
//! is followed; or the turn that runs is shown.

use std::time::Duration;

use piton::{
    Command, Conversation, Engine, Envelope, Follow, FollowError, LeaseWait, NewMessage, News,
    OpenError, Sender, Verdict, reader,
};
use piton_agent::engine_to_write;
use piton_core::id::{CommandId, ConversationId, MessageId, TurnId};
use piton_core::outcome::Ending;
use piton_core::view::{ItemView, TurnEnd, TurnView, View};
use piton_store::LeaseError;

use super::Asked;
use super::mail::Mail;
use super::perform::Stage;
use crate::output::Form;
use crate::render::incomplete::Newest;
use crate::render::lines::Line;
use crate::render::turn::{Piece, Shown};
use crate::report::{Fault, LetterFault, Report, key_advice};
use crate::store;

/// How often to look whether the process that works on the conversation is still there.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How a message reaches the turn of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Behind the turn.
    Queue,
    /// Into the turn.
    Steer,
}

/// What follows on a message that was left.
#[derive(Debug)]
pub(super) enum Followed {
    /// Its turn is over, or nobody waits for that.
    Done(Report),
    /// Nobody works on the conversation any more, and the message waits there.
    NobodyThere,
}

/// Leaves the message for the process that works on the conversation, and follows what it becomes.
pub(super) async fn leave(
    asked: &Asked<'_>,
    id: &ConversationId,
    way: Way,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Followed, Fault> {
    let engine = engine(asked, stage)?;
    let conversation = engine.conversation(id);
    let (name, message) = mail.leave_for(&conversation).await?;
    let command = CommandId::new(name.as_str());
    let directory = asked.settings.workspace()?.to_string_lossy().into_owned();
    let from = Sender { directory: Some(directory), flags: None };
    let envelope = Envelope { from, ..Envelope::new(command.clone(), way.command(message)) };
    conversation.leave(&envelope).await.map_err(LetterFault::from)?;
    let what = match way {
        Way::Queue => "runs behind its turn",
        Way::Steer => "goes into its turn",
    };
    let who = holder(&engine, id)
        .await?
        .map_or("the next process".into(), |pid| format!("process {pid}"));
    stage.output.talk(&format!("The message is left for {who} in conversation {id}, and {what}."));
    if asked.query.no_wait {
        return Ok(Followed::Done(Report::ok("accepted").kept_in(id.clone())));
    }
    let follow = engine.follow(id, None).await.map_err(LetterFault::from)?;
    let mut following =
        Following { engine, conversation, follow, view: None, shown: Shown::default() };
    let left = Left { way, name, command };
    let followed = following.see_through(&left, asked, mail, stage).await;
    match &followed {
        Err(Fault::Letter(LetterFault::Refused { .. })) => mail.come_back(),
        Err(Fault::Interrupted) => {
            let said = format!("The message stays where it was left: piton print {id} shows it.");
            stage.output.talk(&said);
        }
        Ok(_) | Err(_) => {}
    }
    followed
}

/// Shows the turn that runs, until it is over or nobody performs it.
pub(super) async fn watch(
    asked: &Asked<'_>,
    id: &ConversationId,
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    let engine = engine(asked, stage)?;
    let conversation = engine.conversation(id);
    let follow = engine.follow(id, None).await.map_err(LetterFault::from)?;
    let mut following =
        Following { engine, conversation, follow, view: None, shown: Shown::default() };
    let mut open = None;
    loop {
        let looked = following.next(stage).await?;
        let Some(view) = &following.view else { continue };
        open = open.or(view.head.open);
        let turn = open.and_then(|open| view.turns.iter().find(|turn| turn.head.id == open));
        let Some(turn) = turn else { return Ok(()) };
        for piece in following.shown.news(turn) {
            let (Piece::Answer(line) | Piece::Talk(line)) = piece;
            stage.output.talk(line.trim_end());
        }
        let is_over = turn.head.end.is_some() || turn.head.halt.is_some();
        let is_left = looked == Looked::Nothing && following.holder().await?.is_none();
        if is_over || is_left {
            return Ok(());
        }
    }
}

/// An engine that reads and leaves letters, and performs nothing.
fn engine(asked: &Asked<'_>, stage: &mut Stage<'_>) -> Result<Engine, Fault> {
    let journal = store::open(asked.settings, stage.output)?;
    Ok(engine_to_write(journal, asked.settings)?)
}

/// The process that works on a conversation.
async fn holder(engine: &Engine, id: &ConversationId) -> Result<Option<u32>, Fault> {
    let listed = engine.journal().status(id).await?;
    Ok(listed.and_then(|listed| listed.holder).map(|holder| holder.pid))
}

impl Way {
    fn command(self, message: NewMessage) -> Command {
        match self {
            Self::Queue => Command::Queue { message },
            Self::Steer => Command::Steer { message },
        }
    }
}

/// A message that was left.
#[derive(Debug)]
struct Left {
    way: Way,
    name: MessageId,
    command: CommandId,
}

/// A conversation that is followed.
#[derive(Debug)]
struct Following {
    engine: Engine,
    conversation: Conversation,
    follow: Follow,
    view: Option<View>,
    shown: Shown,
}

/// What came of waiting for news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looked {
    /// The view has moved.
    Moved,
    /// Nothing, for a while.
    Nothing,
}

/// Where a message is.
#[derive(Debug)]
enum Place<'a> {
    /// Nowhere yet.
    Unknown,
    /// It waits.
    Waits,
    /// It is in this turn.
    In(&'a TurnView),
}

impl Following {
    /// Waits for news, for a while.
    async fn next(&mut self, stage: &mut Stage<'_>) -> Result<Looked, Fault> {
        let news = tokio::select! {
            biased;
            _ = stage.signals.next() => return Err(Fault::Interrupted),
            news = tokio::time::timeout(LOOK_EVERY, self.follow.next()) => news,
        };
        let Ok(news) = news else { return Ok(Looked::Nothing) };
        match news.map_err(LetterFault::from)? {
            News::Snapshot(view) => {
                if stage.form == Form::Json {
                    let (id, turn) = (self.conversation.id().as_str(), next_turn(&view));
                    stage.output.json(&Line::view_of_turn(id, turn, (*view).clone()));
                }
                self.view = Some(*view);
            }
            News::Change(change) => {
                if stage.form == Form::Json {
                    stage.output.json(&Line::change(&change));
                }
                let fits = self.view.as_mut().is_some_and(|view| view.apply(&change).is_ok());
                if !fits {
                    // Never seen; then the view is read anew.
                    let anew = self.engine.follow(self.conversation.id(), None).await;
                    self.follow = anew.map_err(LetterFault::from)?;
                }
            }
            News::Live(_) | _ => {}
        }
        Ok(Looked::Moved)
    }

    async fn holder(&self) -> Result<Option<u32>, Fault> {
        holder(&self.engine, self.conversation.id()).await
    }

    /// Follows a message until its turn is over, or nobody works on the conversation.
    async fn see_through(
        &mut self,
        left: &Left,
        asked: &Asked<'_>,
        mail: &mut Mail,
        stage: &mut Stage<'_>,
    ) -> Result<Followed, Fault> {
        let mut waited = false;
        let mut is_first = true;
        loop {
            let looked = self.next(stage).await?;
            let Some(view) = &self.view else { continue };
            if std::mem::take(&mut is_first)
                && let Some(open) = view.turns.last().filter(|_| left.way == Way::Steer)
            {
                // What was there before the message is not its answer.
                self.shown.news(open);
            }
            mail.see_in(view);
            let place = place(view, &left.name);
            let (was_waiting, turn) = match &place {
                Place::In(turn) => (false, Some(turn.head.id)),
                Place::Waits => (true, None),
                Place::Unknown => (false, None),
            };
            if let Place::In(turn) = place {
                show(self.shown.news(turn), stage);
                match turn.head.end {
                    Some(TurnEnd::Completed) => return Ok(self.done()),
                    Some(TurnEnd::Stopped | TurnEnd::Discarded) => {
                        return Ok(Followed::Done(Report::ok("closed")));
                    }
                    None if turn.head.halt.is_some() => return self.left_open(asked).await,
                    None => {}
                }
            } else if waited && !was_waiting {
                let conversation = self.conversation.id().clone();
                return Err(LetterFault::TakenBack { conversation }.into());
            }
            waited |= was_waiting;
            if turn.is_none() && !waited {
                self.check_refused(left).await?;
            }
            if looked == Looked::Nothing && self.holder().await?.is_none() {
                match (turn, left.way) {
                    (Some(_), _) => return self.left_open(asked).await,
                    (None, Way::Queue) => return Ok(Followed::NobodyThere),
                    (None, Way::Steer) => self.take_here(left).await?,
                }
            }
        }
    }

    async fn check_refused(&self, left: &Left) -> Result<(), Fault> {
        let verdict = self.conversation.verdict(&left.command).await;
        match verdict.map_err(LetterFault::from)? {
            Some(Verdict::Refused(refusal)) => {
                let conversation = self.conversation.id().clone();
                let what = "the message was not taken";
                Err(LetterFault::Refused { what, refusal, conversation }.into())
            }
            Some(Verdict::Taken) | None => Ok(()),
        }
    }

    /// Records what was left, now that nobody else does. Nothing is performed.
    async fn take_here(&self, left: &Left) -> Result<(), Fault> {
        let id = self.conversation.id();
        match self.engine.open_within(id, LeaseWait::NONE).await {
            Ok(mut session) => {
                session.take_letters().await?;
            }
            Err(OpenError::Lease(LeaseError::Held { .. })) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.check_refused(left).await?;
        Err(waits(&self.engine, id).await?)
    }

    fn done(&self) -> Followed {
        let id = self.conversation.id();
        Followed::Done(Report::of_turn(&Ending::Done, id, None, "").kept_in(id.clone()))
    }

    /// The turn is not over, and its process goes no further.
    async fn left_open(&self, asked: &Asked<'_>) -> Result<Followed, Fault> {
        let id = self.conversation.id();
        let state = reader::state(&**self.engine.journal(), id).await?;
        let turn = Newest::of(&View::from(&state));
        let model = state.config.model.as_ref();
        let key = model.map(|model| key_advice(asked.agent.providers(), model));
        let ending = Ending::of(&state);
        let report = Report::of_turn(&ending, id, turn.as_ref(), &key.unwrap_or_default());
        Ok(Followed::Done(report.kept_in(id.clone())))
    }
}

/// Why a message that was left is not answered: nobody performs the turn in front of it.
async fn waits(engine: &Engine, id: &ConversationId) -> Result<Fault, Fault> {
    let view = engine.view(id).await.map_err(LetterFault::from)?;
    let conversation = id.clone();
    Ok(match view.head.open.and_then(|_| Newest::of(&view)) {
        Some(turn) => LetterFault::Waits { conversation, turn: Box::new(turn) }.into(),
        None => LetterFault::Follow(FollowError::Unknown(conversation)).into(),
    })
}

/// Finds a message.
fn place<'a>(view: &'a View, name: &MessageId) -> Place<'a> {
    if view.queue.iter().any(|queued| queued.id == *name) {
        return Place::Waits;
    }
    let has = |turn: &&TurnView| {
        turn.items.iter().any(|item| match item {
            ItemView::Message(message) => message.id == *name,
            ItemView::Step(_) | _ => false,
        })
    };
    view.turns.iter().rev().find(has).map_or(Place::Unknown, Place::In)
}

/// The turn that begins next.
fn next_turn(view: &View) -> TurnId {
    view.turns.last().map_or(TurnId(1), |turn| TurnId(turn.head.id.0 + 1))
}

fn show(pieces: Vec<Piece>, stage: &mut Stage<'_>) {
    for piece in pieces {
        match (piece, stage.form) {
            (Piece::Answer(text), Form::Text) => stage.output.data(&text),
            (Piece::Answer(_), Form::Json) => {}
            (Piece::Talk(line), _) => stage.output.talk(&line),
        }
    }
}
