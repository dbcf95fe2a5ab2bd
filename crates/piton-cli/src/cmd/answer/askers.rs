//! The conversations that wait for an answer, and their open questions.

use piton::{Engine, FollowError};
use piton_core::id::ConversationId;
use piton_core::view::{ItemView, QuestionView, View};

use crate::report::Fault;

/// The conversations that ask something: first the given one, then its workers.
pub(super) async fn askers(
    engine: &Engine,
    id: &ConversationId,
) -> Result<Vec<(ConversationId, View)>, Fault> {
    let own = engine.view(id).await?;
    let steps = own.open_turn().into_iter().flat_map(|turn| &turn.items);
    let calls = steps.flat_map(|item| match item {
        ItemView::Step(step) => step.calls.as_slice(),
        ItemView::Message(_) | _ => &[],
    });
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
    askers.retain(|(_, view)| questions(view).next().is_some());
    Ok(askers)
}

/// The questions that wait for an answer, in order.
pub(super) fn questions(view: &View) -> impl Iterator<Item = &QuestionView> {
    view.head.asking.iter().filter_map(|asking| view.question(&asking.question))
}
