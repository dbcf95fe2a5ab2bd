//! Followers that readers share: one for each conversation that somebody reads, and one for the list.
//!
//! A change is rendered once, whoever reads it. Readers pull: a feed keeps its last frames and tells
//! that there are more, so a reader that stops reading costs nothing but its cursor, and holds nobody up.

mod feed;
mod list;
mod page;
mod picture;
mod worker;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use piton::{ConversationId, Engine};
use piton_page::Model;

pub(crate) use self::feed::{Feed, Read};
pub(crate) use self::list::{Askers, ListFeed, ListRead, RowState, RowView};
pub(crate) use self::page::Page;
pub(crate) use self::picture::{ChangeEvent, Json, ListEvent, LiveEvent, Picture, SnapshotEvent};
pub(crate) use self::worker::Worker;

/// The feeds of a server.
#[derive(Debug)]
pub(crate) struct Hub {
    /// For programs.
    pub(crate) api: Feeds<Json>,
    /// For browsers.
    pub(crate) page: Feeds<Page>,
    /// For browsers that show the conversation that a worker works for.
    pub(crate) workers: Feeds<Worker>,
}

impl Hub {
    /// Feeds of an engine, with the models that can be chosen.
    pub(crate) fn new(engine: &Engine, models: &Arc<[Model]>) -> Self {
        Self {
            api: Feeds::new(engine, models),
            page: Feeds::new(engine, models),
            workers: Feeds::new(engine, models),
        }
    }
}

/// Feeds whose frames have one form. A feed lives as long as somebody reads it.
#[derive(Debug)]
pub(crate) struct Feeds<P: Picture> {
    engine: Engine,
    models: Arc<[Model]>,
    conversations: Mutex<BTreeMap<ConversationId, Weak<Feed<P>>>>,
    list: Mutex<Weak<ListFeed>>,
}

impl<P: Picture> Feeds<P> {
    fn new(engine: &Engine, models: &Arc<[Model]>) -> Self {
        Self {
            engine: engine.clone(),
            models: models.clone(),
            conversations: Mutex::default(),
            list: Mutex::default(),
        }
    }

    /// The models that can be chosen.
    pub(crate) fn models(&self) -> &[Model] {
        &self.models
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The feed of a conversation that exists.
    pub(crate) fn conversation(&self, id: &ConversationId) -> Arc<Feed<P>> {
        let mut feeds = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = feeds.get(id).and_then(Weak::upgrade) {
            return known;
        }
        feeds.retain(|_, feed| 0 < feed.strong_count());
        let feed = Feed::start(&self.engine, id, &self.models);
        feeds.insert(id.clone(), Arc::downgrade(&feed));
        feed
    }

    /// Whether somebody reads a conversation.
    pub(crate) fn is_read(&self, id: &ConversationId) -> bool {
        let feeds = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.get(id).is_some_and(|feed| 0 < feed.strong_count())
    }

    /// The feed of the list.
    pub(crate) fn list(&self) -> Arc<ListFeed> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = list.upgrade() {
            return known;
        }
        let feed = ListFeed::start(&self.engine, P::rows);
        *list = Arc::downgrade(&feed);
        feed
    }
}
