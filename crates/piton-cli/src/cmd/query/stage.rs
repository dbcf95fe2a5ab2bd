//! Where a turn is shown, and where a person is asked.

use piton_core::id::ConversationId;
use tokio::task::JoinSet;

use crate::ask::keys::{Key, Menu, Pressed};
use crate::output::{Form, Output};
use crate::report::Fault;
use crate::signals::Signals;
use crate::terminal::Terminal;
use crate::typing::Typing;

/// Where a turn is shown.
#[derive(Debug)]
pub(in crate::cmd) struct Stage<'a> {
    pub(in crate::cmd) output: &'a mut Output,
    pub(in crate::cmd) signals: Signals,
    pub(in crate::cmd) terminal: Option<Terminal>,
    pub(in crate::cmd) form: Form,
    /// The conversation that it is about, once that is known.
    pub(in crate::cmd) conversation: Option<ConversationId>,
    /// What a person does beside a turn, in a chat.
    pub(in crate::cmd) beside: Option<Beside>,
}

/// What a person does beside a turn, in a chat.
#[derive(Debug, Default)]
pub(in crate::cmd) struct Beside {
    pub(in crate::cmd) typing: Typing,
    /// Side questions that are being answered.
    pub(in crate::cmd) asked: JoinSet<Result<String, String>>,
    /// Whether the chat is left when the turn has stopped.
    pub(in crate::cmd) leaves: bool,
}

impl Stage<'_> {
    /// Asks until a key of the menu is typed.
    pub(in crate::cmd) async fn choose(&mut self, menu: &Menu) -> Result<Key, Fault> {
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
    pub(in crate::cmd) async fn ask(&mut self, question: &str) -> Result<String, Fault> {
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
