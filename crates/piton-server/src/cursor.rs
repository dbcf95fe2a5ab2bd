//! How far a client has read: the list, and each conversation. Written `list:12;7kq2m9xd4t:40`.

use std::collections::BTreeMap;
use std::fmt;

use piton::ConversationId;
use piton::id::Seq;
use piton::store::ListPosition;

/// The word for the list; no conversation is called so.
const LIST: &str = "list";

/// How far a client has read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) list: Option<ListPosition>,
    conversations: BTreeMap<String, Seq>,
}

impl Cursor {
    /// Reads a cursor. What cannot be understood says nothing, and its owner begins anew.
    pub(crate) fn read(text: &str) -> Self {
        let mut cursor = Self::default();
        for piece in text.split(';') {
            let Some((name, number)) = piece.rsplit_once(':') else { continue };
            let Ok(number) = number.parse() else { continue };
            if name == LIST {
                cursor.list = Some(ListPosition(number));
            } else {
                cursor.conversations.insert(name.to_owned(), Seq(number));
            }
        }
        cursor
    }

    /// Reads the cursor of a page, which shows at most one conversation: `40.120`.
    pub(crate) fn read_page(text: &str, conversation: Option<&ConversationId>) -> Self {
        let mut cursor = Self::default();
        let (seq, list) = text.split_once('.').unwrap_or_default();
        if let (Some(id), Ok(seq)) = (conversation, seq.parse()) {
            cursor.set(id, Seq(seq));
        }
        cursor.list = list.parse().ok().map(ListPosition);
        cursor
    }

    /// The same, written.
    pub(crate) fn page(&self) -> String {
        let seq = self.conversations.values().next().map_or(0, |seq| seq.0);
        format!("{seq}.{}", self.list.unwrap_or_default().0)
    }

    pub(crate) fn of(&self, id: &ConversationId) -> Option<Seq> {
        self.conversations.get(id.as_str()).copied()
    }

    pub(crate) fn set(&mut self, id: &ConversationId, seq: Seq) {
        self.conversations.insert(id.as_str().to_owned(), seq);
    }

    /// Only what is read on one stream.
    #[must_use]
    pub(crate) fn only(&self, conversations: &[ConversationId], list: bool) -> Self {
        let kept = |id: &ConversationId| self.of(id).map(|seq| (id.as_str().to_owned(), seq));
        Self {
            list: self.list.filter(|_| list),
            conversations: conversations.iter().filter_map(kept).collect(),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        if let Some(ListPosition(position)) = self.list {
            write!(f, "{LIST}:{position}")?;
            gap = ";";
        }
        for (name, seq) in &self.conversations {
            write!(f, "{gap}{name}:{seq}")?;
            gap = ";";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nonsense_says_nothing() {
        let text = "list:12;7kq2m9xd4t:40;abc_1-1-0:3";
        assert_eq!(Cursor::read(text).to_string(), text);
        for odd in ["", ";;", "x", "list:", "list:-1", "a:b;c", "\n", ":"] {
            assert_eq!(Cursor::read(odd), Cursor::default(), "{odd:?}");
        }
        let id = ConversationId::new("7kq2m9xd4t");
        assert_eq!(Cursor::read_page("40.12", Some(&id)).to_string(), "list:12;7kq2m9xd4t:40");
        assert_eq!(Cursor::read_page("40.12", Some(&id)).page(), "40.12");
        assert_eq!(Cursor::read_page("x", Some(&id)), Cursor::default());
        assert_eq!(Cursor::read(text).only(&[id], false).to_string(), "7kq2m9xd4t:40");
    }
}
