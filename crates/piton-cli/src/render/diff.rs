//! A difference of two texts with the numbers of its lines.
//!
//! Each line begins with a column of numbers, so that no text of a file can look like a line of ours.

use anstyle::{AnsiColor, Style as Look};
use piton_core::view::Diff;

use super::legible::legible;
use super::paint::{Line, Page, Span, expand_tabs};
use super::wrap::break_letters;

/// Least columns of a number.
const NUMBER_COLUMNS_MIN: usize = 4;
/// Fewest columns of text beside the numbers.
const TEXT_COLUMNS_MIN: usize = 10;

/// What a line of a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    /// Which lines follow.
    Heading,
    Lost,
    New,
    Same,
    /// Something about the difference itself.
    Remark,
}

/// A kept difference, all of it that is kept.
pub(crate) fn kept(diff: &Diff, page: Page) -> Vec<Line> {
    let mut lines = unified(&diff.text, page);
    if 0 < diff.lines_left_out {
        let told = format!("  [{} lines are not shown here]", diff.lines_left_out);
        lines.push(vec![Span::new(&told, Look::new().dimmed())]);
        lines.extend(unified(&diff.end, page));
    }
    lines
}

/// A difference in the unified form.
pub(crate) fn unified(text: &str, page: Page) -> Vec<Line> {
    let numbered = numbered(text);
    let widest = numbered.iter().filter_map(|(_, number, _)| *number).max().unwrap_or(0);
    let digits = widest.to_string().len().max(NUMBER_COLUMNS_MIN);
    numbered.iter().flat_map(|line| laid_out(line, digits, page)).collect()
}

/// Each line with what it is and its number: in the old text if it is lost, else in the new one.
fn numbered(text: &str) -> Vec<(Is, Option<u64>, &str)> {
    // Nothing is known in front of the first heading, as in the end of a difference that was cut.
    let (mut old, mut new): (Option<u64>, Option<u64>) = (None, None);
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some((first, second)) = hunk(line) {
            (old, new) = (Some(first), Some(second));
            lines.push((Is::Heading, None, line));
            continue;
        }
        let mut letters = line.chars();
        let (is, rest) = match letters.next() {
            Some('-') => (Is::Lost, letters.as_str()),
            Some('+') => (Is::New, letters.as_str()),
            Some(' ') => (Is::Same, letters.as_str()),
            Some(_) | None => (Is::Remark, line),
        };
        // What a tool left out counts too.
        let count = left_out(rest).unwrap_or(1);
        let number = match is {
            Is::Lost => old,
            Is::New | Is::Same => new,
            Is::Heading | Is::Remark => None,
        };
        if matches!(is, Is::Lost | Is::Same) {
            old = old.map(|old| old.saturating_add(count));
        }
        if matches!(is, Is::New | Is::Same) {
            new = new.map(|new| new.saturating_add(count));
        }
        lines.push((is, number.filter(|_| count == 1), rest));
    }
    lines
}

/// Where lines begin in both texts: `@@ -1,2 +3,4 @@`.
fn hunk(line: &str) -> Option<(u64, u64)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let first = |range: &str| range.split(',').next()?.parse().ok();
    Some((first(old)?, first(new)?))
}

/// How many lines stand behind `[12 more lines]`.
fn left_out(line: &str) -> Option<u64> {
    line.strip_prefix('[')?.strip_suffix(" more lines]")?.parse().ok()
}

fn laid_out((is, number, text): &(Is, Option<u64>, &str), digits: usize, page: Page) -> Vec<Line> {
    let (mark, look) = match is {
        Is::Lost => ("-", AnsiColor::Red.on_default()),
        Is::New => ("+", AnsiColor::Green.on_default()),
        Is::Same => (" ", Look::new()),
        Is::Heading => ("", AnsiColor::Cyan.on_default()),
        Is::Remark => ("", Look::new().dimmed()),
    };
    let dim = Look::new().dimmed();
    let number = number.map(|number| number.to_string()).unwrap_or_default();
    let front = vec![Span::new(&format!("{number:>digits$} "), dim), Span::new(mark, look)];
    let taken = digits + 2;
    let columns = page.columns.saturating_sub(taken).max(TEXT_COLUMNS_MIN);
    let text = Span::new(&expand_tabs(&legible(text)), look);
    let broken = break_letters(&[text], columns).into_iter().enumerate();
    let line = |(place, text): (usize, Line)| {
        let goes_on = || vec![Span::new(&format!("{:>digits$} >", ""), dim)];
        let front = if place == 0 { front.clone() } else { goes_on() };
        front.into_iter().chain(text).collect()
    };
    broken.map(line).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::render::paint::{Painted, Style};

    fn check(text: &str, columns: usize, expected: Expect) {
        let page = Page { columns, style: Style::Plain };
        expected.assert_eq(&barred(&unified(text, page), page));
    }

    /// With a bar in front of each line: expectations do not keep blanks there.
    fn barred(lines: &[Line], page: Page) -> String {
        let painted = Painted::lines(lines, page.style).as_str().replace('\x1b', "^");
        painted.lines().map(|line| format!("|{line}\n")).collect::<Vec<_>>().concat()
    }

    const TEXT: &str = "@@ -9,3 +9,3 @@\n nine\n-ten\x1b[2J\n+zehn\u{202e}\n+\tindented by a tabulator\n same\n@@ -200 +201 @@\n-x\n\\ No newline at end of file\n";

    #[test]
    fn lines_have_the_numbers_that_they_have_in_the_file() {
        check(
            TEXT,
            80,
            expect![[r#"
            |     @@ -9,3 +9,3 @@
            |   9  nine
            |  10 -ten\u{1b}[2J
            |  10 +zehn\u{202e}
            |  11 +    indented by a tabulator
            |  12  same
            |     @@ -200 +201 @@
            | 200 -x
            |     \ No newline at end of file
        "#]],
        );
        check(
            TEXT,
            24,
            expect![[r#"
            |     @@ -9,3 +9,3 @@
            |   9  nine
            |  10 -ten\u{1b}[2J
            |  10 +zehn\u{202e}
            |  11 +    indented by a
            |     >tabulator
            |  12  same
            |     @@ -200 +201 @@
            | 200 -x
            |     \ No newline at en
            |     >d of file
        "#]],
        );
    }

    #[test]
    fn what_was_left_out_counts_and_has_no_number() {
        check(
            "@@ -1,30 +1,1 @@\n-a\n-[28 more lines]\n-b\n+c\n[3 more places]\n",
            80,
            expect![[r#"
                |     @@ -1,30 +1,1 @@
                |   1 -a
                |     -[28 more lines]
                |  30 -b
                |   1 +c
                |     [3 more places]
            "#]],
        );
    }

    #[test]
    fn lost_and_new_lines_have_colours() {
        let page = Page { columns: 80, style: Style::Coloured };
        let lines = unified("@@ -1 +1 @@\n-a\n+b\n", page);
        expect![[r#"
            |^[2m     ^[0m^[36m@@ -1 +1 @@^[0m
            |^[2m   1 ^[0m^[31m-a^[0m
            |^[2m   1 ^[0m^[32m+b^[0m
        "#]]
        .assert_eq(&barred(&lines, page));
    }

    #[test]
    fn the_end_of_a_cut_difference_has_no_numbers_before_it_says_where_it_is() {
        let diff = Diff {
            text: "@@ -1 +1 @@\n-a\n".into(),
            lines_left_out: 7,
            end: "+b\n@@ -9 +9 @@\n+c\n".into(),
        };
        let page = Page { columns: 80, style: Style::Plain };
        expect![[r#"
            |     @@ -1 +1 @@
            |   1 -a
            |  [7 lines are not shown here]
            |     +b
            |     @@ -9 +9 @@
            |   9 +c
        "#]]
        .assert_eq(&barred(&kept(&diff, page), page));
    }
}
