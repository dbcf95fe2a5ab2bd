//! One server: connected when it is needed, and again when it was lost.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;

use crate::cache::{self, Kept};
use crate::connection::{About, ConnectFault, Connection, TELL_WAIT};
use crate::identity::Identity;
use crate::listing::{Listed, Listing};
use crate::place::Place;
use crate::settings::ServerSettings;

/// A server and, at times, a connection to it.
#[derive(Debug)]
pub struct Server {
    pub(crate) settings: ServerSettings,
    place: Arc<Place>,
    link: Mutex<Option<Arc<Connection>>>,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings, place: Arc<Place>) -> Self {
        Self { settings, place, link: Mutex::default() }
    }

    /// What is said of it.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// The connection; made now if there is none, or if the one there was is lost.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, ConnectFault> {
        let mut link = self.link.lock().await;
        if let Some(connection) = link.as_ref().filter(|connection| connection.is_usable()) {
            return Ok(connection.clone());
        }
        // The rest of a lost connection ends before the next begins. Other calls may wait for answers
        // over one that is only spoiled.
        if let Some(lost) = link.take().filter(|lost| !lost.is_alive()) {
            lost.close().await;
        }
        // As it looks before it is started: a file that changes meanwhile is seen the next time.
        let identity = Identity::of(&self.settings, &self.place);
        let connection = Arc::new(Connection::open(&self.settings, &self.place).await?);
        self.keep(identity.as_ref(), &connection.listing());
        *link = Some(connection.clone());
        Ok(connection)
    }

    /// Asks it who it is and what it offers.
    pub async fn look(&self) -> Result<(About, Vec<Listed>), ConnectFault> {
        let connection = self.connection().await?;
        self.refresh(&connection, self.settings.connect_wait).await;
        let listing = connection.listing();
        let left_out = listing.left_out(&self.settings);
        let about = About { left_out, ..connection.about.clone() };
        Ok((about, listing.offered(&self.settings)))
    }

    /// What it offered when it was last asked.
    pub(crate) fn known(&self) -> Option<Kept> {
        let identity = Identity::of(&self.settings, &self.place)?;
        cache::read(&self.place.lists, &identity, SystemTime::now())
    }

    /// Whether it said itself that what is known of its tools is no longer true. Whoever connects to
    /// it at this moment hears what is true, so nobody is waited for.
    pub(crate) fn has_news(&self) -> bool {
        let link = self.link.try_lock();
        link.is_ok_and(|link| link.as_ref().is_some_and(|it| it.is_usable() && it.wire.has_news()))
    }

    pub(crate) async fn close(&self) {
        if let Some(connection) = self.link.lock().await.take() {
            // The next process should not begin with tools that are gone.
            self.refresh(&connection, TELL_WAIT).await;
            connection.close().await;
        }
    }

    /// Asks for its tools again, if it said that they are others now, and keeps them.
    async fn refresh(&self, connection: &Connection, wait: Duration) {
        if connection.is_usable() && connection.wire.has_news() {
            self.list_again(connection, wait).await;
        }
    }

    /// Asks for its tools again, and keeps them.
    pub(crate) async fn list_again(&self, connection: &Connection, wait: Duration) {
        let identity = Identity::of(&self.settings, &self.place);
        if connection.list_again(wait).await {
            self.keep(identity.as_ref(), &connection.listing());
        }
    }

    fn keep(&self, identity: Option<&Identity>, listing: &Listing) {
        if let Some(identity) = identity {
            cache::write(&self.place.lists, identity, listing);
        }
    }
}
