//! Playing one step of a script as a stream.

use std::collections::VecDeque;

use futures_util::stream;
use piton::model::{AnswerStream, ModelFailure};
use piton_core::answer::Delta;
use piton_core::event::{FailureClass, FinishReason, Usage};

use super::fault::{self, Fault, FaultKind};
use super::pace::Pace;
use super::step::ScriptStep;

/// One thing that a stream does.
enum Beat {
    Give(Result<Delta, ModelFailure>),
    Stall,
    Panic,
}

/// Streams a step, or as much of it as its fault lets through.
pub(super) fn play(step: &ScriptStep, fault: Option<Fault>, place: usize) -> AnswerStream {
    let mut beats: VecDeque<Beat> =
        step.deltas(place).into_iter().map(|delta| Beat::Give(Ok(delta))).collect();
    if let Some(fault) = fault {
        spoil(&mut beats, fault);
    }
    let (pace, all) = (Pace::of(step), beats.len());
    Box::pin(stream::unfold((beats, pace), move |(mut beats, pace)| async move {
        pace.next(all, beats.len()).await;
        match beats.pop_front()? {
            Beat::Give(delta) => Some((delta, (beats, pace))),
            Beat::Stall => std::future::pending().await,
            Beat::Panic => crash(),
        }
    }))
}

/// A request that is not answered at all.
pub(super) fn refuse(class: FailureClass, message: &str) -> AnswerStream {
    Box::pin(stream::iter([Err(ModelFailure::new(class, message))]))
}

#[expect(clippy::panic, reason = "a script asked for a model whose code panics")]
fn crash() -> ! {
    panic!("scripted panic of the model")
}

fn spoil(beats: &mut VecDeque<Beat>, fault: Fault) {
    if fault.kind == FaultKind::NoEnd {
        beats.retain(|beat| !matches!(beat, Beat::Give(Ok(Delta::End { .. }))));
        return;
    }
    beats.truncate(fault.after);
    match fault.kind {
        FaultKind::Cut | FaultKind::NoEnd => {}
        FaultKind::Empty => {
            beats.clear();
            let usage = Usage { input: 1, ..Usage::default() };
            beats.push_back(Beat::Give(Ok(Delta::End { finish: FinishReason::Stop, usage })));
        }
        FaultKind::Stall => beats.push_back(Beat::Stall),
        FaultKind::Panic => beats.push_back(Beat::Panic),
        FaultKind::Fail(class) => beats.push_back(fail(class, fault)),
        // What only a wire can do is reported as a reader of the wire would report it.
        FaultKind::Status(status) => beats.push_back(fail(fault::class_of(status), fault)),
        FaultKind::Drop => beats.push_back(fail(FailureClass::Network, fault)),
        FaultKind::Garbage => beats.push_back(fail(FailureClass::Malformed, fault)),
        FaultKind::BadSignature => beats.push_back(fail(FailureClass::InvalidRequest, fault)),
    }
}

fn fail(class: FailureClass, fault: Fault) -> Beat {
    let mut failure = ModelFailure::new(class, format!("scripted failure: {class:?}"));
    failure.retry_after_ms = fault.retry_after_ms;
    Beat::Give(Err(failure))
}
