//! What models write, as blocks of HTML.
//!
//! A block that something stands behind is frozen: it is sent once. What may still change stands in one
//! element at the end, the tail. Raw HTML is text, an image is a link, and every block is cleaned a second
//! time by somebody else's list.

mod block;
mod clean;
mod held;
mod inline;

pub(crate) use self::block::{Block, Memory, blocks};

use self::held::{bounded, closed, held};
use crate::part::Part;

/// The mark at the end of a text that is still coming.
const CARET: &str = "<span class=\"caret\" aria-hidden=\"true\"></span>";

/// A text that nothing is added to, as elements whose names begin with `id`.
pub(crate) fn whole(id: &str, text: &str, memory: &mut Memory) -> Vec<Part> {
    let blocks = blocks(text, memory);
    blocks.iter().enumerate().map(|(at, block)| block.part(&format!("{id}-b{at}"))).collect()
}

/// A text that is still coming.
pub(crate) struct Coming<'a> {
    /// What the journal has of it.
    pub(crate) durable: &'a str,
    /// What is there of it now, at least as much.
    pub(crate) now: &'a str,
    /// Whether more may come.
    pub(crate) is_open: bool,
    /// Whether what is there now belongs to another try than what the journal has.
    pub(crate) is_new_try: bool,
}

/// Its frozen elements, which depend on the journal only, and the HTML of what stands behind them.
pub(crate) fn coming(id: &str, text: &Coming<'_>, memory: &mut Memory) -> (Vec<Part>, String) {
    let durable = blocks(text.durable, memory);
    let whole = durable.len().saturating_sub(1);
    let begun = durable.last().map_or(0, Block::kids_frozen);
    let named = |at: usize| format!("{id}-b{at}");
    let frozen = durable.iter().take(whole).enumerate();
    let mut frozen: Vec<Part> = frozen.map(|(at, block)| block.part(&named(at))).collect();
    let mut part_of_last = durable.last().filter(|_| 0 < begun).cloned();
    if let Some(last) = &mut part_of_last {
        last.keep_kids(begun);
        frozen.push(last.part(&named(whole)));
    }
    let shown = if text.is_open { closed(held(bounded(text.now))) } else { text.now.into() };
    let now = blocks(&shown, memory);
    let skipped = if text.is_new_try { 0 } else { whole };
    let mut tail: Vec<Block> = now.into_iter().skip(skipped).collect();
    let goes_on = !text.is_new_try && part_of_last.is_some();
    if let Some(first) = tail.first_mut().filter(|_| goes_on) {
        first.drop_kids(begun);
    }
    tail.retain(|block| !block.is_empty());
    if text.is_open
        && let Some(last) = tail.last_mut()
    {
        last.push(CARET);
    }
    (frozen, tail.iter().map(Block::html).collect())
}

#[cfg(test)]
mod tests;
