//! What became of an answer, and whether somebody else was faster.

use std::future::{Future, pending};
use std::pin::Pin;

use piton::News;
use piton_core::id::InquiryId;
use piton_core::view::{ItemView, Patch};

use crate::ask::Prompt;
use crate::cmd::query::feed::Told;
use crate::report::Fault;

/// What became of an answer, once that is known.
pub(super) type Answering = Option<Pin<Box<dyn Future<Output = Settled>>>>;

/// What became of an answer.
#[derive(Debug)]
pub(in crate::cmd) enum Settled {
    /// It counts, or another one does that a rule gave.
    Known,
    /// Somebody else was faster.
    Late,
    /// It did not arrive; these questions are still open.
    Failed(Vec<InquiryId>, Box<Fault>),
}

/// Waits until the driver has taken in the answer that is on its way.
pub(in crate::cmd) async fn answered(answering: &mut Answering) -> Settled {
    match answering {
        Some(answering) => answering.await,
        None => pending().await,
    }
}

/// Whether news say that a question is settled.
pub(super) fn closes((worker, news): &Told, prompt: &Prompt) -> bool {
    let News::Change(change) = news else { return false };
    if *worker != prompt.worker {
        return false;
    }
    let mut calls = change.patches.iter().flat_map(|patch| match patch {
        Patch::Call { call, .. } => std::slice::from_ref(&**call),
        Patch::Item { item, .. } => match &**item {
            ItemView::Step(step) => step.calls.as_slice(),
            ItemView::Message(_) | _ => &[],
        },
        Patch::Head { .. }
        | Patch::Queue { .. }
        | Patch::Undos { .. }
        | Patch::Covered { .. }
        | Patch::Supersede { .. }
        | Patch::Turn { .. }
        | Patch::TurnHead { .. }
        | Patch::Append { .. }
        | _ => &[],
    });
    calls.any(|call| call.questions.iter().any(|it| it.id == prompt.asked.id && !it.open))
}
