//! HTML to Markdown, whatever the page is made of.
//!
//! Pages are written by strangers. One that is nested a million times deep would keep the parser busy
//! for hours, and the conversion, which walks the tree by recursion, would run out of stack. So a page
//! is read in pieces until the time is up, and three things are cut off before the conversion: elements
//! that lie too deep, lists in lists without end (each level indents all lines), and elements of one
//! line without end (their texts are joined one by one). Tables are written by us: the library pads
//! each cell to the widest one of its column, so that one long cell fills the memory.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use htmd::element_handler::Handlers;
use htmd::{Element, HtmlToMarkdown};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};

/// How many bytes are read between two looks at the clock.
const PIECE_BYTES: usize = 4 * 1024;
/// Longest time for reading a page. Usual ones take some milliseconds.
const READ_TIME_MAX: Duration = Duration::from_secs(3);
/// How deep elements are looked into.
const DEPTH_MAX: usize = 200;
/// How deep lists and quotations are looked into: each is one more indent in front of all lines.
const INDENTS_MAX: usize = 8;
/// Most elements within the lines of one block.
const INLINE_MAX: usize = 20_000;
/// The stack for walking a tree that deep, with room to spare.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Elements without anything to read.
const UNREAD: [&str; 13] = [
    "script", "style", "noscript", "template", "iframe", "svg", "canvas", "object", "embed",
    "head", "dialog", "audio", "video",
];

/// Elements that stand in a line among others of their kind.
const INLINE: [&str; 12] =
    ["abbr", "b", "cite", "code", "del", "em", "i", "kbd", "small", "span", "strong", "sub"];

/// What became of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) text: String,
    /// Whether parts were left out.
    pub(super) is_cut: bool,
}

/// The page as Markdown; `None` if it cannot be made. Blocks.
pub(super) fn markdown(html: &str) -> Option<Made> {
    let begun = Instant::now();
    made(html, || begun.elapsed() < READ_TIME_MAX)
}

/// The same, with the clock as an argument: the page is read for as long as `in_time` says yes.
fn made(html: &str, in_time: impl FnMut() -> bool + Send) -> Option<Made> {
    thread::scope(|scope| {
        let walker = thread::Builder::new().stack_size(STACK_BYTES);
        let walking = walker.spawn_scoped(scope, || convert(html, in_time)).ok()?;
        // A page that makes the library panic is one that cannot be made.
        walking.join().ok()
    })
}

fn convert(html: &str, mut in_time: impl FnMut() -> bool) -> Made {
    let dom = RcDom::default();
    let root = dom.document.clone();
    let mut parser = parse_document(dom, ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() && in_time() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        parser.process(StrTendril::from_slice(piece));
        rest = behind;
    }
    let title = title(&root);
    let is_too_deep = prune(&root);
    let as_table =
        |handlers: &dyn Handlers, element: Element<'_>| Some(table(handlers, element.node).into());
    let body = HtmlToMarkdown::builder().add_handler(vec!["table"], as_table).build();
    let body = body.tree_to_markdown(&root);
    let text = match title {
        Some(title) if !body.trim_start().starts_with("# ") => format!("# {title}\n\n{body}"),
        Some(_) | None => body,
    };
    Made { text, is_cut: is_too_deep || !rest.is_empty() }
}

/// Takes out what nobody would read on a screen, and what is too much. Whether something was.
fn prune(root: &Rc<Node>) -> bool {
    let (mut left, mut is_too_much) = (vec![(root.clone(), 0, 0)], false);
    while let Some((node, depth, indents)) = left.pop() {
        let indents = indents + usize::from(matches!(tag(&node), Some("li" | "blockquote")));
        let mut children = node.children.borrow_mut();
        if DEPTH_MAX <= depth || INDENTS_MAX < indents {
            is_too_much |= !children.is_empty();
            children.clear();
            continue;
        }
        let mut inline = 0;
        children.retain(|child| is_read(child));
        let read = children.len();
        children.retain(|child| {
            inline += usize::from(tag(child).is_some_and(|tag| INLINE.contains(&tag)));
            inline <= INLINE_MAX
        });
        is_too_much |= children.len() < read;
        left.extend(children.iter().map(|child| (child.clone(), depth + 1, indents)));
    }
    is_too_much
}

/// The name of an element.
fn tag(node: &Node) -> Option<&str> {
    let NodeData::Element { name, .. } = &node.data else { return None };
    Some(&*name.local)
}

/// Whether somebody who looks at the page would see this.
fn is_read(node: &Node) -> bool {
    let NodeData::Element { name, attrs, .. } = &node.data else {
        return matches!(node.data, NodeData::Text { .. });
    };
    let hides = attrs.borrow().iter().any(|attribute| {
        let value = attribute.value.to_ascii_lowercase();
        match &*attribute.name.local {
            "hidden" => value != "until-found",
            "aria-hidden" => value == "true",
            "style" => {
                let style: String = value.split_whitespace().collect();
                style.contains("display:none") || style.contains("visibility:hidden")
            }
            // A whole picture in an address.
            "src" => value.starts_with("data:"),
            _ => false,
        }
    });
    !hides && !UNREAD.contains(&&*name.local)
}

/// A table, one line for each row. One that only lays out a page, with blocks in its cells or with
/// one column, is read cell by cell.
fn table(handlers: &dyn Handlers, table: &Node) -> String {
    let mut rows = Vec::new();
    for child in table.children.borrow().iter() {
        match tag(child) {
            Some("tr") => rows.push(cells(handlers, child)),
            Some("thead" | "tbody" | "tfoot") => {
                let within = child.children.borrow();
                let within = within.iter().filter(|row| tag(row) == Some("tr"));
                rows.extend(within.map(|row| cells(handlers, row)));
            }
            Some("caption") => rows.push(vec![handlers.walk_children(child).content]),
            Some(_) | None => {}
        }
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let has_blocks = rows.iter().flatten().any(|cell| cell.trim().contains("\n\n"));
    if columns <= 1 || has_blocks {
        let cells: Vec<_> = rows.into_iter().flatten().map(|cell| cell.trim().to_owned()).collect();
        return format!("\n\n{}\n\n", cells.join("\n\n"));
    }
    let on_one_line = |cell: &String| {
        let words: Vec<_> = cell.split_whitespace().collect();
        words.join(" ").replace('|', "\\|")
    };
    let mut lines = Vec::new();
    for row in &rows {
        let cells: Vec<_> = row.iter().map(on_one_line).collect();
        lines.push(format!("| {} |", cells.join(" | ")));
        if lines.len() == 1 {
            lines.push(format!("|{}", " --- |".repeat(row.len())));
        }
    }
    format!("\n\n{}\n\n", lines.join("\n"))
}

/// What the cells of a row say.
fn cells(handlers: &dyn Handlers, row: &Node) -> Vec<String> {
    let children = row.children.borrow();
    let cells = children.iter().filter(|cell| matches!(tag(cell), Some("td" | "th")));
    cells.map(|cell| handlers.walk_children(cell).content).collect()
}

/// What the page is called.
fn title(root: &Rc<Node>) -> Option<String> {
    let find = |node: &Rc<Node>, wanted: &str| {
        let children = node.children.borrow();
        let named = |child: &&Rc<Node>| matches!(&child.data, NodeData::Element { name, .. } if &*name.local == wanted);
        children.iter().find(named).cloned()
    };
    let title = find(&find(&find(root, "html")?, "head")?, "title")?;
    let children = title.children.borrow();
    let text = |child: &Rc<Node>| {
        let NodeData::Text { contents } = &child.data else { return None };
        Some(contents.borrow().to_string())
    };
    let words: Vec<_> = children.iter().filter_map(text).collect();
    let words = words.concat();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        read(html).text
    }

    /// A page for which there is time, however busy the machine is.
    fn read(html: &str) -> Made {
        made(html, || true).unwrap()
    }

    #[test]
    fn structure_stays_and_decoration_goes() {
        let page = "<html><head><title>Knots  of\nall kinds</title><style>p{}</style></head><body><nav>Home</nav>\
                    <ul><li>one<li>two</ul><pre><code class='language-rust'>fn a() {}\n</code></pre>\
                    <table><tr><th>a<th>b<tr><td>1<td>2</table><script>alert(1)</script></body>";
        let made = text(page);
        assert!(made.starts_with("# Knots of all kinds\n\n"), "{made}");
        for part in ["Home", "*   one", "```rust\nfn a() {}\n```", "| 1 | 2 |"] {
            assert!(made.contains(part), "{part}: {made}");
        }
        assert!(!made.contains("alert") && !made.contains("p{}"), "{made}");
    }

    #[test]
    fn what_nobody_would_see_is_left_out() {
        let page = "<p>seen</p><!-- unseen --><p hidden>unseen</p><div style='Display: none'>unseen</div>\
                    <span aria-hidden=true>unseen</span><noscript>unseen</noscript><template>unseen</template>\
                    <img src='data:image/png;base64,AAAA' alt=unseen>";
        assert_eq!(text(page), "seen");
    }

    #[test]
    fn a_page_that_is_nested_without_end_is_cut_and_does_no_harm() {
        for tag in ["div", "span", "b", "ul><li", "blockquote", "table><tr><td"] {
            let page = format!("<p>begin</p>{}end", format!("<{tag}>").repeat(1_000));
            let made = read(&page);
            assert!(made.is_cut, "{tag}");
            assert!(made.text.starts_with("begin"), "{tag}");
        }
    }

    #[test]
    fn a_page_for_which_there_is_no_time_is_cut_where_the_time_ends() {
        let page = format!("<p>begin</p>{}<p>end", "<p>x".repeat(PIECE_BYTES));
        let mut pieces = 0;
        let made = made(&page, || {
            pieces += 1;
            pieces <= 2
        });
        let made = made.unwrap();
        assert!(made.is_cut && made.text.starts_with("begin\n\nx\n\nx"), "{}", made.text);
        assert!(!made.text.contains("end"), "{}", made.text);
        assert!(!read(&page).is_cut && read(&page).text.ends_with("end"));
    }

    #[test]
    fn a_page_that_is_made_to_fill_the_memory_does_not() {
        const BYTES: usize = 256 * 1024;
        let many = |piece: &str| piece.repeat(BYTES / piece.len());
        let wide = format!("<table><tr><td>{}", many("x"));
        let indented = "<ul><li>".repeat(99);
        for (name, page) in [
            ("a wide cell", format!("{wide}{}", many("<tr><td>a<td>b"))),
            ("indented lines", format!("{indented}<pre>{}", many("\nx"))),
            ("words of one line", many("<b>x</b>")),
            ("list items", format!("<ol>{}", many("<li>x"))),
            ("paragraphs", many("<p>x")),
            ("links", many("<a href=x>y</a>")),
        ] {
            let made = read(&page);
            assert!(made.text.len() < 16 * BYTES, "{name}: {} bytes", made.text.len());
            let is_cut = matches!(name, "indented lines" | "words of one line");
            assert_eq!(made.is_cut, is_cut, "{name}");
        }
    }

    #[test]
    fn a_table_that_lays_out_a_page_is_read_cell_by_cell() {
        let page =
            "<table><tr><td><p>Menu</p><p>Home</p></td><td><h2>News</h2><p>Rain.</p></td></table>";
        assert_eq!(text(page), "Menu\n\nHome\n\n## News\n\nRain.");
        assert_eq!(text("<table><tr><td>one<tr><td>two</table>"), "one\n\ntwo");
        let cell = "<table><tr><th>a|b<th>c<tr><td>1<br>2<td>3</table>";
        assert_eq!(text(cell), "| a\\|b | c |\n| --- | --- |\n| 1 2 | 3 |");
    }

    #[test]
    fn any_bytes_are_some_page() {
        for page in [
            "",
            "<",
            "</",
            "<!",
            "<?xml?>",
            "<p",
            "<a href=",
            "&#x110000;&bogus;",
            "<![CDATA[x]]>",
            "<svg><?pi?></svg>",
        ] {
            assert!(!read(page).is_cut, "{page}");
        }
    }
}
