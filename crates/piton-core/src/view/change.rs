//! How a view moves: what one entry changes in it, as data.
//!
//! A change holds the elements that the entry touched, as they are afterwards. It is made from the
//! state behind the entry alone, so it may hold an element that stayed the same, and never misses
//! one that did not.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{CallView, Place};
use super::conversation::{Covered, Head, QueuedView, UndoView};
use super::turn::{ItemView, TurnHead, TurnView};
use crate::event::{Entry, Event, PartialKind};
use crate::id::{CallId, InquiryId, MessageId, Seq, TurnId};
use crate::state::{Exchange, Item, State, Step, Turn};

/// How a view moves with one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ViewChange {
    /// The entry: a view that holds the one before it takes this change, and holds this one then.
    pub cursor: Seq,
    /// What to put in place, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// Entries that did not fit, this one included if it does not.
    pub strays: u64,
    /// Entries of unknown kinds, this one included if it is one.
    pub unknown: u64,
}

/// An element of a view, as it is from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "put", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Patch {
    /// What is known of the conversation as a whole.
    Head {
        /// It.
        head: Box<Head>,
    },
    /// All waiting messages.
    Queue {
        /// They.
        queue: Vec<QueuedView>,
    },
    /// All changes that a person took back.
    Undos {
        /// They.
        undos: Vec<UndoView>,
    },
    /// The summary over the oldest turns, or that there is none.
    Covered {
        /// It.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        covered: Option<Covered>,
    },
    /// Turns behind this one are superseded: they move behind those that were before.
    Supersede {
        /// The last turn that stays.
        behind: TurnId,
    },
    /// A whole turn: the one of this name, or a new one at the end.
    Turn {
        /// It.
        turn: Box<TurnView>,
    },
    /// What is known of a turn as a whole.
    TurnHead {
        /// It, with the turn's name.
        head: Box<TurnHead>,
    },
    /// One item of a turn, or a new one at the end.
    Item {
        /// The turn.
        turn: TurnId,
        /// Its place in the turn, from 0.
        place: usize,
        /// It.
        item: Box<ItemView>,
    },
    /// More of the answer that streams.
    Append {
        /// The turn.
        turn: TurnId,
        /// The place of the step in the turn, from 0.
        place: usize,
        /// Text or reasoning.
        kind: PartialKind,
        /// What comes behind what is there.
        text: Arc<str>,
    },
    /// One call of a step.
    Call {
        /// The place of the step in the turn, from 0.
        place: usize,
        /// It; its name says the turn.
        call: Box<CallView>,
    },
}

impl ViewChange {
    /// What an entry changes. The state is the one right behind that entry.
    pub fn of(state: &State, entry: &Entry) -> Self {
        let (strays, unknown) = (state.strays, state.unknown);
        Self { cursor: entry.seq, patches: patches(state, &entry.event), strays, unknown }
    }
}

fn patches(state: &State, event: &Event) -> Vec<Patch> {
    let mut made = Made { state, patches: Vec::new() };
    match event {
        // What a command caused stands in the entries behind it.
        Event::CommandTaken { .. } | Event::CommandRefused { .. } | Event::Unknown(_) => {
            return made.patches;
        }
        // Comes often, and touches nothing but the text.
        Event::ModelPartial { kind, text } => {
            made.streamed(*kind, text);
            return made.patches;
        }
        Event::ConversationOpened { .. }
        | Event::ConversationImported { .. }
        | Event::SummaryWanted { .. }
        | Event::SummaryAsked { .. }
        | Event::SummaryAnswered { .. }
        | Event::SummaryFailed { .. }
        | Event::WindowLearned { .. }
        | Event::TitleGiven { .. }
        | Event::ConversationShelved { .. }
        | Event::WorkspaceBound { .. }
        | Event::QueueReleased => {}
        Event::TurnStarted { .. } | Event::ContextAdded { .. } => made.last_turn(),
        Event::ModelAsked { .. }
        | Event::ModelAnswered { .. }
        | Event::ModelFailed { .. }
        | Event::CallsPlanned { .. } => made.last_item(),
        Event::InquiryRaised { inquiry } => made.call(inquiry.call),
        Event::InquiryAnswered { inquiry, .. } => made.question(inquiry),
        Event::ToolStarted { call, .. }
        | Event::ToolSuspended { call }
        | Event::ToolFinished { call, .. }
        | Event::CallParked { call, .. }
        | Event::CallTracked { call, .. }
        | Event::CallLocated { call, .. } => made.call(*call),
        Event::ConfigChanged { .. }
        | Event::DriverStarted { .. }
        | Event::TurnResumed { .. }
        | Event::HistoryRepaired { .. }
        | Event::TurnBroke { .. } => made.unsettled(),
        Event::TurnEnded { .. } => {
            made.unsettled();
            // A summary that tells of a discarded turn goes with it.
            made.covered();
        }
        Event::UserMessage { message, .. } => {
            made.unsettled();
            made.message(message);
            made.queue();
        }
        Event::MessageRetried { .. } => made.retried(),
        Event::Compacted { .. }
        | Event::SummaryLaid { .. }
        | Event::SummaryLifted
        | Event::OutputsShortened { .. } => {
            made.covered();
            made.unsettled();
        }
        Event::MessageQueued { .. }
        | Event::MessageRequeued { .. }
        | Event::MessageUnqueued { .. } => made.queue(),
        Event::UndoStarted { .. } | Event::UndoFinished { .. } => made.undos(),
    }
    made.head();
    made.patches
}

/// Patches in the making. All are about the last turn: no other one moves.
struct Made<'a> {
    state: &'a State,
    patches: Vec<Patch>,
}

impl<'a> Made<'a> {
    fn turn(&self) -> Option<&'a Turn> {
        self.state.turns.last()
    }

    fn place(&self, turn: &'a Turn) -> Place<'a> {
        Place::Present(self.state, turn)
    }

    fn head(&mut self) {
        if let Some(turn) = self.turn() {
            let head = Box::new(TurnHead::of(self.place(turn)));
            self.patches.push(Patch::TurnHead { head });
        }
        let head = Box::new(Head::from(self.state));
        self.patches.push(Patch::Head { head });
    }

    fn queue(&mut self) {
        let queue = self.state.queue.iter().map(QueuedView::from).collect();
        self.patches.push(Patch::Queue { queue });
    }

    fn undos(&mut self) {
        let undos = self.state.undos.iter().map(UndoView::from).collect();
        self.patches.push(Patch::Undos { undos });
    }

    fn covered(&mut self) {
        let covered = self.state.overlay.as_ref().map(Covered::from);
        self.patches.push(Patch::Covered { covered });
    }

    fn last_turn(&mut self) {
        if let Some(turn) = self.turn() {
            let turn = Box::new(TurnView::of(self.place(turn)));
            self.patches.push(Patch::Turn { turn });
        }
    }

    fn retried(&mut self) {
        if let Some(turn) = self.turn() {
            self.patches.push(Patch::Supersede { behind: turn.id });
        }
        self.last_turn();
        // A summary over the turn goes with its old attempt.
        self.covered();
    }

    fn item(&mut self, turn: &'a Turn, place: usize, item: &Item) {
        let item = Box::new(ItemView::of(self.place(turn), item));
        self.patches.push(Patch::Item { turn: turn.id, place, item });
    }

    fn last_item(&mut self) {
        let Some(turn) = self.turn() else { return };
        if let Some((item, before)) = turn.items.split_last() {
            self.item(turn, before.len(), item);
        }
    }

    fn message(&mut self, message: &MessageId) {
        let Some(turn) = self.turn() else { return };
        let named = |item: &Item| matches!(item, Item::User(said) if said.message == *message);
        let place = turn.items.iter().position(named);
        if let Some((place, item)) = place.and_then(|it| Some((it, turn.items.get(it)?))) {
            self.item(turn, place, item);
        }
        // The attempt before it has moved to the earlier ones.
        if turn.attempts.iter().any(|old| old.said.message == *message) {
            self.last_turn();
        }
    }

    fn question(&mut self, inquiry: &InquiryId) {
        let raised = self.turn().and_then(|turn| turn.raised(inquiry));
        if let Some(raised) = raised {
            self.call(raised.inquiry.call);
        }
    }

    fn call(&mut self, id: CallId) {
        let Some(turn) = self.turn() else { return };
        let numbered = |item: &Item| matches!(item, Item::Step(step) if step.number == id.step);
        let Some(place) = turn.items.iter().rposition(numbered) else { return };
        if let Some(call) = turn.call(id) {
            let call = Box::new(CallView::of(self.place(turn), call));
            self.patches.push(Patch::Call { place, call });
        }
    }

    /// Everything of the last turn that can still move: requests without an answer, calls without an
    /// end. What is over stays as it is.
    fn unsettled(&mut self) {
        let Some(turn) = self.turn() else { return };
        for (place, item) in turn.items.iter().enumerate() {
            match item {
                Item::Step(step) if step.answer.is_none() => self.item(turn, place, item),
                Item::Step(step) => {
                    for call in step.calls.iter().filter(|call| !call.is_done()) {
                        let call = Box::new(CallView::of(self.place(turn), call));
                        self.patches.push(Patch::Call { place, call });
                    }
                }
                Item::User(_) => {}
            }
        }
    }

    /// A piece of an answer. The first one replaces what streamed in an earlier try.
    fn streamed(&mut self, kind: PartialKind, text: &Arc<str>) {
        let Some(turn) = self.state.open_turn() else { return };
        let Some((Item::Step(step), before)) = turn.items.split_last() else { return };
        if step.exchange != Exchange::Asked {
            return;
        }
        if is_first(step, text) {
            self.last_item();
        } else {
            let (turn, place, text) = (turn.id, before.len(), text.clone());
            self.patches.push(Patch::Append { turn, place, kind, text });
        }
    }
}

/// Whether nothing has streamed in this try but this piece.
fn is_first(step: &Step, piece: &str) -> bool {
    step.streamed.text.len() + step.streamed.reasoning.len() <= piece.len()
}
