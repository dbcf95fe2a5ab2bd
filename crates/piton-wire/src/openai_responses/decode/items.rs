//! The items of an answer while it streams.
//!
//! An event belongs to the item with its call id, else with its item id, else with its output
//! index: some hosts give a new id with every event, others the same index to every item.

use std::borrow::Cow;

use piton_core::answer::Delta;
use piton_core::event::Native;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::event::{Item, PART_BREAK, Place};
use crate::Ask;
use crate::openai_responses::native::Collector;

/// Highest output index that is also the index of a block; beyond it blocks are counted.
const BLOCK_INDEX_MAX: u64 = 1 << 20;

/// What an item is.
#[derive(Debug)]
pub(super) enum Kind {
    /// Text for the user.
    Message { phase: String },
    /// Reasoning, and the finished item as it came, if it can be sent back.
    Reasoning { part: (Option<u64>, Option<u64>), raw: Option<String> },
    /// A call of a tool of ours.
    Call { name: String, closing: Closing },
    /// Anything else; it only holds its place.
    Other,
}

/// How far a call is from being whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// Still streaming.
    Open,
    /// The provider closed it, but only the end tells whether empty or broken arguments were meant.
    Settling,
    /// Whole.
    Closed,
    /// Cut, or given in two versions: it will not be run.
    Never,
}

/// How the stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself.
    Whole,
    /// By a limit or a filter.
    Cut,
}

#[derive(Debug)]
struct Slot {
    output_index: Option<u64>,
    id: String,
    call_id: String,
    block: u32,
    kind: Kind,
    streamed: String,
    done: bool,
}

/// All items so far.
#[derive(Debug, Default)]
pub(super) struct Items {
    slots: Vec<Slot>,
}

impl Kind {
    pub(super) fn message() -> Self {
        Self::Message { phase: String::new() }
    }

    pub(super) fn call() -> Self {
        Self::Call { name: String::new(), closing: Closing::Open }
    }

    fn of(item: &Item<'_>) -> Self {
        match item.kind() {
            "message" => Self::Message { phase: item.phase().into_owned() },
            "reasoning" => Self::Reasoning { part: (None, None), raw: None },
            "function_call" | "custom_tool_call" => Self::call(),
            _ => Self::Other,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Items {
    /// More text or arguments.
    pub(super) fn grow(
        &mut self,
        place: &Place<'_>,
        kind: Kind,
        text: &str,
        deltas: &mut Vec<Delta>,
    ) {
        if let Some(slot) = self.open(place, kind) {
            slot.push(text, deltas);
        }
    }

    /// More readable reasoning; a new part begins a new paragraph.
    pub(super) fn reason(
        &mut self,
        place: &Place<'_>,
        part: (Option<u64>, Option<u64>),
        text: &str,
        deltas: &mut Vec<Delta>,
    ) {
        let kind = Kind::Reasoning { part, raw: None };
        let Some(slot) = self.open(place, kind) else { return };
        let is_next = match &mut slot.kind {
            Kind::Reasoning { part: known, .. } => std::mem::replace(known, part) != part,
            Kind::Message { .. } | Kind::Call { .. } | Kind::Other => false,
        };
        if is_next && !slot.streamed.is_empty() {
            slot.push(PART_BREAK, deltas);
        }
        slot.push(text, deltas);
    }

    /// One part is complete. For a message of several parts only its item knows the whole.
    pub(super) fn whole_part(
        &mut self,
        place: &Place<'_>,
        kind: Kind,
        whole: &str,
        deltas: &mut Vec<Delta>,
    ) {
        let Some(slot) = self.open(place, kind) else { return };
        match slot.kind {
            Kind::Call { .. } => slot.close_call(whole, deltas),
            Kind::Message { .. } if slot.streamed.is_empty() => slot.push(whole, deltas),
            Kind::Message { .. } | Kind::Reasoning { .. } | Kind::Other => {}
        }
    }

    /// An item begins.
    pub(super) fn add(&mut self, place: &Place<'_>, item: &Item<'_>, deltas: &mut Vec<Delta>) {
        let kind = Kind::of(item);
        let known = self.find(place, &kind).and_then(|index| self.slots.get(index));
        // The same index under another name is another item, on hosts that do not count; the same
        // name under another index is one too, on hosts that do not name.
        let is_known = known.is_some_and(|slot| {
            let unnamed = place.id.is_empty() && place.call_id.is_empty();
            let moved = place.output_index.is_some() && place.output_index != slot.output_index;
            !moved && (slot.is_named_by(place) || !slot.done && unnamed)
        });
        if is_known {
            return;
        }
        let slot = self.insert(place, kind);
        slot.name(&item.name(), deltas);
    }

    /// An item is finished; it is the authority on its content. Its JSON is only asked for if it has
    /// to be kept.
    pub(super) fn close<'a>(
        &mut self,
        place: &Place<'_>,
        item: &Item<'_>,
        raw: impl FnOnce() -> Cow<'a, str>,
        deltas: &mut Vec<Delta>,
    ) {
        let kind = Kind::of(item);
        let found = self.find(place, &kind).and_then(|index| self.slots.get_mut(index));
        let whole = item.whole();
        let slot = match found {
            Some(slot) if slot.done && slot.is_same_as(place, &whole) => return,
            Some(slot) if !slot.done => slot,
            Some(_) | None => self.insert(place, kind),
        };
        slot.done = true;
        slot.name(&item.name(), deltas);
        match &mut slot.kind {
            Kind::Message { phase } => {
                *phase = item.phase().into_owned();
                slot.top_up(&whole, deltas);
            }
            Kind::Reasoning { raw: kept, .. } => {
                *kept = item.is_replayable().then(|| raw().into_owned());
                slot.top_up(&whole, deltas);
            }
            Kind::Call { closing, .. } if item.is_incomplete() => {
                *closing = Closing::Never;
                slot.top_up(&whole, deltas);
            }
            Kind::Call { .. } => slot.close_call(&whole, deltas),
            Kind::Other => {}
        }
    }

    /// Whether items are open, or none came at all.
    pub(super) fn lack_something(&self) -> bool {
        self.slots.is_empty() || self.slots.iter().any(|slot| !slot.done)
    }

    /// Decides about the calls that were left for the end. Empty arguments mean "none" when the
    /// model was done, and "cut before the first byte" when it was stopped.
    pub(super) fn settle(&mut self, ending: Ending, deltas: &mut Vec<Delta>) {
        for slot in &mut self.slots {
            slot.open_unnamed(deltas);
            if let Kind::Call { closing, .. } = &mut slot.kind
                && *closing == Closing::Settling
                && ending == Ending::Whole
            {
                *closing = Closing::Closed;
                deltas.push(Delta::Closed { index: slot.block });
            }
        }
    }

    /// Whether there is a call to run.
    pub(super) fn has_calls(&self) -> bool {
        self.slots.iter().any(Slot::is_whole_call)
    }

    /// What must be replayed of this answer.
    pub(super) fn native(&mut self, ask: &Ask) -> Option<Native> {
        self.slots.sort_by_key(|slot| slot.block);
        let mut collector = Collector::default();
        for slot in &self.slots {
            match &slot.kind {
                Kind::Reasoning { raw, .. } => collector.reasoning(raw.as_deref()),
                Kind::Message { phase } if !slot.streamed.trim().is_empty() => {
                    collector.text(Some(phase.as_str()).filter(|phase| !phase.is_empty()));
                }
                Kind::Call { .. } if slot.is_whole_call() => collector.call(),
                Kind::Message { .. } | Kind::Call { .. } | Kind::Other => collector.lost(),
            }
        }
        collector.finish(ask)
    }

    /// The unfinished item of an event, opened now if its beginning was not seen.
    fn open(&mut self, place: &Place<'_>, kind: Kind) -> Option<&mut Slot> {
        match self.find(place, &kind) {
            Some(index) => self.slots.get_mut(index).filter(|slot| !slot.done),
            None => Some(self.insert(place, kind)),
        }
    }

    fn find(&self, place: &Place<'_>, kind: &Kind) -> Option<usize> {
        let last = |fits: &dyn Fn(&Slot) -> bool| {
            self.slots.iter().rposition(|slot| slot.kind.is_like(kind) && fits(slot))
        };
        let index = place.output_index;
        // Both agree on most hosts, also on those that name all items alike.
        let exactly = last(&|slot| slot.output_index == index && slot.is_named_by(place));
        let by_call = || last(&|slot| !slot.done && slot.has_call_id(place.call_id));
        let by_id = || last(&|slot| !slot.done && slot.has_id(place.id));
        let by_index = || match index {
            Some(_) => last(&|slot| slot.output_index == index),
            None if place.id.is_empty() => last(&|slot| !slot.done),
            None => None,
        };
        exactly.or_else(by_call).or_else(by_id).or_else(by_index)
    }

    fn insert(&mut self, place: &Place<'_>, kind: Kind) -> &mut Slot {
        let wanted = place.output_index.filter(|index| *index <= BLOCK_INDEX_MAX);
        let wanted = wanted.and_then(|index| u32::try_from(index).ok());
        let free = wanted.filter(|block| self.slots.iter().all(|slot| slot.block != *block));
        let next = || self.slots.iter().map(|slot| slot.block + 1).max().unwrap_or_default();
        let slot = Slot {
            output_index: place.output_index,
            id: place.id.to_owned(),
            call_id: place.call_id.to_owned(),
            block: free.unwrap_or_else(next),
            kind,
            streamed: String::new(),
            done: false,
        };
        self.slots.push_mut(slot)
    }
}

impl Slot {
    fn has_call_id(&self, call_id: &str) -> bool {
        !call_id.is_empty() && self.call_id == call_id
    }

    fn has_id(&self, id: &str) -> bool {
        !id.is_empty() && self.id == id
    }

    fn is_named_by(&self, place: &Place<'_>) -> bool {
        self.has_call_id(place.call_id) || self.has_id(place.id)
    }

    /// Whether a finished item comes a second time, perhaps under a new id.
    fn is_same_as(&self, place: &Place<'_>, whole: &str) -> bool {
        let other_call = !place.call_id.is_empty() && !self.call_id.is_empty();
        self.is_named_by(place) || !other_call && self.streamed == whole
    }

    fn is_whole_call(&self) -> bool {
        match &self.kind {
            Kind::Call { name, closing } => *closing == Closing::Closed && !name.is_empty(),
            Kind::Message { .. } | Kind::Reasoning { .. } | Kind::Other => false,
        }
    }

    /// A call begins for the core when its name is known.
    fn name(&mut self, known: &str, deltas: &mut Vec<Delta>) {
        if let Kind::Call { name, .. } = &mut self.kind
            && name.is_empty()
            && !known.is_empty()
        {
            known.clone_into(name);
            self.open(known.to_owned(), deltas);
        }
    }

    /// A call whose name never came is handed over without one, so that the core can say so.
    fn open_unnamed(&self, deltas: &mut Vec<Delta>) {
        if matches!(&self.kind, Kind::Call { name, .. } if name.is_empty()) {
            self.open(String::new(), deltas);
        }
    }

    fn open(&self, name: String, deltas: &mut Vec<Delta>) {
        let provider_id = Some(self.call_id.clone()).filter(|id| !id.is_empty());
        let index = self.block;
        deltas.push(Delta::CallOpened { index, provider_id, name });
        if !self.streamed.is_empty() {
            deltas.push(Delta::CallArguments { index, json: self.streamed.clone() });
        }
    }

    fn push(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        self.streamed.push_str(text);
        let (index, text) = (self.block, text.to_owned());
        match &self.kind {
            Kind::Message { .. } => deltas.push(Delta::Text { index, text }),
            Kind::Reasoning { .. } => deltas.push(Delta::Reasoning { index, text }),
            // Held back until the call has a name to open it with.
            Kind::Call { name, .. } if name.is_empty() => {}
            Kind::Call { .. } => deltas.push(Delta::CallArguments { index, json: text }),
            Kind::Other => {}
        }
    }

    /// Adds what the pieces left out. What was passed on cannot be taken back, so a whole that does
    /// not begin with it changes nothing.
    fn top_up(&mut self, whole: &str, deltas: &mut Vec<Delta>) {
        if let Some(rest) = whole.strip_prefix(self.streamed.as_str()) {
            self.push(rest, deltas);
        }
    }

    fn close_call(&mut self, whole: &str, deltas: &mut Vec<Delta>) {
        if whole.starts_with(self.streamed.as_str()) {
            self.top_up(whole, deltas);
        }
        let agrees = whole.is_empty() || self.streamed == whole || same_json(&self.streamed, whole);
        let is_json = serde_json::from_str::<IgnoredAny>(&self.streamed).is_ok();
        let Kind::Call { closing, .. } = &mut self.kind else { return };
        match closing {
            Closing::Open | Closing::Settling if !agrees => *closing = Closing::Never,
            Closing::Open | Closing::Settling if self.done && is_json => {
                *closing = Closing::Closed;
                deltas.push(Delta::Closed { index: self.block });
            }
            Closing::Open => *closing = Closing::Settling,
            Closing::Settling | Closing::Closed | Closing::Never => {}
        }
    }
}

/// Whether two texts are the same value, written differently.
fn same_json(left: &str, right: &str) -> bool {
    let (left, right) = (serde_json::from_str::<Value>(left), serde_json::from_str::<Value>(right));
    matches!((left, right), (Ok(left), Ok(right)) if left == right)
}
