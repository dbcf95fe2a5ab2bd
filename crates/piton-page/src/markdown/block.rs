//! The blocks of a text that stand in no other one.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser knows more than is switched on; what is not named has no look of its own"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use piton_core::language;
use pulldown_cmark::{CodeBlockKind, Event, OffsetIter, Options, Parser, Tag};

use super::clean::clean;
use super::inline;
use crate::code::Painter;
use crate::part::{Group, Part};
use crate::visible::escaped;

/// Lines of code that are one element: enough that an element is worth its name.
const CHUNK_LINES: usize = 20;
/// Longest code that is coloured, in bytes.
const CODE_BYTES_MAX: usize = 128 * 1024;

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Changes whole.
    Whole { tag: &'static str, fixed: &'static str, inner: String },
    /// Grows by items.
    List { tag: &'static str, start: u64, items: Vec<String> },
    /// Grows by lines. All chunks but the last are full.
    Code { language: String, chunks: Vec<String>, lines: usize, goes_on: bool },
}

/// What was made of a text before, so that one that grows is not made whole again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Of blocks without code: source and block, by place.
    made: BTreeMap<usize, (String, Block)>,
    /// Of code: chunks by place.
    painted: BTreeMap<usize, Vec<Chunk>>,
    /// Whether blocks depend on more than their source: a definition changes blocks that stand anywhere.
    is_of_no_use: bool,
    /// What was frozen last.
    pub(super) frozen: Option<Frozen>,
}

/// The beginning of a text that comes: nothing changes it any more.
#[derive(Clone, Debug)]
pub(super) struct Frozen {
    /// The text that the journal had.
    pub(super) durable: String,
    /// Its elements.
    pub(super) parts: Vec<Arc<Part>>,
    /// How many whole blocks they are.
    pub(super) whole: usize,
    /// How many children of the block behind them are among them.
    pub(super) begun: usize,
    /// Where that block begins.
    pub(super) start: usize,
}

#[derive(Clone, Debug)]
struct Chunk {
    source: String,
    html: String,
    after: Painter,
}

impl Memory {
    /// The block that was made of the same source before, else one that is made now.
    fn block(&mut self, place: Place<'_>, make: impl FnOnce() -> Block) -> Block {
        let known = self.made.get(&place.at).filter(|_| !self.is_of_no_use);
        if let Some((_, block)) = known.filter(|(source, _)| source == place.source) {
            return block.clone();
        }
        let block = make();
        if !self.is_of_no_use {
            self.made.insert(place.at, (place.source.to_owned(), block.clone()));
        }
        block
    }
}

/// The parser, with what people and models write beyond the standard.
fn parse(source: &str) -> OffsetIter<'_> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(source, options).into_offset_iter()
}

/// The blocks of a text, in order.
pub(crate) fn blocks(source: &str, memory: &mut Memory) -> Vec<Block> {
    blocks_from(source, 0, memory).into_iter().map(|(_, block)| block).collect()
}

/// The blocks of a text that stands behind so many others, each with the line in which it begins.
pub(super) fn blocks_from(source: &str, behind: usize, memory: &mut Memory) -> Vec<(usize, Block)> {
    let mut parser = parse(source);
    memory.is_of_no_use = parser.reference_definitions().iter().next().is_some();
    let mut blocks = Vec::new();
    while let Some((first, range)) = parser.next() {
        let mut events = vec![first];
        let mut depth = usize::from(matches!(events.first(), Some(Event::Start(_))));
        while 0 < depth {
            let Some((event, _)) = parser.next() else { break };
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            events.push(event);
        }
        let before = source.get(..range.start).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let place =
            Place { at: behind + blocks.len(), source: source.get(range).unwrap_or_default() };
        blocks.push((start, block(&events, place, memory)));
    }
    blocks
}

#[derive(Clone, Copy)]
struct Place<'a> {
    at: usize,
    source: &'a str,
}

fn block(events: &[Event<'_>], place: Place<'_>, memory: &mut Memory) -> Block {
    match events.first() {
        Some(Event::Start(Tag::CodeBlock(kind))) => {
            let info = match kind {
                CodeBlockKind::Fenced(info) => info.as_ref(),
                CodeBlockKind::Indented => "",
            };
            code(info, &text_of(events), place.at, memory)
        }
        Some(Event::Start(Tag::List(start))) => memory.block(place, || {
            let items = items(events).map(|item| clean(&inline::item_html(item))).collect();
            let tag = if start.is_some() { "ol" } else { "ul" };
            Block::List { tag, start: start.unwrap_or(1), items }
        }),
        first => memory.block(place, || {
            let (tag, fixed) = look(first);
            Block::Whole { tag, fixed, inner: clean(&inline::html(within(events))) }
        }),
    }
}

/// The element of a block that changes whole.
fn look(first: Option<&Event<'_>>) -> (&'static str, &'static str) {
    match first {
        Some(Event::Start(Tag::Heading { level, .. })) => {
            (if (*level as usize) < 3 { "h4" } else { "h5" }, " dir=\"auto\"")
        }
        Some(Event::Start(Tag::BlockQuote(_))) => ("blockquote", " dir=\"auto\""),
        Some(Event::Start(Tag::Table(_))) => ("div", " class=\"grid\" tabindex=\"0\""),
        Some(Event::Start(Tag::HtmlBlock)) => ("p", " class=\"raw\" dir=\"auto\""),
        Some(Event::Rule) => ("div", " class=\"rule\" role=\"separator\""),
        _ => ("p", " dir=\"auto\""),
    }
}

/// What stands between the tags of a block. A table keeps its own: its element is the frame around it.
fn within<'a, 'b>(events: &'b [Event<'a>]) -> &'b [Event<'a>] {
    match events {
        [Event::Start(Tag::Table(_)), ..] => events,
        [Event::Start(_), inner @ .., Event::End(_)] => inner,
        [Event::Rule] => &[],
        other => other,
    }
}

/// The events of each item, without those of the list.
fn items<'a, 'b>(events: &'b [Event<'a>]) -> impl Iterator<Item = &'b [Event<'a>]> {
    let mut starts = Vec::new();
    let mut depth = 0_usize;
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Start(_) => {
                if depth == 1 {
                    starts.push(at);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let last = events.len().saturating_sub(1);
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([last]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| {
        // Without the tags of the item itself.
        events.get(start + 1..end.saturating_sub(1)).unwrap_or_default()
    })
}

fn text_of(events: &[Event<'_>]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Text(text) => Some(text.as_ref()),
        _ => None,
    });
    texts.collect()
}

fn code(info: &str, text: &str, at: usize, memory: &mut Memory) -> Block {
    let lines = text.matches('\n').count();
    let known = memory.painted.remove(&at).unwrap_or_default();
    let spoken = if text.len() <= CODE_BYTES_MAX { info } else { "" };
    let mut painter = Painter::of_language(spoken);
    let (mut made, mut same): (Vec<Chunk>, bool) = (Vec::new(), true);
    let all: Vec<&str> = text.lines().collect();
    for chunk in all.chunks(CHUNK_LINES) {
        let source = format!("{spoken}\n{}\n", chunk.join("\n"));
        let old = known.get(made.len()).filter(|old| same && old.source == source);
        if let Some(old) = old {
            painter = old.after.clone();
            made.push(old.clone());
            continue;
        }
        same = false;
        let html = chunk.iter().map(|line| painter.line(line) + "\n").collect();
        made.push(Chunk { source, html, after: painter.clone() });
    }
    let chunks = made.iter().map(|chunk| chunk.html.clone()).collect();
    memory.painted.insert(at, made);
    Block::Code { language: language::written(info).to_owned(), chunks, lines, goes_on: false }
}

impl Block {
    /// How many of its children nothing changes any more, if it is the last block of a text.
    pub(super) fn kids_frozen(&self) -> usize {
        match self {
            Self::Whole { .. } => 0,
            Self::List { items, .. } => items.len().saturating_sub(1),
            Self::Code { lines, .. } => lines / CHUNK_LINES,
        }
    }

    pub(super) fn keep_kids(&mut self, count: usize) {
        match self {
            Self::Whole { .. } => {}
            Self::List { items: kids, .. } | Self::Code { chunks: kids, .. } => {
                kids.truncate(count);
            }
        }
    }

    /// Without the first children, which stand before it.
    pub(super) fn drop_kids(&mut self, count: usize) {
        match self {
            Self::Whole { .. } => {}
            Self::List { items, start, .. } => {
                items.drain(..count.min(items.len()));
                *start = start.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            }
            Self::Code { chunks, goes_on, .. } => {
                chunks.drain(..count.min(chunks.len()));
                *goes_on = true;
            }
        }
    }

    /// Whether nothing of it is left to show.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Whole { .. } => false,
            Self::List { items, .. } => items.is_empty(),
            Self::Code { chunks, goes_on, .. } => *goes_on && chunks.is_empty(),
        }
    }

    /// Puts HTML behind its last letter.
    pub(super) fn push(&mut self, html: &str) {
        match self {
            Self::Whole { inner, .. } => inner.push_str(html),
            Self::List { items: kids, .. } | Self::Code { chunks: kids, .. } => {
                match kids.last_mut() {
                    Some(last) => last.push_str(html),
                    None => kids.push(html.to_owned()),
                }
            }
        }
    }

    /// As an element with a name, and children with theirs.
    pub(crate) fn part(&self, id: &str) -> Part {
        match self {
            Self::Whole { tag, fixed, inner } => {
                Part::leaf(id, format!("<{tag} id=\"{id}\"{fixed}>{inner}</{tag}>"))
            }
            Self::List { tag, start, items } => {
                let item = |(at, inner): (usize, &String)| {
                    let id = format!("{id}-i{at}");
                    let html = format!("<li id=\"{id}\" dir=\"auto\">{inner}</li>");
                    Part::leaf(id, html)
                };
                let items = items.iter().enumerate().map(item).collect();
                Group::new(tag, id, &first_number(tag, *start)).kids(items)
            }
            Self::Code { language, chunks, .. } => {
                let chunk = |(at, html): (usize, &String)| {
                    let id = format!("{id}-l{at}");
                    let html = format!("<span id=\"{id}\">{html}</span>");
                    Part::leaf(id, html)
                };
                let chunks = chunks.iter().enumerate().map(chunk).collect();
                let code = Group::new("code", format!("{id}-c"), "").kids(chunks);
                let pre = Group::new("pre", format!("{id}-p"), PRE).kids(vec![code]);
                let head = caption(language);
                Group::new("figure", id, " class=\"code\"").head(head).kids(vec![pre])
            }
        }
    }

    /// The same without names.
    pub(crate) fn html(&self) -> String {
        match self {
            Self::Whole { tag, fixed, inner } => format!("<{tag}{fixed}>{inner}</{tag}>"),
            Self::List { tag, start, items } => {
                let items = items.iter().map(|inner| format!("<li dir=\"auto\">{inner}</li>"));
                let items: String = items.collect();
                format!("<{tag}{}>{items}</{tag}>", first_number(tag, *start))
            }
            Self::Code { language, chunks, goes_on, .. } => {
                let (class, head) = match goes_on {
                    true => ("code go-on", String::new()),
                    false => ("code", caption(language)),
                };
                let code = chunks.concat();
                format!(
                    "<figure class=\"{class}\">{head}<pre{PRE}><code>{code}</code></pre></figure>"
                )
            }
        }
    }
}

const PRE: &str = " tabindex=\"0\" dir=\"ltr\"";

fn first_number(tag: &str, start: u64) -> String {
    if tag == "ol" && start != 1 { format!(" start=\"{start}\"") } else { String::new() }
}

fn caption(language: &str) -> String {
    let copy = "<button class=\"b plain\" type=\"button\" data-copy=\"code\">Copy</button>";
    format!("<figcaption>{}{copy}</figcaption>", escaped(language))
}
