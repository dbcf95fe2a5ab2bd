//! Events of the parser as HTML. Whatever the text says of itself is text.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser knows more than is switched on; what is not named has no look of its own"
)]

use std::fmt::Write as _;

use piton_core::language;
use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use crate::code::Painter;
use crate::visible::{escape, escaped};

/// Where a link may lead.
pub(super) const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Made of the events of one block.
#[derive(Default)]
struct Writer {
    html: String,
    /// For each list item around: whether a paragraph of it has ended.
    items: Vec<bool>,
    /// Ends of the links around; a link that leads nowhere has none.
    links: Vec<&'static str>,
    /// Whether the cells are those of the head of a table.
    in_head: bool,
    /// The language of the code around, and its text.
    code: Option<(String, String)>,
}

pub(super) fn html(events: &[Event<'_>]) -> String {
    written(Writer::default(), events)
}

/// What stands in one item of a list.
pub(super) fn item_html(events: &[Event<'_>]) -> String {
    written(Writer { items: vec![false], ..Writer::default() }, events)
}

fn written(mut writer: Writer, events: &[Event<'_>]) -> String {
    for event in events {
        writer.event(event);
    }
    writer.html
}

impl Writer {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(text),
                None => escape(text, &mut self.html),
            },
            Event::Html(text) | Event::InlineHtml(text) => escape(text, &mut self.html),
            Event::Code(text) => {
                self.html.push_str("<code dir=\"ltr\">");
                escape(text, &mut self.html);
                self.html.push_str("</code>");
            }
            // Models end a line where they mean it. The terminal shows the same lines.
            Event::SoftBreak | Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(done) => self.html.push_str(if *done { "☑ " } else { "☐ " }),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        let html = match tag {
            // Tight and loose lists look the same.
            Tag::Paragraph => match self.items.last() {
                Some(false) => "",
                Some(true) => "<div class=\"para\" dir=\"auto\">",
                None => "<p dir=\"auto\">",
            },
            Tag::Heading { .. } => "<h5 dir=\"auto\">",
            Tag::BlockQuote(_) => "<blockquote dir=\"auto\">",
            Tag::HtmlBlock => "<p class=\"raw\" dir=\"auto\">",
            Tag::List(None) => "<ul>",
            Tag::List(Some(start)) => {
                // Writing to a string cannot fail.
                return write!(self.html, "<ol start=\"{start}\">").unwrap_or_default();
            }
            Tag::Item => {
                self.items.push(false);
                "<li dir=\"auto\">"
            }
            Tag::Table(_) => "<table>",
            Tag::TableHead => {
                self.in_head = true;
                "<thead><tr>"
            }
            Tag::TableRow => "<tr>",
            Tag::TableCell if self.in_head => "<th dir=\"auto\">",
            Tag::TableCell => "<td dir=\"auto\">",
            Tag::Emphasis => "<em>",
            Tag::Strong => "<strong>",
            Tag::Strikethrough => "<del>",
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => return self.link(dest_url),
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => language::written(info),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((info.to_owned(), String::new()));
                ""
            }
            _ => "",
        };
        self.html.push_str(html);
    }

    fn end(&mut self, tag: TagEnd) {
        let html = match tag {
            TagEnd::Paragraph => match self.items.last_mut() {
                Some(is_later @ false) => {
                    *is_later = true;
                    ""
                }
                Some(true) => "</div>",
                None => "</p>",
            },
            TagEnd::Heading(_) => "</h5>",
            TagEnd::BlockQuote(_) => "</blockquote>",
            TagEnd::HtmlBlock => "</p>",
            TagEnd::List(false) => "</ul>",
            TagEnd::List(true) => "</ol>",
            TagEnd::Item => {
                self.items.pop();
                "</li>"
            }
            TagEnd::Table => "</tbody></table>",
            TagEnd::TableHead => {
                self.in_head = false;
                "</tr></thead><tbody>"
            }
            TagEnd::TableRow => "</tr>",
            TagEnd::TableCell if self.in_head => "</th>",
            TagEnd::TableCell => "</td>",
            TagEnd::Emphasis => "</em>",
            TagEnd::Strong => "</strong>",
            TagEnd::Strikethrough => "</del>",
            TagEnd::Link | TagEnd::Image => self.links.pop().unwrap_or_default(),
            TagEnd::CodeBlock => return self.code_ends(),
            _ => "",
        };
        self.html.push_str(html);
    }

    /// A link says where it leads. An image becomes one: to load it would tell somebody that it was seen.
    fn link(&mut self, address: &str) {
        let Some(host) = host(address) else {
            return self.links.push("");
        };
        self.html.push_str("<a href=\"");
        escape(address, &mut self.html);
        self.html.push_str("\" title=\"");
        escape(host, &mut self.html);
        self.html.push_str("\" target=\"_blank\">");
        self.links.push("</a>");
    }

    fn code_ends(&mut self) {
        let Some((info, code)) = self.code.take() else { return };
        let mut painter = Painter::of_language(&info);
        let lines: String = code.lines().map(|line| painter.line(line) + "\n").collect();
        let caption = escaped(&info);
        write!(
            self.html,
            "<figure class=\"code\"><figcaption>{caption}</figcaption><pre tabindex=\"0\" dir=\"ltr\"><code>{lines}</code></pre></figure>"
        )
        .unwrap_or_default();
    }
}

/// Where an address leads, if it may be followed.
fn host(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once(':')?;
    if !SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
        return None;
    }
    let rest = rest.trim_start_matches('/');
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    Some(rest.get(..end).unwrap_or_default()).filter(|host| !host.is_empty())
}
