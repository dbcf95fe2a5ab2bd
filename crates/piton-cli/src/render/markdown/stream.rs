//! Markdown that is still coming: each line is shown once, when nothing can change it, and never again.
//!
//! Words are taken in one by one, so it makes no difference in which pieces a text comes.

use anstyle::Style as Look;
use unicode_width::UnicodeWidthChar as _;

use super::block::{self, code_lines};
use super::certain::{Certain, certain};
use super::code::Code;
use super::cut::{Kind, complete, may_end, tops};
use crate::render::paint::{Line, Page, Painted, Span, Style, expand_tabs};

/// Most that waits for its end, in bytes. A block that is longer is shown in parts.
const PENDING_BYTES_MAX: usize = 16 * 1024;
/// Widest indent of a fence.
const FENCE_INDENT_MAX: usize = 3;
/// Shortest fence.
const FENCE_LETTERS_MIN: usize = 3;

/// A text that is coming.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The line whose end has not come.
    begun: String,
    /// Whole lines that are not shown yet.
    pending: String,
    /// The code block that is being shown.
    fence: Option<Fence>,
    /// The number of the next item, if a list is being shown.
    number: Option<u64>,
    /// Whether anything was shown.
    shown: bool,
    /// Whether there was a blank line since.
    blank: bool,
}

#[derive(Debug)]
struct Fence {
    letter: char,
    letters: usize,
    indent: usize,
    code: Code,
}

impl Stream {
    /// More came. Returns what can be shown.
    pub(crate) fn push(&mut self, text: &str, page: Page) -> Painted {
        let mut lines = Vec::new();
        for letter in text.chars() {
            if letter == '\n' {
                let line = std::mem::take(&mut self.begun);
                self.take_line(&line, page, &mut lines);
            } else {
                self.begun.push(letter);
            }
            if letter.is_whitespace() || 1 < letter.width().unwrap_or(0) {
                self.take_word(page, &mut lines);
            }
        }
        Painted::lines(&lines, page.style)
    }

    /// Nothing more comes of this text. Returns what is left of it, and can begin anew.
    pub(crate) fn finish(&mut self, page: Page) -> Painted {
        let mut lines = Vec::new();
        if !self.begun.is_empty() {
            let line = std::mem::take(&mut self.begun);
            self.take_line(&line, page, &mut lines);
        }
        self.show(self.pending.len(), page, &mut lines);
        *self = Self::default();
        Painted::lines(&lines, page.style)
    }

    /// The last words of what came and is not shown yet.
    pub(crate) fn waiting(&self) -> &str {
        let last = self.pending.lines().rfind(|line| !line.trim().is_empty());
        if self.begun.trim().is_empty() { last.unwrap_or_default() } else { &self.begun }
    }

    fn take_line(&mut self, line: &str, page: Page, lines: &mut Vec<Line>) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if let Some(fence) = &mut self.fence {
            if !fence.is_closed_by(line) {
                let code = fence.code.line(fence.without_indent(line));
                lines.extend(code_lines(&code, page.columns, page.style));
                return;
            }
            self.fence = None;
            if page.style == Style::Plain {
                lines.push(vec![Span::plain(line.trim())]);
            }
            return;
        }
        // To look costs as much as all that waits is long, so only where something can end.
        let may_end = self.pending.is_empty() || self.pending.ends_with("\n\n") || may_end(line);
        self.pending.push_str(line);
        self.pending.push('\n');
        if !may_end && self.pending.len() <= PENDING_BYTES_MAX {
            return;
        }
        let tops = tops(&self.pending);
        let is_too_long = PENDING_BYTES_MAX < self.pending.len();
        let cut = if is_too_long { self.pending.len() } else { complete(&self.pending, &tops) };
        let last = tops.last().map(|top| &top.kind);
        let number = match last {
            Some(Kind::List { start: Some(start), items }) => {
                let done = items.len().saturating_sub(1);
                let first = self.number.filter(|_| tops.len() == 1).unwrap_or(*start);
                Some(first.saturating_add(u64::try_from(done).unwrap_or(u64::MAX)))
            }
            _ => None,
        };
        let is_fence = last == Some(&Kind::Fenced);
        if 0 < cut {
            self.show(cut, page, lines);
            self.number = number;
        }
        if is_fence && let Some(fence) = Fence::opened_by(self.pending.trim_end(), page) {
            self.begin(lines);
            if page.style == Style::Plain {
                let open = vec![Span::plain(&expand_tabs(self.pending.trim()))];
                lines.extend(code_lines(&open, page.columns, page.style));
            }
            self.pending.clear();
            self.fence = Some(fence);
        }
    }

    /// A word is whole: lines of a paragraph may be certain by now.
    fn take_word(&mut self, page: Page, lines: &mut Vec<Line>) {
        let bytes = self.pending.len() + self.begun.len();
        let may_be_certain = !self.pending.is_empty() || page.columns < bytes;
        if self.fence.is_some() || !may_be_certain {
            return;
        }
        let source = format!("{}{}", self.pending, self.begun);
        let Some(Certain { start, end }) = certain(&source, page) else { return };
        self.show(start, page, lines);
        self.number = None;
        let mut source = source;
        let rest = source.split_off(end);
        self.pending = source.split_off(start);
        self.show(self.pending.len(), page, lines);
        // What is left belongs to the same paragraph.
        self.blank = false;
        let whole = rest.rfind('\n').map_or(0, |end| end + 1);
        let (pending, begun) = rest.split_at_checked(whole).unwrap_or(("", &rest));
        (self.pending, self.begun) = (pending.to_owned(), begun.to_owned());
    }

    /// Shows the beginning of what waits.
    fn show(&mut self, cut: usize, page: Page, lines: &mut Vec<Line>) {
        let rest = self.pending.split_off(cut);
        let source = std::mem::replace(&mut self.pending, rest);
        let is_blank = |line: &str| line.trim().is_empty();
        self.blank |= source.lines().next().is_some_and(is_blank);
        let shown = block::lines(&source, self.number, page);
        if !shown.is_empty() {
            self.begin(lines);
            lines.extend(shown);
            self.blank = source.lines().next_back().is_some_and(is_blank);
        }
    }

    /// The next block begins.
    fn begin(&mut self, lines: &mut Vec<Line>) {
        if self.shown && self.blank {
            lines.push(vec![Span::new("", Look::new())]);
        }
        (self.shown, self.blank) = (true, false);
    }
}

impl Fence {
    fn opened_by(line: &str, page: Page) -> Option<Self> {
        let open = line.trim_start_matches(' ');
        let indent = line.len() - open.len();
        let letter = open.chars().next()?;
        let info = open.trim_start_matches(letter);
        let letters = open.len() - info.len();
        let is_fence = matches!(letter, '`' | '~') && FENCE_LETTERS_MIN <= letters;
        let code = Code::new(info.trim(), page);
        (is_fence && indent <= FENCE_INDENT_MAX).then_some(Self { letter, letters, indent, code })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let close = line.trim_start_matches(' ');
        let rest = close.trim_start_matches(self.letter);
        let is_long = self.letters <= close.len() - rest.len();
        line.len() - close.len() <= FENCE_INDENT_MAX && is_long && rest.trim().is_empty()
    }

    fn without_indent<'a>(&self, line: &'a str) -> &'a str {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        line.get(blanks.min(self.indent)..).unwrap_or_default()
    }
}
