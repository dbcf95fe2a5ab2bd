//! Markdown for a terminal, as it comes: paragraphs and code line by line, other blocks as a whole.
//!
//! `cut` finds what is complete of a text that is still coming, `certain` which lines of a paragraph can be
//! shown before it is complete, `block` lays it out, `inline` reads the words in
//! it, `code` colours code, `table` sets tables, and `stream` puts them together. Nothing here reads a clock or a terminal.

mod block;
mod certain;
mod code;
mod cut;
mod inline;
mod stream;
mod table;

pub(crate) use self::stream::Stream;

use super::paint::{Page, Painted};

/// A whole text.
pub(crate) fn whole(text: &str, page: Page) -> Painted {
    let mut stream = Stream::default();
    let mut painted = stream.push(text, page);
    painted.append(&stream.finish(page));
    painted
}

#[cfg(test)]
mod tests;
