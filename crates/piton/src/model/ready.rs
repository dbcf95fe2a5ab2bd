//! Answers without a provider: for an embedder's own model, and for tests of an embedder's own tools.

use std::fmt;

use futures_util::stream;
use piton_core::answer::Delta;
use piton_core::event::{FinishReason, Usage};
use piton_core::transcript::{CallResult, Message, Transcript, typed};

use super::{AnswerStream, Model, ModelFailure};

/// A function as a model: gets the transcript, returns all pieces of the answer.
pub struct ModelFn<F>(pub F);

impl<F> fmt::Debug for ModelFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelFn").finish_non_exhaustive()
    }
}

impl<F: Fn(&Transcript) -> Vec<Delta> + Send + Sync> Model for ModelFn<F> {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let Self(function) = self;
        answer(function(transcript))
    }
}

/// An answer that is there at once. Its last piece must be [`Delta::End`].
pub fn answer(pieces: Vec<Delta>) -> AnswerStream {
    Box::pin(stream::iter(pieces.into_iter().map(Ok)))
}

/// An answer that comes in one go when `pieces` is done. Dropping the stream drops that future.
pub fn answer_later(
    pieces: impl Future<Output = Result<Vec<Delta>, ModelFailure>> + Send + 'static,
) -> AnswerStream {
    use futures_util::{StreamExt as _, TryStreamExt as _};
    let pieces = stream::once(pieces).map_ok(|pieces| stream::iter(pieces.into_iter().map(Ok)));
    Box::pin(pieces.try_flatten().boxed())
}

/// The pieces of an answer that is a text.
pub fn say(text: impl Into<String>) -> Vec<Delta> {
    vec![Delta::Text { index: 0, text: text.into() }, end(FinishReason::Stop)]
}

/// The pieces of an answer that calls one tool. `arguments` is a JSON object.
pub fn call(tool: impl Into<String>, arguments: impl Into<String>) -> Vec<Delta> {
    vec![
        Delta::CallOpened { index: 0, provider_id: None, name: tool.into() },
        Delta::CallArguments { index: 0, json: arguments.into() },
        Delta::Closed { index: 0 },
        end(FinishReason::ToolCalls),
    ]
}

fn end(finish: FinishReason) -> Delta {
    Delta::End { finish, usage: Usage::default() }
}

/// What the user typed last.
pub fn last_typed(transcript: &Transcript) -> String {
    let last = transcript.messages().iter().rev().find_map(|message| match message {
        Message::User(parts) => Some(parts),
        Message::Assistant(_) | Message::Results(_) => None,
    });
    let texts = last.into_iter().flatten().filter_map(typed);
    texts.collect::<Vec<_>>().join("\n")
}

/// The results of the newest answer's calls; none if the user spoke last.
pub fn last_results(transcript: &Transcript) -> &[CallResult] {
    match transcript.messages().last() {
        Some(Message::Results(results)) => results,
        Some(Message::User(_) | Message::Assistant(_)) | None => &[],
    }
}
