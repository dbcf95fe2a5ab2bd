//! A second look at HTML that was made of Markdown: what is not listed here goes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

use ammonia::Builder;

const TAGS: [&str; 25] = [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "div",
    "em",
    "figcaption",
    "figure",
    "h4",
    "h5",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Elements that may have a class, and which.
const CLASSES: [(&str, &[&str]); 4] = [
    ("div", &["grid", "para", "rule"]),
    ("figure", &["code"]),
    ("p", &["raw"]),
    ("span", &["k", "s", "c", "f", "n", "r"]),
];

/// The text without whatever could do something.
pub(super) fn clean(html: &str) -> String {
    // Nothing but words: most items and cells.
    if !html.contains('<') {
        return html.to_owned();
    }
    cleaner().clean(html).to_string()
}

fn cleaner() -> &'static Builder<'static> {
    static CLEANER: OnceLock<Builder<'static>> = OnceLock::new();
    CLEANER.get_or_init(|| {
        let classes = CLASSES.iter().map(|(tag, names)| (*tag, names.iter().copied().collect()));
        let attributes: [(&str, &[&str]); 4] = [
            ("a", &["href", "title", "target"]),
            ("ol", &["start"]),
            ("pre", &["tabindex"]),
            ("div", &["tabindex"]),
        ];
        let attributes =
            attributes.iter().map(|(tag, names)| (*tag, names.iter().copied().collect()));
        let mut builder = Builder::empty();
        builder
            .tags(TAGS.into_iter().collect())
            .generic_attributes(HashSet::from(["dir"]))
            .tag_attributes(attributes.collect::<HashMap<_, HashSet<_>>>())
            .allowed_classes(classes.collect::<HashMap<_, HashSet<_>>>())
            .url_schemes(
                super::inline::SCHEMES.into_iter().collect::<BTreeSet<_>>().into_iter().collect(),
            )
            .link_rel(Some("noreferrer noopener"));
        builder
    })
}
