//! The seam between the server and the providers that it plays.

use piton_core::event::FailureClass;
use serde_json::Value;

use super::asked::Asked;
use super::heard::Heard;
use super::refusal::Refusal;
use super::reply::Reply;
use super::seal::Sealed;

/// One provider: how it hears, how it speaks, how it says no.
pub(super) trait Voice: Send {
    /// Headers that carry its key; any one of them is enough. None if it needs no key.
    fn key_headers(&self) -> &'static [&'static str];

    /// What the request says.
    fn hear(&self, asked: &Asked) -> Heard;

    /// The request is not accepted, for a reason of its own.
    fn reject(&self, message: &str) -> Refusal;

    /// What it does not accept in the request.
    fn objection(&self, asked: &Asked) -> Option<Refusal>;

    /// The sealed blocks that came back with the request.
    fn sealed(&self, asked: &Asked) -> Vec<Sealed>;

    /// The seal at this place is not accepted.
    fn bad_seal(&self, at: &str) -> Refusal;

    /// The answer as a stream: one text per event.
    fn stream(&self, reply: &Reply, asked: &Asked) -> Vec<String>;

    /// The answer in one piece.
    fn whole(&self, reply: &Reply, asked: &Asked) -> Value;

    /// A failure of this class.
    fn refuse(&self, class: FailureClass, status: Option<u16>, wait_ms: Option<u64>) -> Refusal;

    /// No key came with the request.
    fn no_key(&self) -> Refusal {
        self.refuse(FailureClass::Auth, None, None)
    }

    /// A failure inside a stream.
    fn event(&self, refusal: &Refusal) -> String {
        event(None, &refusal.body)
    }
}

/// An event of a stream.
pub(super) fn event(name: Option<&str>, data: &Value) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n")
}

/// What a failure says where a script does not care.
pub(super) const SCRIPTED: &str = "The simulator was told to reject this request.";
