//! Blocks as lines: paragraphs, headings, lists, quotes, code, tables.
//!
//! A line end of the source stays one: people and models mean it. What the parser passes over without a word,
//! such as the definitions of links, is shown as it was written.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser knows more than is switched on; what is not named has no look of its own"
)]

use std::ops::Range;

use anstyle::Style as Look;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::code::Code;
use super::cut::parse;
use super::inline::Inline;
use super::table::{Table, left_over_cells};
use crate::render::paint::{Line, Page, Span, Style, expand_tabs, width};
use crate::render::wrap::{break_letters, wrap};

/// Most columns of running text: wider lines are hard to read.
const TEXT_COLUMNS_MAX: usize = 100;
/// Fewest columns that something is laid out for.
const COLUMNS_MIN: usize = 10;
/// What stands in front of code.
const CODE_INDENT: &str = "  ";

/// The lines of a text. `number` is that of the first item, where the text goes on with a list.
pub(super) fn lines(source: &str, number: Option<u64>, page: Page) -> Vec<Line> {
    let mut writer = Writer::new(source, number, page);
    let mut depth = 0_usize;
    for (event, range) in parse(source) {
        let is_start = matches!(event, Event::Start(_));
        if depth == 0 && (is_start || matches!(event, Event::Rule)) {
            writer.pass(range.start);
            writer.passed = range.end;
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        writer.take(event, range);
    }
    writer.pass(source.len());
    writer.lines
}

/// A line of code, in as many as it takes.
pub(super) fn code_lines(line: &Line, columns: usize, style: Style) -> Vec<Line> {
    let indent = match style {
        Style::Coloured => CODE_INDENT,
        Style::Plain => "",
    };
    let broken = break_letters(line, columns.saturating_sub(indent.len()).max(COLUMNS_MIN));
    let indented = |line: Line| [Span::plain(indent)].into_iter().chain(line).collect();
    broken.into_iter().map(indented).collect()
}

/// A container that puts something in front of its lines.
#[derive(Debug)]
struct Frame {
    /// In front of the first line, until that is there.
    first: Option<Span>,
    rest: Span,
}

#[derive(Debug)]
struct Writer<'a> {
    source: &'a str,
    page: Page,
    lines: Vec<Line>,
    frames: Vec<Frame>,
    inline: Inline,
    /// Where the words that are being read begin and end.
    words: Option<Range<usize>>,
    /// For each open list the next number, if it has numbers.
    lists: Vec<Option<u64>>,
    number: Option<u64>,
    table: Option<Table>,
    code: Option<(String, String)>,
    /// Where that ends of the source which is in the lines.
    told: usize,
    /// Where that ends of the source which the parser told of.
    passed: usize,
}

impl<'a> Writer<'a> {
    fn new(source: &'a str, number: Option<u64>, page: Page) -> Self {
        Self {
            source,
            page,
            lines: Vec::new(),
            frames: Vec::new(),
            inline: Inline::new(page.style),
            words: None,
            lists: Vec::new(),
            number,
            table: None,
            code: None,
            told: 0,
            passed: 0,
        }
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, &range),
            Event::End(tag) => self.end(tag, &range),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.word(&range).text(&text),
            },
            Event::Code(text) => self.word(&range).code(&text),
            Event::Html(text) => {
                for line in text.lines() {
                    self.word(&range).text(line);
                    self.inline.break_line();
                }
            }
            Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.word(&range).text(&text),
            Event::SoftBreak | Event::HardBreak => self.word(&range).break_line(),
            Event::TaskListMarker(done) => {
                self.word(&range).text(if done { "[x] " } else { "[ ] " });
            }
            Event::Rule => {
                let columns = self.columns(TEXT_COLUMNS_MAX);
                let rule = match self.page.style {
                    Style::Coloured => Span::new(&"─".repeat(columns), Look::new().dimmed()),
                    Style::Plain => Span::plain("---"),
                };
                self.put(vec![vec![rule]], &range);
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Strong
            | Tag::Emphasis
            | Tag::Strikethrough
            | Tag::Link { .. }
            | Tag::Image { .. } => {
                self.word(range).start(tag);
                return;
            }
            Tag::TableHead => return self.inline.push_look(Look::bold),
            Tag::TableRow | Tag::TableCell => return,
            _ => self.flush(),
        }
        match tag {
            Tag::Heading { level, .. } => self.start_heading(*level),
            Tag::BlockQuote(_) => {
                let bar = match self.page.style {
                    Style::Coloured => Span::new("│ ", Look::new().dimmed()),
                    Style::Plain => Span::plain("> "),
                };
                self.frames.push(Frame { first: Some(bar.clone()), rest: bar });
            }
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((info, String::new()));
            }
            Tag::List(start) => {
                let goes_on = self.number.take().filter(|_| self.lists.is_empty());
                self.lists.push(start.map(|start| goes_on.unwrap_or(start)));
            }
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.table = Some(Table::new(alignments.clone()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Strong
            | TagEnd::Emphasis
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image => self.word(range).end(tag),
            TagEnd::TableCell => {
                let cell = self.inline.take().concat();
                self.words = None;
                if let Some(table) = &mut self.table {
                    table.cells.push(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if tag == TagEnd::TableHead {
                    self.inline.pop_look();
                }
                let row = self.source.get(range.clone()).unwrap_or_default();
                if let Some(table) = &mut self.table {
                    let left_over = left_over_cells(row, table.alignments.len());
                    table.end_row(left_over.as_deref());
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let columns = self.columns(usize::MAX);
                    self.put(table.lines(columns, self.page), range);
                }
            }
            TagEnd::CodeBlock => self.end_code(range),
            TagEnd::Heading(_) => {
                self.flush_to(range.end);
                self.inline.pop_look();
            }
            TagEnd::Item => {
                self.flush();
                if self.frames.last().is_some_and(|frame| frame.first.is_some()) {
                    self.put(vec![Line::new()], range);
                }
                self.frames.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.frames.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            _ => self.flush_to(range.end),
        }
    }

    fn start_heading(&mut self, level: HeadingLevel) {
        let look = match level {
            HeadingLevel::H1 => |look: Look| look.bold().underline(),
            _ => |look: Look| look.bold(),
        };
        if self.page.style == Style::Plain {
            self.inline.text(&format!("{} ", "#".repeat(level as usize)));
        }
        self.inline.push_look(look);
    }

    fn start_item(&mut self) {
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(None) | None => "- ".to_owned(),
        };
        let rest = Span::plain(&" ".repeat(marker.len()));
        self.frames.push(Frame { first: Some(Span::plain(&marker)), rest });
    }

    fn end_code(&mut self, range: &Range<usize>) {
        let Some((info, text)) = self.code.take() else { return };
        let columns = self.columns(usize::MAX);
        let mut code = Code::new(&info, self.page);
        let mut lines: Vec<Line> = Vec::new();
        if self.page.style == Style::Plain {
            let open = vec![Span::plain(&expand_tabs(&format!("```{info}")))];
            lines.extend(code_lines(&open, columns, self.page.style));
        }
        for line in text.lines() {
            lines.extend(code_lines(&code.line(line), columns, self.page.style));
        }
        if self.page.style == Style::Plain {
            lines.push(vec![Span::plain("```")]);
        }
        self.put(lines, range);
    }

    /// The words that are being read, of which this is the next.
    fn word(&mut self, range: &Range<usize>) -> &mut Inline {
        let words = self.words.get_or_insert_with(|| range.clone());
        words.end = words.end.max(range.end);
        &mut self.inline
    }

    /// Puts the words that were read into lines.
    fn flush(&mut self) {
        let end = self.words.as_ref().map_or(0, |words| words.end);
        self.flush_to(end);
    }

    fn flush_to(&mut self, end: usize) {
        let start = self.words.take().map_or(end, |words| words.start);
        if self.inline.is_empty() {
            return;
        }
        let columns = self.columns(TEXT_COLUMNS_MAX);
        let lines = self.inline.take();
        self.put(lines.iter().flat_map(|line| wrap(line, columns)).collect(), &(start..end));
    }

    /// Shows what the parser does not tell of, up to where it goes on.
    fn pass(&mut self, end: usize) {
        let passed = self.source.get(self.passed..end).unwrap_or_default();
        let mut at = self.passed;
        for line in passed.split_inclusive('\n') {
            let range = at..at + line.len();
            at = range.end;
            if !line.trim().is_empty() {
                let columns = self.columns(TEXT_COLUMNS_MAX);
                self.put(wrap(&[Span::plain(line.trim())], columns), &range);
            }
        }
    }

    /// Puts lines in place, behind a blank one if there is one in the source.
    fn put(&mut self, lines: Vec<Line>, range: &Range<usize>) {
        let between = self.source.get(self.told..range.start).unwrap_or_default();
        if !self.lines.is_empty() && 2 <= between.matches('\n').count() {
            let begun = self.frames.iter().take_while(|frame| frame.first.is_none());
            self.lines.push(begun.map(|frame| frame.rest.clone()).collect());
        }
        for line in lines {
            let front = self.frames.iter_mut();
            let front = front.map(|it| it.first.take().unwrap_or_else(|| it.rest.clone()));
            self.lines.push(front.chain(line).collect());
        }
        self.told = self.source.get(..range.end).map_or(range.end, |told| told.trim_end().len());
    }

    /// Columns behind what stands in front of a line.
    fn columns(&self, most: usize) -> usize {
        let front: usize =
            self.frames.iter().map(|frame| width(std::slice::from_ref(&frame.rest))).sum();
        self.page.columns.min(most).saturating_sub(front).max(COLUMNS_MIN)
    }
}
