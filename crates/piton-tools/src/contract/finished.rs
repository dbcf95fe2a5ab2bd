//! How a call ended, and how much of that the model sees.

use piton_core::event::Outcome;
use piton_core::id::CallId;
use piton_core::question::Question;

use super::image::Image;
use super::refusal::Refusal;

/// Largest text of a result that goes to the model, in bytes; the rest goes to a blob.
pub const OUTPUT_BYTES_MAX: usize = 32 * 1024;

/// What is shown in the place of an output that cannot be searched for a secret: the
/// process that knew the secret is gone, or is another one.
pub const WITHHELD_TEXT: &str =
    "[its output is not kept: it may quote a secret that was given to it]";

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// In which way.
    pub outcome: Outcome,
    /// What the model sees; at most [`OUTPUT_BYTES_MAX`].
    pub text: String,
    /// Exit code of a command.
    pub exit_code: Option<i32>,
    /// How many bytes at the end of `text` are remarks of the tool itself, and not output.
    pub note_bytes: usize,
    /// The whole output, if `text` is an extract.
    pub full: Option<Vec<u8>>,
    /// Images that the model sees beside the text.
    pub images: Vec<Image>,
    /// The call has not ended: it needs answers to these and to what it asked before.
    pub asks: Option<Vec<Question>>,
    /// Whose output this is, if that was told a secret.
    pub quotes: Option<Quotes>,
}

/// The output of a command that was told a secret, and may quote it: only who knows the secret can
/// search for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotes {
    /// The call that was told.
    pub call: CallId,
    /// What can be said of the command without its output.
    pub notes: String,
}

impl Finished {
    /// A call that did what it does.
    pub fn ok(text: impl Into<String>) -> Self {
        Self::new(Outcome::Ok, text.into())
    }

    /// A call that could not do what was asked; `text` says what to do next.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(Outcome::Failed, text.into())
    }

    /// A call that cannot go on without answers, to these questions and to those it had
    /// [asked](crate::Job::ask). It says that it has done nothing that may not be done again: it runs again
    /// from scratch, with [all answers](crate::Job::responses), whatever its effect class.
    pub fn needs_input(questions: Vec<Question>) -> Self {
        Self { asks: Some(questions), ..Self::cancelled("waits for an answer") }
    }

    /// A call that was stopped; `text` says what it had done until then.
    pub fn cancelled(text: impl Into<String>) -> Self {
        Self::new(Outcome::Cancelled, text.into())
    }

    pub(crate) fn new(outcome: Outcome, text: String) -> Self {
        let (exit_code, note_bytes, full, images) = (None, 0, None, Vec::new());
        Self { outcome, text, exit_code, note_bytes, full, images, asks: None, quotes: None }
    }
}

/// What stops a call before it starts also stops it half way: the world may have changed since
/// [`Tool::prepare`](crate::Tool::prepare) looked.
impl From<Refusal> for Finished {
    fn from(refusal: Refusal) -> Self {
        Self::failed(refusal.0)
    }
}
