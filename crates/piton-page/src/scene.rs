//! What every element of a conversation has to know of it, and where its turns stand.

use maud::{Markup, html};
use piton_core::id::{MessageId, TurnId};
use piton_core::view::{
    BreakReason, Head, ItemView, Live, LiveCall, LiveStep, MessageView, Next, PartView, StepState,
    StepView, TurnView,
};

use crate::ident;

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name, as the setting has it: `provider/model`.
    pub name: String,
    /// What else helps to choose: window and price. May be empty.
    pub about: String,
}

/// A conversation, apart from the turn that is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) conversation: &'a str,
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

    /// The try that streams, if it is this one.
    pub(crate) fn live_step(&self, turn: TurnId, step: &StepView) -> Option<&'a LiveStep> {
        let live = self.live.step.as_ref()?;
        let is_it = (live.turn, live.step, live.attempt) == (turn, step.number, step.attempt);
        (is_it && step.state == StepState::Asked).then_some(live)
    }

    pub(crate) fn live_call(&self, call: piton_core::id::CallId) -> Option<&'a LiveCall> {
        self.live.calls.iter().find(|live| live.call == call)
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
        let set = self.head.model.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_known = self.models.iter().any(|model| model.name == set);
        html! {
            @if !is_known && !set.is_empty() { option value=(set) selected { (set) } }
            @for Model { name, about } in self.models {
                option value=(name) selected[*name == set] {
                    (name) @if !about.is_empty() { " · " (about) }
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
        if is_asking(scene.head) {
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

/// Whether a person is asked, here or by a worker.
pub(crate) fn is_asking(head: &Head) -> bool {
    use piton_core::view::Status;
    !head.asking.is_empty() || matches!(head.status, Status::WaitingForInput { .. })
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
