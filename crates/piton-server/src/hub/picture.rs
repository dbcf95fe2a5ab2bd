//! The form in which readers get a conversation: as data, or as parts of a page.

use std::sync::Arc;

use piton::id::Seq;
use piton::view::Refused;
use piton::{ConversationId, Live, View, ViewChange};
use serde::Serialize;

use super::list::RowView;

/// A picture of a conversation that moves. What it makes of a change is sent to every reader.
pub(crate) trait Picture: Send + 'static {
    /// The name of the event that brings all of it.
    const WHOLE: &'static str;
    /// The name of the event that brings a change.
    const CHANGE: &'static str;

    /// The picture of a view.
    fn new(conversation: &ConversationId, view: View) -> Self;

    /// The last entry that it shows.
    fn cursor(&self) -> Seq;

    /// Takes a change in, and says what to tell readers.
    fn change(&mut self, change: &ViewChange) -> Result<Arc<str>, Refused>;

    /// What to tell of what no entry holds yet; nothing, if it shows nothing new.
    fn live(&mut self, live: &Live) -> Option<Arc<str>>;

    /// All of it, for a reader that comes without a cursor.
    fn whole(&self) -> Arc<str>;

    /// What one change tells a reader without the picture in front of it, where that is possible.
    fn alone(conversation: &ConversationId, change: &ViewChange) -> Option<Arc<str>>;

    /// What to tell of rows of the list.
    fn rows(rows: &[RowView]) -> Arc<str>;
}

/// A conversation as data: `docs/view.md` describes it.
#[derive(Debug)]
pub(crate) struct Json {
    conversation: ConversationId,
    view: View,
}

#[derive(Serialize)]
struct Whole<'a> {
    conversation: &'a ConversationId,
    view: &'a View,
}

#[derive(Serialize)]
struct Changed<'a> {
    conversation: &'a ConversationId,
    change: &'a ViewChange,
}

#[derive(Serialize)]
struct Lively<'a> {
    conversation: &'a ConversationId,
    live: &'a Live,
}

#[derive(Serialize)]
struct Rows<'a> {
    rows: &'a [RowView],
}

impl Picture for Json {
    const WHOLE: &'static str = "snapshot";
    const CHANGE: &'static str = "change";

    fn new(conversation: &ConversationId, view: View) -> Self {
        Self { conversation: conversation.clone(), view }
    }

    fn cursor(&self) -> Seq {
        self.view.cursor
    }

    fn change(&mut self, change: &ViewChange) -> Result<Arc<str>, Refused> {
        self.view.apply(change)?;
        Ok(text(&Changed { conversation: &self.conversation, change }))
    }

    fn live(&mut self, live: &Live) -> Option<Arc<str>> {
        Some(text(&Lively { conversation: &self.conversation, live }))
    }

    fn whole(&self) -> Arc<str> {
        text(&Whole { conversation: &self.conversation, view: &self.view })
    }

    fn alone(conversation: &ConversationId, change: &ViewChange) -> Option<Arc<str>> {
        Some(text(&Changed { conversation, change }))
    }

    fn rows(rows: &[RowView]) -> Arc<str> {
        text(&Rows { rows })
    }
}

/// Data on one line. Views are made to be written, so this does not fail.
fn text(data: &impl Serialize) -> Arc<str> {
    serde_json::to_string(data).unwrap_or_default().into()
}
