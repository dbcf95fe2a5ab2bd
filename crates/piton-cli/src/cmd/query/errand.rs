//! The errand of a query: what was decided to do with its conversation.

use piton::OnIncomplete;
use piton_core::id::TurnId;
use piton_core::view::View;

/// What a query does with its conversation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Errand {
    /// Send the message.
    Send(OnIncomplete),
    /// Go on with the incomplete turn.
    Resume,
    /// Let the messages go that wait.
    Release,
    /// Try a message again.
    Retry,
}

impl Errand {
    /// The turn that the errand is about.
    pub(super) fn turn(self, view: &View) -> TurnId {
        match self {
            Self::Resume | Self::Send(OnIncomplete::Resume | OnIncomplete::Inject) => {
                view.head.open.unwrap_or_else(|| view.next_turn())
            }
            Self::Retry => view.turns.last().map_or_else(|| view.next_turn(), |turn| turn.head.id),
            Self::Release | Self::Send(OnIncomplete::Ask | OnIncomplete::Discard) => {
                view.next_turn()
            }
        }
    }

    /// Whether a turn begins; else one goes on.
    pub(super) fn begins(self) -> bool {
        match self {
            Self::Resume
            | Self::Retry
            | Self::Send(OnIncomplete::Resume | OnIncomplete::Inject) => false,
            Self::Release | Self::Send(OnIncomplete::Ask | OnIncomplete::Discard) => true,
        }
    }
}
