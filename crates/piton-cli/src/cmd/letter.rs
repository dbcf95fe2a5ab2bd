//! What becomes of a command that was left for the process at work on a conversation.

use std::time::Duration;

use piton::{Conversation, Verdict};
use piton_core::id::CommandId;
use piton_store::{Holder, Journal};
use tokio::time::Instant;

use crate::report::{Fault, LetterFault};

/// How often to look whether it was taken.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Waits for the verdict on a command and its letter. If nobody works on the conversation any more, this process
/// takes it. What nobody takes in time is taken back; then there is no verdict.
pub(super) async fn verdict(
    conversation: &Conversation,
    journal: &dyn Journal,
    (command, letter): (&CommandId, &str),
    wait: Duration,
) -> Result<Option<Verdict>, Fault> {
    let deadline = Instant::now() + wait;
    let mut is_late = false;
    loop {
        let verdict = conversation.verdict(command).await.map_err(LetterFault::from)?;
        if verdict.is_some() || is_late {
            return Ok(verdict);
        }
        if deadline <= Instant::now() {
            conversation.withdraw(letter).await.map_err(LetterFault::from)?;
            // It may have been taken while it was withdrawn.
            is_late = true;
            continue;
        }
        if holder(conversation, journal).await?.is_none() {
            conversation.look().await.map_err(LetterFault::from)?;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The process that works on a conversation.
pub(super) async fn holder(
    conversation: &Conversation,
    journal: &dyn Journal,
) -> Result<Option<Holder>, Fault> {
    Ok(journal.status(conversation.id()).await?.and_then(|listed| listed.holder))
}
