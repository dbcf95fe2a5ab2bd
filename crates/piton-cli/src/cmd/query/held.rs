//! A conversation that another process works on: the message is left for that process, and its turn
//! is followed; or the turn that runs is shown.

use std::time::Duration;

use piton::{
    Command, CommandError, Conversation, Engine, Envelope, Follow, FollowError, ForkAt, Kept,
    LeaseWait, NewMessage, News, Verdict,
};
use piton_agent::engine_to_write;
use piton_core::id::{CommandId, ConversationId, MessageId};
use piton_core::tasks::UPDATE_PLAN;
use piton_core::view::{ItemView, TurnEnd, TurnView, View};

use super::asked::Asked;
use super::face::{show_change, show_tasks};
use super::mail::Mail;
use super::plan::Wish;
use super::requeue::place_behind;
use super::stage::Stage;
use crate::cmd::fork;
use crate::output::Form;
use crate::render::incomplete::Newest;
use crate::render::lines::Line;
use crate::render::moves::{self, Move};
use crate::render::{question, tool};
use crate::report::{Fault, LetterFault, Remedies, Report};
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
    // Followed before anything is left: nothing of its answer is missed.
    let follow = conversation.follow().await.map_err(LetterFault::from)?;
    let (name, message) = mail.leave_for(&conversation).await?;
    let command = CommandId::new(name.as_str());
    let envelope =
        Envelope { from: asked.sender()?, ..Envelope::new(command.clone(), way.command(message)) };
    if let Some(refusal) = conversation.foreseen(&envelope).await.map_err(LetterFault::from)? {
        mail.come_back();
        return Err(LetterFault::NotLeft { refusal, conversation: id.clone() }.into());
    }
    let ahead = ahead(&engine, id).await?;
    conversation.leave(&envelope).await.map_err(LetterFault::from)?;
    let what = match (way, place_behind(ahead)) {
        (Way::Queue, place) if place.is_empty() => "runs behind its turn".to_owned(),
        (Way::Queue, place) => format!("runs behind its turn, {place}"),
        (Way::Steer, _) => "goes into its turn".to_owned(),
    };
    let who = holder(&engine, id)
        .await?
        .map_or("the next process".into(), |pid| format!("process {pid}"));
    stage.output.talk(&format!("The message is left for {who} in conversation {id}, and {what}."));
    if asked.query.no_wait || asked.wish == Wish::Leave {
        stage.output.talk(
            "Should that process refuse it after all, it is kept: piton draft shows it then.",
        );
        let report = Report::ok("accepted").about(id, None).with_message(name);
        return Ok(Followed::Done(report.kept_in(id.clone())));
    }
    let mut following = Following { engine, conversation, follow, view: None, moves: Vec::new() };
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

/// How a turn was left that was watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    /// It is over.
    Over,
    /// It is not over, and nobody works on it.
    Left,
}

impl Watched {
    /// What is said of it, and of what comes next.
    pub(super) fn said(self, is_message: bool) -> &'static str {
        match (self, is_message) {
            (Self::Over, true) => {
                "That turn is over. Your message goes as soon as the conversation is free."
            }
            (Self::Over, false) => "That turn is over.",
            (Self::Left, _) => "That turn is not over, but its process has left it.",
        }
    }
}

/// Shows the turn that runs, until it is over or nobody performs it.
pub(super) async fn watch(
    asked: &Asked<'_>,
    id: &ConversationId,
    stage: &mut Stage<'_>,
) -> Result<Watched, Fault> {
    let engine = engine(asked, stage)?;
    let conversation = engine.conversation(id);
    let follow = engine.follow(id, None).await.map_err(LetterFault::from)?;
    let mut following = Following { engine, conversation, follow, view: None, moves: Vec::new() };
    let mut open = None;
    loop {
        let looked = following.next(stage).await?;
        let Some(view) = &following.view else { continue };
        open = open.or(view.head.open);
        let turn = open.and_then(|open| view.turns.iter().find(|turn| turn.head.id == open));
        let Some(turn) = turn else { return Ok(Watched::Over) };
        for line in std::mem::take(&mut following.moves).iter().filter_map(|it| told(it, id)) {
            let (Piece::Answer(line) | Piece::Talk(line)) = line;
            stage.output.talk(line.trim_end());
        }
        if turn.head.end.is_some() {
            return Ok(Watched::Over);
        }
        let is_halted = turn.head.halt.is_some();
        if is_halted || looked == Looked::Nothing && following.holder().await?.is_none() {
            return Ok(Watched::Left);
        }
    }
}

/// Forks the conversation at a place. Gives the name of the fork.
pub(super) async fn fork(
    asked: &Asked<'_>,
    (id, at): (&ConversationId, &ForkAt),
    stage: &mut Stage<'_>,
) -> Result<String, Fault> {
    let engine = engine(asked, stage)?;
    let fork::Made { conversation, told, .. } = fork::make(&engine, id, at, None).await?;
    stage.output.talk(&told);
    Ok(conversation.to_string())
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

/// How many messages wait in a conversation, those included that nobody has taken yet.
async fn ahead(engine: &Engine, id: &ConversationId) -> Result<usize, Fault> {
    let letters = Kept::of(&**engine.journal(), id).await?;
    let letters =
        letters.iter().filter(|it| matches!(it.envelope.command, Command::Queue { .. })).count();
    let listed = engine.journal().status(id).await?;
    Ok(letters + listed.map_or(0, |listed| listed.row.waiting as usize))
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
    /// What happened, and was not shown yet.
    moves: Vec<Move>,
}

/// Something to show.
enum Piece {
    /// An answer of the model, whole.
    Answer(String),
    /// What happens besides, for the person.
    Talk(String),
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
pub(super) enum Place<'a> {
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
                    let (id, turn) = (self.conversation.id().as_str(), view.next_turn());
                    stage.output.json(&Line::view_of_turn(id, turn, (*view).clone()));
                }
                self.moves.extend(view.turns.last().into_iter().flat_map(moves::of_turn));
                self.view = Some(*view);
            }
            News::Change(change) => {
                if stage.form == Form::Json {
                    stage.output.json(&Line::change(&change));
                }
                let moves = self.view.as_mut().and_then(|view| moves::apply(view, &change));
                if let Some(moves) = moves {
                    self.moves.extend(moves);
                } else {
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
            if std::mem::take(&mut is_first) && left.way == Way::Steer {
                // What was there before the message is not its answer.
                self.moves.clear();
            }
            mail.see_in(view);
            let place = place(view, &left.name);
            let (was_waiting, turn) = match &place {
                Place::In(turn) => (false, Some(turn.head.id)),
                Place::Waits => (true, None),
                Place::Unknown => (false, None),
            };
            let moves = std::mem::take(&mut self.moves);
            if let Place::In(turn) = place {
                show(&moves, self.conversation.id(), stage);
                match turn.head.end {
                    Some(TurnEnd::Completed) => return Ok(self.done(turn)),
                    Some(TurnEnd::Stopped | TurnEnd::Discarded) => {
                        let closed = Report::ok("closed").about(self.conversation.id(), Some(turn));
                        return Ok(Followed::Done(closed));
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
                // One that was refused can be sent once more.
                self.check_refused(left).await.inspect_err(|_| mail.come_back())?;
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

    /// Has what was left recorded by this process, now that nobody else does.
    async fn take_here(&self, left: &Left) -> Result<(), Fault> {
        let id = self.conversation.id();
        let hold = match self.conversation.hold(LeaseWait::NONE).await {
            Err(CommandError::Open(error)) if error.is_held() => return Ok(()),
            hold => hold?,
        };
        self.check_refused(left).await?;
        let waits = waits(&self.engine, id).await;
        drop(hold);
        Err(waits?)
    }

    fn done(&self, turn: &TurnView) -> Followed {
        let id = self.conversation.id();
        let report = Report::ok("done").about(id, Some(turn));
        Followed::Done(report.kept_in(id.clone()))
    }

    /// The turn is not over, and its process goes no further.
    async fn left_open(&self, asked: &Asked<'_>) -> Result<Followed, Fault> {
        let id = self.conversation.id();
        let view = self.engine.view(id).await?;
        let turn = Newest::of(&view);
        let remedies = view.head.model.as_ref().map(|it| Remedies::of(&asked.agent, it));
        let remedies = remedies.map(|it| it.within(view.head.allowance));
        let ending = self.conversation.ending().await?;
        let report = Report::of_turn(&ending, id, turn.as_ref(), &remedies.unwrap_or_default())
            .about(id, view.turns.last())
            .with_all_of(&view);
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
pub(super) fn place<'a>(view: &'a View, name: &MessageId) -> Place<'a> {
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

/// What is said of something that happened.
fn told(happened: &Move, id: &ConversationId) -> Option<Piece> {
    Some(match happened {
        Move::Answered(text) if text.is_empty() => return None,
        Move::Answered(text) if text.ends_with('\n') => Piece::Answer(text.clone()),
        Move::Answered(text) => Piece::Answer(format!("{text}\n")),
        Move::Started(call) if *call.tool == *UPDATE_PLAN => return None,
        Move::Started(call) => Piece::Talk(tool::started(call)),
        Move::Ended(call) if call.lists_tasks() => return None,
        Move::Ended(call) => Piece::Talk(tool::finished(call)),
        Move::Raised(_, question) => Piece::Talk(format!(
            "asks: {}\nhint: to answer it: piton answer --id {id}",
            question::shown(question)
        )),
        Move::TurnBegan(_)
        | Move::Said(_)
        | Move::Asked
        | Move::Planned(_)
        | Move::Failed(_)
        | Move::Broke
        | Move::Suspended(_)
        | Move::Settled(..)
        | Move::SummingUp(_)
        | Move::SummedUp(_)
        | Move::Shortened(_)
        | Move::Repaired => return None,
    })
}

pub(super) fn show(moves: &[Move], id: &ConversationId, stage: &mut Stage<'_>) {
    for happened in moves {
        match (told(happened, id), stage.form) {
            (Some(Piece::Answer(text)), Form::Text) => {
                stage.output.answer(&text);
                stage.output.end_answer();
            }
            (Some(Piece::Talk(line)), _) => stage.output.talk(&line),
            (Some(Piece::Answer(_)), Form::Json) | (None, _) => {}
        }
        let Move::Ended(call) = happened else { continue };
        if call.lists_tasks() {
            show_tasks(&call.tasks, stage.output);
        } else {
            show_change(call, stage.output);
        }
    }
}
