//! A person who presses something on the page is there, also before the page follows what comes of it: a
//! conversation that begins has no stream yet, and a page without the module never has one.

use std::time::Duration;

use piton::{Conversation, Envelope};

use crate::api::receipt::{self, Receipt};
use crate::fault::Fault;
use crate::shared::Shared;

/// How long a person counts as being there behind a form: long enough for a slow browser to open the page of
/// the conversation, whose stream then says that somebody is there.
const PERSON_STAYS: Duration = Duration::from_secs(30);

/// Sends a command in the name of a person. Durable when this returns.
pub(super) async fn post(
    shared: &Shared,
    conversation: &Conversation,
    envelope: Envelope,
) -> Result<Receipt, Fault> {
    stay(shared, conversation);
    receipt::post(shared, conversation, envelope).await
}

/// A person is there from now on, and for a while.
pub(super) fn stay(shared: &Shared, conversation: &Conversation) {
    let (attending, stop) = (conversation.attend(), shared.stop.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(PERSON_STAYS) => {}
            () = stop.cancelled() => {}
        }
        drop(attending);
    });
}
