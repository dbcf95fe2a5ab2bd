//! What a model says to itself: dim, and short.

use anstyle::Style as Look;

use super::paint::{Line, Page, Span};
use super::wrap::wrap;

/// Most lines that are shown.
const THOUGHT_LINES_MAX: usize = 3;
/// In front of the first line.
const LABEL: &str = "thinking: ";
/// In front of the others.
const INDENT: &str = "  ";

/// Its first lines, and how many more there are.
pub(crate) fn thought(text: &str, page: Page) -> Vec<Line> {
    let dim = Look::new().dimmed().italic();
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    let columns = page.columns.saturating_sub(INDENT.len()).max(1);
    let labelled = format!("{LABEL}{text}");
    let written = labelled.lines().filter(|line| !line.trim().is_empty());
    let mut lines = written.flat_map(|line| wrap(&[Span::new(line.trim(), dim)], columns));
    let mut shown: Vec<Line> = lines.by_ref().take(THOUGHT_LINES_MAX).collect();
    let rest = lines.count();
    if 0 < rest {
        let word = if rest == 1 { "line" } else { "lines" };
        shown.push(vec![Span::new(&format!("… {rest} more {word}"), dim)]);
    }
    for line in shown.iter_mut().skip(1) {
        line.insert(0, Span::plain(INDENT));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::paint::{Painted, Style};

    #[test]
    fn a_long_thought_is_told_of_and_not_shown() {
        let page = Page { columns: 40, style: Style::Plain };
        let text = |it: &str| Painted::lines(&thought(it, page), page.style).as_str().to_owned();
        assert_eq!(text(" \n"), "");
        assert_eq!(text("Short.\n"), "thinking: Short.\n");
        assert_eq!(
            text("One line.\n\nTwo\nthree\nfour \x1b[2J\n"),
            "thinking: One line.\n  Two\n  three\n  … 1 more line\n"
        );
    }
}
