//! Where a turn is shown, and where a person is asked.

use piton_core::id::ConversationId;

use crate::ask::keys::{Key, Menu, Pressed};
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
    /// Asks until a key of the menu is typed.
    pub(super) async fn choose(&mut self, menu: &Menu) -> Result<Key, Fault> {
        let mut told = String::new();
        loop {
            let line = self.ask(&format!("{told}{}", menu.line())).await?;
            match menu.hear(&line) {
                Pressed::Key(key) => return Ok(key),
                Pressed::Told(more) => told = more,
            }
        }
    }

    /// Asks on the terminal and waits for a line. What was typed before is no answer.
    pub(super) async fn ask(&mut self, question: &str) -> Result<String, Fault> {
        let terminal = self.terminal.as_mut().ok_or(Fault::Interrupted)?;
        terminal.forget_typed();
        terminal.show(question);
        tokio::select! {
            biased;
            _ = self.signals.next() => Err(Fault::Interrupted),
            line = terminal.line() => line.ok_or(Fault::Interrupted),
        }
    }
}
