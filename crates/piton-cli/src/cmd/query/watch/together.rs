//! Which questions are on the screen together, and what a line typed there led to.

use piton_core::id::InquiryId;

/// Questions for permission that one line can answer.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// Whether the answer that is being typed is for all that were shown.
    pub(super) is_answered: bool,
    /// Whether the others are shown below the first one.
    pub(super) is_shown: bool,
    /// Those on the screen.
    pub(super) on_screen: Vec<InquiryId>,
}

/// What a typed line led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Understood {
    /// It is answered, or asked on.
    On,
    /// This is shown, and it is asked again.
    Told(String),
    /// A text is changed in an editor, and then it is asked again or answered.
    Write,
    /// The question stays open, and the turn is left.
    Leave,
}
