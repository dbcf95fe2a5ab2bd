//! A command, a rule or a file that a person changes before it is answered with.

use piton::Reply;

use super::Watch;
use crate::ask::{Content, Edited, Prompt};
use crate::output::Output;
use crate::render::paint::Style;
use crate::screen;
use crate::terminal::Terminal;

impl Watch {
    /// What the call writes that is asked about, if somebody wants to change it in an editor now.
    pub(in crate::cmd) fn content(&mut self) -> Option<Content> {
        let is_wanted = std::mem::take(&mut self.writes);
        self.prompts.front().filter(|_| is_wanted).and_then(Prompt::content).cloned()
    }

    /// The call runs with these arguments, which were made so.
    pub(in crate::cmd) fn rewrite(&mut self, arguments: String, output: &mut Output) {
        self.answer(&Reply::Change(arguments), output);
    }

    /// Shows the text that is to be changed, if one is, and takes keys from now on. A plain terminal shows
    /// the old text and takes a new line.
    pub(super) fn put_editor(&mut self, terminal: &mut Terminal) -> bool {
        let edited = self.prompts.front().and_then(Prompt::edited);
        let Some(editor) = edited.filter(|_| screen::style() == Style::Coloured) else {
            return false;
        };
        self.editor = Some(editor);
        terminal.want_keys();
        self.show_editor(terminal);
        true
    }

    /// Keys were pressed at the text. The line, when it is whole; one that is left is empty.
    pub(super) fn edit(&mut self, typed: &[u8], terminal: &mut Option<Terminal>) -> Option<String> {
        let (_, editor) = self.editor.as_mut()?;
        let line = match editor.press(typed) {
            Edited::On => {
                if let Some(terminal) = terminal {
                    self.show_editor(terminal);
                }
                return None;
            }
            Edited::Whole(line) => line,
            Edited::Left => String::new(),
        };
        self.close_editor(terminal);
        Some(line)
    }

    /// Nobody changes the text any more: lines count again, below it.
    pub(super) fn close_editor(&mut self, terminal: &mut Option<Terminal>) {
        if let (Some(_), Some(terminal)) = (self.editor.take(), terminal) {
            terminal.want_lines();
            terminal.show("\n");
        }
    }

    fn show_editor(&self, terminal: &mut Terminal) {
        let Some((label, editor)) = &self.editor else { return };
        let columns = terminal.size().columns.saturating_sub(label.chars().count());
        let (seen, cursor) = editor.seen(columns);
        terminal.leave_line(Style::Coloured);
        terminal.show(&format!("{label}{seen}"));
        terminal.go_to_column(label.chars().count() + cursor);
    }
}
