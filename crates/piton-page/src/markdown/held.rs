//! What of a text that is still coming would jump: it waits, or is closed for the picture.

use std::borrow::Cow;

/// Letters that begin a block, and say nothing by themselves.
const MARKERS: &str = "-*+#>=_`~.)0123456789";

/// Longest block that is shown while it comes, in bytes: it is sent again with every word.
const COMING_BYTES_MAX: usize = 32 * 1024;

/// The text without the end of a block that is too long to be sent again and again. Nothing is lost: a block
/// is shown whole when it ends.
pub(super) fn bounded(text: &str) -> &str {
    let start = text.rfind("\n\n").map_or(0, |end| end + 2);
    let end = start.saturating_add(COMING_BYTES_MAX);
    if text.len() <= end || is_in_fence(text) {
        return text;
    }
    text.get(..text.floor_char_boundary(end)).unwrap_or(text)
}

/// The text without an unfinished line that may turn into something else: a row of a table, or nothing but
/// marks. The head of a table waits for the line below it.
pub(super) fn held(text: &str) -> &str {
    let (before, line) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
    let word = line.trim();
    let is_marks = word.chars().all(|it| MARKERS.contains(it) || it.is_whitespace());
    if (!word.starts_with('|') && !is_marks) || is_in_fence(before) {
        return text;
    }
    let mut lines = before.lines().rev().map(str::trim_start);
    let is_head = lines.next().is_some_and(|line| line.starts_with('|'))
        && !lines.next().is_some_and(|line| line.starts_with('|'));
    let whole = before.strip_suffix('\n').filter(|_| is_head);
    whole.map_or(before, |whole| {
        whole.get(..whole.rfind('\n').map_or(0, |end| end + 1)).unwrap_or(before)
    })
}

/// The text with its last open mark closed.
pub(super) fn closed(text: &str) -> Cow<'_, str> {
    if is_in_fence(text) {
        return Cow::Borrowed(text);
    }
    let start = text.rfind("\n\n").map_or(0, |end| end + 2);
    let last = text.get(start..).unwrap_or_default();
    for mark in ["`", "**"] {
        if last.matches(mark).count() % 2 == 1 {
            // A mark that nothing stands behind is not shown yet.
            return match text.strip_suffix(mark) {
                Some(before) => Cow::Borrowed(before),
                None => Cow::Owned(format!("{}{mark}", text.trim_end())),
            };
        }
    }
    Cow::Borrowed(text)
}

/// Whether a text ends inside of fenced code.
fn is_in_fence(text: &str) -> bool {
    let mut fence: Option<(char, usize)> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(letter) = line.chars().next().filter(|it| matches!(it, '`' | '~')) else {
            continue;
        };
        let count = line.chars().take_while(|it| *it == letter).count();
        match fence {
            Some((open, least)) => {
                let is_end = line.trim_end().chars().all(|it| it == letter);
                if open == letter && least <= count && is_end {
                    fence = None;
                }
            }
            None if 3 <= count => fence = Some((letter, count)),
            None => {}
        }
    }
    fence.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_turn_into_something_else_waits() {
        let check = |text: &str, expected: &str| assert_eq!(held(text), expected, "{text:?}");
        check("a\n| b", "a\n");
        check("a\n|--", "a\n");
        check("a\n\n| b |\n", "a\n\n");
        check("a\n\n| b |\n|--", "a\n\n");
        check("a\n\n| b |\n|---|\n", "a\n\n| b |\n|---|\n");
        check("a\n\n| b |\n|---|\n| c", "a\n\n| b |\n|---|\n");
        check("a\n-", "a\n");
        check("a\n12.", "a\n");
        check("a\n===", "a\n");
        check("a\n- b", "a\n- b");
        check("a\n1. b", "a\n1. b");
        check("```\n| b", "```\n| b");
        check("```\na\n```\n-", "```\na\n```\n");
        check("", "");
    }

    #[test]
    fn a_block_that_never_ends_is_not_sent_again_and_again() {
        let line = "é".repeat(COMING_BYTES_MAX);
        assert_eq!(bounded(&line).len(), COMING_BYTES_MAX);
        let text = format!("{line}\n\nend");
        assert_eq!(bounded(&text), text);
    }

    #[test]
    fn open_marks_are_closed_for_the_picture() {
        let check = |text: &str, expected: &str| assert_eq!(closed(text), expected, "{text:?}");
        check("a **b", "a **b**");
        check("a **b ", "a **b**");
        check("a **", "a ");
        check("a `b", "a `b`");
        check("a **b** `c`", "a **b** `c`");
        check("open **\n\nnext", "open **\n\nnext");
        check("```\na ** b", "```\na ** b");
    }
}
