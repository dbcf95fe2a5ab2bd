//! Playing one step of a script as a stream.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream;
use piton::model::{AnswerStream, ModelFailure};
use piton_core::answer::Delta;
use piton_core::event::{FailureClass, FinishReason, Usage};
use serde_json::Value;

use super::fault::{self, Fault, FaultKind};
use super::{ScriptCall, ScriptEnd, ScriptStep};

/// One thing that a stream does.
enum Beat {
    Give(Result<Delta, ModelFailure>),
    Stall,
    Panic,
}

/// Streams a step, or as much of it as its fault lets through.
pub(super) fn play(step: &ScriptStep, fault: Option<Fault>, place: usize) -> AnswerStream {
    let mut beats: VecDeque<Beat> =
        deltas(step, place).into_iter().map(|delta| Beat::Give(Ok(delta))).collect();
    if let Some(fault) = fault {
        spoil(&mut beats, fault);
    }
    let pause = Duration::from_millis(step.chunk_ms);
    Box::pin(stream::unfold(beats, move |mut beats| async move {
        let beat = beats.pop_front()?;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        match beat {
            Beat::Give(delta) => Some((delta, beats)),
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

pub(super) fn deltas(step: &ScriptStep, place: usize) -> Vec<Delta> {
    let mut deltas = Vec::new();
    let mut index = 0;
    for piece in chunks(&step.think, step.chunk) {
        deltas.push(Delta::Reasoning { index, text: piece });
    }
    index += 1;
    for piece in chunks(&step.say, step.chunk) {
        deltas.push(Delta::Text { index, text: piece });
    }
    let last = step.calls.len().saturating_sub(1);
    for (number, call) in step.calls.iter().enumerate() {
        index += 1;
        let name = call.tool.clone();
        deltas.push(Delta::CallOpened {
            index,
            provider_id: provider_id(call, place, number),
            name,
        });
        for json in chunks(&arguments(call), step.chunk) {
            deltas.push(Delta::CallArguments { index, json });
        }
        if step.end != ScriptEnd::Length || number < last {
            deltas.push(Delta::Closed { index });
        }
    }
    end(&mut deltas, step);
    deltas
}

fn end(deltas: &mut Vec<Delta>, step: &ScriptStep) {
    let usage = Usage { input: 100, output: 10, cached: 0 };
    let finish = match step.end {
        ScriptEnd::Length => FinishReason::Length,
        ScriptEnd::Refused => FinishReason::Refused,
        ScriptEnd::Mark | ScriptEnd::Twice if step.calls.is_empty() => FinishReason::Stop,
        ScriptEnd::Mark | ScriptEnd::Twice => FinishReason::ToolCalls,
    };
    deltas.push(Delta::End { finish, usage });
    if step.end == ScriptEnd::Twice {
        deltas.push(Delta::Text { index: 1, text: "stray".into() });
        deltas.push(Delta::End { finish, usage });
    }
}

fn provider_id(call: &ScriptCall, place: usize, number: usize) -> Option<String> {
    match &call.id {
        None => Some(format!("call_{place}_{number}")),
        Some(id) if id.is_empty() => None,
        Some(id) => Some(id.clone()),
    }
}

fn arguments(call: &ScriptCall) -> String {
    match (&call.raw, &call.arguments) {
        (Some(raw), _) => raw.clone(),
        (None, Value::Null) => String::new(),
        (None, arguments) => arguments.to_string(),
    }
}

fn chunks(text: &str, size: usize) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    if size == 0 {
        return vec![text.to_owned()];
    }
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
