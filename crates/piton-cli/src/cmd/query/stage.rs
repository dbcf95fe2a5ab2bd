//! Where a turn is shown, and where a person is asked.

use piton_core::id::ConversationId;

use crate::output::{Form, Output};
use crate::report::Fault;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// Where a turn is shown.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    pub(super) output: &'a mut Output,
    pub(super) signals: Signals,
    pub(super) terminal: Option<Terminal>,
    pub(super) form: Form,
    /// The conversation that it is about, once that is known.
    pub(super) conversation: Option<ConversationId>,
}

impl Stage<'_> {
    /// Asks on the terminal and waits for a line.
    pub(super) async fn ask(&mut self, question: &str) -> Result<String, Fault> {
        let terminal = self.terminal.as_mut().ok_or(Fault::Interrupted)?;
        terminal.show(question);
        tokio::select! {
            biased;
            _ = self.signals.next() => Err(Fault::Interrupted),
            line = terminal.line() => line.ok_or(Fault::Interrupted),
        }
    }
}
