//! What goes wrong with an attempt, and how often it has.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use piton_core::event::FailureClass;
use serde::Deserialize;

/// What goes wrong with one attempt, or with several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// In which way.
    pub kind: FaultKind,
    /// After how many pieces; over HTTP, after how many events of the stream.
    #[serde(default)]
    pub after: usize,
    /// Over HTTP: after how many bytes of the body instead.
    #[serde(default)]
    pub after_bytes: Option<usize>,
    /// How many attempts it spoils.
    #[serde(default = "once")]
    pub times: usize,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

/// In which way an attempt goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The stream ends without its end mark.
    Cut,
    /// Everything comes but the end mark.
    NoEnd,
    /// The answer is empty.
    Empty,
    /// Nothing more comes.
    Stall,
    /// The model's code panics; over HTTP, the connection breaks before the answer.
    Panic,
    /// The provider reports a failure; behind the first piece, inside the stream.
    Fail(FailureClass),
    /// The provider answers with this status, and with the body that goes with it.
    Status(u16),
    /// The connection breaks.
    Drop,
    /// What comes next makes no sense.
    Garbage,
    /// The provider does not accept the signed reasoning that came back. Met only by a request that
    /// has some.
    BadSignature,
}

impl fmt::Display for FaultKind {
    /// As it is typed on a command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Cut => "cut",
            Self::NoEnd => "no-end",
            Self::Empty => "empty",
            Self::Stall => "stall",
            Self::Panic => "panic",
            Self::Drop => "drop",
            Self::Garbage => "garbage",
            Self::BadSignature => "bad-signature",
            Self::Status(status) => return write!(f, "{status}"),
            Self::Fail(class) => {
                // As scripts spell it, with the dashes of a command line.
                let name = serde_json::to_value(class).unwrap_or_default();
                return f.write_str(&name.as_str().unwrap_or_default().replace('_', "-"));
            }
        };
        f.write_str(name)
    }
}

impl Fault {
    /// A fault that spoils one attempt, from its beginning.
    pub fn new(kind: FaultKind) -> Self {
        Self { kind, after: 0, after_bytes: None, times: once(), retry_after_ms: None }
    }

    /// It happens after so many pieces.
    #[must_use]
    pub fn after(mut self, pieces: usize) -> Self {
        self.after = pieces;
        self
    }

    /// It happens after so many bytes of the body.
    #[must_use]
    pub fn after_bytes(mut self, bytes: usize) -> Self {
        self.after_bytes = Some(bytes);
        self
    }

    /// It spoils so many attempts.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// The provider asks to wait so long.
    #[must_use]
    pub fn retry_after_ms(mut self, wait_ms: u64) -> Self {
        self.retry_after_ms = Some(wait_ms);
        self
    }

    /// Whether it happens before anything of the answer.
    pub(crate) fn is_first(&self) -> bool {
        self.after == 0 && self.after_bytes.is_none_or(|bytes| bytes == 0)
    }
}

fn once() -> usize {
    1
}

/// How many faults of each step were met.
#[derive(Debug, Default)]
pub(crate) struct MetFaults(
    // A lock, because a model is asked from any task.
    Mutex<BTreeMap<usize, usize>>,
);

impl MetFaults {
    /// The fault of the next attempt, if there is one and the attempt can meet it.
    pub(crate) fn next(
        &self,
        place: usize,
        faults: &[Fault],
        meets: impl Fn(&Fault) -> bool,
    ) -> Option<Fault> {
        let mut met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = met.entry(place).or_default();
        let mut all = faults.iter().flat_map(|fault| std::iter::repeat_n(fault, fault.times));
        let fault = all.nth(*count).copied().filter(meets);
        *count += usize::from(fault.is_some());
        fault
    }
}

/// What a status means where nothing else is known.
pub(crate) fn class_of(status: u16) -> FailureClass {
    match status {
        401 | 403 => FailureClass::Auth,
        402 => FailureClass::Quota,
        413 => FailureClass::ContextOverflow,
        429 => FailureClass::RateLimited,
        503 | 529 => FailureClass::Overloaded,
        500..=599 => FailureClass::Server,
        _ => FailureClass::InvalidRequest,
    }
}
