//! How tools run that look into their own conversation: nothing is changed, so they can be left at any moment.

use piton_tools::{Finished, Job, Refusal, parse_arguments};
use serde::de::DeserializeOwned;

/// Reads the arguments, and gives what is found by them.
pub(crate) async fn run<W, F>(schema: &str, job: &Job, look: impl FnOnce(W) -> F) -> Finished
where
    W: DeserializeOwned,
    F: Future<Output = Result<String, Refusal>>,
{
    let wanted = match parse_arguments(schema, &job.arguments) {
        Ok(wanted) => wanted,
        Err(refusal) => return refusal.into(),
    };
    tokio::select! {
        biased;
        () = job.cancel.cancelled() => Finished::cancelled("stopped before it was finished"),
        found = look(wanted) => found.map_or_else(Finished::from, Finished::ok),
    }
}
