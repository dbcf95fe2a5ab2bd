//! A client that reads the list.

use std::sync::Arc;

use piton::Engine;
use piton::store::{Filter, ListPosition, TurnIs};
use tokio::sync::watch;

use super::event::{Ended, Event};
use crate::fault::Fault;
use crate::hub::{Askers, Feeds, ListFeed, ListRead, Picture, RowView};
use crate::limits::LIST_ROWS;

/// How far a client is in the list.
#[derive(Debug)]
pub(super) struct Listing {
    feed: Arc<ListFeed>,
    pub(super) moved: watch::Receiver<()>,
    /// The last frame that it was told.
    seen: u64,
    /// The moment up to which it knows the list.
    position: ListPosition,
    render: fn(&[RowView]) -> Arc<str>,
    /// The name of events in which nothing durable changed.
    passing: &'static str,
}

/// Events, with the moment that they lead to.
type Told = Vec<(ListPosition, Event)>;

impl Listing {
    /// Begins with the list, or with what changed behind a cursor.
    pub(super) async fn new<P: Picture>(
        feeds: &Feeds<P>,
        cursor: Option<ListPosition>,
    ) -> Result<(Self, Told), Fault> {
        let feed = feeds.list();
        let mut moved = feed.moved();
        // What happens from here on is told by the feed.
        let seen = loop {
            if let Some(newest) = feed.newest() {
                break newest;
            }
            if moved.changed().await.is_err() {
                break 0;
            }
        };
        let position = cursor.unwrap_or_default();
        let (render, passing) = (P::rows, P::LIST_PASSING);
        let mut listing = Self { feed, moved, seen, position, render, passing };
        let mut told = listing.behind(feeds.engine(), cursor).await?;
        if cursor.is_some() {
            told.extend(listing.standing(feeds.engine()).await?);
        }
        Ok((listing, told))
    }

    /// How open turns stand now. A process that died has written no entry, so no cursor leads to it.
    async fn standing(&self, engine: &Engine) -> Result<Option<(ListPosition, Event)>, Fault> {
        let filter = Filter { turn: Some(TurnIs::Open), ..shown() };
        let open = engine.list(filter, None, LIST_ROWS).await?.rows;
        if open.is_empty() {
            return Ok(None);
        }
        let askers = Askers::now(engine).await?;
        let rows: Vec<_> = open.iter().map(|row| askers.view(row)).collect();
        let (name, data) = (self.passing, (self.render)(&rows));
        Ok(Some((self.position, Event { name, data, durable: false })))
    }

    /// What is to be told now, without waiting.
    pub(super) async fn step(&mut self, engine: &Engine) -> Result<Told, Ended> {
        match self.feed.read(self.seen) {
            ListRead::Nothing => Ok(Vec::new()),
            ListRead::Failed => Err(Ended),
            ListRead::Behind => {
                self.seen = self.feed.newest().unwrap_or_default();
                self.behind(engine, Some(self.position)).await.map_err(|_| Ended)
            }
            ListRead::Changes(frames) => {
                let mut told = Vec::new();
                for (number, position, data) in frames {
                    self.seen = number;
                    // A row is told as it is now, so an older moment has nothing new.
                    if self.position < position {
                        self.position = position;
                        told.push((position, Event { name: "list", data, durable: true }));
                    } else if self.position == position {
                        told.push((position, Event { name: self.passing, data, durable: false }));
                    }
                }
                Ok(told)
            }
        }
    }

    /// What the store has behind a cursor; the first rows, if there is none or too much.
    async fn behind(
        &mut self,
        engine: &Engine,
        cursor: Option<ListPosition>,
    ) -> Result<Told, Fault> {
        if let Some(cursor) = cursor {
            let changes = engine.journal().changes(cursor, LIST_ROWS).await?;
            if cursor <= changes.position && !changes.more {
                self.position = changes.position;
                let askers = Askers::now(engine).await?;
                let mut rows = Vec::new();
                for listed in changes.rows {
                    let row = engine.row(&listed.conversation).await?;
                    rows.extend(row.as_ref().map(|row| askers.view(row)));
                }
                if rows.is_empty() {
                    return Ok(Vec::new());
                }
                let data = (self.render)(&rows);
                return Ok(vec![(self.position, Event { name: "list", data, durable: true })]);
            }
        }
        let list = engine.list(shown(), None, LIST_ROWS).await?;
        self.position = list.position;
        let askers = Askers::now(engine).await?;
        let rows: Vec<_> = list.rows.iter().map(|row| askers.view(row)).collect();
        let data = (self.render)(&rows);
        let mut told = Vec::new();
        if cursor.is_some() {
            let why = r#"{"list":true,"why":"behind"}"#;
            told.push((self.position, Event::passing("reset", why)));
        }
        told.push((self.position, Event { name: "list", data, durable: true }));
        Ok(told)
    }
}

/// The conversations that a list begins with.
fn shown() -> Filter {
    Filter { worker: Some(false), shelf: Some(piton::Shelf::Listed), ..Filter::default() }
}
