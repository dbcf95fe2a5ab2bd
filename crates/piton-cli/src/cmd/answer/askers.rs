//! The conversations that wait for an answer, and their open questions.

use piton::{Engine, FollowError};
use piton_core::id::ConversationId;
use piton_core::view::{TurnView, View};

use crate::report::Fault;

/// The conversations that ask something: first the given one, then its workers.
pub(super) async fn askers(
    engine: &Engine,
    id: &ConversationId,
) -> Result<Vec<(ConversationId, View)>, Fault> {
    let own = engine.view(id).await?;
    let calls = own.open_turn().into_iter().flat_map(TurnView::calls);
    let open = calls.filter(|call| call.ended.is_none());
    let workers: Vec<_> = open.filter_map(|call| call.worker.clone()).collect();
    let mut askers = vec![(id.clone(), own)];
    for worker in workers {
        match engine.view(&worker).await {
            // A worker that has not begun asks nothing.
            Err(FollowError::Unknown(_)) => {}
            view => askers.push((worker, view?)),
        }
    }
    askers.retain(|(_, view)| view.open_questions().next().is_some());
    Ok(askers)
}
