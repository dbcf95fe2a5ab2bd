//! Work that may sleep in the kernel, away from the one thread that drives everything else.
//!
//! The runtime has a single thread: a slow disk must not hold up the stream of another
//! conversation. Short looks (a path, an `fstat`) are not worth the hand-over of some 20 µs and are
//! made in place by the tools.

use tokio_util::sync::CancellationToken;

use super::finished::Finished;
use super::refusal::Refusal;
use super::tool::Tidying;

/// Runs `work` on a thread of its own and waits for it, whatever happens. For work that must be
/// known to have ended, such as a change of a file.
pub(crate) async fn whole<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // A tool that panics is a tool that failed: its siblings and the turn go on.
        Err(crash) => Err(Refusal(format!("the tool crashed: {crash}"))),
    }
}

/// Begins `work` on a thread of its own, whether anybody waits for it or not.
pub(crate) fn beside(work: impl FnOnce() + Send + 'static) -> Tidying {
    let begun = tokio::task::spawn_blocking(work);
    // What was not tidied away is tidied away the next time.
    Box::pin(async { begun.await.unwrap_or_default() })
}

/// Runs `work`, which only reads, and leaves it alone once `cancel` is cancelled: nobody needs its
/// result any more, and a read that hangs in the kernel cannot be stopped anyway.
pub(crate) async fn reading(
    cancel: &CancellationToken,
    work: impl FnOnce() -> Result<Finished, Refusal> + Send + 'static,
) -> Finished {
    tokio::select! {
        biased;
        result = whole(work) => result.unwrap_or_else(Finished::from),
        () = cancel.cancelled() => Finished::cancelled("stopped before it was finished"),
    }
}

#[cfg(test)]
mod tests {
    use piton_core::event::Outcome;

    use super::*;

    // O34, D60: a crash is a result like another.
    #[tokio::test]
    async fn a_tool_that_panics_gives_a_failure() {
        let finished = reading(&CancellationToken::new(), || panic!("boom")).await;
        assert_eq!(finished.outcome, Outcome::Failed);
        assert!(finished.text.contains("crashed"), "{}", finished.text);
    }
}
