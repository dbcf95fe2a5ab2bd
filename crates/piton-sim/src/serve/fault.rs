//! What goes over the wire, and what a fault leaves of it.

use piton_core::event::FailureClass;

use super::asked::Asked;
use super::refusal::Refusal;
use super::reply::Reply;
use super::voice::Voice;
use crate::script::fault::class_of;
use crate::script::pace::Pace;
use crate::script::{Fault, FaultKind};

/// What no reader of any dialect can make sense of.
const GARBAGE: &[u8] = b"data: {\"garbage\":\xff\n\n";

/// An answer on its way out.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) pace: Pace,
    pub(super) close: Close,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// As HTTP wants it, also behind a body that makes no sense.
    End,
    /// The connection breaks.
    Drop,
    /// Nothing more comes, and the connection stays.
    Stall,
    /// The connection breaks before the head of the answer.
    DropFirst,
    /// Nothing comes at all.
    StallFirst,
}

impl Plan {
    /// A refusal.
    pub(super) fn refuse(refusal: &Refusal) -> Self {
        let mut headers = refusal.headers.clone();
        headers.push(("content-type", "application/json".into()));
        Self {
            status: refusal.status,
            headers,
            pieces: vec![refusal.body.to_string().into_bytes()],
            pace: Pace::default(),
            close: Close::End,
        }
    }

    /// A whole answer.
    pub(super) fn answer(voice: &dyn Voice, asked: &Asked, reply: &Reply, pace: Pace) -> Self {
        let (kind, pieces) = if asked.streams {
            let events = voice.stream(reply, asked).into_iter();
            ("text/event-stream", events.map(String::into_bytes).collect())
        } else {
            ("application/json", vec![voice.whole(reply, asked).to_string().into_bytes()])
        };
        let headers = vec![("content-type", kind.to_owned())];
        Self { status: 200, headers, pieces, pace, close: Close::End }
    }

    /// What a fault leaves of an answer.
    pub(super) fn spoil(mut self, voice: &dyn Voice, fault: &Fault) -> Self {
        let first = fault.is_first();
        let close = |close, at_first| if first { at_first } else { close };
        match manifest(fault.kind) {
            FaultKind::Fail(class) => return self.fail(voice, fault, class, None),
            FaultKind::Status(status) => {
                return self.fail(voice, fault, class_of(status), Some(status));
            }
            FaultKind::NoEnd => {
                self.pieces.pop();
                return self;
            }
            FaultKind::Cut => self.cut(fault),
            FaultKind::Stall => {
                self.cut(fault);
                self.close = close(Close::Stall, Close::StallFirst);
            }
            FaultKind::Drop => {
                self.cut(fault);
                self.close = close(Close::Drop, Close::DropFirst);
            }
            FaultKind::Panic => self.close = Close::DropFirst,
            FaultKind::Garbage => {
                self.cut(fault);
                self.pieces.push(GARBAGE.to_vec());
            }
            // Both are answers of their own, made before this.
            FaultKind::Empty | FaultKind::BadSignature => {}
        }
        self
    }

    fn fail(
        mut self,
        voice: &dyn Voice,
        fault: &Fault,
        class: FailureClass,
        status: Option<u16>,
    ) -> Self {
        let refusal = voice.refuse(class, status, fault.retry_after_ms);
        if fault.is_first() {
            return Self::refuse(&refusal);
        }
        self.cut(fault);
        self.pieces.push(voice.event(&refusal).into_bytes());
        self
    }

    /// Keeps what comes before the fault.
    fn cut(&mut self, fault: &Fault) {
        let Some(mut left) = fault.after_bytes else {
            self.pieces.truncate(fault.after);
            return;
        };
        self.pieces.retain_mut(|piece| {
            piece.truncate(left);
            left -= piece.len();
            !piece.is_empty()
        });
    }
}

/// A class of failure that is no answer at all is done rather than said.
pub(super) fn manifest(kind: FaultKind) -> FaultKind {
    match kind {
        FaultKind::Fail(FailureClass::Network) => FaultKind::Drop,
        FaultKind::Fail(FailureClass::StreamBroke) => FaultKind::Cut,
        FaultKind::Fail(FailureClass::Stalled) => FaultKind::Stall,
        FaultKind::Fail(FailureClass::Malformed) => FaultKind::Garbage,
        FaultKind::Fail(FailureClass::Empty) => FaultKind::Empty,
        FaultKind::Cut
        | FaultKind::NoEnd
        | FaultKind::Empty
        | FaultKind::Stall
        | FaultKind::Panic
        | FaultKind::Fail(_)
        | FaultKind::Status(_)
        | FaultKind::Drop
        | FaultKind::Garbage
        | FaultKind::BadSignature => kind,
    }
}
