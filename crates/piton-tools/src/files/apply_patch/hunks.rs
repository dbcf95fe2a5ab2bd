//! Where the hunks of a patch fit, and what the text is with them.
//!
//! The lines must be there as they are written. Only white space at their ends is not looked at, if they
//! are found in no other way: a file whose lines end with CR LF keeps those ends. A tool that guesses more
//! changes what was not meant; a refusal says instead what is there.

use piton_core::patch::{Hunk, HunkLine};

use crate::contract::{Refusal, excerpt};

/// Longest line of a file or a patch in a refusal, in bytes.
const QUOTED_BYTES_MAX: usize = 160;
/// Most line numbers in a refusal.
const LINES_TOLD_MAX: usize = 10;

/// `content` with all hunks in their places.
pub(super) fn renewed(path: &str, content: &str, hunks: &[Hunk<'_>]) -> Result<String, Refusal> {
    let text = Text::of(content);
    let mut new = String::with_capacity(content.len());
    let mut done = 0;
    for hunk in hunks {
        let at = text.find(hunk, done).map_err(|why| {
            Refusal(format!("the hunk in line {} does not fit `{path}`: {why}", hunk.line))
        })?;
        text.push_lines(&mut new, done, at);
        done = text.replace(&mut new, hunk, at);
    }
    text.push_lines(&mut new, done, text.lines.len());
    Ok(new)
}

/// A text by its lines, each with its end.
struct Text<'a> {
    lines: Vec<&'a str>,
    /// How its lines end.
    end: &'static str,
}

impl<'a> Text<'a> {
    fn of(content: &'a str) -> Self {
        let lines: Vec<&str> = content.split_inclusive('\n').collect();
        let end =
            if lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
        Self { lines, end }
    }

    /// The line without its end; nothing behind the last one.
    fn bare(&self, at: usize) -> Option<&'a str> {
        self.lines.get(at).map(|line| line.strip_suffix('\n').unwrap_or(line))
    }

    /// Where a hunk begins, at `from` or behind it.
    fn find(&self, hunk: &Hunk<'_>, from: usize) -> Result<usize, String> {
        let mut from = from;
        for place in &hunk.places {
            from = self.find_place(place, from)?;
        }
        let old: Vec<&str> = hunk.lines.iter().filter_map(old_line).collect();
        if old.is_empty() {
            // Nothing but new lines: behind the line that is named, else at the end.
            return Ok(if hunk.places.is_empty() { self.lines.len() } else { from + 1 });
        }
        for same in [is_same as fn(&str, &str) -> bool, is_same_but_for_its_end] {
            let mut found = self.places_of(&old, from, same);
            if hunk.at_end {
                found.retain(|at| at + old.len() == self.lines.len());
            }
            match (found.as_slice(), hunk.places.is_empty()) {
                ([], _) => {}
                ([at], _) | ([at, ..], false) => return Ok(*at),
                (many, true) => {
                    return Err(format!(
                        "its lines occur {} times, {}; add lines around them, or name a line before \
                         them behind `@@`, until it is clear which are meant",
                        many.len(),
                        told(many)
                    ));
                }
            }
        }
        Err(self.absent(&old, from, hunk.at_end))
    }

    /// The line that a `@@` names.
    fn find_place(&self, place: &str, from: usize) -> Result<usize, String> {
        let wanted = place.trim();
        let ways: [fn(&str, &str) -> bool; 3] = [
            is_same_but_for_its_end,
            |line, wanted| line.trim() == wanted.trim(),
            |line, wanted| line.trim().starts_with(wanted.trim()),
        ];
        let numbers = || from..self.lines.len();
        let found = ways.iter().find_map(|is_it| {
            numbers().find(|at| self.bare(*at).is_some_and(|line| is_it(line, place)))
        });
        found.ok_or_else(|| format!("no line `{}` is there{}", quoted(wanted), behind(from)))
    }

    fn places_of(&self, old: &[&str], from: usize, same: fn(&str, &str) -> bool) -> Vec<usize> {
        let last = (self.lines.len() + 1).saturating_sub(old.len());
        let fits = |at: &usize| self.matching(old, *at, same) == old.len();
        (from..last).filter(fits).collect()
    }

    /// How many lines of `old` are there from `at` on.
    fn matching(&self, old: &[&str], at: usize, same: fn(&str, &str) -> bool) -> usize {
        let pairs = old.iter().zip(self.lines.iter().skip(at));
        let is_there =
            |(wanted, line): &(&&str, &&str)| same(line.strip_suffix('\n').unwrap_or(line), wanted);
        pairs.take_while(is_there).count()
    }

    /// Says which line is not there, and what is there instead.
    fn absent(&self, old: &[&str], from: usize, at_end: bool) -> String {
        let count = |at: usize| self.matching(old, at, is_same_but_for_its_end);
        let starts = (0..self.lines.len()).map(|at| (count(at), at));
        let best = starts.clone().filter(|(_, at)| from <= *at);
        let best = best.max_by_key(|(count, at)| (*count, std::cmp::Reverse(*at)));
        if let Some((_, at)) = starts.clone().find(|(count, _)| *count == old.len()) {
            return if at < from {
                format!(
                    "its lines are at line {}, before the place of the hunk above or the line behind \
                     `@@`: put the hunks in the order of the file",
                    at + 1
                )
            } else if at_end {
                format!("its lines are at line {}, and the file does not end behind them", at + 1)
            } else {
                "read the file again".into()
            };
        }
        match best.filter(|(count, _)| 0 < *count) {
            Some((count, at)) => {
                let wanted = quoted(old.get(count).copied().unwrap_or_default());
                let number = at + count + 1;
                match self.bare(at + count) {
                    Some(line) => format!(
                        "its first {count} of {} lines are at line {}, then it has `{wanted}`, and \
                         line {number} of the file is `{}`",
                        old.len(),
                        at + 1,
                        quoted(line)
                    ),
                    None => format!(
                        "its first {count} of {} lines are at line {}, then it has `{wanted}`, and \
                         the file ends there",
                        old.len(),
                        at + 1
                    ),
                }
            }
            None => self.nowhere(old, from),
        }
    }

    /// Says that not even the first line is there.
    fn nowhere(&self, old: &[&str], from: usize) -> String {
        let first = old.first().copied().unwrap_or_default();
        let near: Vec<usize> = (0..self.lines.len())
            .filter(|at| self.bare(*at).is_some_and(|line| line.trim() == first.trim()))
            .filter(|_| !first.trim().is_empty())
            .collect();
        let hint = match near.first() {
            Some(at) => format!(
                "with other white space in front it is {}: `{}`",
                told(&near),
                quoted(self.bare(*at).unwrap_or_default())
            ),
            None => "read the file again".into(),
        };
        format!("its first line `{}` is not there{}; {hint}", quoted(first), behind(from))
    }

    /// Adds lines that stay.
    fn push_lines(&self, new: &mut String, from: usize, until: usize) {
        for line in self.lines.get(from..until).unwrap_or_default() {
            self.push(new, line);
        }
    }

    /// Adds a line. What was the last one until now may lack its end.
    fn push(&self, new: &mut String, line: &str) {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push_str(self.end);
        }
        new.push_str(line);
    }

    /// Adds what a hunk makes of the lines at `at`; says which line comes next.
    fn replace(&self, new: &mut String, hunk: &Hunk<'_>, at: usize) -> usize {
        let mut at = at;
        for line in &hunk.lines {
            match line {
                HunkLine::Same(_) => {
                    self.push_lines(new, at, at + 1);
                    at += 1;
                }
                HunkLine::Lost(_) => at += 1,
                HunkLine::New(text) => self.push(new, &format!("{text}{}", self.end)),
            }
        }
        at
    }
}

fn old_line<'a>(line: &HunkLine<'a>) -> Option<&'a str> {
    match line {
        HunkLine::Same(text) | HunkLine::Lost(text) => Some(text),
        HunkLine::New(_) => None,
    }
}

fn is_same(line: &str, wanted: &str) -> bool {
    line == wanted
}

fn is_same_but_for_its_end(line: &str, wanted: &str) -> bool {
    line.trim_end() == wanted.trim_end()
}

fn quoted(line: &str) -> String {
    excerpt::line(line, QUOTED_BYTES_MAX)
}

fn behind(from: usize) -> String {
    if from == 0 { String::new() } else { format!(" behind line {from}") }
}

/// The numbers of lines.
fn told(lines: &[usize]) -> String {
    let numbers: Vec<String> =
        lines.iter().take(LINES_TOLD_MAX).map(|at| (at + 1).to_string()).collect();
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let rest = if LINES_TOLD_MAX < lines.len() { " and more" } else { "" };
    format!("at {word} {}{rest}", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use piton_core::patch::{Deed, read};

    use super::*;

    /// The text with these hunks, or the refusal.
    fn patched(content: &str, hunks: &str) -> String {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{hunks}\n*** End Patch\n");
        let sections = read(&patch).unwrap();
        let Deed::Update { hunks, .. } = &sections[0].deed else { panic!("{sections:?}") };
        renewed("f", content, hunks).unwrap_or_else(|Refusal(text)| text)
    }

    const CODE: &str = "fn a() {\n    x();\n}\n\nfn b() {\n    x();\n}\n";

    #[test]
    fn lines_are_replaced_where_they_are() {
        assert_eq!(patched("a\nb\nc\n", " a\n-b\n+B\n+BB\n c"), "a\nB\nBB\nc\n");
        assert_eq!(patched("a\nb\nc\nd\n", "@@\n-a\n@@\n-d\n+D"), "b\nc\nD\n");
        assert_eq!(patched("a\n", "-a"), "");
        assert_eq!(patched("", "+a"), "a\n");
    }

    #[test]
    fn a_line_behind_two_at_signs_says_which_place_is_meant() {
        let second = patched(CODE, "@@ fn b() {\n-    x();\n+    y();");
        assert_eq!(second, "fn a() {\n    x();\n}\n\nfn b() {\n    y();\n}\n");
        assert_eq!(patched(CODE, "@@ fn b\n+    z();").matches("fn b() {\n    z();\n").count(), 1);
        let refusal = patched(CODE, "@@\n-    x();\n+    y();");
        assert!(refusal.contains("its lines occur 2 times, at lines 2, 6;"), "{refusal}");
        let refusal = patched(CODE, "@@ fn c() {\n-    x();\n+    y();");
        assert!(refusal.contains("no line `fn c() {` is there"), "{refusal}");
    }

    #[test]
    fn the_end_of_the_file_can_be_meant() {
        assert_eq!(patched("x\nx\n", "@@\n-x\n+y\n*** End of File"), "x\ny\n");
        assert_eq!(patched("a\nb", "@@\n+c"), "a\nb\nc\n");
        let refusal = patched("x\ny\n", "@@\n-x\n+z\n*** End of File");
        assert!(refusal.contains("the file does not end behind them"), "{refusal}");
    }

    #[test]
    fn lines_that_are_not_touched_keep_every_byte() {
        let text = "a  \r\nb\r\nc";
        assert_eq!(patched(text, " a\n-b\n+B"), "a  \r\nB\r\nc");
        assert_eq!(patched(text, " c\n+d"), "a  \r\nb\r\nc\r\nd\r\n");
    }

    #[test]
    fn a_refusal_says_which_line_does_not_match_and_what_is_there() {
        let text = "one\ntwo\nthree\n";
        for (hunks, told) in [
            (
                " one\n-zwei\n+2",
                "its first 1 of 2 lines are at line 1, then it has `zwei`, and line 2 of the file is `two`",
            ),
            (" three\n-four\n+4", "then it has `four`, and the file ends there"),
            ("-zero\n+0", "its first line `zero` is not there; read the file again"),
            ("-  two\n+2", "with other white space in front it is at line 2: `two`"),
            (
                "@@\n-three\n+3\n@@\n-one\n+1",
                "its lines are at line 1, before the place of the hunk above",
            ),
        ] {
            let refusal = patched(text, hunks);
            assert!(refusal.contains(told), "{refusal}");
            assert!(refusal.starts_with("the hunk in line "), "{refusal}");
        }
        let long = patched("a\n", &format!("-{}\n+b", "x".repeat(10_000)));
        assert!(long.len() < 400 && long.contains("[cut]"), "{long}");
    }
}
