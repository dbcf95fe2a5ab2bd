//! What a journal means: the fold from entries to state.
//!
//! The fold is total. It never fails, because a journal that cannot be read is a journal that is
//! lost. An event that does not fit is counted as a stray and changes nothing; an event of an
//! unknown kind is counted too, and its entry stays in the journal.

mod asking;
mod calibration;
mod call;
mod commands;
mod config;
mod context;
mod coordinated;
mod failure;
mod fork;
mod imported;
mod inquiry;
mod opened;
mod outage;
mod overlay;
mod past;
mod queue;
mod request;
mod short_outputs;
mod summing;
mod turn;
mod undo;
mod used;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::asking::{answer, ask, asked_step, fail, stream};
pub use self::calibration::Calibration;
pub use self::commands::Verdict;
pub use self::config::Config;
pub use self::coordinated::COORDINATOR;
pub use self::failure::Failure;
pub use self::imported::Imported;
pub use self::opened::Opened;
pub use self::outage::Outage;
pub use self::overlay::{Cut, Overlay};
pub use self::past::Frames;
pub use self::request::LastRequest;
pub(crate) use self::summing::TRIES_MAX;
pub use self::summing::{AskedPiece, Piece, Summing, Wanted};
pub use self::turn::{
    Answered, Broke, Call, Edit, Ended, Exchange, Item, OldAttempt, Parked, Progress, Raised, Said,
    Started, Step, Streamed, Turn,
};
pub use self::undo::Undone;
pub use self::used::ModelUsage;
use crate::event::{ConfigChange, Entry, Event, QueuePlace, Shelf, TurnEnd, Usage, UserPart};
use crate::id::{
    Attempt, CommandId, Digest, DriverId, Epoch, MessageId, Seq, StepId, Timestamp, TurnId,
};

/// A conversation, folded from its journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The last entry taken in.
    pub end: Seq,
    /// How the conversation began.
    pub opened: Option<Opened>,
    /// The program that it was taken over from.
    pub imported: Option<Imported>,
    /// Whether the conversation that it was forked from is gone, with what was said there.
    pub origin_gone: bool,
    /// The last turn that entries speak of although it is gone. Its number is not given again.
    pub turn_gone: TurnId,
    /// What applies now.
    pub config: Config,
    /// Who performs.
    pub driver: Option<Driver>,
    /// All turns, the open one last.
    pub turns: Vec<Turn>,
    /// Turns that a retry of an earlier message superseded: hidden, kept.
    pub superseded: Vec<Turn>,
    /// Messages that wait for the open turn to complete.
    pub queue: Vec<Queued>,
    /// Whether messages that wait may begin although the last turn was left.
    pub released: bool,
    /// What became of commands, and in which entry that is said.
    pub commands: BTreeMap<CommandId, (Seq, Verdict)>,
    /// Changes of files that a person took back, in order.
    pub undos: Vec<Undone>,
    /// What the model has not heard yet of those.
    pub untold: Vec<Arc<str>>,
    /// What the system prompt says of the context: the names, and what they said when it was made.
    pub prompted: BTreeMap<String, Digest>,
    /// The summary that lies over the oldest turns.
    pub overlay: Option<Overlay>,
    /// Summaries in the making.
    pub summing: Summing,
    /// Tokens of the whole conversation.
    pub usage: Usage,
    /// The same by the model that answered, in the order in which they first did.
    pub used: Vec<ModelUsage>,
    /// How far estimates are from what providers count.
    pub calibration: Calibration,
    /// When a turn last began or ended.
    pub touched: Timestamp,
    /// Where it is kept, for people.
    pub shelf: Shelf,
    /// Estimated size of the newest request, in tokens.
    pub context_estimated: u64,
    /// Events that did not fit.
    pub strays: u64,
    /// Events of unknown kinds.
    pub unknown: u64,
    /// Grows with every event that may change more than the last step of the open turn. As long as it
    /// is the same, what stands before that step means the same.
    pub past: u64,
    /// Grows with every event that changes what an answered request held. As long as it is the same,
    /// every request to a model begins with the last one that this model answered.
    pub rewrites: u64,
    /// The system prompts and tool lists that there were.
    pub frames: Frames,
}

/// The driver that performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub id: DriverId,
    /// The fencing number of its lease.
    pub epoch: Epoch,
    /// Its process.
    pub pid: u32,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    /// Its name.
    pub message: MessageId,
    /// What it consists of.
    pub parts: Vec<UserPart>,
    /// What it waits for.
    pub place: QueuePlace,
    /// When it was queued.
    pub at: Timestamp,
}

impl State {
    /// The directory that tools are confined to; empty as long as nothing says it.
    pub fn workspace(&self) -> &str {
        self.opened.as_ref().map_or("", |opened| &opened.workspace)
    }

    /// Folds a whole journal.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut state = Self::default();
        for entry in entries {
            state.apply(entry);
        }
        state
    }

    /// The turn that is not over, if there is one.
    pub fn open_turn(&self) -> Option<&Turn> {
        self.turns.last().filter(|turn| turn.end.is_none())
    }

    fn open_turn_mut(&mut self) -> Option<&mut Turn> {
        self.turns.last_mut().filter(|turn| turn.end.is_none())
    }

    /// Whether the queue drains: behind a completed turn only. Whoever stopped or discarded a turn
    /// wants to look first; the next turn that completes sets the queue going again.
    pub fn may_drain(&self) -> bool {
        let completed = |turn: &Turn| turn.end == Some(TurnEnd::Completed);
        self.released || self.turns.last().is_none_or(completed)
    }

    /// The name of the next turn.
    pub fn next_turn(&self) -> TurnId {
        TurnId(self.last_turn().0.saturating_add(1))
    }

    fn last_turn(&self) -> TurnId {
        let turns = self.turns.iter().chain(&self.superseded);
        turns.map(|turn| turn.id).max().unwrap_or_default().max(self.turn_gone)
    }

    /// Takes in one entry.
    pub fn apply(&mut self, entry: &Entry) {
        self.end = entry.seq;
        let goes_on = self.goes_on(&entry.event);
        let rewrite = self.rewrite_by(&entry.event);
        let fits = self.take(&entry.event, entry.at);
        if !fits && self.origin_gone {
            self.miss_turn_of(&entry.event);
        }
        if let Some(rewrite) = rewrite.filter(|_| fits) {
            self.rewrite(rewrite);
        }
        self.past += u64::from(fits && !goes_on);
        self.strays += u64::from(!fits);
    }

    /// Takes in one event; says whether it fits.
    fn take(&mut self, event: &Event, at: Timestamp) -> bool {
        match event {
            Event::ConversationOpened { .. } => {
                self.touched = self.touched.max(at);
                Opened::of(event).is_some_and(|opened| self.open(opened))
            }
            Event::ConversationImported { .. } => self.take_over(event, at),
            Event::ConfigChanged { change } => self.configure(change),
            Event::DriverStarted { .. } => self.start_driver(event),
            Event::TurnStarted { turn, agent } => self.begin(*turn, agent.clone(), at),
            Event::ContextAdded { turn, items } => self.add_context(*turn, items),
            Event::UserMessage { message, parts, attempt } => {
                let (message, attempt) = (message.clone(), *attempt);
                self.say(Said { message, parts: parts.clone(), attempt, left_out: Vec::new(), at })
            }
            Event::TurnResumed { turn } => self.in_turn(Some(*turn), Turn::grant),
            Event::ModelAsked { .. } => self.ask(event, at),
            Event::ModelPartial { kind, text } => self.in_step(|step| stream(step, *kind, text)),
            Event::ModelAnswered { .. } => self.answer(event, at),
            Event::ModelFailed { .. } => {
                self.in_step(|step| Failure::of(event, at).is_some_and(|it| fail(step, it)))
            }
            Event::HistoryRepaired { steps } => self.repair(steps),
            Event::InquiryRaised { inquiry } => {
                self.in_turn(None, |turn| inquiry::raise(turn, inquiry, at))
            }
            Event::InquiryAnswered { inquiry, answer, by, letter, by_rule } => {
                let (elsewhere, by_rule) = (letter.is_some(), *by_rule);
                let given = inquiry::Given { answer, by, at, elsewhere, by_rule };
                self.in_turn(None, |turn| inquiry::settle(turn, inquiry, given))
            }
            Event::ToolStarted { .. }
            | Event::ToolFinished { .. }
            | Event::ToolSuspended { .. }
            | Event::CallParked { .. }
            | Event::CallTracked { .. }
            | Event::CallLocated { .. }
            | Event::CallsPlanned { .. } => self.take_of_call(event, at),
            Event::TurnEnded { turn, end } => self.close(*turn, *end, at),
            Event::TurnBroke { .. } => self.break_off(event, at),
            Event::MessageRetried { message, attempt } => self.retry(message, *attempt, at),
            Event::Compacted { .. }
            | Event::SummaryLaid { .. }
            | Event::SummaryLifted
            | Event::SummaryWanted { .. }
            | Event::SummaryAsked { .. }
            | Event::SummaryAnswered { .. }
            | Event::SummaryFailed { .. }
            | Event::WindowLearned { .. } => self.take_of_summary(event, at),
            Event::OutputsShortened { outputs } => self.shorten(outputs),
            Event::MessageQueued { message, parts, place } => self.queue(Queued {
                message: message.clone(),
                parts: parts.clone(),
                place: *place,
                at,
            }),
            Event::QueueReleased
            | Event::CommandTaken { .. }
            | Event::CommandRefused { .. }
            | Event::TitleGiven { .. }
            | Event::ConversationShelved { .. }
            | Event::WorkspaceBound { .. } => self.obey(event),
            Event::MessageRequeued { message, change } => self.requeue(message, change),
            Event::MessageUnqueued { message } => self.unqueue(message),
            Event::UndoStarted { intent } => self.begin_undo(intent, at),
            Event::UndoFinished { change, outcome, text } => self.end_undo(change, *outcome, text),
            Event::Unknown(_) => {
                self.unknown += 1;
                true
            }
        }
    }

    fn start_driver(&mut self, event: &Event) -> bool {
        let Event::DriverStarted { driver, epoch, pid, .. } = event else { return false };
        self.driver = Some(Driver { id: driver.clone(), epoch: *epoch, pid: *pid });
        self.summing.lose_the_request();
        self.open_turn_mut().is_none_or(Turn::lose_what_is_in_flight)
    }

    fn ask(&mut self, event: &Event, at: Timestamp) -> bool {
        let Event::ModelAsked { step, attempt, model, tokens_estimated, .. } = event else {
            return false;
        };
        let (frame, estimated) = (self.frames.now, *tokens_estimated);
        let (divisor, rewrites) = (self.config.limits.divisor(), self.rewrites);
        let request = LastRequest { frame, estimated, divisor, rewrites, ..LastRequest::default() };
        let asked = (*step, *attempt);
        let fits = self.in_turn(None, |turn| ask(turn, asked, model, request, at));
        self.calibration.ask(if fits { *tokens_estimated } else { 0 });
        if fits {
            self.context_estimated = *tokens_estimated;
            self.tell();
        }
        fits
    }

    fn answer(&mut self, event: &Event, at: Timestamp) -> bool {
        let Event::ModelAnswered { parts, finish, usage, dropped, native } = event else {
            return false;
        };
        let answered = Answered {
            parts: parts.as_slice().into(),
            finish: *finish,
            dropped: dropped.clone(),
            usage: *usage,
            native: native.clone(),
            model: None,
            at,
        };
        let fits = self.in_turn(None, |turn| answer(turn, answered));
        if fits {
            self.count(*usage);
            self.calibrate(*usage, parts);
        }
        fits
    }

    fn configure(&mut self, change: &ConfigChange) -> bool {
        let fits = self.config.change(change);
        if change.system.is_some() || change.tools.is_some() {
            self.frames.enter(&self.config);
        }
        fits
    }

    fn open(&mut self, opened: Opened) -> bool {
        let fits = self.opened.is_none();
        self.opened.get_or_insert(opened);
        fits
    }

    fn break_off(&mut self, event: &Event, at: Timestamp) -> bool {
        let Event::TurnBroke { turn, reason, message } = event else { return false };
        let fits = self.in_turn(Some(*turn), |turn| {
            turn.broke = Some(Broke { reason: *reason, message: message.clone(), at });
            turn.lose_what_is_in_flight()
        });
        if fits {
            self.summing.lose_the_request();
        }
        fits
    }

    fn close(&mut self, turn: TurnId, end: TurnEnd, at: Timestamp) -> bool {
        let fits = self.in_turn(Some(turn), |turn| {
            turn.broke = None;
            turn.end = Some(end);
            turn.closed = Some(at);
            turn.lose_what_is_in_flight()
        });
        if fits {
            self.touched = self.touched.max(at);
            self.released = false;
            self.summing.lose_the_request();
        }
        if fits && end == TurnEnd::Discarded {
            self.uncover(turn);
            let turn = self.turns.pop();
            let turn = self.tell_again_of(turn);
            self.turns.extend(turn);
        }
        fits
    }

    /// Applies a change to the step whose answer is awaited.
    fn in_step(&mut self, change: impl FnOnce(&mut Step) -> bool) -> bool {
        self.in_turn(None, |turn| asked_step(turn).is_some_and(change))
    }

    /// Applies a change to the open turn, if there is one and it is the one that is meant.
    fn in_turn(&mut self, id: Option<TurnId>, change: impl FnOnce(&mut Turn) -> bool) -> bool {
        self.open_turn_mut().filter(|turn| id.is_none_or(|id| id == turn.id)).is_some_and(change)
    }

    fn begin(&mut self, id: TurnId, agent: Option<String>, at: Timestamp) -> bool {
        // Only the last turn is ever open, and names only grow: overlays cover turns by their name.
        if self.open_turn().is_some() || id <= self.last_turn() {
            return false;
        }
        self.turns.push(Turn::new(id, agent, at));
        self.shelf = Shelf::Listed;
        self.summing.begin_turn();
        self.touched = self.touched.max(at);
        true
    }

    fn say(&mut self, said: Said) -> bool {
        // A message that says nothing cannot be sent to anybody.
        if !said.parts.iter().any(UserPart::has_content) {
            return false;
        }
        let (message, attempt) = (said.message.clone(), said.attempt);
        let parts = said.parts.clone();
        let fits = self.in_turn(None, |turn| {
            let known = turn.items.iter_mut().find_map(|item| match item {
                Item::User(said) if said.message == message => Some(said),
                Item::User(_) | Item::Step(_) => None,
            });
            match known {
                // A message that was sent twice by a nervous client is one message.
                Some(old) if attempt <= old.attempt && old.parts == said.parts => return false,
                Some(old) if attempt < old.attempt => return false,
                Some(old) => {
                    let (old, begin) = (std::mem::replace(old, said), turn.superseded.len());
                    if old.attempt < attempt {
                        let (end, broke) = (turn.end, turn.broke.clone());
                        turn.attempts.push(OldAttempt { said: old, begin, end, broke });
                    }
                }
                None => {
                    // A request under way does not hold this message, so its answer is no answer.
                    turn.lose_the_request();
                    turn.items.push(Item::User(said));
                }
            }
            turn.grant();
            true
        });
        if fits {
            self.unqueue(&message);
            if parts.iter().any(|part| matches!(part, UserPart::File { .. })) {
                self.leave_out_old_files();
            }
        }
        fits
    }

    /// Takes in what happened to a call. The files that it gave may take the room of older ones.
    fn take_of_call(&mut self, event: &Event, at: Timestamp) -> bool {
        let fits = self.in_turn(None, |turn| call::take(turn, event, at));
        if fits && matches!(event, Event::ToolFinished { output, .. } if !output.files.is_empty()) {
            self.leave_out_old_files();
        }
        fits
    }

    fn retry(&mut self, message: &MessageId, attempt: Attempt, at: Timestamp) -> bool {
        let holds = |turn: &Turn| turn.said().any(|said| said.message == *message);
        let Some(place) = self.turns.iter().rposition(holds) else { return false };
        let mut behind: Vec<_> = self.turns.drain(place + 1..).collect();
        self.tell_again(behind.iter_mut().flat_map(|turn| &mut turn.items));
        self.superseded.extend(behind);
        let Some(turn) = self.turns.last_mut() else { return false };
        let behind = turn.items.iter().position(|item| match item {
            Item::User(said) => said.message == *message,
            Item::Step(_) => false,
        });
        let mut old = turn.items.split_off(behind.map_or(0, |place| place + 1));
        let told = Self::take_told(&mut old);
        let begin = turn.superseded.len();
        turn.superseded.extend(old);
        turn.inquiries.clear();
        let (end, broke) = (turn.end.take(), turn.broke.take());
        turn.closed = None;
        turn.grant();
        if let Some(Item::User(said)) = turn.items.last_mut() {
            turn.attempts.push(OldAttempt { said: said.clone(), begin, end, broke });
            said.attempt = attempt;
            said.at = at;
        }
        let id = turn.id;
        self.uncover(id);
        self.untold.splice(0..0, told);
        true
    }

    /// Native blocks go; a repair that takes none away is none.
    fn repair(&mut self, steps: &[StepId]) -> bool {
        let mut shrank = false;
        for turn in &mut self.turns {
            let id = turn.id;
            for step in turn.steps_mut() {
                let is_named = steps.contains(&StepId { turn: id, step: step.number });
                if let Some(answer) = step.answer.as_mut().filter(|_| is_named) {
                    shrank |= answer.native.take().is_some();
                }
            }
        }
        if let Some(turn) = self.open_turn_mut().filter(|_| shrank) {
            turn.forgive_rejection();
            turn.repairs += 1;
        }
        shrank
    }
}
