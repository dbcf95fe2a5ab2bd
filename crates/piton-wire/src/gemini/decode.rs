//! From the bytes of an answer to its pieces.
//!
//! Every chunk is a whole response object; parts are appended in order. A call comes whole in one
//! part (or in fragments, see [`super::partial_args`]), text in any number of them.
//!
//! The end mark is held back until the body ends. A finish reason is the terminal event, but
//! gateways stamp `STOP` on every chunk, so the first one is not always the last: ending there
//! would make half an answer look whole. A body that ends without any finish reason was cut.

use std::borrow::Cow;

use piton_core::answer::Delta;
use piton_core::event::{FailureClass, FinishReason, Native};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::failure;
use super::finish::{Finish, finish};
use super::frames::Frames;
use super::native::Collector;
use super::partial_args::{Piece, put};
use super::usage::Counted;
use crate::lifted::Lifted;
use crate::{Ask, Decoder, Failure, rejected, said};

/// Keys of signatures. Their long values are lifted out before the parse.
const OPAQUE_KEYS: [&str; 1] = ["\"thoughtSignature\""];

/// Fields that are only looked at when they matter stay raw: an odd value in one of them must not
/// cost the text beside it, and skipping is cheaper than reading.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    prompt_feedback: Option<Feedback<'a>>,
    #[serde(borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow)]
    block_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    text: Option<String>,
    thought: Option<bool>,
    #[serde(borrow)]
    thought_signature: Option<&'a RawValue>,
    #[serde(borrow)]
    function_call: Option<Call<'a>>,
    inline_data: Option<IgnoredAny>,
    file_data: Option<IgnoredAny>,
    executable_code: Option<IgnoredAny>,
    code_execution_result: Option<IgnoredAny>,
    tool_call: Option<IgnoredAny>,
    tool_response: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    partial_args: Option<Vec<Piece>>,
    will_continue: Option<bool>,
}

/// A part's JSON, and what was lifted out of it.
#[derive(Clone, Copy)]
struct Raw<'a> {
    json: &'a str,
    lifted: &'a Lifted<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    Text,
    Reasoning,
}

/// A call whose arguments are still coming.
#[derive(Debug)]
struct OpenCall {
    index: u32,
    id: Option<String>,
    name: String,
    args: Value,
    signature: Option<String>,
    /// A fragment did not fit: never closed, so never run.
    is_broken: bool,
}

/// Reads one answer.
#[derive(Debug)]
pub(super) struct Reader {
    frames: Frames,
    origin: Native,
    next_index: u32,
    run: Option<(Run, u32)>,
    open: Vec<OpenCall>,
    /// Calls without any arguments: whole at a normal stop, cut at a length stop.
    bare: Vec<u32>,
    has_calls: bool,
    native: Collector,
    counted: Counted,
    finish: Option<FinishReason>,
    is_done: bool,
}

impl Raw<'_> {
    /// Something in the part, as it came.
    fn whole<'b>(&'b self, json: &'b str) -> Cow<'b, str> {
        self.lifted.whole(json)
    }
}

impl Reader {
    pub(super) fn new(ask: &Ask) -> Self {
        let (provider, host, model) = (ask.provider.clone(), ask.host.clone(), ask.model.clone());
        Self {
            frames: Frames::default(),
            origin: Native { provider, host, model, raw: "".into() },
            next_index: 0,
            run: None,
            open: Vec::new(),
            bare: Vec::new(),
            has_calls: false,
            native: Collector::default(),
            counted: Counted::default(),
            finish: None,
            is_done: false,
        }
    }

    fn chunk(&mut self, text: &str, out: &mut Vec<Delta>) -> Result<(), Failure> {
        if text.trim_ascii().is_empty() || text == "[DONE]" {
            return Ok(());
        }
        let lifted = Lifted::of(text, &OPAQUE_KEYS);
        let chunk = match serde_json::from_str::<Chunk<'_>>(lifted.rest()) {
            Ok(chunk) => chunk,
            // JSON of another shape is an event that we do not know.
            Err(error) if error.is_data() => return Ok(()),
            // Behind a finish reason there is nothing left to lose; before it, text is missing.
            Err(_) if self.finish.is_some() => return Ok(()),
            Err(_) => {
                let message = "an event of the stream is no JSON";
                return Err(Failure::new(FailureClass::Malformed, message));
            }
        };
        if let Some(error) = chunk.error {
            // The answer was whole before the error.
            return if self.finish.is_some() { Ok(()) } else { Err(failure::of_event(error)) };
        }
        if let Some(counts) = chunk.usage_metadata {
            self.counted.take(counts);
        }
        // Only one answer is asked for; another one's parts would be mixed into it.
        let candidates = chunk.candidates.into_iter().flatten();
        for candidate in candidates.filter(|it| it.index.is_none_or(|index| index.get() == "0")) {
            let parts = candidate.content.and_then(|content| content.parts);
            for part in parts.into_iter().flatten() {
                self.part(Raw { json: part.get(), lifted: &lifted }, out);
            }
            match candidate.finish_reason.map_or(Finish::NotYet, finish) {
                Finish::NotYet => {}
                Finish::End(reason) => self.finish = Some(reason),
                Finish::Fail(class) => {
                    let said = [candidate.finish_reason, candidate.finish_message];
                    let said: Vec<_> = said.into_iter().flatten().map(RawValue::get).collect();
                    let message = said::short(&said.join(" ").replace('"', ""));
                    let rejected = rejected::of("", &message.replace('_', " "));
                    return Err(Failure { rejected, ..Failure::new(class, message) });
                }
            }
        }
        let blocked = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason);
        if blocked.is_some_and(|it| !matches!(it.get(), "0" | r#""BLOCK_REASON_UNSPECIFIED""#)) {
            self.finish = Some(FinishReason::Refused);
        }
        Ok(())
    }

    fn part(&mut self, raw: Raw<'_>, out: &mut Vec<Delta>) {
        // A part of a kind or shape that we do not know is skipped.
        let Ok(part) = serde_json::from_str::<Part<'_>>(raw.json) else {
            return;
        };
        let signature = part.thought_signature.map(RawValue::get).filter(|it| *it != "\"\"");
        if let Some(call) = part.function_call {
            self.call(call, raw, signature, out);
            return;
        }
        if let Some(text) = part.text {
            let is_thought = part.thought == Some(true);
            match signature {
                Some(_) => self.native.verbatim(raw.whole(raw.json).into_owned()),
                None if is_thought => {}
                None => self.native.text(&text),
            }
            self.text(if is_thought { Run::Reasoning } else { Run::Text }, text, out);
            return;
        }
        let others = [
            part.inline_data,
            part.file_data,
            part.executable_code,
            part.code_execution_result,
            part.tool_call,
            part.tool_response,
        ];
        if others.iter().any(Option::is_some) {
            self.run = None;
            self.native.verbatim(raw.whole(raw.json).into_owned());
        } else if signature.is_some() {
            self.native.signature_only(&raw.whole(raw.json));
        }
    }

    fn text(&mut self, kind: Run, text: String, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let index = match self.run {
            Some((run, index)) if run == kind => index,
            _ => self.begin(),
        };
        self.run = Some((kind, index));
        out.push(match kind {
            Run::Text => Delta::Text { index, text },
            Run::Reasoning => Delta::Reasoning { index, text },
        });
    }

    fn begin(&mut self) -> u32 {
        let index = self.next_index;
        self.next_index = index.saturating_add(1);
        self.run = None;
        index
    }

    fn call(
        &mut self,
        call: Call<'_>,
        raw: Raw<'_>,
        signature: Option<&str>,
        out: &mut Vec<Delta>,
    ) {
        let id = call.id.filter(|id| !id.is_empty());
        let by_id = self.open.iter().position(|open| id.is_some() && open.id == id);
        // A name begins a call; without one, the fragment belongs to the call begun last.
        let last = self.open.len().checked_sub(1).filter(|_| call.name.is_none());
        let known = by_id.or(last);
        let is_last = call.will_continue != Some(true);
        if known.is_none() && is_last && call.partial_args.is_none() {
            let name = call.name.unwrap_or_default();
            // What ends a call that never began, or names nothing, is no call.
            if !name.is_empty() || id.is_some() || call.args.is_some() {
                let index = self.begin();
                let json = raw.whole(raw.json).into_owned();
                self.native.call(json, index, signature.is_some());
                self.has_calls |= !name.is_empty();
                out.push(Delta::CallOpened { index, provider_id: id, name });
                let args = call.args.map(|args| raw.whole(args.get()).into_owned());
                self.arguments(index, args, out);
            }
            return;
        }
        let at = known.unwrap_or_else(|| {
            let (index, name) = (self.begin(), call.name.unwrap_or_default());
            let (provider_id, opened) = (id.clone(), name.clone());
            out.push(Delta::CallOpened { index, provider_id, name: opened });
            let (args, signature) = (json!({}), None);
            self.open.push(OpenCall { index, id, name, args, signature, is_broken: false });
            self.open.len() - 1
        });
        if let Some(open) = self.open.get_mut(at) {
            for piece in call.partial_args.into_iter().flatten() {
                open.is_broken |= put(&mut open.args, piece).is_err();
            }
            if open.signature.is_none() {
                open.signature = signature.map(|it| raw.whole(it).into_owned());
            }
        }
        if is_last {
            let open = self.open.remove(at);
            self.close(open, out);
        }
    }

    /// Without arguments, whether the call is whole is known at the end.
    fn arguments(&mut self, index: u32, args: Option<String>, out: &mut Vec<Delta>) {
        match args {
            Some(json) => {
                out.push(Delta::CallArguments { index, json });
                out.push(Delta::Closed { index });
            }
            None => self.bare.push(index),
        }
    }

    fn close(&mut self, open: OpenCall, out: &mut Vec<Delta>) {
        if open.is_broken {
            return;
        }
        self.has_calls |= !open.name.is_empty();
        let index = open.index;
        out.push(Delta::CallArguments { index, json: open.args.to_string() });
        out.push(Delta::Closed { index });
        let mut call = json!({ "name": open.name, "args": open.args });
        if let (Some(id), Some(fields)) = (open.id, call.as_object_mut()) {
            fields.insert("id".into(), id.into());
        }
        let signed = open.signature.as_ref().map(|raw| format!(r#","thoughtSignature":{raw}"#));
        let raw = format!(r#"{{"functionCall":{call}{}}}"#, signed.as_deref().unwrap_or_default());
        self.native.call(raw, index, signed.is_some());
    }

    /// Gives the end mark, if a finish reason came.
    fn finish(&mut self, out: &mut Vec<Delta>) {
        let Some(reason) = self.finish.take() else {
            return;
        };
        self.is_done = true;
        let bare = std::mem::take(&mut self.bare);
        let is_cut = reason == FinishReason::Length;
        if !is_cut {
            out.extend(bare.iter().map(|index| Delta::Closed { index: *index }));
        }
        // A refused answer is never sent back, so nothing of it is kept.
        let native = std::mem::take(&mut self.native);
        let native = native.finish(|index| is_cut && bare.contains(&index));
        if let Some(raw) = native.filter(|_| reason != FinishReason::Refused) {
            out.push(Delta::Native(Native { raw, ..self.origin.clone() }));
        }
        let wants_tools = reason == FinishReason::Stop && self.has_calls;
        let finish = if wants_tools { FinishReason::ToolCalls } else { reason };
        out.push(Delta::End { finish, usage: self.counted.usage() });
    }
}

impl Decoder for Reader {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Delta>) -> Result<(), Failure> {
        if self.is_done {
            return Ok(());
        }
        let mut frames = std::mem::take(&mut self.frames);
        let read = frames.push(bytes, |value| self.chunk(value, out));
        self.frames = frames;
        self.is_done |= read.is_err();
        read?;
        if self.frames.is_closed() {
            self.finish(out);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        if !self.is_done {
            self.finish(out);
        }
        Ok(())
    }
}
