//! What a typed line leads to, and what is said of a line that is not understood.

use piton::Reply;

/// What a typed line leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The answer.
    Reply(Reply),
    /// Go on asking.
    Ask,
    /// Ask again: the line is not understood. The text says what would be.
    Unclear(String),
    /// Show this, and ask again.
    Told(String),
    /// What the call writes is changed in an editor.
    Write,
    /// Leave the question open, and the turn where it is.
    Leave,
}

impl Heard {
    /// The answer, if the line was one.
    #[cfg(test)]
    pub(super) fn reply(self) -> Option<Reply> {
        match self {
            Self::Reply(reply) => Some(reply),
            Self::Ask | Self::Unclear(_) | Self::Told(_) | Self::Write | Self::Leave => None,
        }
    }
}

/// Says which keys are understood.
pub(super) fn type_one_of(keys: &[char]) -> String {
    let (last, others) = keys.split_last().map_or((' ', keys), |(last, others)| (*last, others));
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    format!("type {} or {last}", others.join(", "))
}

/// What is said of a line that is not understood, in front of what is asked again.
pub(crate) fn not_understood(takes: &str) -> String {
    format!("Not understood: {takes}.\n")
}
