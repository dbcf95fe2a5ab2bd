//! Text with looks for a terminal: spans, lines, and the letters that a terminal obeys.
//!
//! A span holds nothing that a terminal would obey, and no line end. So whatever is painted obeys us
//! alone, and a text can neither forge a line nor a colour.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::Style as Look;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::visible::visible;

/// Columns between two stops of the tabulator.
const TAB_COLUMNS: usize = 4;

/// Whether looks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Letters alone.
    Plain,
    /// Colours and weights too.
    Coloured,
}

/// Where text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// How many columns there are.
    pub(crate) columns: usize,
    pub(crate) style: Style,
}

/// Where lines need not end.
pub(crate) const UNBOUND: Page = Page { columns: usize::MAX, style: Style::Plain };

/// A piece of a line with one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    text: String,
    look: Look,
}

/// One line, without its end.
pub(crate) type Line = Vec<Span>;

/// Text for a terminal, made of spans only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Painted(String);

impl Span {
    /// A piece of a line. What a terminal would obey is written out, tabulators become blanks.
    pub(crate) fn new(text: &str, look: Look) -> Self {
        let text = visible(text);
        let text = if text.contains(['\n', '\t']) {
            Cow::Owned(text.replace('\n', " ").replace('\t', &" ".repeat(TAB_COLUMNS)))
        } else {
            text
        };
        Self { text: text.into_owned(), look }
    }

    /// A piece without a look.
    pub(crate) fn plain(text: &str) -> Self {
        Self::new(text, Look::new())
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// Columns that it takes.
    pub(crate) fn width(&self) -> usize {
        self.text.width()
    }

    /// Puts a letter of another span behind this one.
    pub(super) fn push(&mut self, letter: char) {
        self.text.push(letter);
    }
}

impl Painted {
    /// Lines, each with its end.
    pub(crate) fn lines<'a>(lines: impl IntoIterator<Item = &'a Line>, style: Style) -> Self {
        let mut text = String::new();
        for line in lines {
            text.push_str(&Self::line(line, style).0);
            text.push('\n');
        }
        Self(text)
    }

    /// A line without its end, and without blanks before that.
    pub(crate) fn line(line: &[Span], style: Style) -> Self {
        let mut text = String::new();
        let end = line.iter().rposition(|span| !span.text.trim_end().is_empty());
        let end = end.map_or(0, |last| last + 1);
        let mut look = Look::new();
        for (place, span) in line.iter().take(end).enumerate() {
            let letters = if place + 1 == end { span.text.trim_end() } else { &span.text };
            // Writing to a string cannot fail.
            if style == Style::Coloured && span.look != look && !letters.is_empty() {
                write!(text, "{look:#}{}", span.look).unwrap_or_default();
                look = span.look;
            }
            text.push_str(letters);
        }
        write!(text, "{look:#}").unwrap_or_default();
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Puts more behind it.
    pub(crate) fn append(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }
}

/// Columns that a line takes.
pub(crate) fn width(line: &[Span]) -> usize {
    line.iter().map(Span::width).sum()
}

/// A text whose tabulators are blanks up to the next stop.
pub(crate) fn expand_tabs(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return Cow::Borrowed(text);
    }
    let mut expanded = String::new();
    let mut column = 0;
    for letter in text.chars() {
        if letter == '\t' {
            let blanks = TAB_COLUMNS - column % TAB_COLUMNS;
            expanded.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        } else {
            expanded.push(letter);
            column += letter.width().unwrap_or(0);
        }
    }
    Cow::Owned(expanded)
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;

    use super::*;

    #[test]
    fn a_span_obeys_nobody_and_forges_no_line() {
        let line = vec![Span::plain("a\x1b[31m\nb\tc\r"), Span::plain("  ")];
        let painted = Painted::lines([&line], Style::Coloured);
        assert_eq!(painted.as_str(), "a\\x1b[31m b    c\\x0d\n");
    }

    #[test]
    fn looks_are_shown_where_they_are_wanted_and_end_with_their_letters() {
        let line = vec![Span::new("a", AnsiColor::Red.on_default()), Span::plain("b  ")];
        assert_eq!(Painted::line(&line, Style::Plain).as_str(), "ab");
        assert_eq!(Painted::line(&line, Style::Coloured).as_str(), "\x1b[31ma\x1b[0mb");
    }

    #[test]
    fn tabulators_lead_to_the_next_stop() {
        assert_eq!(expand_tabs("a\tb\n"), "a   b\n");
        assert_eq!(expand_tabs("日本\tx"), "日本    x");
    }
}
