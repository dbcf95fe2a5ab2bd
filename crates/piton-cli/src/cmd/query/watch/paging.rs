//! A question that is longer than the screen is read page by page before it is answered.

use super::Watch;
use crate::ask::{Pager, Prompt, Sheet, Turned};
use crate::render::paint::{Line, Page, Painted, Span, width};
use crate::screen;
use crate::terminal::Terminal;

/// What keys with names begin with.
const ESCAPE: u8 = 0x1b;

/// What is typed to read a long question again.
const MORE: &str = "more";

impl Watch {
    /// Shows the first question, or its first page.
    pub(super) fn put_question(&mut self, terminal: &mut Terminal) {
        if self.put_editor(terminal) {
            return;
        }
        let (size, style) = (terminal.size(), screen::style());
        let page = Page { columns: size.columns, style };
        let is_choosing = self.prompts.front().is_some_and(Prompt::is_choosing);
        let Some(prompt) = self.prompts.front_mut() else { return };
        let is_read = prompt.was_read() && !self.reads_again;
        self.reads_again = false;
        let mut sheet = prompt.sheet(page);
        if 1 < self.all.on_screen.len() && !is_choosing {
            let on_screen = &self.all.on_screen;
            let others = self.prompts.iter().skip(1).filter(|it| on_screen.contains(&it.asked.id));
            sheet.body.extend(others.flat_map(|it| also(it, page)));
        }
        match self.prompts.front() {
            Some(_) if !sheet.fits(size.rows) => {}
            // Not laid out: the terminal breaks its lines.
            Some(prompt) if !prompt.is_laid_out() => {
                return terminal.show(&prompt.text());
            }
            Some(_) | None => {
                put(&sheet, page, terminal);
                return self.know_shown();
            }
        }
        let mut pager = Pager::new(sheet, size.rows);
        if is_read {
            pager.press(b"q");
        }
        if let Some(prompt) = self.prompts.front_mut() {
            prompt.reads();
        }
        self.pager = Some(pager);
        self.show_page(terminal);
    }

    /// The questions on the screen are there whole: what they show need not be shown again.
    fn know_shown(&mut self) {
        let on_screen = &self.all.on_screen;
        let first = self.prompts.iter().take(1);
        let others = self.prompts.iter().skip(1).filter(|it| on_screen.contains(&it.asked.id));
        for prompt in first.chain(others).filter(|it| it.worker.is_none()) {
            self.face.know_asked(&prompt.asked);
        }
    }

    /// Keys were pressed at a page.
    pub(super) fn turn_pages(&mut self, typed: &[u8], terminal: &mut Option<Terminal>) {
        let Some(terminal) = terminal else { return };
        for key in keys(typed) {
            let Some(pager) = &mut self.pager else { return };
            if pager.press(key) == Turned::Page {
                terminal.leave_line(screen::style());
                self.show_page(terminal);
            }
        }
    }

    /// Whether a line asks to read the question again.
    pub(super) fn wants_more(&mut self, line: &str) -> bool {
        self.reads_again =
            line.trim() == MORE && self.prompts.front().is_some_and(Prompt::was_read);
        self.reads_again
    }

    /// Nobody reads any more: lines count again.
    pub(super) fn close_pager(&mut self, terminal: &mut Option<Terminal>) {
        if let (Some(_), Some(terminal)) = (self.pager.take(), terminal) {
            terminal.want_lines();
        }
    }

    fn show_page(&mut self, terminal: &mut Terminal) {
        let Some(pager) = &self.pager else { return };
        terminal.paint(&Painted::lines(&pager.page(), screen::style()));
        let (prompt, is_over) = (pager.prompt(), pager.is_over());
        if is_over {
            self.pager = None;
            terminal.want_lines();
        } else {
            terminal.want_keys();
        }
        terminal.show(&prompt);
    }
}

/// The keys of what was read at once: whoever types fast types several.
fn keys(typed: &[u8]) -> Vec<&[u8]> {
    match typed {
        [] | [ESCAPE, ..] => vec![typed],
        _ => typed.chunks(1).collect(),
    }
}

/// A question that fits on the screen.
fn put(sheet: &Sheet, page: Page, terminal: &mut Terminal) {
    let Sheet { heading, body, choices } = sheet;
    if body.is_empty() {
        terminal.paint(&Painted::line(heading, page.style));
        let between = if heading.is_empty() { "" } else { " " };
        return terminal.show_behind(width(heading), &format!("{between}{choices}"));
    }
    terminal.paint(&Painted::lines(std::iter::once(heading).chain(body), page.style));
    terminal.show(choices);
}

/// What another question says that is answered together with the first one.
fn also(prompt: &Prompt, page: Page) -> Vec<Line> {
    let mut lines = prompt.lines(page);
    if let Some(heading) = lines.first_mut() {
        heading.insert(0, Span::plain("also: "));
    }
    lines
}
