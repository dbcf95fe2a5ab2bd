//! A small picture of what changed: the lines that differ, a few around them.
//!
//! Not a minimal diff. It takes away what is equal at both ends and shows the rest as one hunk,
//! which is what a single edit looks like anyway.

use crate::contract::excerpt;

/// Equal lines shown on each side.
const CONTEXT_LINES: usize = 3;
/// Most removed and most added lines that are shown.
const CHANGED_LINES_MAX: usize = 20;
/// Longest line that is shown, in bytes.
const LINE_BYTES_MAX: usize = 160;

/// The hunk between two texts, bounded.
pub(crate) fn extract(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let pairs = old.iter().zip(&new);
    let same_head = pairs.take_while(|(a, b)| a == b).count();
    let shorter = old.len().min(new.len()) - same_head;
    let pairs = old.iter().rev().zip(new.iter().rev()).take(shorter);
    let same_tail = pairs.take_while(|(a, b)| a == b).count();

    let removed = old.len() - same_head - same_tail;
    let added = new.len() - same_head - same_tail;
    let first = same_head.saturating_sub(CONTEXT_LINES);
    let before = same_head - first;
    let after = same_tail.min(CONTEXT_LINES);
    let mut text = format!(
        "@@ -{},{} +{},{} @@\n",
        first + 1,
        before + removed + after,
        first + 1,
        before + added + after
    );
    push(&mut text, ' ', &old, first..same_head);
    push(&mut text, '-', &old, same_head..same_head + removed);
    push(&mut text, '+', &new, same_head..same_head + added);
    push(&mut text, ' ', &new, same_head + added..same_head + added + after);
    text
}

fn push(text: &mut String, mark: char, lines: &[&str], range: std::ops::Range<usize>) {
    let lines = lines.get(range).unwrap_or_default();
    for line in lines.iter().take(CHANGED_LINES_MAX) {
        text.push(mark);
        text.push_str(&excerpt::line(line, LINE_BYTES_MAX));
        text.push('\n');
    }
    if CHANGED_LINES_MAX < lines.len() {
        let rest = lines.len() - CHANGED_LINES_MAX;
        excerpt::note(text, format_args!("{mark}[{rest} more lines]\n"));
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(old: &str, new: &str, expected: Expect) {
        expected.assert_eq(&extract(old, new));
    }

    #[test]
    fn shows_what_differs_between_what_is_equal() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            expect![[r"
                @@ -2,7 +2,7 @@
                 2
                 3
                 4
                -5
                +five
                 6
                 7
                 8
            "]],
        );
    }

    #[test]
    fn repeated_lines_are_not_counted_twice() {
        check(
            "a\na\n",
            "a\na\na\n",
            expect![[r"
                @@ -1,2 +1,3 @@
                 a
                 a
                +a
            "]],
        );
    }

    #[test]
    fn a_large_change_is_bounded() {
        let old = "x\n".repeat(1_000);
        let new = "y".repeat(10_000) + "\n";
        let text = extract(&old, &new.repeat(1_000));
        assert!(text.contains("-[980 more lines]"));
        assert!(text.contains("+[980 more lines]"));
        assert!(text.len() < 2 * 21 * 200, "{}", text.len());
    }
}
