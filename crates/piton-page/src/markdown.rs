//! What models write, as blocks of HTML.
//!
//! A block that something stands behind is frozen: it is sent once. What may still change stands in one
//! element at the end, the tail. Raw HTML is text, an image is a link, and every block is cleaned a second
//! time by somebody else's list.

mod block;
mod clean;
mod held;
mod inline;

use std::sync::Arc;

pub(crate) use self::block::Memory;
use self::block::{Block, Frozen, blocks, blocks_from};

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
pub(crate) fn coming(id: &str, text: &Coming<'_>, memory: &mut Memory) -> (Vec<Arc<Part>>, String) {
    let known = memory.frozen.take().filter(|frozen| frozen.durable == text.durable);
    let frozen = known.unwrap_or_else(|| freeze(id, text.durable, memory));
    let shown = if text.is_open { closed(held(bounded(text.now))) } else { text.now.into() };
    // Only the block that grows is read again, unless a definition may change what stands before it.
    let has_definitions = text.now.contains("]:");
    let from_there = shown.get(frozen.start..).filter(|_| !has_definitions && !text.is_new_try);
    let tail = if let Some(rest) = from_there {
        blocks_from(rest, frozen.whole, memory)
    } else {
        let skipped = if text.is_new_try { 0 } else { frozen.whole };
        blocks_from(&shown, 0, memory).into_iter().skip(skipped).collect()
    };
    let mut tail: Vec<Block> = tail.into_iter().map(|(_, block)| block).collect();
    if let Some(first) = tail.first_mut().filter(|_| 0 < frozen.begun && !text.is_new_try) {
        first.drop_kids(frozen.begun);
    }
    tail.retain(|block| !block.is_empty());
    if text.is_open
        && let Some(last) = tail.last_mut()
    {
        last.push(CARET);
    }
    let parts = frozen.parts.clone();
    memory.frozen = Some(frozen);
    (parts, tail.iter().map(Block::html).collect())
}

/// What of a text is not changed by anything that may come.
fn freeze(id: &str, durable: &str, memory: &mut Memory) -> Frozen {
    let mut blocks = blocks_from(durable, 0, memory);
    let last = blocks.pop();
    let named = |at: usize| format!("{id}-b{at}");
    let parts = blocks.iter().enumerate().map(|(at, (_, block))| block.part(&named(at)));
    let mut parts: Vec<_> = parts.map(Arc::new).collect();
    let (start, begun) = last.as_ref().map_or((0, 0), |(start, last)| (*start, last.kids_frozen()));
    if let Some((_, mut last)) = last.filter(|_| 0 < begun) {
        last.keep_kids(begun);
        parts.push(Arc::new(last.part(&named(blocks.len()))));
    }
    Frozen { durable: durable.to_owned(), parts, whole: blocks.len(), begun, start }
}

#[cfg(test)]
mod tests;
