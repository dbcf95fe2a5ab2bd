//! The last lines of the screen, which are drawn anew: what is being waited for, and what it prints.
//!
//! They are taken away before anything else is shown, so that nothing of them stays. No line is as wide as
//! the screen: a line that the terminal breaks could not be taken away any more.

use std::fmt::Write as _;

use anstyle::Style as Look;

use crate::render::visible::visible;

/// The looks of the spinner, one after the other.
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];
/// What stands in front of a line below the first one.
const INDENT: &str = "  ";

/// What stands in front of what is typed.
const PROMPT: &str = "> ";

/// The lines that are drawn anew.
#[derive(Debug, Default)]
pub(super) struct Area {
    /// How wide the lines are that are on the screen, in columns; none if nothing is.
    drawn: Vec<usize>,
    frame: usize,
    /// What was shown last beside what is typed: what is waited for, and the lines below it.
    last: Option<(String, Vec<String>)>,
}

/// What is to be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    /// What is waited for.
    pub(super) label: &'a str,
    /// Lines below it.
    pub(super) below: &'a [String],
    /// What a person has typed of a line.
    pub(super) typed: &'a str,
}

impl Area {
    /// What draws a line with the spinner, and lines below it, in the place of what was drawn before.
    pub(super) fn draw(
        &mut self,
        Shown { label, below, typed }: Shown<'_>,
        columns: usize,
        lays_out_anew: bool,
    ) -> String {
        self.frame += 1;
        self.last = Some((label.to_owned(), below.to_vec()));
        self.draw_typed(typed, columns, lays_out_anew)
    }

    /// The same with another line that is typed, and nothing else changed.
    pub(super) fn draw_typed(
        &mut self,
        typed: &str,
        columns: usize,
        lays_out_anew: bool,
    ) -> String {
        let mut text = self.take_away(columns, lays_out_anew);
        if text.is_empty() {
            text.push_str(&clear(0));
        }
        let (label, below) = self.last.clone().unzip();
        // Behind two letters; in the last column some terminals go to the next line.
        let room = columns.saturating_sub(INDENT.len() + 1);
        let dim = Look::new().dimmed();
        let frame = FRAMES.get(self.frame.wrapping_sub(1) % FRAMES.len()).copied();
        let waiting = label.iter().map(|label| (frame.unwrap_or_default(), label, Look::new()));
        let below = below.iter().flatten().map(|line| (" ", line, dim));
        for (sign, line, look) in waiting.chain(below) {
            let line = visible(line);
            let line = cut(&line, room);
            let end = if self.drawn.is_empty() { "" } else { "\r\n" };
            // Writing to a string cannot fail.
            write!(text, "{end}{sign} {look}{line}{look:#}").unwrap_or_default();
            self.drawn.push(INDENT.len() + columns_of(line));
        }
        if !typed.is_empty() {
            let typed = visible(typed);
            let typed = end(&typed, columns);
            let line_end = if self.drawn.is_empty() { "" } else { "\r\n" };
            write!(text, "{line_end}{PROMPT}{typed}").unwrap_or_default();
            self.drawn.push(PROMPT.len() + columns_of(typed));
        }
        text
    }

    /// What was waited for is there, or comes no more.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    pub(super) fn is_drawn(&self) -> bool {
        !self.drawn.is_empty()
    }

    /// What takes away all that is drawn.
    pub(super) fn take_away(&mut self, columns: usize, lays_out_anew: bool) -> String {
        let drawn = std::mem::take(&mut self.drawn);
        if drawn.is_empty() {
            return String::new();
        }
        let rows =
            |wide: &usize| if lays_out_anew { wide.div_ceil(columns.max(1)).max(1) } else { 1 };
        clear(drawn.iter().map(rows).sum::<usize>() - 1)
    }
}

/// Empties the line and so many rows above it, and is at the beginning of the first one then. Row by row:
/// some terminals keep what is emptied at once.
fn clear(rows: usize) -> String {
    format!("\r\x1b[K{}", "\x1b[A\x1b[K".repeat(rows))
}

/// As much of a line as surely fits.
fn cut(line: &str, columns: usize) -> &str {
    let line = line.lines().next().unwrap_or_default();
    let mut used = 0;
    for (place, letter) in line.char_indices() {
        used += columns_of_letter(letter);
        if columns < used {
            return line.get(..place).unwrap_or_default();
        }
    }
    line
}

/// As much of the end of a line as surely fits beside the spinner.
pub(super) fn end(line: &str, columns: usize) -> &str {
    let room = columns.saturating_sub(INDENT.len() + 1);
    let mut used = 0;
    for (place, letter) in line.char_indices().rev() {
        used += columns_of_letter(letter);
        if room < used {
            return line.get(place + letter.len_utf8()..).unwrap_or_default();
        }
    }
    line
}

fn columns_of(line: &str) -> usize {
    line.chars().map(columns_of_letter).sum()
}

/// Letters beyond ASCII may take two columns; terminals do not agree on which.
fn columns_of_letter(letter: char) -> usize {
    if letter.is_ascii() && letter != '\t' { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_what_fits() {
        for (line, columns, fits) in [
            ("shell: make", 80, "shell: make"),
            ("shell: make", 11, "shell: make"),
            ("shell: make", 10, "shell: mak"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本"),
            ("one\ntwo", 80, "one"),
            ("x", 0, ""),
        ] {
            assert_eq!(cut(line, columns), fits, "{line} in {columns}");
        }
        assert_eq!((end("one two", 80), end("one two", 6)), ("one two", "two"));
    }

    #[test]
    fn what_is_drawn_is_taken_away_whole() {
        let mut area = Area::default();
        assert_eq!(area.take_away(80, true), "");
        let one = Shown { label: "one", below: &[], typed: "" };
        assert_eq!(area.draw(one, 80, true), "\r\x1b[K| one");
        let below = ["a".to_owned(), "b\x1b[2J".to_owned()];
        let drawn = area.draw(Shown { label: "two", below: &below, typed: "" }, 80, true);
        assert_eq!(drawn, "\r\x1b[K/ two\r\n  \x1b[2ma\x1b[0m\r\n  \x1b[2mb\\x1b[2J\x1b[0m");
        assert_eq!(area.take_away(80, true), "\r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K");
        assert_eq!(area.take_away(80, true), "");
    }

    // Where the window became narrower, a line takes several rows.
    #[test]
    fn what_a_narrower_window_broke_is_taken_away_too() {
        let mut area = Area::default();
        let (label, below) = ("x".repeat(100), ["y".repeat(30)]);
        let shown = Shown { label: &label, below: &below, typed: "" };
        area.draw(shown, 80, true);
        assert_eq!(area.take_away(40, true), clear(2));
        area.draw(shown, 80, true);
        assert_eq!(area.take_away(40, false), clear(1));
    }
}
