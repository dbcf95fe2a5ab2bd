//! What becomes of one message: how its turn stands when nothing moves it on any more.

use piton::id::MessageId;
use piton::list::Activity;
use piton::view::{BreakReason, ItemView, TurnEnd, TurnView};
use piton::{Cause, Conversation, Ending, Envelope, News, Stage, Verdict, View, Work, reader};
use piton_core::state::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::fault::Fault;
use crate::forms::of_core;
use crate::shared::Shared;

/// How the turn of a message stands, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndingWord {
    /// The model gave its final answer.
    Done,
    /// A person closed the turn.
    Closed,
    /// Work was done and kept; it can be continued.
    Incomplete,
    /// It broke before any work was done; it can be continued or tried again.
    Error,
    /// A person has to answer.
    WaitingForInput,
    /// The message still waits for a turn, and nothing moves the conversation on: the turn in front of it
    /// is not over.
    Queued,
    /// There is no turn: the message was taken back from the queue.
    Nothing,
}

impl From<&Ending> for EndingWord {
    fn from(ending: &Ending) -> Self {
        match ending {
            Ending::Done => Self::Done,
            Ending::Closed(_) => Self::Closed,
            Ending::Incomplete(_) => Self::Incomplete,
            Ending::Error(_) => Self::Error,
            Ending::WaitingForInput => Self::WaitingForInput,
            Ending::Nothing => Self::Nothing,
        }
    }
}

/// Why a turn is not over.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CauseView {
    /// The reason, in a word; absent if the process that performed the turn was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = of_core::<BreakReason>)]
    reason: Option<BreakReason>,
    /// More about it, for people.
    message: String,
}

impl CauseView {
    fn of(ending: &Ending) -> Option<Self> {
        let (Ending::Incomplete(cause) | Ending::Error(cause)) = ending else { return None };
        let Cause { reason, failure, message } = cause;
        let message = match failure {
            Some(failure) if message.is_empty() => failure.message.clone(),
            None if message.is_empty() => words_of(*reason).to_owned(),
            Some(_) | None => message.clone(),
        };
        Some(Self { reason: *reason, message })
    }
}

/// What is said of a reason that came without words.
fn words_of(reason: Option<BreakReason>) -> &'static str {
    match reason {
        None => "the process was lost",
        Some(BreakReason::ApiError) => "the model could not be reached, or refused",
        Some(BreakReason::EmptyAnswer) => "the model answered with nothing",
        Some(BreakReason::MaxSteps) => "the allowance of steps is spent",
        Some(BreakReason::Interrupted) => "a person interrupted the turn",
        Some(BreakReason::Limit) => "a limit was reached",
    }
}

/// What became of a message.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ending: EndingWord,
    pub(crate) cause: Option<CauseView>,
    pub(crate) answer: Option<String>,
}

impl From<EndingWord> for Outcome {
    fn from(ending: EndingWord) -> Self {
        Self { ending, cause: None, answer: None }
    }
}

/// Where a message is.
enum Place<'a> {
    /// In this turn.
    Turn(&'a TurnView),
    /// In the queue.
    Queue,
    /// Neither there nor there.
    Nowhere,
}

impl<'a> Place<'a> {
    fn of(view: &'a View, message: &MessageId) -> Self {
        let turns = view.turns.iter().rev().chain(view.superseded.iter().rev());
        let mut turns = turns.filter(|turn| brings(turn, message));
        match turns.next() {
            Some(turn) => Self::Turn(turn),
            None if view.queue.iter().any(|queued| queued.id == *message) => Self::Queue,
            None => Self::Nowhere,
        }
    }
}

/// Whether a message was said in a turn.
fn brings(turn: &TurnView, wanted: &MessageId) -> bool {
    turn.items.iter().any(|item| matches!(item, ItemView::Message(it) if it.id == *wanted))
}

/// A client that waits for the answer of its message.
pub(super) struct Waiter<'a> {
    shared: &'a Shared,
    conversation: Conversation,
    envelope: Envelope,
    message: MessageId,
}

impl<'a> Waiter<'a> {
    /// A client that has sent an envelope with a message.
    pub(super) fn new(shared: &'a Shared, conversation: Conversation, envelope: Envelope) -> Self {
        // A message without a name is named after its command.
        let given = envelope.command.message().and_then(|message| message.id.clone());
        let message = given.unwrap_or_else(|| MessageId::new(envelope.id.as_str()));
        Self { shared, conversation, envelope, message }
    }

    /// Waits until the turn of the message is over, or the conversation rests.
    pub(super) async fn outcome(&self, work: Work) -> Result<Outcome, Fault> {
        let mut work = work;
        loop {
            let rested = tokio::select! {
                biased;
                over = self.over() => over.map(|()| None)?,
                rested = work.rest() => Some(rested),
            };
            // First whether it rests: what is read behind that is how it came to rest.
            let row = self.shared.engine().row(self.conversation.id()).await?;
            let journal = self.shared.engine().journal();
            let state = reader::state(&**journal, self.conversation.id()).await?;
            if let Some(outcome) = self.read(&state)? {
                return Ok(outcome);
            }
            if let Some(Err(error)) = rested {
                return Err(error.into());
            }
            let rests = row.is_some_and(|row| rests(&row.activity) && row.end == state.end);
            if rests {
                return Ok(self.at_rest(&state));
            }
            // It goes on already. A command that is sent again only waits.
            work = self.conversation.start(self.envelope.clone()).await?;
        }
    }

    /// Waits until the turn of the message is over, or the message is gone.
    async fn over(&self) -> Result<(), Fault> {
        let mut follow = self.shared.engine().follow(self.conversation.id(), None).await?;
        let mut view = View::default();
        loop {
            match follow.next().await? {
                News::Snapshot(whole) => view = *whole,
                News::Change(change) => {
                    if view.apply(&change).is_err() {
                        view = self.shared.engine().view(self.conversation.id()).await?;
                    }
                }
                News::Live(_) | _ => continue,
            }
            let is_over = match Place::of(&view, &self.message) {
                Place::Turn(turn) => turn.head.end.is_some(),
                Place::Queue => false,
                // A letter that nobody has taken brings it yet.
                Place::Nowhere => self.conversation.verdict(&self.envelope.id).await?.is_some(),
            };
            if is_over {
                return Ok(());
            }
        }
    }

    /// What became of the message, if that does not change by itself.
    fn read(&self, state: &State) -> Result<Option<Outcome>, Fault> {
        let view = View::from(state);
        match (Place::of(&view, &self.message), state.commands.get(&self.envelope.id)) {
            (_, Some((_, Verdict::Refused(refusal)))) => Err(Fault::refused(refusal)),
            (Place::Turn(turn), _) => Ok(turn.head.end.map(|end| ended(turn, end))),
            (Place::Nowhere, Some((_, Verdict::Taken))) => Ok(Some(EndingWord::Nothing.into())),
            (Place::Nowhere, None) | (Place::Queue, _) => Ok(None),
        }
    }

    /// How it stands in a conversation that rests.
    fn at_rest(&self, state: &State) -> Outcome {
        let view = View::from(state);
        match Place::of(&view, &self.message) {
            Place::Turn(turn) => {
                // A turn that is not over is the last one.
                let ending = Ending::of(state);
                let (cause, answer) = (CauseView::of(&ending), turn.answer());
                Outcome { ending: EndingWord::from(&ending), cause, answer }
            }
            Place::Queue | Place::Nowhere => EndingWord::Queued.into(),
        }
    }
}

/// What became of a turn that is over. What was discarded is not shown.
fn ended(turn: &TurnView, end: TurnEnd) -> Outcome {
    let ending = match end {
        TurnEnd::Completed => EndingWord::Done,
        TurnEnd::Stopped | TurnEnd::Discarded => EndingWord::Closed,
    };
    let answer = turn.answer().filter(|_| end != TurnEnd::Discarded);
    Outcome { ending, cause: None, answer }
}

/// Whether nothing moves a conversation on.
fn rests(activity: &Activity) -> bool {
    match activity {
        Activity::Nobody | Activity::Here(Stage::Resting) => true,
        Activity::Here(_) | Activity::Elsewhere(_) | _ => false,
    }
}
