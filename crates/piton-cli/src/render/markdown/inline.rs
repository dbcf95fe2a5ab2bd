//! What stands in a line: words with looks, links with their addresses.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser knows more than is switched on; what is not named has no look of its own"
)]

use anstyle::{AnsiColor, Style as Look};
use pulldown_cmark::{Tag, TagEnd};

use crate::render::paint::{Line, Span, Style};

/// Lines as they were written, while they are read.
#[derive(Debug)]
pub(super) struct Inline {
    style: Style,
    /// The look of what comes next is the last one.
    looks: Vec<Look>,
    lines: Vec<Line>,
    /// Links that are open.
    links: Vec<Link>,
}

#[derive(Debug)]
struct Link {
    address: String,
    title: String,
    /// What stands for it in the text so far.
    text: String,
}

impl Inline {
    pub(super) fn new(style: Style) -> Self {
        Self { style, looks: Vec::new(), lines: Vec::new(), links: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(Vec::is_empty)
    }

    /// The lines that were read; the next ones begin anew.
    pub(super) fn take(&mut self) -> Vec<Line> {
        let mut lines = std::mem::take(&mut self.lines);
        while lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        lines
    }

    /// From now on everything has a look on top of its own.
    pub(super) fn push_look(&mut self, change: impl Fn(Look) -> Look) {
        self.looks.push(change(self.look()));
    }

    pub(super) fn pop_look(&mut self) {
        self.looks.pop();
    }

    pub(super) fn text(&mut self, text: &str) {
        self.put(text, self.look());
    }

    pub(super) fn code(&mut self, text: &str) {
        match self.style {
            Style::Coloured => self.put(text, self.look().fg_color(Some(AnsiColor::Cyan.into()))),
            Style::Plain => self.put(&format!("`{text}`"), self.look()),
        }
    }

    pub(super) fn break_line(&mut self) {
        if self.lines.is_empty() {
            self.lines.push(Line::new());
        }
        self.lines.push(Line::new());
        if let Some(link) = self.links.last_mut() {
            link.text.push(' ');
        }
    }

    /// Something begins within a line.
    pub(super) fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Strong => self.mark("**", Look::bold),
            Tag::Emphasis => self.mark("*", Look::italic),
            Tag::Strikethrough => self.mark("~~", Look::strikethrough),
            Tag::Link { dest_url, title, .. } => {
                self.open(dest_url, title);
                self.push_look(Look::underline);
            }
            Tag::Image { dest_url, title, .. } => {
                self.text("[image: ");
                self.open(dest_url, title);
                self.push_look(Look::underline);
            }
            _ => {}
        }
    }

    /// Something ends within a line.
    pub(super) fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.unmark("**"),
            TagEnd::Emphasis => self.unmark("*"),
            TagEnd::Strikethrough => self.unmark("~~"),
            TagEnd::Link => {
                self.pop_look();
                self.close();
            }
            TagEnd::Image => {
                self.pop_look();
                self.text("]");
                self.close();
            }
            _ => {}
        }
    }

    fn open(&mut self, address: &str, title: &str) {
        let (address, title) = (address.to_owned(), title.to_owned());
        self.links.push(Link { address, title, text: String::new() });
    }

    /// Shows where a link leads, unless its text says that.
    fn close(&mut self) {
        let Some(Link { address, title, text }) = self.links.pop() else { return };
        let is_said = address.is_empty() || text == address || address == format!("mailto:{text}");
        let told = match (is_said, title.is_empty()) {
            (true, true) => return,
            (true, false) => format!(" (\"{title}\")"),
            (false, true) => format!(" ({address})"),
            (false, false) => format!(" ({address} \"{title}\")"),
        };
        self.put(&told, self.look().dimmed());
    }

    fn mark(&mut self, mark: &str, change: impl Fn(Look) -> Look) {
        if self.style == Style::Plain {
            self.text(mark);
        }
        self.push_look(change);
    }

    fn unmark(&mut self, mark: &str) {
        self.pop_look();
        if self.style == Style::Plain {
            self.text(mark);
        }
    }

    fn look(&self) -> Look {
        self.looks.last().copied().unwrap_or_default()
    }

    fn put(&mut self, text: &str, look: Look) {
        if let Some(link) = self.links.last_mut() {
            link.text.push_str(text);
        }
        if self.lines.is_empty() {
            self.lines.push(Line::new());
        }
        if let Some(line) = self.lines.last_mut() {
            line.push(Span::new(text, look));
        }
    }
}
