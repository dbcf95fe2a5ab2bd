//! Icons: drawn once in the document, named wherever they are shown.

use maud::{Markup, PreEscaped, html};

/// Name and lines of each.
const DRAWN: [(&str, &str); 28] = [
    ("piton", r##"<circle cx="8" cy="4" r="2.6"/><path d="M6.2 6 7 14.4 8 15.5l1-1.1L9.8 6"/>"##),
    ("plus", r##"<path d="M8 3v10M3 8h10"/>"##),
    ("find", r##"<circle cx="7" cy="7" r="4.2"/><path d="m10.2 10.2 3.3 3.3"/>"##),
    ("check", r##"<path d="m3 8.5 3.2 3.2L13 5"/>"##),
    ("x", r##"<path d="m4 4 8 8M12 4l-8 8"/>"##),
    ("ring", r##"<path d="M8 2a6 6 0 1 1-6 6"/>"##),
    ("chev", r##"<path d="m6 3 5 5-5 5"/>"##),
    ("back", r##"<path d="m10 3-5 5 5 5"/>"##),
    (
        "hand",
        r##"<circle cx="8" cy="8" r="6"/><path d="M6.3 6.2a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.9.7-.9 1.3M8 11.4v.1"/>"##,
    ),
    ("pause", r##"<circle cx="8" cy="8" r="6"/><path d="M6.5 6v4M9.5 6v4"/>"##),
    ("stop", r##"<rect x="4" y="4" width="8" height="8" rx="1.5"/>"##),
    ("bolt", r##"<circle cx="8" cy="8" r="6"/><path d="M8 5v3.6M8 10.9v.1"/>"##),
    ("dot", r##"<circle cx="8" cy="8" r="2.2"/>"##),
    (
        "copy",
        r##"<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M3.5 10.5h-1v-8h8v1"/>"##,
    ),
    (
        "fork",
        r##"<circle cx="4.5" cy="3.5" r="1.6"/><circle cx="11.5" cy="3.5" r="1.6"/><circle cx="8" cy="12.5" r="1.6"/><path d="M4.5 5.1c0 3 3.5 2.6 3.5 5.8 0-3.2 3.5-2.8 3.5-5.8"/>"##,
    ),
    ("edit", r##"<path d="m3 13 .7-3 7-7L13 5.3l-7 7L3 13Z"/>"##),
    ("retry", r##"<path d="M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3"/>"##),
    (
        "clip",
        r##"<path d="M12.5 7.5 7.6 12.3a3 3 0 0 1-4.2-4.2l5.3-5.2a2 2 0 0 1 2.8 2.8L6.3 10.9a1 1 0 0 1-1.4-1.4l4.4-4.3"/>"##,
    ),
    ("up", r##"<path d="M8 13V3M4 7l4-4 4 4"/>"##),
    ("down", r##"<path d="M8 3v10M4 9l4 4 4-4"/>"##),
    ("file", r##"<path d="M4 2h5l3 3v9H4V2Z M9 2v3h3"/>"##),
    ("moon", r##"<path d="M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z"/>"##),
    ("dots", r##"<path d="M3.5 8h.1M8 8h.1M12.5 8h.1"/>"##),
    ("clock", r##"<circle cx="8" cy="8" r="6"/><path d="M8 4.5V8l2.3 1.5"/>"##),
    ("send", r##"<path d="M8 13V3M3.5 7.5 8 3l4.5 4.5"/>"##),
    (
        "term",
        r##"<rect x="2" y="3" width="12" height="10" rx="1.5"/><path d="m4.5 6.5 2 1.7-2 1.7M8.5 10.3h3"/>"##,
    ),
    ("key", r##"<circle cx="5" cy="11" r="2.5"/><path d="m7 9 6-6M11 5l2 2"/>"##),
    ("plug", r##"<path d="M6 2v4M10 2v4M4 6h8v2.5a4 4 0 0 1-8 0V6ZM8 12.5V15"/>"##),
];

/// All of them, for the head of the document.
pub(crate) fn sprite() -> Markup {
    html! {
        svg.sprite aria-hidden="true" {
            @for (name, lines) in DRAWN {
                symbol id={ "i-" (name) } viewBox="0 0 16 16" { (PreEscaped(lines)) }
            }
        }
    }
}

/// One of them.
pub(crate) fn icon(name: &str) -> Markup {
    with_class("i", name)
}

/// One that turns as long as something runs.
pub(crate) fn spinning() -> Markup {
    with_class("i spin", "ring")
}

/// The mark of something that opens.
pub(crate) fn chevron() -> Markup {
    with_class("i chev", "chev")
}

/// One in a colour that means something.
pub(crate) fn with_class(class: &str, name: &str) -> Markup {
    html! { svg class=(class) viewBox="0 0 16 16" aria-hidden="true" { use href={ "#i-" (name) } {} } }
}
