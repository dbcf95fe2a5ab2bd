//! A difference of two texts with the numbers of its lines.
//!
//! Each line begins with a column of numbers, so that no text of a file can look like a line of ours.

use anstyle::{AnsiColor, Style as Look};
use piton_core::difference::{self, DiffLine, LineIs};
use piton_core::view::Diff;

use super::legible::legible;
use super::paint::{Line, Page, Span, expand_tabs};
use super::wrap::break_letters;

/// Least columns of a number.
const NUMBER_COLUMNS_MIN: usize = 4;
/// Fewest columns of text beside the numbers.
const TEXT_COLUMNS_MIN: usize = 10;

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
    let lines = difference::unified(text);
    let widest = lines.iter().filter_map(number).max().unwrap_or(0);
    let digits = widest.to_string().len().max(NUMBER_COLUMNS_MIN);
    lines.iter().flat_map(|line| laid_out(line, digits, page)).collect()
}

/// The number of a line: in the old text if it is lost, else in the new one.
fn number(line: &DiffLine<'_>) -> Option<u64> {
    if line.is == LineIs::Lost { line.old } else { line.new }
}

fn laid_out(line: &DiffLine<'_>, digits: usize, page: Page) -> Vec<Line> {
    let (mark, look) = match line.is {
        LineIs::Lost => ("-", AnsiColor::Red.on_default()),
        LineIs::New => ("+", AnsiColor::Green.on_default()),
        LineIs::Same => (" ", Look::new()),
        LineIs::Heading => ("", AnsiColor::Cyan.on_default()),
        LineIs::Remark => ("", Look::new().dimmed()),
    };
    let dim = Look::new().dimmed();
    let number = number(line).map(|number| number.to_string()).unwrap_or_default();
    let front = vec![Span::new(&format!("{number:>digits$} "), dim), Span::new(mark, look)];
    let taken = digits + 2;
    let columns = page.columns.saturating_sub(taken).max(TEXT_COLUMNS_MIN);
    let text = Span::new(&expand_tabs(&legible(line.text)), look);
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
