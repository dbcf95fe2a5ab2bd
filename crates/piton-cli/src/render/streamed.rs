//! What no entry holds yet, put together from its pieces for `--json`.

use std::time::Duration;

use piton_core::id::{CallId, TurnId};
use piton_core::view::{
    CallState, ItemView, Live, LiveCall, LiveStep, PartialKind, StepState, StepView, View,
    ViewChange,
};
use tokio::time::Instant;

/// Least time between two lines of an answer that streams: each of them has all of its text.
const LIVE_EVERY: Duration = Duration::from_millis(100);

/// What streams.
#[derive(Debug)]
pub(crate) struct Streamed {
    /// What entries hold.
    view: View,
    live: Live,
    /// When text was last shown.
    shown: Option<Instant>,
}

impl Streamed {
    /// Nothing has come yet.
    pub(crate) fn new(view: View) -> Self {
        Self { view, live: Live::default(), shown: None }
    }

    /// More of the answer came. What is to be shown of it, if it is time for that.
    pub(crate) fn say(&mut self, kind: PartialKind, text: &str) -> Option<&Live> {
        let (turn, step) = newest(&self.view)?;
        let begun =
            self.live.step.get_or_insert_with(|| LiveStep::new(turn, step.number, step.attempt));
        match kind {
            PartialKind::Text => begun.text.push_str(text),
            PartialKind::Reasoning => begun.reasoning.push_str(text),
        }
        self.live.driven = true;
        let now = Instant::now();
        if self.shown.is_some_and(|shown| now.duration_since(shown) < LIVE_EVERY) {
            return None;
        }
        self.shown = Some(now);
        Some(&self.live)
    }

    /// How far a call is.
    pub(crate) fn progress(&mut self, call: CallId, text: &str) -> &Live {
        let known = self.live.calls.iter().position(|it| it.call == call);
        let place = known.unwrap_or_else(|| {
            self.live.calls.push(LiveCall::new(call));
            self.live.calls.len() - 1
        });
        if let Some(it) = self.live.calls.get_mut(place) {
            it.progress = Some(text.to_owned());
        }
        self.live.driven = true;
        &self.live
    }

    /// An entry came: forgets what it holds.
    pub(crate) fn settle(&mut self, change: &ViewChange) {
        // Changes come without a gap; one that does not fit shows nothing.
        self.view.apply(change).unwrap_or_default();
        let step = newest(&self.view).map(|(_, step)| step);
        let asked = step.filter(|step| step.state == StepState::Asked);
        let names = |live: &LiveStep| {
            asked.is_some_and(|step| (step.number, step.attempt) == (live.step, live.attempt))
        };
        if self.live.step.take_if(|live| !names(live)).is_some() {
            self.shown = None;
        }
        self.live.calls.retain(|live| step.is_some_and(|step| runs(step, live.call)));
    }
}

/// The newest step of the open turn.
fn newest(view: &View) -> Option<(TurnId, &StepView)> {
    let open = view.head.open?;
    let turn = view.turns.iter().rev().find(|turn| turn.head.id == open)?;
    let step = turn.items.iter().rev().find_map(|item| match item {
        ItemView::Step(step) => Some(step),
        ItemView::Message(_) | _ => None,
    });
    Some((open, step?))
}

/// Whether a call of a step is at work.
fn runs(step: &StepView, id: CallId) -> bool {
    step.calls.iter().any(|call| call.id == id && call.state == CallState::Running)
}
