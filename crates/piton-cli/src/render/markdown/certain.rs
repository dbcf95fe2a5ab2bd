//! How much of a paragraph that is still coming can be shown: lines that no later letter changes.
//!
//! What is shown is cut off, and the rest is read as a paragraph of its own. So a cut lies where a line ends
//! on the page, in front of a word, and neither inside of something that has begun nor behind a mark that
//! may still begin something.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser knows more than is switched on; what is not named has no look of its own"
)]

use std::ops::Range;

use pulldown_cmark::Event;
use unicode_width::UnicodeWidthChar as _;

use super::block;
use super::cut::{Kind, line_start, parse, tops};
use crate::render::paint::Page;

/// Longest text that is looked at, in bytes: each of its words costs as much as all of it is long.
const CERTAIN_BYTES_MAX: usize = 2_048;

/// What opens words, beside letters.
const OPENING: [char; 6] = ['(', '"', '“', '„', '‘', '«'];

/// Where a text may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Certain {
    /// Where the paragraph begins. What stands before it is complete.
    pub(super) start: usize,
    /// Where the part of it ends that can be shown.
    pub(super) end: usize,
}

/// What can be shown of the paragraph at the end of a text, if one is there and something can. The last word
/// counts as whole where a blank follows it.
pub(super) fn certain(source: &str, page: Page) -> Option<Certain> {
    if CERTAIN_BYTES_MAX < source.len() {
        return None;
    }
    let tops = tops(source);
    let last = tops.last().filter(|last| last.kind == Kind::Paragraph)?;
    let start = line_start(source, last.range.start);
    let before = tops.iter().rev().nth(1).map_or(0, |top| top.range.end);
    let (between, paragraph) = (source.get(before..start)?, source.get(start..)?);
    // What the parser passes over may go on in the paragraph: the title of a link, for instance.
    if !between.trim().is_empty() {
        return None;
    }
    let end = whole_lines(paragraph, page)?;
    Some(Certain { start, end: start + end })
}

/// Where that part of a paragraph ends which has whole lines on the page.
fn whole_lines(paragraph: &str, page: Page) -> Option<usize> {
    let (mark, inside) = settled(paragraph);
    let limit = mark.min(table_start(paragraph));
    let is_free = |place: usize| !inside.iter().any(|it| it.start < place && place < it.end);
    let places: Vec<usize> = between_words(paragraph);
    let mut places: Vec<usize> =
        places.into_iter().filter(|it| *it <= limit && is_free(*it)).collect();
    let known = paragraph.get(..*places.last()?)?;
    let all = block::lines(known, None, page);
    places.retain(|place| paragraph.get(*place..).is_some_and(begins_text));
    let lines = |place: usize| block::lines(paragraph.get(..place).unwrap_or_default(), None, page);
    for count in (1..all.len()).rev() {
        let fits = places.partition_point(|place| lines(*place).len() <= count);
        let place = fits.checked_sub(1).and_then(|at| places.get(at).copied())?;
        if all.get(..count) == Some(lines(place).as_slice()) {
            return Some(place);
        }
        places.truncate(fits);
    }
    None
}

/// Whether a text begins with a word that begins no other block than a paragraph.
fn begins_text(text: &str) -> bool {
    let behind_number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_number = behind_number.len() < text.len();
    match behind_number.chars().next() {
        Some('.' | ')') | None if is_number => false,
        Some(_) if is_number => true,
        first => first.is_some_and(|it| it.is_alphabetic() || OPENING.contains(&it)),
    }
}

/// Places between two words, and the end if a blank is there.
fn between_words(text: &str) -> Vec<usize> {
    let is_wide = |letter: char| 1 < letter.width().unwrap_or(0);
    let mut places = Vec::new();
    let mut before: Option<char> = None;
    for (place, letter) in text.char_indices() {
        let is_joined = letter.width().unwrap_or(0) == 0 && !letter.is_whitespace();
        if let Some(before) = before
            && (before.is_whitespace() || (is_wide(before) && !is_joined) || is_wide(letter))
        {
            places.push(place);
        }
        before = Some(letter);
    }
    if before.is_some_and(char::is_whitespace) {
        places.push(text.len());
    }
    places
}

/// Where a line begins that may be the head of a table, for all that follows on it; else the end.
fn table_start(paragraph: &str) -> usize {
    let mut start = 0;
    for line in paragraph.split_inclusive('\n') {
        let end = start + line.len();
        let next = paragraph.get(end..).and_then(|rest| rest.trim_start().chars().next());
        if line.contains('|') && !next.is_some_and(char::is_alphabetic) {
            return start;
        }
        start = end;
    }
    paragraph.len()
}

/// Where the first mark stands that may still begin something, else the end; and what is not to be cut.
fn settled(paragraph: &str) -> (usize, Vec<Range<usize>>) {
    let mut depth = 0_usize;
    let mut inside: Vec<Range<usize>> = Vec::new();
    for (event, range) in parse(paragraph) {
        match event {
            Event::Start(_) => {
                if depth == 1 {
                    inside.push(range);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(_) => {
                if let Some(mark) = open_mark(paragraph, &range) {
                    let outer = inside.last().filter(|it| 1 < depth && mark < it.end);
                    return (outer.map_or(mark, |it| it.start), inside);
                }
            }
            Event::SoftBreak | Event::HardBreak => {}
            _ if depth == 1 => inside.push(range),
            _ => {}
        }
    }
    (paragraph.len(), inside)
}

/// The first mark in words of a text that may still begin something.
fn open_mark(text: &str, range: &Range<usize>) -> Option<usize> {
    let words = text.get(range.clone())?;
    let letters = words.char_indices().map(|(place, letter)| (range.start + place, letter));
    letters.into_iter().find(|(place, letter)| is_open(text, *place, *letter)).map(|it| it.0)
}

fn is_open(text: &str, place: usize, mark: char) -> bool {
    let before = text.get(..place).and_then(|text| text.chars().next_back());
    let rest = text.get(place + mark.len_utf8()..).unwrap_or_default();
    let next = rest.chars().next();
    let is_blank = |letter: Option<char>| letter.is_none_or(char::is_whitespace);
    if before == Some('\\') {
        return false;
    }
    match mark {
        '`' => true,
        // Between blanks it is a sign like others.
        '*' | '~' => next.is_none() || !(is_blank(before) && is_blank(next)),
        '_' => {
            let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            !(is_word(before) && is_word(next))
        }
        '<' => next.is_none_or(|it| it.is_alphabetic() || matches!(it, '/' | '!' | '?')),
        '[' => is_open_bracket(rest),
        _ => false,
    }
}

/// Whether what follows on a bracket may make a link of it.
fn is_open_bracket(rest: &str) -> bool {
    let mut depth = 1_usize;
    let mut letters = rest.chars();
    for letter in letters.by_ref() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return letters.next().is_none_or(|next| matches!(next, '(' | '[' | ':'));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::paint::Style;

    /// What of a text is left on a page of twenty columns.
    fn check(source: &str, rest: &str) {
        let page = Page { columns: 20, style: Style::Coloured };
        let end = certain(source, page).map_or(0, |certain| certain.end);
        assert_eq!(&source[end..], rest, "{source:?}");
    }

    #[test]
    fn a_line_is_certain_when_the_next_one_has_begun() {
        check("one two three four f", "one two three four f");
        check("one two three four five ", "five ");
        check("one two\nthree ", "three ");
        check("one two\n- three ", "one two\n- three ");
        check("one two three four 5. ", "one two three four 5. ");
        check("one two three four 2026 ", "2026 ");
        check("one two three four (five) ", "(five) ");
        check("日本日本日本日本日本日本", "日本");
        check("- one\n\ntwo words that are longer ", "longer ");
    }

    #[test]
    fn what_may_still_become_something_waits() {
        check("one **two three four five ", "one **two three four five ");
        check("one **two** three four five ", "five ");
        check("one two three four **five six ", "one two three four **five six ");
        check("one two three four five **six seven ", "five **six seven ");
        check("one `two three four five ", "one `two three four five ");
        check("one [two three four five ", "one [two three four five ");
        check("one [two] three four five ", "five ");
        check("one 2 * 3 snake_case is four ", "is four ");
        check("[r]: u\n'one two three four ", "[r]: u\n'one two three four ");
        check("one | two three four five ", "one | two three four five ");
        check("one\n| two | three four five ", "one\n| two | three four five ");
        check("one | two\nthree ", "three ");
        check("> one two three four five ", "> one two three four five ");
    }
}
