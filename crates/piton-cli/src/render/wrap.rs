//! Lines no wider than a page: broken between words, and between letters where a word is too wide.

use unicode_width::UnicodeWidthChar as _;

use super::paint::{Line, Span};

/// Joins two letters into one that is seen.
const JOINER: char = '\u{200d}';

/// Letters that stay together.
#[derive(Debug, Default)]
struct Word {
    spans: Line,
    columns: usize,
    /// Whether it is one wide letter: before and behind it a line may be broken.
    is_wide: bool,
    is_joined: bool,
}

/// What a line is made of.
#[derive(Debug)]
enum Piece {
    Word(Word),
    Blanks(Line, usize),
}

/// The line in as many lines as it takes; at least one.
pub(crate) fn wrap(line: &[Span], columns: usize) -> Vec<Line> {
    let columns = columns.max(1);
    let mut lines = vec![Line::new()];
    let mut used = 0;
    let mut blanks: (Line, usize) = (Line::new(), 0);
    for piece in pieces(line) {
        let word = match piece {
            Piece::Blanks(spans, wide) => {
                blanks = (spans, wide);
                continue;
            }
            Piece::Word(word) => word,
        };
        let (between, gap) = std::mem::take(&mut blanks);
        if 0 < used && columns < used + gap + word.columns {
            lines.push(Line::new());
            used = 0;
        } else if gap < columns {
            used += gap;
            add(&mut lines, between);
        }
        if used + word.columns <= columns {
            used += word.columns;
            add(&mut lines, word.spans);
        } else {
            used = add_broken(&mut lines, word, columns, used);
        }
    }
    lines
}

/// The line in as many lines as it takes, broken between letters, wherever that is: code.
pub(crate) fn break_letters(line: &[Span], columns: usize) -> Vec<Line> {
    let mut lines = vec![Line::new()];
    let word = Word { spans: line.to_vec(), ..Word::default() };
    add_broken(&mut lines, word, columns.max(1), 0);
    lines
}

/// A word that is wider than a line, between its letters. Returns how much of the last line is used.
fn add_broken(lines: &mut Vec<Line>, word: Word, columns: usize, mut used: usize) -> usize {
    for span in word.spans {
        for letter in span.text().chars() {
            let wide = letter.width().unwrap_or(0);
            if 0 < used && columns < used + wide {
                lines.push(Line::new());
                used = 0;
            }
            used += wide;
            if let Some(line) = lines.last_mut() {
                push(line, letter, &span);
            }
        }
    }
    used
}

fn add(lines: &mut [Line], spans: Line) {
    let Some(line) = lines.last_mut() else { return };
    for span in spans {
        for letter in span.text().chars() {
            push(line, letter, &span);
        }
    }
}

/// Puts a letter behind a line, with the look of its span.
fn push(line: &mut Line, letter: char, of: &Span) {
    match line.last_mut() {
        Some(last) if last.look() == of.look() => last.push(letter),
        Some(_) | None => {
            let mut span = Span::new("", of.look());
            span.push(letter);
            line.push(span);
        }
    }
}

fn pieces(line: &[Span]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for span in line {
        for letter in span.text().chars() {
            let wide = letter.width().unwrap_or(0);
            match pieces.last_mut() {
                Some(Piece::Blanks(spans, columns)) if letter == ' ' => {
                    *columns += 1;
                    push(spans, letter, span);
                }
                _ if letter == ' ' => {
                    let mut spans = Line::new();
                    push(&mut spans, letter, span);
                    pieces.push(Piece::Blanks(spans, 1));
                }
                Some(Piece::Word(word)) if word.takes(wide) => word.push(letter, wide, span),
                _ => {
                    let mut word = Word { is_wide: 1 < wide, ..Word::default() };
                    word.push(letter, wide, span);
                    pieces.push(Piece::Word(word));
                }
            }
        }
    }
    pieces
}

impl Word {
    /// Whether a letter of so many columns belongs to it.
    fn takes(&self, columns: usize) -> bool {
        columns == 0 || self.is_joined || !self.is_wide && columns == 1
    }

    fn push(&mut self, letter: char, columns: usize, of: &Span) {
        self.columns += columns;
        self.is_joined = letter == JOINER;
        push(&mut self.spans, letter, of);
    }
}

#[cfg(test)]
mod tests {
    use anstyle::{Effects, Style as Look};

    use super::*;
    use crate::render::paint::{Painted, Style, width};

    fn check(text: &str, columns: usize, expected: &[&str]) {
        let lines = wrap(&[Span::plain(text)], columns);
        let told: Vec<_> = lines
            .iter()
            .map(|line| Painted::line(line, Style::Plain).as_str().to_owned())
            .collect();
        assert_eq!(told, expected, "{text:?} in {columns}");
        assert!(lines.iter().all(|line| width(line) <= columns.max(2)), "{lines:?}");
    }

    #[test]
    fn lines_are_broken_between_words() {
        check("one two three", 20, &["one two three"]);
        check("one two three", 8, &["one two", "three"]);
        check("one  two three", 8, &["one  two", "three"]);
        check("one two", 7, &["one two"]);
        check("", 7, &[""]);
    }

    #[test]
    fn a_word_that_is_too_wide_is_broken_between_letters() {
        check("abcdefgh", 3, &["abc", "def", "gh"]);
        check("a bcdefgh", 3, &["a", "bcd", "efg", "h"]);
    }

    #[test]
    fn wide_letters_take_two_columns_and_may_stand_alone() {
        check("日本語です", 4, &["日本", "語で", "す"]);
        check("ab 日本語", 6, &["ab 日", "本語"]);
        check("👩\u{200d}💻👩\u{200d}💻", 5, &["👩\u{200d}💻", "👩\u{200d}💻"]);
        check("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn a_word_of_several_looks_is_one_word() {
        let bold = Look::new().effects(Effects::BOLD);
        let line = [Span::plain("ab c"), Span::new("d", bold), Span::plain("e fg")];
        let lines = wrap(&line, 4);
        let told = Painted::lines(&lines, Style::Coloured);
        assert_eq!(told.as_str(), "ab\nc\x1b[1md\x1b[0me\nfg\n");
    }
}
