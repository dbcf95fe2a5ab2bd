//! Lines of talk on a terminal: broken between words, with what goes on in the next line below its beginning.
//!
//! A command that is meant to be copied is not broken: it stands on a line of its own where it does not fit,
//! and a terminal that is narrower than the command breaks it in a way that is copied as one line.

use unicode_width::UnicodeWidthStr as _;

use super::paint::Span;
use super::wrap::wrap;

/// What stands in front of a command that can be copied.
const COMMAND: &str = ": piton ";
/// Signs that a line begins with, and below which nothing stands.
const SIGNS: [&str; 9] = ["- ", "• ", "✓ ", "✗ ", "… ", "– ", "? ", "> ", "⏸ "];
/// A blank that no line is broken at.
const GLUE: char = '\u{a0}';
/// What hints begin with.
const HINT: &str = "hint: ";

/// The text in lines of so many columns. The first `used` columns of its first line are taken. What a terminal
/// would obey is to be written out before.
pub(crate) fn fold(text: &str, columns: usize, used: usize) -> String {
    let lines = text.split('\n').enumerate();
    let folded =
        lines.map(|(place, line)| line_of(line, columns, if place == 0 { used } else { 0 }));
    folded.collect::<Vec<_>>().join("\n")
}

fn line_of(line: &str, columns: usize, used: usize) -> String {
    if used + line.trim_end().width() <= columns {
        return line.to_owned();
    }
    let (told, command) = match line.find(COMMAND) {
        Some(at) => line.split_at_checked(at + 2).unwrap_or((line, "")),
        None => (line, ""),
    };
    let indent = if used == 0 { hanging(told, columns) } else { 0 };
    let mut lines = words(told, columns, used, indent);
    if command.is_empty() {
        return lines.join("\n") + line.strip_prefix(line.trim_end()).unwrap_or_default();
    }
    match lines.last_mut() {
        Some(last) if last.width() + 1 + command.width() <= columns => {
            last.push(' ');
            last.push_str(command);
        }
        _ => {
            let fits = indent + command.width() <= columns;
            lines.push(format!("{}{command}", " ".repeat(if fits { indent } else { 0 })));
        }
    }
    lines.join("\n")
}

/// The words of a line, in lines.
fn words(line: &str, columns: usize, used: usize, indent: usize) -> Vec<String> {
    let (head, rest) = line.split_at_checked(head_bytes(line, indent)).unwrap_or(("", line));
    let room = columns.saturating_sub(indent);
    // What is taken of the first line is as wide as letters that are put there and left out again.
    let taken = "\u{2588}".repeat(used);
    let glued = glue(&format!("{taken}{}", rest.trim_end()));
    let wrapped = wrap(&[Span::plain(&glued)], room);
    let text = |line: Vec<Span>| line.iter().map(Span::text).collect::<String>().replace(GLUE, " ");
    let lines = wrapped.into_iter().map(text).enumerate();
    lines
        .map(|(place, line)| match place {
            0 => format!("{head}{}", line.strip_prefix(&taken).unwrap_or(&line)),
            _ => format!("{}{line}", " ".repeat(indent)),
        })
        .collect()
}

/// The text with each key of a menu on the line of the word behind it.
fn glue(text: &str) -> String {
    let mut glued = String::new();
    for letter in text.chars() {
        let is_behind_key = glued.ends_with(')') && glued.chars().rev().nth(2) == Some('(');
        glued.push(if letter == ' ' && is_behind_key { GLUE } else { letter });
    }
    glued
}

/// Bytes of the beginning of a line that has so many columns.
fn head_bytes(line: &str, columns: usize) -> usize {
    let places = line.char_indices().map(|(place, _)| place).chain([line.len()]);
    let mut heads = places.filter_map(|place| line.get(..place).map(|head| (place, head.width())));
    heads.find(|(_, wide)| columns <= *wide).map_or(0, |(place, _)| place)
}

/// Where the second line of a line begins, in columns: behind the gap before the last column of a table, else
/// behind blanks and a sign. A row of a table begins with blanks.
fn hanging(line: &str, columns: usize) -> usize {
    let words = line.trim_start_matches(' ');
    let blanks = line.len() - words.len();
    if 0 < blanks
        && let Some(gap) = words.trim_end().rfind("  ")
    {
        let cell = words.get(..gap).map_or(0, |before| blanks + before.width() + 2);
        if cell <= columns / 2 {
            return cell;
        }
    }
    let number = words.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let sign = match words.len() - number.len() {
        digits @ 1..=3 if number.starts_with(". ") => digits + 2,
        _ if words.starts_with(HINT) => 2,
        _ if 0 < blanks && is_key(words) => 4,
        _ => SIGNS.iter().find(|sign| words.starts_with(**sign)).map_or(0, |_| 2),
    };
    if blanks + sign <= columns / 2 { blanks + sign } else { 0 }
}

/// Whether a line is an entry of a menu.
fn is_key(line: &str) -> bool {
    let mut letters = line.chars();
    letters.next() == Some('(') && letters.next().is_some() && letters.as_str().starts_with(") ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(fold(text, 20, 0), expected, "{text:?}");
    }

    #[test]
    fn talk_is_broken_between_words() {
        check("short", "short");
        check("one two three four five\n", "one two three four\nfive\n");
        check("one two three four: ", "one two three four: ");
        check("(y) yes, (n) no, (a) always: ", "(y) yes, (n) no,\n(a) always: ");
        check("日本日本日本 日本日本日本", "日本日本日本 日本日\n本日本");
        check("a\n\nb", "a\n\nb");
    }

    #[test]
    fn what_goes_on_stands_below_the_beginning() {
        check("✓ one two three four five", "✓ one two three four\n  five");
        check("hint: one two three four five", "hint: one two three\n  four five");
        check("12. one two three four five", "12. one two three\n    four five");
        check("  one  two three four five", "  one  two three\n       four five");
        check("  one two three four  five", "  one two three four\n  five");
        check("  (p) one two three four", "  (p) one two three\n      four");
        check("  - one two three four five", "  - one two three\n    four five");
    }

    #[test]
    fn a_command_that_can_be_copied_is_not_broken() {
        check("to see: piton ls now", "to see: piton ls now");
        check("to see all: piton ls now", "to see all:\npiton ls now");
        check("hint: to: piton ls now", "hint: to:\n  piton ls now");
        check("to: piton query --continue --id abc", "to:\npiton query --continue --id abc");
    }

    #[test]
    fn a_line_can_be_begun() {
        assert_eq!(fold(" one two: ", 20, 15), " one\ntwo: ");
        assert_eq!(fold("one two: ", 20, 5), "one two: ");
    }
}
