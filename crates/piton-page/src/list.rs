//! The list of conversations.

use maud::{Markup, html};
use piton_core::id::Timestamp;

use crate::frame::{Frame, Op};
use crate::icon::{icon, spinning};
use crate::ident;
use crate::visible::visible;
use crate::when::{time, until};

/// Where a conversation stands, in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// Somebody works on it, or will soon.
    Running,
    /// It waits for a person.
    Ask,
    /// Its turn stands still, and work is kept.
    Halt,
    /// Its turn failed.
    Bad,
    /// Its last turn is over.
    Done,
    /// It has no turn.
    Empty,
}

/// Which conversations a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// All that are not put away.
    #[default]
    All,
    /// Those that wait for a person.
    Asks,
    /// Those that somebody works on.
    Running,
    /// Those whose turn is not over.
    Open,
    /// Those that were put away.
    Archive,
}

impl Filter {
    /// Those above the list, with what they are called.
    const CHIPS: [(Self, &'static str); 4] = [
        (Self::All, "All"),
        (Self::Asks, "Needs you"),
        (Self::Running, "Running"),
        (Self::Open, "Open"),
    ];

    fn address(self) -> &'static str {
        match self {
            Self::All => "/",
            Self::Asks => "/?state=ask",
            Self::Running => "/?state=running",
            Self::Open => "/?state=open",
            Self::Archive => "/?archived=1",
        }
    }
}

/// A conversation in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// Its name.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// The directory it works in.
    pub directory: String,
    /// Where it stands.
    pub is: Is,
    /// The same in words: `waits for you · edit lib.rs`, `3 queued`.
    pub says: String,
    /// When the next try is made, if one is planned.
    pub next_try: Option<Timestamp>,
    /// When a turn last began or ended.
    pub touched: Timestamp,
}

/// The navigation: search, filters, and the rows by directory. The first row of a directory says where the
/// directory stands.
pub fn list(rows: &[ListRow], current: Option<&str>, filter: Filter) -> Markup {
    let mut directories: Vec<&str> = Vec::new();
    for row in rows {
        if !directories.contains(&row.directory.as_str()) {
            directories.push(&row.directory);
        }
    }
    let asking = rows.iter().filter(|row| row.is == Is::Ask).count();
    let marked = |it: Filter| (it == filter).then_some("true");
    let (archive, empty) = (
        Filter::Archive,
        match filter {
            Filter::All => "No conversations yet. They appear here, also those of the terminal.",
            Filter::Asks => "Nothing waits for you.",
            Filter::Running => "Nothing runs.",
            Filter::Open => "Every turn is over.",
            Filter::Archive => "Nothing was put away.",
        },
    );
    html! {
        nav.side id="list" aria-label="Conversations" {
            div.side-top {
                div.brand { (icon("piton")) "piton" a.b href="/new" { (icon("plus")) "New" } }
                form.find role="search" aria-label="Search" method="get" action="/search" {
                    (icon("find"))
                    label.sr for="find" { "Search" }
                    input.field id="find" name="q" type="search" placeholder="Search" autocomplete="off";
                    kbd { "/" }
                }
                div.chips {
                    @for (it, name) in Filter::CHIPS {
                        a.chip href=(it.address()) aria-current=[marked(it)] {
                            (name) @if it == Filter::Asks { " " b id="asks" { @if 0 < asking { (asking) } } }
                        }
                    }
                }
            }
            div.convs id="convs" {
                @for directory in &directories {
                    (group(directory, rows.iter().filter(|row| row.directory == *directory), current))
                }
                p.when-empty { (empty) }
                p.put-away { a href=(archive.address()) aria-current=[marked(archive)] { "Archive" } }
            }
            div.side-end {
                span.live {}
                span id="linked" { "this machine" }
                button.b.plain.with-module type="button" data-bell hidden title="Tell me when something waits for me and no page is open" { "Notify me" }
                button.b.plain.icon.with-module type="button" data-theme-switch aria-label="Light or dark" { (icon("moon")) }
            }
        }
    }
}

/// What a row that changed does to the list.
pub fn list_frame(row: &ListRow) -> Frame {
    let group_html = group(&row.directory, std::iter::empty(), None).into_string();
    let html = item(row, None).into_string();
    let list = format!("{}-l", directory_id(&row.directory));
    let ops = vec![
        // Each of these does nothing where the element is there already.
        Op::Prepend { id: "convs".to_owned(), html: group_html },
        Op::Prepend { id: list.clone(), html: html.clone() },
        Op::Replace { id: row_id(&row.id), html, length: None },
        // A row that was used moves to the front, as in a list that is read anew.
        Op::Sort { id: list },
        Op::Sort { id: "convs".to_owned() },
    ];
    Frame { ops }
}

/// What a conversation that is gone does to the list.
pub fn list_without(id: &str) -> Frame {
    Frame { ops: vec![Op::Remove { id: row_id(id) }] }
}

fn row_id(id: &str) -> String {
    format!("conv-{}", ident::written(id))
}

fn directory_id(directory: &str) -> String {
    format!("dir-{}", ident::written(directory))
}

fn group<'a>(
    directory: &str,
    rows: impl Iterator<Item = &'a ListRow>,
    current: Option<&str>,
) -> Markup {
    let id = directory_id(directory);
    html! {
        section id=(id) {
            h2 dir="ltr" title=(visible(directory)) { (visible(directory)) }
            ul id={ (id) "-l" } { @for row in rows { (item(row, current)) } }
        }
    }
}

fn item(row: &ListRow, current: Option<&str>) -> Markup {
    let (word, mark) = match row.is {
        Is::Running => ("running", spinning()),
        Is::Ask => ("ask", icon("hand")),
        Is::Halt => ("halt", icon("pause")),
        Is::Bad => ("bad", icon("bolt")),
        Is::Done => ("done", icon("check")),
        Is::Empty => ("empty", icon("dot")),
    };
    let title = if row.title.is_empty() { "Untitled" } else { &row.title };
    let is_current = (current == Some(row.id.as_str())).then_some("page");
    html! {
        li id=(row_id(&row.id)) data-at=(row.touched.0) {
            a.conv href={ "/c/" (ident::in_address(&row.id)) } data-is=(word) aria-current=[is_current] {
                (mark)
                span.conv-title dir="auto" { (visible(title)) }
                span.conv-meta {
                    span {
                        @if let Some(at) = row.next_try.filter(|_| row.is == Is::Running) {
                            "retry in " (until(at)) @if !row.says.is_empty() { " · " }
                        }
                        (visible(&row.says))
                    }
                    (time(row.touched))
                }
            }
        }
    }
}
