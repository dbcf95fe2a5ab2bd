//! What is known of the last request of a step.

/// The last request of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastRequest {
    /// Whether it asked again with a note, because the answer before was empty.
    pub noted: bool,
    /// Which system prompt and tools it went with.
    pub(crate) frame: usize,
    /// Whether it was too large for the model.
    pub too_large: bool,
    /// Its estimated size, in tokens.
    pub estimated: u64,
    /// Letters that counted as one token then.
    pub(crate) divisor: u64,
    /// How often the past had changed when it was made.
    pub(crate) rewrites: u64,
    /// Whether something that it held has changed since. Providers take native blocks only behind what
    /// they were made behind.
    pub unbound: bool,
}
