//! One server: connected when it is needed, and again when it was lost.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::cache;
use crate::connection::{About, ConnectFault, Connection};
use crate::listing::Listed;
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
        let connection = Arc::new(Connection::open(&self.settings, &self.place).await?);
        if let Some(directory) = &self.place.cache {
            cache::write(directory, &self.settings, &connection.tools);
        }
        *link = Some(connection.clone());
        Ok(connection)
    }

    /// Asks it who it is and what it offers.
    pub async fn look(&self) -> Result<(About, Vec<Listed>), ConnectFault> {
        let connection = self.connection().await?;
        let offered = connection.tools.iter().filter(|tool| tool.is_offered(&self.settings));
        Ok((connection.about.clone(), offered.cloned().collect()))
    }

    /// What it offered when it was last asked.
    pub(crate) fn known(&self) -> Option<Vec<Listed>> {
        let known = cache::read(self.place.cache.as_ref()?, &self.settings)?;
        Some(known.into_iter().filter(|tool| tool.is_offered(&self.settings)).collect())
    }

    pub(crate) async fn close(&self) {
        if let Some(connection) = self.link.lock().await.take() {
            connection.close().await;
        }
    }
}
