//! The page as a tree of named elements, and what leads from one tree to another.
//!
//! What an element shows is known here as text only. Two trees of one page are compared by name: so a
//! page that takes the operations shows what a page that is made anew shows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::frame::Op;
use crate::visible::{escaped, visible};

/// A named element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Made anew whenever it differs.
    Leaf(Leaf),
    /// Holds nothing but text.
    Text(Text),
    /// Has children that move by themselves.
    Group(Group),
}

/// An element with text in it, of which only the text moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) id: String,
    pub(crate) tag: &'static str,
    /// Attributes, as they are written.
    pub(crate) fixed: &'static str,
    pub(crate) words: String,
}

/// An element that is always replaced whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) id: String,
    /// With its own tags, which have the id.
    pub(crate) html: String,
    /// How many bytes of text it shows, if that only grows.
    pub(crate) length: Option<usize>,
}

/// An element whose children have names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) tag: &'static str,
    /// Attributes that stay, as they are written: one that differs makes another element.
    pub(crate) fixed: String,
    /// Attributes that can be set on the page.
    pub(crate) attrs: Vec<(&'static str, Option<String>)>,
    /// What stands in front of the children.
    pub(crate) head: String,
    /// What did not change is shared with the tree before, and not compared.
    pub(crate) kids: Vec<Arc<Part>>,
}

/// Something of an element that moved without an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Touched {
    Whole(String),
    Text(String),
    Attr(String, &'static str),
}

impl Part {
    pub(crate) fn leaf(id: impl Into<String>, html: impl Into<String>) -> Self {
        Self::Leaf(Leaf { id: id.into(), html: html.into(), length: None })
    }

    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Leaf(leaf) => &leaf.id,
            Self::Text(text) => &text.id,
            Self::Group(group) => &group.id,
        }
    }

    pub(crate) fn html(&self) -> String {
        let mut html = String::new();
        self.write(&mut html);
        html
    }

    pub(crate) fn write(&self, html: &mut String) {
        let group = match self {
            Self::Leaf(leaf) => return html.push_str(&leaf.html),
            Self::Text(Text { id, tag, fixed, words }) => {
                let words = escaped(words);
                // Writing to a string cannot fail.
                return write!(html, "<{tag} id=\"{id}\"{fixed}>{words}</{tag}>")
                    .unwrap_or_default();
            }
            Self::Group(group) => group,
        };
        let Group { id, tag, fixed, attrs, head, kids } = group;
        // Writing to a string cannot fail.
        write!(html, "<{tag} id=\"{id}\"{fixed}").unwrap_or_default();
        for (name, value) in attrs {
            if let Some(value) = value {
                let value = escaped(value);
                write!(html, " {name}=\"{value}\"").unwrap_or_default();
            }
        }
        html.push('>');
        html.push_str(head);
        for kid in kids {
            kid.write(html);
        }
        write!(html, "</{tag}>").unwrap_or_default();
    }

    /// The element of a name, in it or it itself.
    pub(crate) fn find(&self, id: &str) -> Option<&Self> {
        match self {
            this if this.id() == id => Some(this),
            Self::Leaf(_) | Self::Text(_) => None,
            Self::Group(group) => group.kids.iter().find_map(|kid| kid.find(id)),
        }
    }

    /// The operations that make it of another element with the same name.
    pub(crate) fn since(&self, old: &Self, ops: &mut Vec<Op>) {
        match (old, self) {
            (Self::Leaf(old), Self::Leaf(new)) if old.html == new.html => {}
            (Self::Text(old), Self::Text(new)) if (old.tag, old.fixed) == (new.tag, new.fixed) => {
                if old.words != new.words {
                    ops.push(new.telling());
                }
            }
            (Self::Group(old), Self::Group(new))
                if (old.tag, &old.fixed, &old.head) == (new.tag, &new.fixed, &new.head) =>
            {
                attributes(old, new, ops);
                if !children(old, new, ops) {
                    ops.push(self.replacing());
                }
            }
            (_, _) => ops.push(self.replacing()),
        }
    }

    fn replacing(&self) -> Op {
        let length = match self {
            Self::Leaf(leaf) => leaf.length,
            Self::Text(_) | Self::Group(_) => None,
        };
        Op::Replace { id: self.id().to_owned(), html: self.html(), length }
    }

    /// The operation that tells again how something stands.
    pub(crate) fn told_again(&self, touched: &Touched) -> Option<Op> {
        match touched {
            Touched::Whole(id) => Some(self.find(id)?.replacing()),
            Touched::Text(id) => match self.find(id)? {
                Self::Text(text) => Some(text.telling()),
                Self::Leaf(_) | Self::Group(_) => None,
            },
            Touched::Attr(id, name) => {
                let Self::Group(group) = self.find(id)? else { return None };
                let (_, value) = group.attrs.iter().find(|(known, _)| known == name)?;
                Some(Op::Attr { id: id.clone(), name, value: value.clone() })
            }
        }
    }
}

impl Text {
    fn telling(&self) -> Op {
        Op::Text { id: self.id.clone(), text: visible(&self.words).into_owned() }
    }
}

impl Group {
    pub(crate) fn new(tag: &'static str, id: impl Into<String>, fixed: &str) -> Self {
        let (fixed, head) = (fixed.to_owned(), String::new());
        Self { id: id.into(), tag, fixed, attrs: Vec::new(), head, kids: Vec::new() }
    }

    /// With an attribute that can be set on the page.
    pub(crate) fn attr(mut self, name: &'static str, value: Option<String>) -> Self {
        self.attrs.push((name, value));
        self
    }

    /// With an attribute that is there or not.
    pub(crate) fn flag(self, name: &'static str, is_set: bool) -> Self {
        self.attr(name, is_set.then(String::new))
    }

    pub(crate) fn head(mut self, html: impl Into<String>) -> Self {
        self.head = html.into();
        self
    }

    pub(crate) fn kids(self, kids: Vec<Part>) -> Part {
        self.shared(kids.into_iter().map(Arc::new).collect())
    }

    pub(crate) fn shared(mut self, kids: Vec<Arc<Part>>) -> Part {
        self.kids = kids;
        Part::Group(self)
    }
}

/// What live operations touched.
pub(crate) fn touched(ops: &[Op]) -> impl Iterator<Item = Touched> {
    ops.iter().filter_map(|op| match op {
        Op::Replace { id, .. } => Some(Touched::Whole(id.clone())),
        Op::Attr { id, name, .. } => Some(Touched::Attr(id.clone(), name)),
        Op::Text { id, .. } => Some(Touched::Text(id.clone())),
        Op::Append { .. }
        | Op::Prepend { .. }
        | Op::Before { .. }
        | Op::Remove { .. }
        | Op::Sort { .. } => None,
    })
}

fn attributes(old: &Group, new: &Group, ops: &mut Vec<Op>) {
    for (name, value) in &new.attrs {
        if old.attrs.iter().find(|(known, _)| known == name).map(|(_, value)| value) != Some(value)
        {
            ops.push(Op::Attr { id: new.id.clone(), name, value: value.clone() });
        }
    }
}

/// Moves the children; says whether that can be done without moving one past another.
fn children(old: &Group, new: &Group, ops: &mut Vec<Op>) -> bool {
    // Nearly always all that were there are still there, and some came behind them.
    let pairs = old.kids.iter().zip(&new.kids);
    let same = pairs.take_while(|(old, new)| old.id() == new.id()).count();
    for (old, new) in old.kids.iter().zip(&new.kids).take(same) {
        if !Arc::ptr_eq(old, new) {
            new.since(old, ops);
        }
    }
    let (old_rest, new_rest) = (old.kids.get(same..), new.kids.get(same..));
    let (old_rest, new_rest) = (old_rest.unwrap_or_default(), new_rest.unwrap_or_default());
    let named = |kids: &[Arc<Part>]| -> BTreeMap<String, Arc<Part>> {
        kids.iter().map(|kid| (kid.id().to_owned(), Arc::clone(kid))).collect()
    };
    let (before, after) = (named(old_rest), named(new_rest));
    let kept_old = old_rest.iter().map(|kid| kid.id()).filter(|id| after.contains_key(*id));
    let kept_new = new_rest.iter().map(|kid| kid.id()).filter(|id| before.contains_key(*id));
    if !kept_old.eq(kept_new) {
        return false;
    }
    for gone in old_rest.iter().filter(|kid| !after.contains_key(kid.id())) {
        ops.push(Op::Remove { id: gone.id().to_owned() });
    }
    for (place, kid) in new_rest.iter().enumerate() {
        if let Some(known) = before.get(kid.id()) {
            kid.since(known, ops);
            continue;
        }
        let mut behind = new_rest.iter().skip(place + 1);
        let html = kid.html();
        ops.push(match behind.find(|next| before.contains_key(next.id())) {
            Some(next) => Op::Before { id: next.id().to_owned(), html },
            None => Op::Append { id: new.id.clone(), html },
        });
    }
    true
}
