//! How much of a text that is still coming is complete: what comes later changes nothing in it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser knows more than is switched on; what is not named has no look of its own"
)]

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, OffsetIter, Options, Parser, Tag};

/// The parser, with what people and models write beyond the standard.
pub(super) fn parse(source: &str) -> OffsetIter<'_> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(source, options).into_offset_iter()
}

/// A block that stands in no other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Top {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With its own line.
    Line,
    /// With a blank line, or with the next block.
    Text,
    /// The same, and its lines are certain before.
    Paragraph,
    /// With the next block only.
    Open,
    /// With a fence.
    Fenced,
    /// With the next block, and each item with the next item.
    List {
        /// The number of the first item, if items have numbers.
        start: Option<u64>,
        /// Where the items begin.
        items: Vec<usize>,
    },
}

/// The blocks of a text.
pub(super) fn tops(source: &str) -> Vec<Top> {
    let mut tops: Vec<Top> = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in parse(source) {
        match event {
            Event::Start(tag) => {
                match (depth, &tag, tops.last_mut()) {
                    (0, tag, _) => tops.push(Top { kind: kind(tag), range }),
                    (1, Tag::Item, Some(Top { kind: Kind::List { items, .. }, .. })) => {
                        items.push(range.start);
                    }
                    _ => {}
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => tops.push(Top { kind: Kind::Line, range }),
            _ => {}
        }
    }
    tops
}

fn kind(tag: &Tag<'_>) -> Kind {
    match tag {
        Tag::Heading { .. } => Kind::Line,
        Tag::Paragraph => Kind::Paragraph,
        Tag::Table(_) | Tag::BlockQuote(_) => Kind::Text,
        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => Kind::Fenced,
        Tag::List(start) => Kind::List { start: *start, items: Vec::new() },
        _ => Kind::Open,
    }
}

/// Where the complete part of a text of whole lines ends. Behind it a block has begun that may go on.
pub(super) fn complete(source: &str, tops: &[Top]) -> usize {
    let ends_blank = source.lines().next_back().is_some_and(|line| line.trim().is_empty());
    let Some(last) = tops.last() else {
        // Nothing, or definitions of links, which may go on.
        return if ends_blank { source.len() } else { 0 };
    };
    match &last.kind {
        Kind::Line => source.len(),
        Kind::Text | Kind::Paragraph if ends_blank => source.len(),
        Kind::Text | Kind::Paragraph | Kind::Open | Kind::Fenced => {
            line_start(source, last.range.start)
        }
        Kind::List { items, .. } => {
            line_start(source, items.last().copied().unwrap_or(last.range.start))
        }
    }
}

/// Whether a line can end the block that stands before it; most lines of running text cannot.
pub(super) fn may_end(line: &str) -> bool {
    let line = line.trim_start();
    let behind_number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = behind_number.len() < line.len() && behind_number.starts_with(['.', ')']);
    line.is_empty() || line.starts_with(|it: char| it.is_ascii_punctuation()) || is_numbered
}

/// Where the line begins in which a place is.
pub(super) fn line_start(source: &str, place: usize) -> usize {
    source.get(..place).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, rest: &str) {
        let cut = complete(source, &tops(source));
        assert_eq!(&source[cut..], rest, "{source:?}");
    }

    #[test]
    fn a_block_is_complete_when_nothing_can_change_it_any_more() {
        check("text\n", "text\n");
        check("text\nmore\n\n", "");
        check("text\n# heading\n", "");
        check("text\n---\n", "");
        check("text\n- item\n", "- item\n");
        check("| a |\n|---|\n", "| a |\n|---|\n");
        check("| a |\n|---|\n| b |\n\n", "");
        check("> quote\n\n", "");
        check("text\n\n---\n", "");
        check("[a]: http://b\n", "[a]: http://b\n");
        check("\n\n", "");
    }

    #[test]
    fn items_are_complete_when_the_next_one_begins() {
        check("- a\n\n  more\n", "- a\n\n  more\n");
        check("- a\n- b\n", "- b\n");
        check("1. a\n   - x\n   - y\n2. b\n\n", "2. b\n\n");
        check("- a\n  ```\n  - x\n", "- a\n  ```\n  - x\n");
    }

    #[test]
    fn a_fence_is_left_to_be_shown_line_by_line() {
        check("text\n```rust\n", "```rust\n");
        check("    code\n\n", "    code\n\n");
    }
}
