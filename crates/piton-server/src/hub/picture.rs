//! The form in which readers get a conversation: as data, or as parts of a page.

use std::sync::Arc;

use piton::view::Refused;
use piton::{ConversationId, Live, View, ViewChange};
use piton_page::Model;
use serde::Serialize;
use utoipa::ToSchema;

use super::list::RowView;
use crate::cursor::Cursor;
use crate::forms::of_core;

/// A picture of a conversation that moves. What it makes of a change is sent to every reader.
pub(crate) trait Picture: Send + 'static {
    /// The name of the event that brings all of it.
    const WHOLE: &'static str;
    /// The name of the event that brings a change.
    const CHANGE: &'static str;
    /// The name of the event that brings what is live.
    const LIVE: &'static str;
    /// The name of the event that brings rows of the list in which nothing durable changed.
    const LIST_PASSING: &'static str;

    /// Whether what is told of a change tells also what is live. Then an older picture of what is live does not
    /// fit behind the change.
    const CHANGE_TELLS_LIVE: bool;

    /// The picture of a view, with the models that can be chosen.
    fn new(conversation: &ConversationId, view: View, models: &[Model]) -> Self;

    /// What it shows.
    fn view(&self) -> &View;

    /// Takes a change in, and says what to tell readers.
    fn change(&mut self, change: &ViewChange) -> Result<Arc<str>, Refused>;

    /// What to tell of what no entry holds yet; nothing, if it shows nothing new.
    fn live(&mut self, live: &Live) -> Option<Arc<str>>;

    /// All that depends on what is live, for a reader whose last picture of it nobody knows.
    fn now(&self) -> Option<Arc<str>> {
        None
    }

    /// The workers that are read along with it.
    fn workers(&self) -> Vec<ConversationId> {
        Vec::new()
    }

    /// All of it, for a reader that comes without a cursor.
    fn whole(&self) -> Arc<str>;

    /// What one change tells a reader without the picture in front of it, where that is possible.
    fn alone(conversation: &ConversationId, change: &ViewChange) -> Option<Arc<str>>;

    /// What to tell of rows of the list.
    fn rows(rows: &[RowView]) -> Arc<str>;

    /// How far a client has read, as it is told.
    fn id(cursor: &Cursor) -> String {
        cursor.to_string()
    }
}

/// A conversation as data: `docs/view.md` describes it.
#[derive(Debug)]
pub(crate) struct Json {
    conversation: ConversationId,
    view: View,
}

/// The data of `snapshot`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SnapshotEvent<'a> {
    /// The conversation.
    #[schema(value_type = String)]
    conversation: &'a ConversationId,
    /// All of it. Replaces what the client has.
    #[schema(schema_with = of_core::<View>)]
    view: &'a View,
}

/// The data of `change`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangeEvent<'a> {
    /// The conversation.
    #[schema(value_type = String)]
    conversation: &'a ConversationId,
    /// How its view moves with one entry.
    #[schema(schema_with = of_core::<ViewChange>)]
    change: &'a ViewChange,
}

/// The data of `live`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LiveEvent<'a> {
    /// The conversation.
    #[schema(value_type = String)]
    conversation: &'a ConversationId,
    /// What no entry holds yet, whole each time.
    #[schema(schema_with = of_core::<Live>)]
    live: &'a Live,
}

/// The data of `list`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListEvent<'a> {
    /// Conversations of the list as they are now.
    rows: &'a [RowView],
}

impl Picture for Json {
    const WHOLE: &'static str = "snapshot";
    const CHANGE: &'static str = "change";
    const LIVE: &'static str = "live";
    const LIST_PASSING: &'static str = "list";
    const CHANGE_TELLS_LIVE: bool = false;

    fn new(conversation: &ConversationId, view: View, _models: &[Model]) -> Self {
        Self { conversation: conversation.clone(), view }
    }

    fn view(&self) -> &View {
        &self.view
    }

    fn change(&mut self, change: &ViewChange) -> Result<Arc<str>, Refused> {
        self.view.apply(change)?;
        Ok(text(&ChangeEvent { conversation: &self.conversation, change }))
    }

    fn live(&mut self, live: &Live) -> Option<Arc<str>> {
        Some(text(&LiveEvent { conversation: &self.conversation, live }))
    }

    fn whole(&self) -> Arc<str> {
        text(&SnapshotEvent { conversation: &self.conversation, view: &self.view })
    }

    fn alone(conversation: &ConversationId, change: &ViewChange) -> Option<Arc<str>> {
        Some(text(&ChangeEvent { conversation, change }))
    }

    fn rows(rows: &[RowView]) -> Arc<str> {
        text(&ListEvent { rows })
    }
}

/// Data on one line. Views are made to be written, so this does not fail.
pub(super) fn text(data: &impl Serialize) -> Arc<str> {
    serde_json::to_string(data).unwrap_or_default().into()
}
