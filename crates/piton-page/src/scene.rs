//! What every element of a conversation has to know of it, and where its turns stand.

use maud::{Markup, html};
use piton_core::id::{MessageId, TurnId};
use piton_core::view::{
    BreakReason, Head, ItemView, Live, LiveCall, LiveStep, MessageView, ModelRef, Next, PartView,
    Price, Status, StepState, StepView, TurnView,
};

use crate::ident;

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name, as the setting has it: `provider/model`.
    pub name: String,
    /// What people call it.
    pub shown: String,
    /// What else helps to choose: window and price. May be empty.
    pub about: String,
    /// What it costs, where that is known.
    pub price: Option<Price>,
}

/// A conversation, apart from the turn that is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) conversation: &'a str,
    /// What the names of all elements begin with: of a worker, the call that it works for.
    pub(crate) within: &'a str,
    pub(crate) head: &'a Head,
    pub(crate) live: &'a Live,
    pub(crate) models: &'a [Model],
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// It is over.
    Closed,
    /// Somebody works on it.
    Runs,
    /// A person is asked.
    Asks,
    /// It broke, and nothing is kept: the message says so.
    Failed,
    /// It broke, and work is kept.
    Halted,
    /// Nobody works on it, and nobody said why: the process is gone.
    Lost,
}

impl<'a> Scene<'a> {
    /// An address under that of the conversation.
    pub(crate) fn address(&self, what: &str) -> String {
        format!("/c/{}/{what}", ident::in_address(self.conversation))
    }

    /// The name of an element.
    pub(crate) fn named(&self, name: &str) -> String {
        format!("{}{name}", self.within)
    }

    /// Whether a worker is shown, in the call that it works for.
    pub(crate) fn is_nested(&self) -> bool {
        !self.within.is_empty()
    }

    /// The number of a worker that asks a person. The terminal counts workers in the same way.
    pub(crate) fn asking_worker(&self) -> Option<u32> {
        let asks = self.live.calls.iter().find(|call| call.asks)?;
        Some(asks.call.index.saturating_add(1))
    }

    /// Whether a person is asked, here or by a worker.
    pub(crate) fn is_asking(&self) -> bool {
        let is_waiting = matches!(self.head.status, Status::WaitingForInput { .. });
        is_waiting || !self.head.asking.is_empty() || self.asking_worker().is_some()
    }

    /// The try that streams, if it is this one.
    pub(crate) fn live_step(&self, turn: TurnId, step: &StepView) -> Option<&'a LiveStep> {
        let live = self.live.step.as_ref()?;
        let is_it = (live.turn, live.step, live.attempt) == (turn, step.number, step.attempt);
        (is_it && step.state == StepState::Asked).then_some(live)
    }

    pub(crate) fn live_call(&self, call: piton_core::id::CallId) -> Option<&'a LiveCall> {
        self.live.calls.iter().find(|live| live.call == call)
    }

    /// What the conversation has cost, in millionths of a dollar; none if the price of a model is not known.
    pub(crate) fn cost(&self) -> Option<u64> {
        let paid = self.head.used.iter().filter(|used| 0 < used.usage.total());
        let cost = paid.map(|used| {
            let model = used.model.as_ref()?.typed();
            let known = self.models.iter().find(|known| known.name == model)?;
            Some(known.price?.cost(used.usage))
        });
        cost.collect::<Option<Vec<u64>>>().map(|all| all.iter().sum()).filter(|cost| 0 < *cost)
    }

    /// Whether a message can be tried again.
    pub(crate) fn may_retry(&self, message: &MessageId) -> bool {
        self.head
            .next
            .iter()
            .any(|next| matches!(next, Next::Retry { message: it } if it == message))
    }

    /// Options of a choice of models; the one that is set is among them and chosen.
    pub(crate) fn model_options(&self) -> Markup {
        let chosen = self.head.model.as_ref();
        let set = chosen.map(ModelRef::typed).unwrap_or_default();
        let is_known = self.models.iter().any(|model| model.name == set);
        html! {
            @if let Some(chosen) = chosen.filter(|_| !is_known) {
                option value=(set) selected { (chosen.plain()) }
            }
            @for Model { name, shown, about, .. } in self.models {
                option value=(name) selected[*name == set] {
                    (shown) @if !about.is_empty() { " · " (about) }
                }
            }
        }
    }
}

impl Stands {
    pub(crate) fn of(scene: &Scene<'_>, turn: &TurnView) -> Self {
        if turn.head.end.is_some() {
            return Self::Closed;
        }
        if turn.head.halt.is_some() {
            return if has_nothing(turn) { Self::Failed } else { Self::Halted };
        }
        if scene.is_asking() {
            return Self::Asks;
        }
        if scene.live.driven { Self::Runs } else { Self::Lost }
    }

    /// The word for it in `data-is`.
    pub(crate) fn word(self, turn: &TurnView) -> Option<&'static str> {
        let was_stopped = || {
            let halt = turn.head.halt.as_ref();
            halt.is_some_and(|halt| halt.reason == BreakReason::Interrupted)
        };
        match self {
            Self::Closed => None,
            Self::Runs => Some("running"),
            Self::Asks => Some("ask"),
            Self::Failed if !was_stopped() => Some("bad"),
            Self::Failed | Self::Halted | Self::Lost => Some("halt"),
        }
    }
}

/// Whether nothing but messages is there.
fn has_nothing(turn: &TurnView) -> bool {
    turn.steps().all(|step| step.calls.is_empty() && words(step) == 0)
}

/// How many words of text a step has.
pub(crate) fn words(step: &StepView) -> usize {
    let count = |part: &PartView| match part {
        PartView::Text { text } => text.split_whitespace().count(),
        PartView::Reasoning { .. } | PartView::Call { .. } | _ => 0,
    };
    step.parts.iter().map(count).sum()
}

/// The messages of a turn, in order.
pub(crate) fn messages(turn: &TurnView) -> impl DoubleEndedIterator<Item = &MessageView> {
    turn.items.iter().filter_map(|item| match item {
        ItemView::Message(message) => Some(message),
        ItemView::Step(_) | _ => None,
    })
}

/// What makes a command of what is shown, so that two pages that show the same send one command.
pub(crate) fn shown(turn: &TurnView) -> Markup {
    let attempt = messages(turn).next_back().map_or(1, |message| message.attempt.0);
    let number = turn.steps().count();
    html! {
        input type="hidden" name="turn" value=(turn.head.id.0);
        input type="hidden" name="attempt" value=(attempt);
        input type="hidden" name="step" value=(number);
    }
}
