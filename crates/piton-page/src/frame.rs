//! What moves a page: operations on elements that are named by their id.

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

/// What one change of a view, or one moment of what is live, does to a page. A page applies it at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Frame {
    /// In order.
    pub ops: Vec<Op>,
}

/// One operation on one element. Written as a list: `["replace", "t3", "<article…"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Puts other HTML in the place of the element.
    Replace {
        /// The element.
        id: String,
        /// It, from now on.
        html: String,
        /// How many bytes of text it shows, if that only grows: a page that shows more keeps it.
        length: Option<usize>,
    },
    /// Puts HTML behind the last child, unless the page has an element of that name.
    Append {
        /// The parent.
        id: String,
        /// The child.
        html: String,
    },
    /// Puts HTML in front of the first child, unless the page has an element of that name.
    Prepend {
        /// The parent.
        id: String,
        /// The child.
        html: String,
    },
    /// Puts HTML in front of an element, unless the page has an element of that name.
    Before {
        /// The element behind it.
        id: String,
        /// What comes before.
        html: String,
    },
    /// Takes the element away.
    Remove {
        /// The element.
        id: String,
    },
    /// Puts text in the place of all that is in the element.
    Text {
        /// The element.
        id: String,
        /// The text.
        text: String,
    },
    /// Puts the children in order: the newest `data-at` first. A child without one counts as the first in it
    /// does; children that hold none stay behind.
    Sort {
        /// The parent.
        id: String,
    },
    /// Sets or takes away an attribute; only `aria-busy`, `data-is`, `hidden` and `placeholder`.
    Attr {
        /// The element.
        id: String,
        /// The attribute.
        name: &'static str,
        /// Its value; none takes it away.
        value: Option<String>,
    },
}

impl Frame {
    /// Whether it does nothing.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

impl Op {
    /// The element that has to be there.
    pub fn id(&self) -> &str {
        match self {
            Self::Replace { id, .. }
            | Self::Append { id, .. }
            | Self::Prepend { id, .. }
            | Self::Before { id, .. }
            | Self::Remove { id }
            | Self::Text { id, .. }
            | Self::Sort { id }
            | Self::Attr { id, .. } => id,
        }
    }

    /// The same, whatever a page shows.
    pub(crate) fn that_counts(mut self) -> Self {
        if let Self::Replace { length, .. } = &mut self {
            *length = None;
        }
        self
    }

    /// What a page calls it.
    fn name(&self) -> &'static str {
        match self {
            Self::Replace { .. } => "replace",
            Self::Append { .. } => "append",
            Self::Prepend { .. } => "prepend",
            Self::Before { .. } => "before",
            Self::Remove { .. } => "remove",
            Self::Text { .. } => "text",
            Self::Sort { .. } => "sort",
            Self::Attr { .. } => "attr",
        }
    }
}

impl Serialize for Op {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(self.name())?;
        list.serialize_element(self.id())?;
        match self {
            Self::Replace { html, length, .. } => {
                list.serialize_element(html)?;
                if let Some(length) = length {
                    list.serialize_element(length)?;
                }
            }
            Self::Append { html, .. } | Self::Prepend { html, .. } | Self::Before { html, .. } => {
                list.serialize_element(html)?;
            }
            Self::Text { text, .. } => list.serialize_element(text)?,
            Self::Attr { name, value, .. } => {
                list.serialize_element(value)?;
                list.serialize_element(name)?;
            }
            Self::Remove { .. } | Self::Sort { .. } => {}
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_written_as_lists() {
        let (id, html) = (|| "a".to_owned(), || "<p>".to_owned());
        let ops = vec![
            Op::Replace { id: id(), html: html(), length: None },
            Op::Replace { id: id(), html: html(), length: Some(3) },
            Op::Before { id: id(), html: html() },
            Op::Remove { id: id() },
            Op::Attr { id: id(), name: "hidden", value: None },
        ];
        let text = r#"[["replace","a","<p>"],["replace","a","<p>",3],["before","a","<p>"],["remove","a"],["attr","a",null,"hidden"]]"#;
        assert_eq!(serde_json::to_string(&Frame { ops }).unwrap(), text);
    }
}
