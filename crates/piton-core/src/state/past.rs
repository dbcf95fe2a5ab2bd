//! What changes the past, and what follows from it.
//!
//! Requests are append-only: to the same model, each one begins with the last answered one and its
//! answer. Providers check that where they replay native blocks, and prompt caches live on it. Only the
//! events that [`State::rewrite_by`] names, and a file that takes the room of older ones, change what an
//! answered request held. Native blocks behind the first change are then left out of all later requests.

use std::sync::Arc;

use super::{Config, Exchange, Item, LastRequest, State, Step, Turn};
use crate::attachment::FILES_BYTES_MAX;
use crate::event::{ConfigChange, Event, Native, ToolSpec, TurnEnd, UserPart};
use crate::id::{CallId, MessageId, TurnId};
use crate::subject::Subject;

/// What stands before the messages of a request: system prompts and tool lists, each pair once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frames {
    known: Vec<Frame>,
    /// Which of them applies, counted from 1; 0 before the first.
    pub(super) now: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct Frame {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
}

impl Frames {
    /// The configuration has changed. The same prompt and tools get the same number again.
    pub(super) fn enter(&mut self, config: &Config) {
        let tools = config.tools.iter().map(as_sent).collect();
        let frame = Frame { system: config.system.clone(), tools };
        let place = self.known.iter().position(|known| *known == frame);
        self.now = 1 + place.unwrap_or(self.known.len());
        if place.is_none() {
            self.known.push(frame);
        }
    }

    /// For a conversation that shares what was said, and has no configuration yet.
    pub(super) fn kept(self) -> Self {
        Self { now: 0, ..self }
    }
}

/// A tool without what no model is told. Another kernel, or another sandbox, is no other request.
fn as_sent(tool: &ToolSpec) -> ToolSpec {
    tool.clone().confining(false)
}

/// How an event changes what was sent before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rewrite {
    /// System prompt or tools. Answers remember which ones they were given under.
    Frame,
    /// Native blocks alone are taken out, as far as the provider asked for it.
    Native,
    /// What this item became in the request; whatever stands behind it follows something else now.
    From(Place),
}

/// An item of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    turn: TurnId,
    item: usize,
}

/// Before every item: turns are counted from 1.
const BEGINNING: Place = Place { turn: TurnId(0), item: 0 };

impl State {
    /// Whether an event can change the last step only, or add one behind it.
    pub(super) fn goes_on(&self, event: &Event) -> bool {
        let is_last = |number: u32| {
            let last = self.open_turn().and_then(|turn| turn.items.last());
            matches!(last, Some(Item::Step(step)) if step.number == number)
        };
        // A file may take the room of older ones.
        if matches!(event, Event::ToolFinished { output, .. } if !output.files.is_empty()) {
            return false;
        }
        match event.subject() {
            Subject::Request
            | Subject::Question(_)
            | Subject::Reply
            | Subject::Queue
            | Subject::Command
            | Subject::Title
            | Subject::Summary
            | Subject::Undo => true,
            Subject::Call(call) | Subject::Look(call) => is_last(call.step),
            Subject::Calls { step } => is_last(step),
            Subject::Conversation
            | Subject::Driver
            | Subject::Turn
            | Subject::Message
            | Subject::Past
            | Subject::Native
            | Subject::Unknown => false,
        }
    }

    /// Whether, and how, an event changes what an answered request held. The list of all events that do.
    pub(super) fn rewrite_by(&self, event: &Event) -> Option<Rewrite> {
        let place = match event {
            Event::ConfigChanged { change } => {
                return (self.was_sent(BEGINNING) && self.reframes(change))
                    .then_some(Rewrite::Frame);
            }
            Event::HistoryRepaired { .. } => return Some(Rewrite::Native),
            Event::Compacted { .. } | Event::SummaryLaid { .. } | Event::SummaryLifted => {
                Some(BEGINNING)
            }
            Event::OutputsShortened { outputs } => {
                let places = outputs.iter().filter_map(|output| self.place_of_call(output.call));
                places.min()
            }
            Event::MessageRetried { message, .. } => {
                let place =
                    self.turns.iter().rev().find_map(|turn| place_of_message(turn, message));
                place.map(|place| self.place_uncovered(place))
            }
            Event::UserMessage { message, .. } => {
                self.open_turn().and_then(|turn| place_of_message(turn, message))
            }
            Event::TurnEnded { turn, end: TurnEnd::Discarded } => {
                Some(self.place_uncovered(Place { turn: *turn, item: 0 }))
            }
            // No driver writes the rest of this list behind an answer: it waits until all calls ended.
            Event::ToolStarted { call, .. }
            | Event::ToolSuspended { call }
            | Event::ToolFinished { call, .. }
            | Event::CallParked { call, .. }
            | Event::CallTracked { call, .. } => {
                let open = self.open_turn().is_some_and(|turn| turn.id == call.turn);
                open.then(|| self.place_of_call(*call)).flatten()
            }
            Event::DriverStarted { .. } | Event::TurnBroke { .. } | Event::TurnEnded { .. } => {
                self.place_of_open_calls()
            }
            Event::ConversationOpened { .. }
            | Event::ConversationImported { .. }
            | Event::TurnStarted { .. }
            | Event::ContextAdded { .. }
            | Event::TurnResumed { .. }
            | Event::ModelAsked { .. }
            | Event::ModelPartial { .. }
            | Event::ModelAnswered { .. }
            | Event::ModelFailed { .. }
            | Event::InquiryRaised { .. }
            | Event::InquiryAnswered { .. }
            | Event::CallLocated { .. }
            | Event::CallsPlanned { .. }
            | Event::MessageQueued { .. }
            | Event::MessageRequeued { .. }
            | Event::MessageUnqueued { .. }
            | Event::QueueReleased
            | Event::CommandTaken { .. }
            | Event::CommandRefused { .. }
            | Event::TitleGiven { .. }
            | Event::ConversationShelved { .. }
            | Event::WorkspaceBound { .. }
            | Event::UndoStarted { .. }
            | Event::UndoFinished { .. }
            | Event::SummaryWanted { .. }
            | Event::SummaryAsked { .. }
            | Event::SummaryAnswered { .. }
            | Event::SummaryFailed { .. }
            | Event::WindowLearned { .. }
            | Event::Unknown(_) => None,
        };
        // What no answered request held, and none that is under way, may change freely.
        place.filter(|place| self.was_sent(*place)).map(Rewrite::From)
    }

    /// Notes that a turn is sent otherwise from its first item on.
    pub(super) fn rewrite_turn(&mut self, turn: TurnId) {
        self.rewrite(Rewrite::From(Place { turn, item: 0 }));
    }

    /// Notes that the past has changed.
    pub(super) fn rewrite(&mut self, rewrite: Rewrite) {
        self.rewrites += 1;
        let Rewrite::From(place) = rewrite else { return };
        for turn in self.turns.iter_mut().filter(|turn| place.turn <= turn.id) {
            let first = if turn.id == place.turn { place.item + 1 } else { 0 };
            for item in turn.items.iter_mut().skip(first) {
                if let Item::Step(step) = item {
                    step.request.unbound = true;
                }
            }
        }
    }

    /// The native blocks that a request carries for a step: those of an answer with nothing changed
    /// before it since it was given.
    pub(crate) fn native_sent<'a>(&self, step: &'a Step) -> Option<&'a Native> {
        let bound = !step.request.unbound && step.request.frame == self.frames.now;
        step.answer.as_ref().filter(|_| bound)?.native.as_ref()
    }

    /// Whether the next request begins with the last one of a step, and counts alike.
    pub(crate) fn begins_with(&self, request: LastRequest) -> bool {
        let now = (self.frames.now, self.rewrites, self.config.limits.divisor());
        !request.unbound && (request.frame, request.rewrites, request.divisor) == now
    }

    /// Leaves out the oldest files when all of them together are too large for one request. What was
    /// left out stays out, so that later requests begin alike.
    pub(super) fn leave_out_old_files(&mut self) {
        let cut = self.cut();
        let is_sent = |turn: &Turn| turn.end != Some(TurnEnd::Discarded) && !cut.has_turn(turn.id);
        let (mut bytes, mut first) = (0_u64, None);
        for turn in self.turns.iter_mut().rev().filter(|turn| is_sent(turn)) {
            for (item, found) in turn.items.iter_mut().enumerate().rev() {
                let is_new = match found {
                    Item::User(said) => {
                        let sizes = said.parts.iter().map(file_bytes);
                        leave_out(&mut said.left_out, sizes.collect(), &mut bytes)
                    }
                    Item::Step(step) if cut.has_step(turn.id, step.number) => false,
                    Item::Step(step) => step.calls.iter_mut().rev().fold(false, |is_new, call| {
                        let sizes = call.files().iter().map(|file| Some(file.blob.bytes));
                        let sizes = sizes.collect();
                        leave_out(&mut call.left_out, sizes, &mut bytes) || is_new
                    }),
                };
                if is_new {
                    first = Some(Place { turn: turn.id, item });
                }
            }
        }
        if let Some(place) = first.filter(|place| self.was_sent(*place)) {
            self.rewrite(Rewrite::From(place));
        }
    }

    fn reframes(&self, ConfigChange { system, tools, .. }: &ConfigChange) -> bool {
        system.as_ref().is_some_and(|system| *system != self.config.system)
            || tools.as_ref().is_some_and(|tools| {
                !tools.iter().map(as_sent).eq(self.config.tools.iter().map(as_sent))
            })
    }

    /// Whether a request that was answered, or may still be, held this item.
    fn was_sent(&self, place: Place) -> bool {
        let is_sent = |item: &Item| match item {
            Item::Step(step) => step.answer.is_some() || step.exchange == Exchange::Asked,
            Item::User(_) => false,
        };
        let turns = self.turns.iter().rev().take_while(|turn| place.turn <= turn.id);
        let mut items = turns.flat_map(|turn| {
            let first = if turn.id == place.turn { place.item + 1 } else { 0 };
            turn.items.iter().skip(first)
        });
        items.any(is_sent)
    }

    /// Where requests change if a turn is left: at the beginning, if the summary that goes with it tells of
    /// that turn.
    fn place_uncovered(&self, place: Place) -> Place {
        let overlay = self.overlay.as_ref();
        let goes = overlay.is_some_and(|overlay| place.turn <= overlay.cut.last_turn());
        if goes { BEGINNING } else { place }
    }

    fn place_of_call(&self, call: CallId) -> Option<Place> {
        let turn = self.turns.iter().rev().find(|turn| turn.id == call.turn)?;
        let is_step = |item: &Item| matches!(item, Item::Step(step) if step.number == call.step);
        // The newest step is nearly always the one that is meant.
        let item = turn.items.iter().rposition(is_step)?;
        Some(Place { turn: turn.id, item })
    }

    /// The first step of the open turn with a call that has not ended.
    fn place_of_open_calls(&self) -> Option<Place> {
        let turn = self.open_turn()?;
        let is_open = |item: &Item| matches!(item, Item::Step(step) if !step.is_settled());
        let item = turn.items.iter().position(is_open)?;
        Some(Place { turn: turn.id, item })
    }
}

fn place_of_message(turn: &Turn, message: &MessageId) -> Option<Place> {
    let item = turn.items.iter().position(|item| match item {
        Item::User(said) => said.message == *message,
        Item::Step(_) => false,
    })?;
    Some(Place { turn: turn.id, item })
}

/// How large a part is, if it is a file.
fn file_bytes(part: &UserPart) -> Option<u64> {
    match part {
        UserPart::File { blob, .. } => Some(blob.bytes),
        UserPart::Text { .. } | UserPart::InlinedFile { .. } => None,
    }
}

/// Leaves out files of one message, from its end on, that do not fit behind the `bytes` of newer ones. Says
/// whether one was sent before.
fn leave_out(left_out: &mut Vec<usize>, sizes: Vec<Option<u64>>, bytes: &mut u64) -> bool {
    let mut is_new = false;
    for (place, size) in sizes.into_iter().enumerate().rev() {
        let Some(size) = size else { continue };
        *bytes = bytes.saturating_add(size);
        if FILES_BYTES_MAX < *bytes && !left_out.contains(&place) {
            left_out.push(place);
            is_new = true;
        }
    }
    is_new
}
