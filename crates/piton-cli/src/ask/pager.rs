//! A question that is longer than the screen, page by page: its heading stays in sight, and what can be
//! answered comes last. Nothing is read or shown here.

use anstyle::Style as Look;

use crate::render::paint::{Line, Span};

/// Lines of the screen that are not for the text: heading, prompt, and one above.
const OTHER_ROWS: usize = 3;
/// Fewest lines of a page, however small the screen is.
const PAGE_ROWS_MIN: usize = 3;

/// A question, laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    pub(crate) heading: Line,
    /// All that is to be known before an answer.
    pub(crate) body: Vec<Line>,
    /// What can be answered, in front of the cursor.
    pub(crate) choices: String,
}

/// What is being looked at of a sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pager {
    sheet: Sheet,
    /// How many lines a page has.
    rows: usize,
    /// The first line of the page.
    at: usize,
    is_skipped: bool,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// Another page is to be shown.
    Page,
    /// Nothing.
    Nothing,
}

impl Sheet {
    /// Whether it fits on a screen of so many rows, with what stands around it.
    pub(crate) fn fits(&self, rows: usize) -> bool {
        self.body.len() + OTHER_ROWS <= rows.max(PAGE_ROWS_MIN + OTHER_ROWS)
    }
}

impl Pager {
    /// Begins with the first page.
    pub(crate) fn new(sheet: Sheet, rows: usize) -> Self {
        let rows = rows.saturating_sub(OTHER_ROWS).max(PAGE_ROWS_MIN);
        Self { sheet, rows, at: 0, is_skipped: false }
    }

    /// The lines of the page.
    pub(crate) fn page(&self) -> Vec<Line> {
        let heading = std::iter::once(&self.sheet.heading);
        if self.is_skipped {
            let rest = self.sheet.body.len().saturating_sub(self.at + self.rows);
            let told = format!("  [{rest} lines not seen; more shows them]");
            return heading
                .cloned()
                .chain([vec![Span::new(&told, Look::new().dimmed())]])
                .collect();
        }
        heading.chain(self.sheet.body.iter().skip(self.at).take(self.rows)).cloned().collect()
    }

    /// Whether it is time to answer.
    pub(crate) fn is_over(&self) -> bool {
        self.is_skipped || self.sheet.body.len() <= self.at + self.rows
    }

    /// What to show in front of the cursor: how to go on, or what can be answered.
    pub(crate) fn prompt(&self) -> String {
        if self.is_over() {
            return self.sheet.choices.clone();
        }
        let (first, last, all) = (self.at + 1, self.at + self.rows, self.sheet.body.len());
        format!("-- lines {first} to {last} of {all}; space: on, b: back, q: answer now -- ")
    }

    /// A key was pressed.
    pub(crate) fn press(&mut self, key: &[u8]) -> Turned {
        match key {
            b" " | b"\r" | b"\n" | b"" | b"f" | b"j" | b"m" | b"\x1b[6~" | b"\x1b[B" => {
                self.at += self.rows;
            }
            b"b" | b"k" | b"\x1b[5~" | b"\x1b[A" => self.at = self.at.saturating_sub(self.rows),
            b"q" => self.is_skipped = true,
            _ => return Turned::Nothing,
        }
        Turned::Page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::paint::{Painted, Style};

    fn sheet(lines: usize) -> Sheet {
        let line = |number: usize| vec![Span::plain(&format!("  {number}"))];
        let heading = vec![Span::plain("Run it?")];
        Sheet { heading, body: (1..=lines).map(line).collect(), choices: "(y) yes: ".into() }
    }

    fn shown(pager: &Pager) -> String {
        let page = Painted::lines(&pager.page(), Style::Plain);
        format!("{}{}", page.as_str(), pager.prompt())
    }

    #[test]
    fn every_page_has_the_heading_and_the_last_one_the_choices() {
        let mut pager = Pager::new(sheet(7), 6);
        let first =
            "Run it?\n  1\n  2\n  3\n-- lines 1 to 3 of 7; space: on, b: back, q: answer now -- ";
        assert_eq!(shown(&pager), first);
        assert_eq!(pager.press(b"x"), Turned::Nothing);
        assert_eq!(pager.press(b" "), Turned::Page);
        assert!(shown(&pager).starts_with("Run it?\n  4\n  5\n  6\n-- lines 4 to 6 of 7;"));
        assert_eq!(pager.press(b"b"), Turned::Page);
        assert_eq!(shown(&pager), first);
        for key in [&b"\r"[..], b" "] {
            assert!(!pager.is_over());
            pager.press(key);
        }
        assert!(pager.is_over());
        assert_eq!(shown(&pager), "Run it?\n  7\n(y) yes: ");
    }

    #[test]
    fn who_does_not_want_to_read_is_told_how_much_that_is() {
        let mut pager = Pager::new(sheet(7), 6);
        pager.press(b"q");
        assert!(pager.is_over());
        let told = "Run it?\n  [4 lines not seen; more shows them]\n(y) yes: ";
        assert_eq!(shown(&pager), told);
    }

    #[test]
    fn what_fits_is_not_paged() {
        assert!(sheet(3).fits(6) && !sheet(4).fits(6));
        assert!(sheet(3).fits(1) && !sheet(4).fits(1), "a screen has a least size");
    }
}
