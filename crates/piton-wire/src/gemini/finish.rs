//! What a finish reason means.

use piton_core::event::{FailureClass, FinishReason};
use serde_json::value::RawValue;

/// What to do at a finish reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// The value says nothing: the answer goes on.
    NotYet,
    /// The answer ends. `Stop` is also said for calls.
    End(FinishReason),
    /// The answer ends and is not one: asking again may help, or the request is at fault.
    Fail(FailureClass),
}

/// Reads a finish reason, a name or the number of one.
pub(super) fn finish(raw: &RawValue) -> Finish {
    let raw = raw.get();
    match raw.parse::<u32>() {
        Ok(number) => by_name(name_of(number)),
        Err(_) => by_name(raw.trim_matches('"')),
    }
}

fn by_name(name: &str) -> Finish {
    match name {
        "" | "null" | "FINISH_REASON_UNSPECIFIED" => Finish::NotYet,
        "MAX_TOKENS" => Finish::End(FinishReason::Length),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::End(FinishReason::Refused),
        // The model meant to call a tool and the service could not read the call. What came with
        // it is no final answer, so it must not close the turn.
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS" => Finish::Fail(FailureClass::Malformed),
        "MISSING_THOUGHT_SIGNATURE" => Finish::Fail(FailureClass::InvalidRequest),
        // STOP, OTHER, and names of the future: an end, and parts arrive whole. If there is
        // nothing in it, the empty answer is noticed elsewhere.
        _ => Finish::End(FinishReason::Stop),
    }
}

/// Vertex says numbers when its gRPC form is turned into JSON.
fn name_of(number: u32) -> &'static str {
    match number {
        0 => "",
        1 => "STOP",
        2 => "MAX_TOKENS",
        3 => "SAFETY",
        4 => "RECITATION",
        6 => "BLOCKLIST",
        7 => "PROHIBITED_CONTENT",
        8 => "SPII",
        9 => "MALFORMED_FUNCTION_CALL",
        10 => "MODEL_ARMOR",
        11 => "IMAGE_SAFETY",
        12 => "IMAGE_PROHIBITED_CONTENT",
        13 => "IMAGE_RECITATION",
        15 => "UNEXPECTED_TOOL_CALL",
        _ => "OTHER",
    }
}
