//! A request for a summary in flight.

use piton_core::action::PieceAsk;
use piton_core::answer::Answer;
use tokio_util::sync::CancellationToken;

use crate::model::ModelFailure;

/// A request for a summary, seen from the driver.
#[derive(Debug)]
pub(crate) struct SummaryFlight {
    pub(crate) ask: PieceAsk,
    /// Ends it, if nobody waits for it any more.
    pub(crate) cancel: CancellationToken,
}

/// What became of it.
pub(crate) struct SummaryLanding {
    pub(crate) answered: Result<Answer, ModelFailure>,
}
