//! A command or a rule that a person changes on the screen before it is answered with.

use super::Watch;
use crate::ask::{Edited, Prompt};
use crate::render::paint::Style;
use crate::screen;
use crate::terminal::Terminal;

impl Watch {
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
