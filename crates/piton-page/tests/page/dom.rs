//! A page as a browser has it: a tree of elements, and the operations of frames on it.

use std::collections::BTreeMap;

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, QualName, local_name, ns, parse_fragment};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use piton_page::{Frame, Op};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Text(String),
    Element { name: String, attrs: BTreeMap<String, String>, kids: Vec<Node> },
}

/// A page, with the operations that found no element.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) nodes: Vec<Node>,
    pub(crate) missing: Vec<String>,
}

fn parse(html: &str) -> Vec<Node> {
    let name = QualName::new(None, ns!(html), local_name!("template"));
    let dom = parse_fragment(RcDom::default(), ParseOpts::default(), name, vec![], false);
    let dom = dom.one(html);
    // A fragment stands below an element `html`.
    let children = dom.document.children.borrow();
    children
        .iter()
        .flat_map(|root| root.children.borrow().iter().filter_map(read).collect::<Vec<_>>())
        .collect()
}

fn read(handle: &Handle) -> Option<Node> {
    match &handle.data {
        NodeData::Text { contents } => Some(Node::Text(contents.borrow().to_string())),
        NodeData::Element { name, attrs, .. } => {
            let attrs = attrs.borrow();
            let attrs = attrs.iter().map(|it| (it.name.local.to_string(), it.value.to_string()));
            let kids = handle.children.borrow().iter().filter_map(read).collect();
            Some(Node::Element { name: name.local.to_string(), attrs: attrs.collect(), kids })
        }
        NodeData::Comment { .. } => Some(Node::Text("a comment".into())),
        NodeData::Document | NodeData::Doctype { .. } | NodeData::ProcessingInstruction { .. } => {
            None
        }
    }
}

impl Node {
    pub(crate) fn attr(&self, name: &str) -> Option<&str> {
        match self {
            Self::Element { attrs, .. } => attrs.get(name).map(String::as_str),
            Self::Text(_) => None,
        }
    }

    pub(crate) fn kids(&self) -> &[Self] {
        match self {
            Self::Element { kids, .. } => kids,
            Self::Text(_) => &[],
        }
    }

    fn has(&self, id: &str) -> bool {
        self.attr("id") == Some(id)
    }

    /// The first place where it is not another one.
    pub(crate) fn differs(&self, other: &Self) -> Option<String> {
        let mut pairs = self.kids().iter().zip(other.kids());
        let inner = pairs.find_map(|(mine, others)| mine.differs(others));
        let is_shallow =
            self.attr("id") == other.attr("id") && self.kids().len() == other.kids().len();
        match inner {
            Some(inner) if is_shallow => {
                Some(format!("{} > {inner}", self.attr("id").unwrap_or("-")))
            }
            Some(_) | None => (self != other).then(|| format!("{self:?}\n is not {other:?}")),
        }
    }

    /// All text in it, of what is not hidden.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Element { attrs, .. } if attrs.contains_key("hidden") => String::new(),
            Self::Element { kids, .. } => kids.iter().map(Self::text).collect::<Vec<_>>().join(" "),
        }
    }

    /// It and everything in it.
    pub(crate) fn all(&self) -> Vec<&Self> {
        let mut all = vec![self];
        all.extend(self.kids().iter().flat_map(Self::all));
        all
    }
}

/// Does something to the list in which an element stands, at its place; says whether it was found.
fn at(nodes: &mut Vec<Node>, id: &str, act: &mut dyn FnMut(&mut Vec<Node>, usize)) -> bool {
    if let Some(place) = nodes.iter().position(|node| node.has(id)) {
        act(nodes, place);
        return true;
    }
    nodes.iter_mut().any(|node| match node {
        Node::Element { kids, .. } => at(kids, id, act),
        Node::Text(_) => false,
    })
}

impl Page {
    pub(crate) fn new(html: &str) -> Self {
        Self { nodes: parse(html), missing: vec![] }
    }

    pub(crate) fn all(&self) -> Vec<&Node> {
        self.nodes.iter().flat_map(Node::all).collect()
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Node> {
        self.all().into_iter().find(|node| node.has(id))
    }

    /// Names that two elements have.
    pub(crate) fn doubles(&self) -> Vec<String> {
        let mut ids: Vec<_> =
            self.all().iter().filter_map(|node| node.attr("id")).map(str::to_owned).collect();
        ids.sort();
        let doubles = ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone());
        doubles.collect()
    }

    pub(crate) fn apply(&mut self, frame: &Frame) {
        frame.ops.iter().for_each(|op| self.take(op));
    }

    /// What is new of HTML: an element that is there is not put in twice.
    fn fresh(&self, html: &str) -> Vec<Node> {
        let is_new = |node: &Node| node.attr("id").is_none_or(|id| self.find(id).is_none());
        parse(html).into_iter().filter(is_new).collect()
    }

    fn take(&mut self, op: &Op) {
        let fresh = match op {
            Op::Append { html, .. } | Op::Prepend { html, .. } | Op::Before { html, .. } => {
                self.fresh(html)
            }
            Op::Replace { html, .. } => parse(html),
            Op::Remove { .. } | Op::Text { .. } | Op::Attr { .. } | _ => vec![],
        };
        let mut act = |nodes: &mut Vec<Node>, place: usize| match op {
            Op::Replace { .. } => drop(nodes.splice(place..=place, fresh.clone())),
            Op::Before { .. } => drop(nodes.splice(place..place, fresh.clone())),
            Op::Remove { .. } => drop(nodes.remove(place)),
            Op::Append { .. } | Op::Prepend { .. } | Op::Text { .. } | Op::Attr { .. } | _ => {
                nodes[place].take(op, fresh.clone());
            }
        };
        if !at(&mut self.nodes, op.id(), &mut act) {
            self.missing.push(format!("{op:?}"));
        }
    }
}

impl Node {
    /// Its place in a list that is sorted by time: of itself, or of the first in it that has one.
    fn moment(&self) -> Option<u64> {
        self.all().into_iter().find_map(|node| node.attr("data-at")?.parse().ok())
    }

    /// An operation on what is in the element.
    fn take(&mut self, op: &Op, fresh: Vec<Self>) {
        let Self::Element { kids, attrs, .. } = self else { return };
        match op {
            Op::Append { .. } => kids.extend(fresh),
            Op::Prepend { .. } => drop(kids.splice(0..0, fresh)),
            Op::Sort { .. } => kids.sort_by_key(|kid| std::cmp::Reverse(kid.moment())),
            Op::Text { text, .. } if text.is_empty() => kids.clear(),
            Op::Text { text, .. } => *kids = vec![Self::Text(text.clone())],
            Op::Attr { name, value: Some(value), .. } => {
                attrs.insert((*name).into(), value.clone());
            }
            Op::Attr { name, .. } => {
                attrs.remove(*name);
            }
            Op::Replace { .. } | Op::Before { .. } | Op::Remove { .. } | _ => {}
        }
    }
}
