//! How a conversation began.

use crate::event::{Event, ForkOrigin, ParentCall};

/// How a conversation began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The directory that tools are confined to.
    pub workspace: String,
    /// A title for people.
    pub title: Option<String>,
    /// Where a fork was cut.
    pub origin: Option<ForkOrigin>,
    /// The call that it works for, if it is a worker's.
    pub parent: Option<ParentCall>,
}

impl Opened {
    /// What the first entry says.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let Event::ConversationOpened { workspace, title, origin, parent } = event.clone() else {
            return None;
        };
        Some(Self { workspace, title, origin, parent })
    }
}
