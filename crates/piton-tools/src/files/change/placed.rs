//! Whether new content took the place of old content.

use crate::contract::Refusal;

/// When new content was put in place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Placed {
    /// By this run.
    Now,
    /// By a run before this one.
    Earlier,
}

/// How new content is made of old.
pub(super) type Renew<'a> = dyn Fn(Option<&[u8]>) -> Result<Vec<u8>, Refusal> + 'a;

/// Why new content was not put in place. The file is as it was.
#[derive(Debug)]
pub(super) enum Unplaced {
    /// Nothing can be written beside it, or take its place.
    OnlyInPlace(Refusal),
    /// Anything else.
    Refused(Refusal),
}

impl From<Refusal> for Unplaced {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
